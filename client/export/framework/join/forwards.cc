#include "client/export/framework/join/forwards.h"

#include <algorithm>

namespace profd::client::framework {
namespace {

// Of one sequence number.
struct Found {
  int64_t sequence = 0;
  Ref first = 0;  // the earliest in the file
  ForwardPair pair;
};

}  // namespace

std::vector<ForwardPair> PairForwards(const Calls& calls, Latest latest) {
  const auto is_later = [&](Ref end, Ref op) {
    return end == kNoRef || latest == Latest::kInFile || calls.ops[end].begin < calls.ops[op].begin;
  };
  // Backward ones are few; they say which of the others are worth a look.
  std::vector<Found> found;
  for (Ref i = 0; i < calls.ops.size(); ++i) {
    const Op& op = calls.ops[i];
    const int64_t sequence = calls.SequenceOf(op);
    if (sequence >= 0 && calls.RestOf(op).forward_tid != 0)
      found.push_back({sequence, i, {sequence, kNoRef, i}});
  }
  if (found.empty()) return {};
  std::ranges::stable_sort(found, {}, &Found::sequence);
  size_t last = 0;
  for (size_t i = 1; i < found.size(); ++i) {
    if (found[i].sequence != found[last].sequence) {
      found[++last] = found[i];
    } else if (is_later(found[last].pair.backward, found[i].pair.backward)) {
      found[last].pair.backward = found[i].pair.backward;
    }
  }
  found.resize(last + 1);
  for (Ref i = 0; i < calls.ops.size(); ++i) {
    const Op& op = calls.ops[i];
    const int64_t sequence = calls.SequenceOf(op);
    if (sequence < 0 || calls.RestOf(op).forward_tid != 0) continue;
    const auto at = std::ranges::lower_bound(found, sequence, {}, &Found::sequence);
    if (at == found.end() || at->sequence != sequence) continue;
    at->first = std::min(at->first, i);
    if (is_later(at->pair.forward, i)) at->pair.forward = i;
  }
  std::erase_if(found, [](const Found& one) { return one.pair.forward == kNoRef; });
  std::ranges::stable_sort(found, {}, &Found::first);
  std::vector<ForwardPair> pairs;
  pairs.reserve(found.size());
  for (const Found& one : found) pairs.push_back(one.pair);
  return pairs;
}

}  // namespace profd::client::framework
