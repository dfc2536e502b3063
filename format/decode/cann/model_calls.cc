#include "format/decode/cann/model_calls.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "format/events/spans.h"

namespace profd::format {

namespace {

uint64_t EventKey(const CannApiRecord& event) {
  uint64_t key =
      static_cast<uint64_t>(event.level) << 48 ^ static_cast<uint64_t>(event.type) << 32 ^ event.thread;
  key = (key ^ event.item * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  return key ^ key >> 31 ^ event.request;
}

}  // namespace

bool CallTimes::Of(const CannApiRecord& record, uint64_t& begin, uint64_t& end) {
  begin = record.begin;
  end = std::max(record.begin, record.end);
  if (record.end != kCannEvent) return true;
  const uint64_t key = EventKey(record);
  if (const uint64_t* other = begins_.Find(key)) {
    begin = std::min(*other, record.begin);
    end = std::max(*other, record.begin);
    begins_.Erase(key);
    return true;
  }
  if (uint64_t* place = begins_.FindOrAdd(key)) {
    *place = record.begin;
  } else {
    ++unpaired_;
  }
  return false;
}

void ModelCalls::Add(const CannApiRecord& record) {
  if (record.magic != kCannMagic || record.level != static_cast<uint16_t>(CannLevel::kModel)) return;
  uint64_t begin, end;
  if (!times_.Of(record, begin, end)) return;
  if (calls_.size() == kMostCalls) {
    ++left_out_;
    return;
  }
  calls_.push_back({begin, end, record.thread, static_cast<uint32_t>(record.item)});
}

void ModelCalls::Finish() {
  std::ranges::sort(calls_, [](const Call& a, const Call& b) {
    return std::tie(a.thread, a.begin, b.end) < std::tie(b.thread, b.begin, a.end);
  });
  size_t kept = 0;
  for (const Call& call : calls_) {
    const bool overlaps =
        kept > 0 && calls_[kept - 1].thread == call.thread && call.begin <= calls_[kept - 1].end;
    if (!overlaps) calls_[kept++] = call;
  }
  calls_.resize(kept);
}

uint32_t ModelCalls::Find(uint32_t thread, uint64_t stamp) const {
  const auto behind = std::ranges::upper_bound(calls_, std::pair(thread, stamp), {}, [](const Call& call) {
    return std::pair(call.thread, call.begin);
  });
  if (behind == calls_.begin()) return kNoId;
  const Call& call = *std::prev(behind);
  return call.thread == thread && stamp <= call.end ? call.model : kNoId;
}

}  // namespace profd::format
