#include "sim/hal/device_process.h"

namespace profd::sim {

void DeviceProcess::Start(int number, uint64_t now_ns, bool has_group) {
  number_ = number;
  started_ns_ = now_ns;
  seen_ns_ = has_group ? now_ns : kNever;
}

void DeviceProcess::NoteGroup(uint64_t now_ns) {
  if (number_ == 0 || seen_ns_ != kNever) return;
  const uint64_t look = (now_ns - started_ns_ + kLookEveryNs - 1) / kLookEveryNs;
  if (look < kLooks) seen_ns_ = started_ns_ + look * kLookEveryNs;
}

bool DeviceProcess::Runs(uint64_t now_ns) const {
  return number_ != 0 && (seen_ns_ != kNever || now_ns - started_ns_ < kLooks * kLookEveryNs);
}

bool DeviceProcess::OffersChannel(uint64_t now_ns) const { return number_ != 0 && now_ns >= seen_ns_; }

}  // namespace profd::sim
