// Why a host launches nothing for a while: what was recorded of that time, the most direct first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/analyze/rules/context.h"
#include "client/analyze/rules/host/lock_holder.h"

namespace profd::analyze {

// A part of the time of a program, or of a device that nobody is known to have launched on, that may be a
// stall.
struct Piece {
  uint32_t rank = 0, index = 0;          // of the call in front of which or in which it is; of the task
  uint32_t step = 0;                     // that most of it lies in
  uint32_t place_step = 0, ordinal = 0;  // the step that the call or the task is of, and its place there
  bool in_call = false, of_task = false;
  bool is_tail = false;  // of a call that waits for the device: what it takes when the device is done
  Ns from = 0, to = 0;
  Ns typical = 0;  // of the same place in other steps and on other ranks
  Ns length() const { return to - from; }
  Ns excess() const { return length() - typical; }
};

struct Reason {
  std::string id;    // "host.gc", "" = nobody knows
  std::string text;  // for the title
  double share = 0;
  Ns covered = 0;             // of the piece
  Factor how;                 // it is known
  uint32_t stack = kNone;     // that it was found by: index in Job::stacks
  TextId cgroup = 0;          // that may use no more CPU
  double throttled = 0;       // the part that this is of another reason
  std::string function = {};  // of the program, where it waits or computes; "" = not known
  std::string within = {};    // of a package: what that function has called, and is in; "" = nothing
  std::string detail = {};    // of this reason alone: behind the function
  bool is_likely = false;     // it follows from other records, and is in none itself

  std::string Sentence() const {
    return text + (function.empty() ? "" : " in " + function) +
           (function.empty() || within.empty() ? "" : ", there in " + within) + detail;
  }
  // As the reason of several pieces: one with a function of Python's, which are not read of each wait; then
  // the one that covers most.
  bool TellsMoreThan(const Reason& other) const {
    return IsOfPython() != other.IsOfPython() ? IsOfPython() : covered > other.covered;
  }
  bool IsOfPython() const { return function.ends_with(')'); }
};

inline constexpr const char* kRunQueue = "host.runqueue";

Reason ReasonOf(const Context& context, const Piece& piece);
// Of stalls of one rank at one place, together: samples of many short ones, and what is partly computing and
// partly a wait. `covered` is that of all of them.
Reason PooledReason(const Context& context, std::span<const Piece> pieces);
// The thread of a stall is known to have waited for a CPU now and then, wherever it was.
bool IsOftenQueued(const Context& context, const Piece& piece);
// Kinds of data that may tell why a host stops or is slow, and were not recorded; "" = all were.
std::string MissingKinds(const Rank& rank);
std::string AdviceOf(const Reason& reason, const Rank& rank);
// Of stalls that wait for a lock, all of one rank's that come first: who had it.
std::optional<LockHolder> LockHolderOf(const Context& context, std::span<const Piece> pieces,
                                       const Reason& reason);
// "thread 4711"; "thread 4711 has it and sleeps in checkpoint (train.py:6)".
std::string NameOf(const LockHolder& holder);
std::string SentenceOf(const LockHolder& holder);
Table HolderTable(const Job& job, const LockHolder& holder);
// What is behind it: the stack, the cgroup.
void AddEvidence(const Context& context, const Reason& reason, const Rank& rank, Finding& finding);

}  // namespace profd::analyze
