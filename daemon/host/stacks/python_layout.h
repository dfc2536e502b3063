// Where a CPython keeps what its stacks are read from: one row for each version, for machines of 64 bits. A
// version without a row is not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/host/stacks/elf_image.h"
#include "daemon/host/stacks/process_memory.h"

namespace profd::host {

struct PythonLayout {
  // How one gets from a call of the evaluation loop to the frame of the function that it is in.
  enum class Entered : uint8_t {
    kFrame,   // each call is for one frame; where it is stands somewhere in the call's part of the stack
    kRecord,  // a record in that part (CFrame) says which is the innermost
    kEntry,   // in that part is a frame of the call itself, behind the outermost function's
  };
  enum class Lines : uint8_t {
    kPairs,      // co_lnotab
    kRanges,     // co_linetable of 3.10
    kLocations,  // co_linetable since 3.11
  };

  uint32_t version = 0;  // 0x030b
  Entered entered = Entered::kFrame;
  Lines lines = Lines::kPairs;
  uint64_t interpreters = 0;                                    // of _PyRuntime
  uint64_t next_interpreter = 0, threads = 0;                   // of an interpreter
  uint64_t next_thread = 0, thread_id = 0;                      // of a thread
  uint64_t native_id = 0;                                       // 0: it has none
  uint64_t current = 0;                                         // its innermost frame, or record
  uint64_t record_current = 0;                                  // of a record: its frame
  uint64_t code = 0, previous = 0, instruction = 0;             // of a frame
  uint64_t instruction_bytes = 0;                               // it counts these; 0: it is an address
  uint64_t mark = 0;                                            // what says that it is the last of a call
  uint64_t locals = 0;                                          // 0: nobody asks
  uint64_t first_line = 0, file_name = 0, name = 0, table = 0;  // of a code object
  uint64_t instructions = 0;                                    // 0: nobody asks
  uint64_t ascii_bytes = 0, compact_bytes = 0;                  // of a text: its head
};

inline constexpr uint64_t kPythonType = 8;                                // of an object
inline constexpr size_t kPythonFrameBytes = 112, kPythonCodeBytes = 144;  // of these is looked at
inline constexpr uint8_t kOwnedByStack = 3;  // a frame's mark, of Entered::kEntry and of 3.12
// Since 3.11: a frame, without its variables and values, of which the code says how many (in front of and
// behind its first line). Those of generators are elsewhere.
inline constexpr uint64_t kPythonFrameHead = 72;
inline constexpr uint8_t kOwnedByGenerator = 1;
inline constexpr uint64_t kOwnerOf311 = 69;

std::span<const PythonLayout> PythonLayouts();
// "3.11", "3.11.2"
bool ReadsPython(std::string_view version);
// Of a file that exports what Python's do; nullopt: it is none, or one that is not known.
std::optional<PythonLayout> FindPythonLayout(ProcessMemory& memory, const ElfImage& image, uint64_t bias,
                                             uint64_t runtime);

}  // namespace profd::host
