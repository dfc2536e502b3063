#include "daemon/driver/tape.h"

#include <algorithm>

namespace profd::driver {

namespace {
constexpr uint64_t kChannelShare = 8;
// Of the room, for what has no bytes: without starts and stops the rest says little.
constexpr uint64_t kQuietShare = 16;
}  // namespace

Tape::Tape(std::vector<uint32_t> devices, uint64_t most_bytes)
    : devices_(std::move(devices)), most_bytes_(most_bytes) {}

bool Tape::Wants(uint32_t device) const {
  return device == kOfNoDevice || std::ranges::find(devices_, device) != devices_.end();
}

uint64_t Tape::SizeOf(const TapedCall& call) {
  return sizeof call + call.given.size() + call.answered.size();
}

void Tape::Add(TapedCall call) {
  const uint64_t bytes = SizeOf(call);
  const std::lock_guard lock(mutex_);
  Heard& of_channel = channels_[{call.device, call.channel}];
  const bool brings = call.channel != 0 && !call.answered.empty();
  bool fits = bytes_ + bytes <= most_bytes_;
  if (brings) {
    fits = !of_channel.is_full && bytes_ + bytes <= most_bytes_ - most_bytes_ / kQuietShare &&
           of_channel.bytes + bytes <= most_bytes_ / kChannelShare;
    of_channel.is_full = !fits;
  }
  if (!fits) {
    ++left_out_.calls;
    left_out_.bytes += call.answered.size();
    return;
  }
  bytes_ += bytes;
  of_channel.bytes += bytes;
  calls_.push_back(std::move(call));
}

std::vector<TapedCall> Tape::Take(uint64_t most_bytes) {
  std::vector<TapedCall> taken;
  const std::lock_guard lock(mutex_);
  for (uint64_t bytes = 0; !calls_.empty(); calls_.pop_front()) {
    bytes += SizeOf(calls_.front());
    if (!taken.empty() && bytes > most_bytes) break;
    taken.push_back(std::move(calls_.front()));
  }
  return taken;
}

LeftOut Tape::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace profd::driver
