// Records of several perf rings, brought into the order of their times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "daemon/host/events/perf_ring.h"

namespace profd::host {

// Zeros where the record ends before it.
template <typename T>
T LoadAt(PerfRecord record, size_t at) {
  T value{};
  if (at + sizeof value <= record.size()) std::memcpy(&value, record.data() + at, sizeof value);
  return value;
}

// **Thread:** one.
class PerfRecords {
 public:
  void Add(PerfRecord record, uint64_t time_ns) {
    waiting_.push_back({time_ns, bytes_.size(), record.size()});
    bytes_.insert(bytes_.end(), record.begin(), record.end());
  }
  size_t bytes() const { return bytes_.size(); }
  size_t size() const { return waiting_.size(); }
  // Those up to `until_ns`, when the rings had been read by then: later ones may have an earlier one to come.
  template <typename Take>
  void TakeUntil(uint64_t until_ns, Take take) {
    std::ranges::stable_sort(waiting_, {}, &Waiting::time_ns);
    const auto end = std::ranges::upper_bound(waiting_, until_ns, {}, &Waiting::time_ns);
    for (auto at = waiting_.begin(); at != end; ++at) take(PerfRecord(bytes_).subspan(at->begin, at->size));
    waiting_.erase(waiting_.begin(), end);
    std::vector<std::byte> rest;
    for (Waiting& waiting : waiting_) {
      const auto from = bytes_.begin() + static_cast<ptrdiff_t>(waiting.begin);
      waiting.begin = rest.size();
      rest.insert(rest.end(), from, from + static_cast<ptrdiff_t>(waiting.size));
    }
    bytes_ = std::move(rest);
  }

 private:
  struct Waiting {
    uint64_t time_ns;
    size_t begin, size;
  };
  std::vector<std::byte> bytes_;
  std::vector<Waiting> waiting_;
};

}  // namespace profd::host
