#include "format/decode/agents/operator_tensors.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

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

// What was said when the call began. Call and operator have two maps of one counter to the wall clock. How
// far these are apart is learnt where nothing else was said of the operator for much longer.
TensorTexts OperatorTensors::Of(uint64_t correlation) {
  const Launching* found = calls_.Find(correlation);
  if (found == nullptr) return {};
  const Launching call = *found;
  calls_.Erase(correlation);
  const auto of = operators_.find({call.thread, call.name});
  if (of == operators_.end()) return {};
  const std::deque<Entry>& entries = of->second.by_time;
  const auto [nearest, next] = NearestTwo(entries, call.begin_ns + static_cast<uint64_t>(apart_ns_));
  constexpr uint64_t kAloneNs = 50'000, kTimes = 4;
  const auto distance = [&](const Entry& entry) {
    return static_cast<int64_t>(entry.ns - call.begin_ns) - apart_ns_;
  };
  const int64_t apart = distance(*nearest);
  const auto away = static_cast<uint64_t>(std::abs(apart));
  const bool alone =
      next != nullptr &&
      away<kMostApartNs&& static_cast<uint64_t>(std::abs(distance(*next)))> kTimes * away + kAloneNs;
  if (alone) apart_ns_ += apart;
  // Calls at the begin and the end of a recording may be those of which nothing was said.
  return alone || away < kAloneNs ? nearest->texts : TensorTexts{};
}

std::pair<const OperatorTensors::Entry*, const OperatorTensors::Entry*> OperatorTensors::NearestTwo(
    const std::deque<Entry>& entries, uint64_t ns) {
  const auto at = std::ranges::lower_bound(entries, ns, {}, &Entry::ns);
  const Entry *nearest = nullptr, *next = nullptr;
  const auto away = [ns](const Entry& entry) { return std::max(entry.ns, ns) - std::min(entry.ns, ns); };
  for (int64_t i = -2; i < 2; ++i) {
    if (i < entries.begin() - at || i >= entries.end() - at) continue;
    const Entry& entry = at[i];
    if (nearest == nullptr || away(entry) < away(*nearest)) {
      next = std::exchange(nearest, &entry);
    } else if (next == nullptr || away(entry) < away(*next)) {
      next = &entry;
    }
  }
  return {nearest, next};
}

}  // namespace profd::format
