#include "daemon/host/stacks/unwinder.h"

#include <asm/perf_regs.h>

#include <algorithm>
#include <cstring>

namespace profd::host {

namespace {

using Cfa = FrameRow::Cfa;
using Saved = FrameRow::Saved;

// Of the ucontext that the kernel leaves on the stack for a signal handler: from the stack pointer of the
// function that the handler returns to.
#if defined(__x86_64__)
constexpr uint64_t kSavedFrame = 120, kSavedStack = 160, kSavedInstruction = 168, kSavedReturns = 0;
#elif defined(__aarch64__)
constexpr uint64_t kSavedX0 = 312;  // behind a siginfo
constexpr uint64_t kSavedFrame = kSavedX0 + 29 * 8, kSavedReturns = kSavedX0 + 30 * 8,
                   kSavedStack = kSavedX0 + 31 * 8, kSavedInstruction = kSavedX0 + 32 * 8;
#endif

// An address without the signature that a processor may keep in its upper bits.
uint64_t Plain(uint64_t address) {
#if defined(__aarch64__)
  return address & ((uint64_t{1} << 48) - 1);
#else
  return address;
#endif
}

class Walk {
 public:
  Walk(const UserRegisters& registers, const StackCopy& stack) : now_(registers), stack_(stack) {}

  UserRegisters& now() { return now_; }
  bool after_signal() const { return after_signal_; }

  // To the caller; false where the way ends. `cfa`: of the function that is left.
  bool ByRow(const FrameRow& row, uint64_t in_file, bool innermost, uint64_t& cfa) {
    if (row.cfa == Cfa::kSignal) return FromSignal();
    const auto found = CfaOf(row, in_file);
    if (!found) return false;
    cfa = *found;
    if (row.outermost) return false;
    uint64_t frame = now_.frame;
    switch (row.frame) {
      case Saved::kSame:
        break;
      case Saved::kAtCfa:
      case Saved::kAtFrame: {
        const uint64_t from = row.frame == Saved::kAtCfa ? cfa : now_.frame;
        const auto word = stack_.Word(from + Wide(row.frame_offset));
        if (!word) return Ended(from + Wide(row.frame_offset));
        frame = *word;
        break;
      }
      case Saved::kLost:
        frame = 0;
        break;
    }
    uint64_t returns = 0;
    if (row.returns == Saved::kAtCfa) {
      const auto word = stack_.Word(cfa + Wide(row.returns_offset));
      if (!word) return Ended(cfa + Wide(row.returns_offset));
      returns = *word;
    } else if (row.returns == Saved::kSame && innermost && now_.returns != 0) {
      returns = now_.returns;
    } else {
      return false;
    }
    for (size_t i = 0; i < kKeptRegisters; ++i) {
      if (row.kept[i] == FrameRow::kStays) continue;
      now_.kept[i] = row.kept[i] == FrameRow::kGone ? 0 : stack_.Word(cfa + Wide(row.kept[i])).value_or(0);
    }
    return To(returns, cfa, frame);
  }

  bool ByFramePointer(uint64_t& cfa) {
    if (now_.frame < now_.stack || now_.frame % 8 != 0) return false;
    const auto frame = stack_.Word(now_.frame);
    const auto returns = stack_.Word(now_.frame + 8);
    if (!frame || !returns) return Ended(now_.frame);
    cfa = now_.frame + 16;
    now_.kept = {};
    return To(*returns, cfa, *frame);
  }

  bool ran_out() const { return ran_out_; }

 private:
  static uint64_t Wide(int32_t offset) { return static_cast<uint64_t>(int64_t{offset}); }

  std::optional<uint64_t> CfaOf(const FrameRow& row, uint64_t in_file) {
    switch (row.cfa) {
      case Cfa::kStack:
        return now_.stack + Wide(row.cfa_offset);
      case Cfa::kFrame:
        return now_.frame + Wide(row.cfa_offset);
      case Cfa::kAtFrame:
        return stack_.Word(now_.frame + Wide(row.cfa_offset));
      case Cfa::kLinkage:
        return now_.stack + 8 + ((in_file & 15) >= static_cast<uint64_t>(row.cfa_offset) ? 8 : 0);
      case Cfa::kUnknown:
      case Cfa::kSignal:
        break;
    }
    return std::nullopt;
  }

