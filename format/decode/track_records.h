// The records of the scheduler's firmware: of several sizes, one behind the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/decode/catalogue.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"

namespace profd::format {

// Whole records out of pieces that may end inside one. Where no record can begin a unit is passed over.
// **Thread:** one.
class TrackRecords {
 public:
  // Calls `give(record, head)` for each; returns how many units were none. Of `head` kinds with another
  // layout have no ticks.
  template <typename Give>
  uint64_t Take(std::span<const std::byte> whole, Give give) {
    pending_.insert(pending_.end(), whole.begin(), whole.end());
    uint64_t none = 0;
    size_t at = 0;
    while (pending_.size() - at >= sizeof(TsTrackHead)) {
      const auto head = Load<TsTrackHead>(pending_.data() + at);
      if (!IsHead(head)) {
        ++none;
        at += kUnitBytes;
        continue;
      }
      if (pending_.size() - at < head.size) break;
      give(pending_.data() + at, head);
      at += head.size;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(at));
    return none;
  }
  // Forgets the begin of a record whose rest does not come; true if there was one.
  bool Drop() {
    const bool any = !pending_.empty();
    pending_.clear();
    return any;
  }

 private:
  static constexpr size_t kMostBytes = 256;

  static constexpr bool IsHead(const TsTrackHead& head) {
    switch (static_cast<TsTrackKind>(head.kind)) {
      case TsTrackKind::kTimeLine:
        return head.size == sizeof(TsTimeLineRecord);
      case TsTrackKind::kEventCount:
        return head.size == sizeof(TsEventCountRecord);
      case TsTrackKind::kScheduler:
      case TsTrackKind::kSchedulerUse:
      case TsTrackKind::kAiCoreStatus:
      case TsTrackKind::kVectorCoreStatus:  // nobody has written down how long they are
        return head.size >= sizeof(TsTrackHead) && head.size <= kMostBytes && head.size % kUnitBytes == 0;
      default:
        return head.size == sizeof(TsTimeLineRecord) || head.size == sizeof(TsStepTraceRecord);
    }
  }

  std::vector<std::byte> pending_;
};

}  // namespace profd::format
