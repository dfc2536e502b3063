// From the registers and the copy of the stack that the kernel took with a sample to the calls that led
// there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "daemon/host/stacks/call_frames.h"

namespace profd::host {

// The registers of the program that a sample has, in the kernel's order.
struct UserRegisters {
  uint64_t frame = 0, stack = 0, instruction = 0, returns = 0;  // the last on aarch64 only
  std::array<uint64_t, kKeptRegisters> kept = {};               // 0: not known

  static uint64_t Mask();  // for perf_event_attr
  static size_t Count();
  static UserRegisters From(std::span<const uint64_t> values);  // Count() of them
  // Of a thread of which no more is known: Count() of them, the others 0.
  static std::vector<uint64_t> Waiting(uint64_t stack, uint64_t instruction);
};

// A part of a stack as it was.
struct StackCopy {
  uint64_t begin = 0;
  std::span<const std::byte> bytes;

  std::optional<uint64_t> Word(uint64_t at) const;
};

struct NativeFrame {
  uint64_t address = 0;  // the instruction, or one byte in front of where the call returns to
  uint64_t stack = 0;    // the stack pointer in it, innermost …
  uint64_t cfa = 0;      // … and where its part of the stack ends; 0: not known
  // While it waits for what it has called: its registers; 0: not known. The last is the frame pointer.
  std::array<uint64_t, kKeptRegisters + 1> registers = {};
};

inline constexpr size_t kMaxNativeFrames = 127;

// What is known of an address. `row` nullptr: code without call frames, where the frame pointer has to do.
struct CodeAt {
  bool is_code = false;
  uint64_t bias = 0;  // of the addresses in `row`
  const FrameRow* row = nullptr;
};

// Innermost first. By call frames where there are some, by frame pointers where not. `complete`: down to
// where the thread began.
struct NativeStack {
  std::vector<NativeFrame> frames;
  bool complete = false;
  uint64_t next = 0;  // the instruction of the last frame as the stack has it, when the copy ended there
};
void Unwind(const UserRegisters& registers, const StackCopy& stack,
            const std::function<CodeAt(uint64_t)>& code_at, NativeStack& result);

}  // namespace profd::host
