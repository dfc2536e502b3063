// How to get from a function to its caller, out of the tables that compilers leave for exceptions
// (.eh_frame; DWARF 5, 6.4). Pure, and total on any bytes. Not elfutils: libdw reads tables out of files, and
// takes memory as it goes; these come out of processes that may lie, with a budget of time for each sample.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace profd::host {

// The registers that matter, by their DWARF numbers; `kept`: those that a function gives back as it found
// them, but for the frame pointer (rbx, r12 to r15; x19 to x28).
struct UnwindMachine {
  unsigned stack, frame, returns;
  std::array<unsigned, 10> kept;
};
inline constexpr UnwindMachine kX86Machine{7, 6, 16, {3, 12, 13, 14, 15}};
inline constexpr UnwindMachine kArmMachine{31, 29, 30, {19, 20, 21, 22, 23, 24, 25, 26, 27, 28}};
#if defined(__aarch64__)
inline constexpr UnwindMachine kUnwindMachine = kArmMachine;
inline constexpr size_t kKeptRegisters = 10;
#else
inline constexpr UnwindMachine kUnwindMachine = kX86Machine;
inline constexpr size_t kKeptRegisters = 5;
#endif

// What holds from one instruction on. CFA is the stack pointer in the caller, right before the call.
struct FrameRow {
  enum class Cfa : uint8_t {
    kUnknown,  // in a register, or by a computation, that is not followed
    kStack,    // stack pointer + offset
    kFrame,    // frame pointer + offset
    kAtFrame,  // what lies at frame pointer + offset
    kLinkage,  // of x86-64's procedure linkage tables: stack pointer + 8, + 8 more in the later half of an
               // entry
    kSignal,   // the kernel has saved everything
  };
  enum class Saved : uint8_t {
    kSame,     // still in its register
    kAtCfa,    // lies at CFA + offset
    kAtFrame,  // lies at frame pointer + offset
    kLost,
  };
  uint64_t begin = 0;
  Cfa cfa = Cfa::kUnknown;
  Saved frame = Saved::kSame, returns = Saved::kSame;
  bool outermost = false;  // nobody called it
  int32_t cfa_offset = 0, frame_offset = 0, returns_offset = 0;
  // Of this machine's: lie at CFA + offset. No function saves anything in its caller's part.
  static constexpr int32_t kStays = 0, kGone = INT32_MAX;
  std::array<int32_t, kKeptRegisters> kept = {};
};

struct CallFrames {
  uint64_t begin = 0, end = 0;  // of the function; addresses as in the file
  std::vector<FrameRow> rows;   // by begin; the first one begins with the function
  const FrameRow* Find(uint64_t address) const;
};

// What stands in front of an entry: bytes behind the length, and where the CIE is that an FDE belongs to
// (0 for a CIE). `at`: where `bytes` would lie.
struct EntryHead {
  uint64_t bytes = 0;  // with the head
  uint64_t cie = 0;
};
inline constexpr size_t kEntryHeadBytes = 8;
std::optional<EntryHead> ReadEntryHead(std::span<const std::byte> bytes, uint64_t at);

// `cie`, `fde`: whole entries, `fde_at`: where the latter lies.
std::optional<CallFrames> ReadCallFrames(std::span<const std::byte> cie, std::span<const std::byte> fde,
                                         uint64_t fde_at, const UnwindMachine& machine = kUnwindMachine);

}  // namespace profd::host
