#include "client/show/screen/live_set.h"

#include <algorithm>
#include <utility>

namespace profd::client {

void LiveSet::Take(const v1::LiveValues& values) {
  before_ = std::exchange(now_, {});
  before_wall_ns_ = std::exchange(wall_ns_, values.wall_ns());
  for (const v1::LiveMetric& metric : values.metrics()) {
    std::vector<Value>& set = now_[metric.name()];
    for (const v1::LiveValue& value : metric.values()) {
      Value& kept = set.emplace_back();
      for (const v1::LiveLabel& label : value.labels()) kept.labels[label.name()] = label.value();
      kept.value = value.value();
    }
  }
}

std::optional<double> LiveSet::Sum(const Set& set, const std::string& metric, const Labels& labels) {
  const auto found = set.find(metric);
  if (found == set.end()) return {};
  std::optional<double> sum;
  for (const Value& value : found->second) {
    const bool matches = std::ranges::all_of(labels, [&](const auto& label) {
      const auto has = value.labels.find(label.first);
      return has != value.labels.end() && has->second == label.second;
    });
    if (matches) sum = sum.value_or(0) + value.value;
  }
  return sum;
}

std::optional<double> LiveSet::Rate(const std::string& metric, const Labels& labels) const {
  const auto now = Now(metric, labels), before = Sum(before_, metric, labels);
  if (!now || !before || wall_ns_ <= before_wall_ns_ || *now < *before) return {};
  return (*now - *before) * 1e9 / static_cast<double>(wall_ns_ - before_wall_ns_);
}

std::vector<LiveSet::Labels> LiveSet::Of(const std::string& metric,
                                         const std::vector<std::string>& keys) const {
  std::vector<Labels> all;
  const auto found = now_.find(metric);
  if (found == now_.end()) return all;
  for (const Value& value : found->second) {
    Labels labels;
    for (const std::string& key : keys) {
      const auto has = value.labels.find(key);
      labels[key] = has == value.labels.end() ? "" : has->second;
    }
    all.push_back(std::move(labels));
  }
  return all;
}

DevicesSum SumOfDevices(const LiveSet& live) {
  DevicesSum all;
  double sum = 0;
  size_t busy_ones = 0;
  for (const LiveSet::Labels& device : live.Of("profd_device_status", {"device"})) {
    ++all.devices;
    all.working += live.Now("profd_device_status", device).value_or(-1) == 1 ? 1 : 0;
    const auto busy = live.Now("profd_device_aicore_utilization_ratio", device);
    if (!busy) continue;
    ++busy_ones;
    sum += *busy;
    all.least = std::min(all.least.value_or(*busy), *busy);
    all.most = std::max(all.most.value_or(*busy), *busy);
  }
  if (busy_ones > 0) all.mean = sum / static_cast<double>(busy_ones);
  return all;
}

}  // namespace profd::client
