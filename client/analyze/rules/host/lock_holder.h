// Who had a lock that a thread waited for. The kernel does not say; but who gives a lock back runs when the
// wait ends, each time, and what other threads do then is chance.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "client/analyze/rules/context.h"

namespace profd::analyze {

struct LockHolder {
  uint64_t thread = 0;   // pid << 32 | tid
  std::string function;  // where it was meanwhile, of the program; "" = not known
  std::string does;      // "sleeps", "waits for a disk", "" = runs, or nobody knows
  uint32_t stack = kNone;
  size_t waits = 0, of = 0;  // in so many it was the one that ran at the end
};

// Of the waits for locks of `thread` in `spans`; nullopt: there are too few, or more than one may have been
// it.
std::optional<LockHolder> HolderOf(const Job& job, const Rank& rank, uint64_t thread,
                                   std::span<const HostSpan> spans);

}  // namespace profd::analyze