  bool FromSignal() {
    const auto frame = stack_.Word(now_.stack + kSavedFrame), stack = stack_.Word(now_.stack + kSavedStack),
               instruction = stack_.Word(now_.stack + kSavedInstruction);
    if (!frame || !stack || !instruction || *stack <= now_.stack) return false;
    now_.returns = kSavedReturns == 0 ? 0 : stack_.Word(now_.stack + kSavedReturns).value_or(0);
    now_.frame = *frame;
    now_.stack = *stack;
    now_.instruction = *instruction;
    now_.kept = {};
    after_signal_ = true;
    return now_.instruction != 0;
  }

  bool To(uint64_t returns, uint64_t cfa, uint64_t frame) {
    // Callers lie above; what a leaf of aarch64 needs no stack for is the only exception.
    if (cfa < now_.stack || (cfa == now_.stack && now_.returns == 0)) return false;
    now_ = {.frame = frame, .stack = cfa, .instruction = Plain(returns), .returns = 0, .kept = now_.kept};
    after_signal_ = false;
    return now_.instruction != 0;
  }
  bool Ended(uint64_t at) {
    ran_out_ = at >= stack_.begin + stack_.bytes.size();
    return false;
  }

  UserRegisters now_;
  const StackCopy& stack_;
  bool after_signal_ = false, ran_out_ = false;
};

}  // namespace

#if defined(__x86_64__)
uint64_t UserRegisters::Mask() {
  uint64_t mask = 0;
  for (const int reg : {PERF_REG_X86_BX, PERF_REG_X86_BP, PERF_REG_X86_SP, PERF_REG_X86_IP, PERF_REG_X86_R12,
                        PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15})
    mask |= uint64_t{1} << reg;
  return mask;
}
size_t UserRegisters::Count() { return 8; }
UserRegisters UserRegisters::From(std::span<const uint64_t> values) {
  return {.frame = values[1],
          .stack = values[2],
          .instruction = values[3],
          .returns = 0,
          .kept = {values[0], values[4], values[5], values[6], values[7]}};
}
std::vector<uint64_t> UserRegisters::Waiting(uint64_t stack, uint64_t instruction) {
  return {0, 0, stack, instruction, 0, 0, 0, 0};
}
#elif defined(__aarch64__)
uint64_t UserRegisters::Mask() {
  uint64_t mask = 0;  // x19 to x28, the frame pointer, the link register
  for (int reg = PERF_REG_ARM64_X19; reg <= PERF_REG_ARM64_PC; ++reg) mask |= uint64_t{1} << reg;
  return mask;
}
size_t UserRegisters::Count() { return kKeptRegisters + 4; }
UserRegisters UserRegisters::From(std::span<const uint64_t> values) {
  UserRegisters registers{
      .frame = values[10], .stack = values[12], .instruction = values[13], .returns = values[11], .kept = {}};
  std::copy_n(values.begin(), kKeptRegisters, registers.kept.begin());
  return registers;
}
std::vector<uint64_t> UserRegisters::Waiting(uint64_t stack, uint64_t instruction) {
  std::vector<uint64_t> values(Count());
  values[12] = stack;
  values[13] = instruction;
  return values;
}
#endif

std::optional<uint64_t> StackCopy::Word(uint64_t at) const {
  const uint64_t offset = at - begin;
  if (at < begin || offset > bytes.size() || bytes.size() - offset < sizeof(uint64_t)) return std::nullopt;
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

void Unwind(const UserRegisters& registers, const StackCopy& stack,
            const std::function<CodeAt(uint64_t)>& code_at, NativeStack& result) {
  result.frames.clear();
  result.complete = false;
  result.next = 0;
  Walk walk(registers, stack);
  while (result.frames.size() < kMaxNativeFrames) {
    const bool innermost = result.frames.empty();
    const bool exact = innermost || walk.after_signal();
    // All but these are where a call returns to: the call is in front of that.
    const uint64_t address = walk.now().instruction - (exact ? 0 : 1);
    const CodeAt code = code_at(address);
    if (!code.is_code && !innermost) return;  // no caller is outside of all code
    result.frames.push_back({.address = address, .stack = walk.now().stack, .cfa = 0, .registers = {}});
    std::ranges::copy(walk.now().kept, result.frames.back().registers.begin());
    result.frames.back().registers.back() = walk.now().frame;
    uint64_t& cfa = result.frames.back().cfa;
    const bool went = code.row != nullptr ? walk.ByRow(*code.row, address - code.bias, exact, cfa)
                                          : walk.ByFramePointer(cfa);
    if (went) continue;
    result.complete = code.row != nullptr && code.row->outermost;
    if (walk.ran_out()) result.next = walk.now().instruction;
    return;
  }
}

}  // namespace profd::host
