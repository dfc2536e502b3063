#include "client/export/framework/forwards.h"

#include <unordered_map>

namespace profd::client::framework {

std::vector<ForwardPair> PairForwards(const Calls& calls, Latest latest) {
  std::vector<ForwardPair> pairs;
  std::unordered_map<int64_t, size_t> of_sequence;
  for (Ref i = 0; i < calls.ops.size(); ++i) {
    const Op& op = calls.ops[i];
    if (op.sequence < 0) continue;
    const auto [at, is_new] = of_sequence.try_emplace(op.sequence, pairs.size());
    if (is_new) pairs.push_back({op.sequence, kNoRef, kNoRef});
    ForwardPair& pair = pairs[at->second];
    Ref& end = op.forward_tid == 0 ? pair.forward : pair.backward;
    if (end == kNoRef || latest == Latest::kInFile || calls.ops[end].begin < op.begin) end = i;
  }
  std::erase_if(pairs,
                [](const ForwardPair& pair) { return pair.forward == kNoRef || pair.backward == kNoRef; });
  return pairs;
}

}  // namespace profd::client::framework
