// Why a host launches nothing for a while: what was recorded of that time, the most direct first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "client/analyze/rules/context.h"

namespace profd::analyze {

// A part of the time of a program, or of a device that nobody is known to have launched on, that may be a
// stall.
struct Piece {
  uint32_t rank = 0, index = 0;  // of the call in front of which or in which it is; of the task
  uint32_t step = 0, ordinal = 0;
  bool in_call = false, of_task = false;
  Ns from = 0, to = 0;
  Ns typical = 0;  // of the same place in other steps and on other ranks
  Ns length() const { return to - from; }
  Ns excess() const { return length() - typical; }
};

struct Reason {
  std::string id;    // "host.gc", "" = nobody knows
  std::string text;  // for the title
  double share = 0;
  Ns covered = 0;          // of the piece
  Factor how;              // it is known
  uint32_t stack = kNone;  // that it was found by: index in Job::stacks
  TextId cgroup = 0;
  std::string function = {};  // of the program, where it waits or computes; "" = not known

  std::string Sentence() const { return function.empty() ? text : text + " in " + function; }
  // As the reason of several pieces: one with a function of Python's, which are not read of each wait; then
  // the one that covers most.
  bool TellsMoreThan(const Reason& other) const {
    const bool is_python = function.ends_with(')'), other_is = other.function.ends_with(')');
    return is_python != other_is ? is_python : covered > other.covered;
  }
};

inline constexpr const char* kRunQueue = "host.runqueue";

Reason ReasonOf(const Context& context, const Piece& piece);
// Of stalls of one rank that have no other reason: its cgroup may use no more CPU. `pieces` by time;
// `queued`: how much of them the thread is known to have waited for a CPU.
Reason ThrottlingOf(const Context& context, std::span<const Piece> pieces, Ns queued);
std::string AdviceOf(const Reason& reason, const Rank& rank);
// What is behind it: the stack, the cgroup.
void AddEvidence(const Context& context, const Reason& reason, const Rank& rank, Finding& finding);

}  // namespace profd::analyze
