#include "format/decode/agents/operator_tensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

namespace profd::format {

void OperatorTensors::Add(const Operator& of, const Said& said, std::span<const std::byte> tensors) {
  std::array<CannTensor, std::size(CannTensorInfo{}.tensor)> copied{};
  const size_t count = std::min({size_t{said.count}, copied.size(), tensors.size() / sizeof(CannTensor)});
  std::memcpy(copied.data(), tensors.data(), count * sizeof(CannTensor));
  if (count == 0 || texts_.size() >= kMostTexts ||
      (operators_.size() >= kMostOperators && !operators_.contains(of)))
    return;

  Entries& entries = operators_[of];
  const bool goes_on = !entries.by_time.empty() && entries.latest_stamp == said.stamp;
  if (!goes_on) {
    entries.latest = TensorList();
    entries.latest_stamp = said.stamp;
    entries.by_time.push_back({said.ns});
    if (entries.by_time.size() > kMostOfOne) entries.by_time.pop_front();
  }
  entries.latest.Add(of.second, std::span(copied).first(count));
  entries.by_time.back().texts = entries.latest.Intern(texts_);
}

void OperatorTensors::Call(uint64_t correlation, const Operator& of, uint64_t begin_ns) {
  if (calls_.full()) calls_.Clear();  // calls without a kernel
  Launching* call = calls_.FindOrAdd(correlation);
  // The first one: what a thread calls before its next launch still has the number of the one before.
  if (call->begin_ns == 0) *call = {of.first, of.second, begin_ns};
}

// What was said when the call began. Call and operator have two maps of one counter to the wall clock; how
// far these are apart is learnt from all calls. Nothing is better than what was said of the call before.
TensorTexts OperatorTensors::Of(uint64_t correlation) {
  const Launching* found = calls_.Find(correlation);
  if (found == nullptr) return {};
  const Launching call = *found;
  calls_.Erase(correlation);
  const auto of = operators_.find({call.thread, call.name});
  if (of == operators_.end()) return {};
  const std::deque<Entry>& entries = of->second.by_time;
  const uint64_t from_ns = call.begin_ns - std::min(call.begin_ns, kMostApartNs);
  const auto begin = std::ranges::lower_bound(entries, from_ns, {}, &Entry::ns);
  const auto end = std::ranges::upper_bound(entries, call.begin_ns + kMostApartNs, {}, &Entry::ns);
  std::vector<int64_t> distances;
  distances.reserve(static_cast<size_t>(end - begin));
  for (auto at = begin; at != end; ++at) distances.push_back(static_cast<int64_t>(at->ns - call.begin_ns));
  apart_.Take(distances);
  const std::optional<int64_t> apart_ns = apart_.ns();
  if (!apart_ns) return {};

  const Entry* near = nullptr;
  bool unlike = false;
  for (size_t i = 0; i < distances.size(); ++i) {
    if (static_cast<uint64_t>(std::abs(distances[i] - *apart_ns)) > kNearNs) continue;
    const Entry& entry = begin[static_cast<ptrdiff_t>(i)];
    unlike = unlike || (near != nullptr && near->texts != entry.texts);
    near = &entry;
  }
  // One of the clocks has been set where many have none.
  near_ = static_cast<uint16_t>(near_ << 1 | (near != nullptr ? 1 : 0));
  return near != nullptr && !unlike && std::popcount(near_) >= kFewestNear ? near->texts : TensorTexts{};
}

}  // namespace profd::format
