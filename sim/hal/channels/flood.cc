#include "sim/hal/channels/flood.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace profd::sim {
namespace {

constexpr size_t kBlockBytes = 16 * 1024;
constexpr uint64_t kTickNs = 5'000'000;  // a limited rate delivers in portions, so that a reader finds an end
constexpr int kMostSamples = 10'000;     // a channel that says nothing in so many has nothing to flood with

}  // namespace

Flood::Flood(Ring& ring, Producer& producer) : ring_(ring) {
  std::string block;
  Sample sample(/*wants_values=*/false);
  for (int i = 0; i < kMostSamples && block.size() < kBlockBytes && producer.due_ns() != Producer::kNever;
       ++i) {
    sample.Clear();
    producer.Emit(sample);
    if (first_.empty()) {
      first_ = sample.bytes();
      first_records_ = sample.records();
    } else {
      block += sample.bytes();
      block_records_ += sample.records();
    }
  }
  block_bytes_ = block.size();
  if (block_bytes_ == 0) return;
  for (; pattern_bytes_ + block_bytes_ < ring.capacity(); pattern_bytes_ += block_bytes_) {
    std::memcpy(ring.data() + pattern_bytes_, block.data(), block_bytes_);
  }
}

void Flood::Settle(uint64_t now_ns) {
  now_ns -= now_ns % kTickNs;
  if (settled_ns_ == 0) settled_ns_ = now_ns;
  produced_ += bytes_s_ * static_cast<double>(now_ns - settled_ns_) / 1e9;
  settled_ns_ = now_ns;
  const double waiting = produced_ - static_cast<double>(consumed_ + dropped_blocks_ * block_bytes_);
  const double excess = waiting - static_cast<double>(pattern_bytes_);
  if (excess > 0)
    dropped_blocks_ += static_cast<uint64_t>(std::ceil(excess / static_cast<double>(block_bytes_)));
}

void Flood::SetRate(double bytes_s, uint64_t now_ns) {
  if (ended_ || block_bytes_ == 0) return;
  Settle(now_ns);
  bytes_s_ = bytes_s;
}

size_t Flood::Available(uint64_t now_ns) {
  if (block_bytes_ == 0) return 0;
  if (ended_) return end_ - consumed_;
  if (!limited()) return pattern_bytes_;
  Settle(now_ns);
  const double waiting = produced_ - static_cast<double>(consumed_ + dropped_blocks_ * block_bytes_);
  return waiting > 0 ? static_cast<size_t>(waiting) : 0;
}

size_t Flood::Read(char* out, size_t size, uint64_t now_ns) {
  size = std::min(size, Available(now_ns));
  if (size == 0) return 0;
  if (consumed_ < first_.size()) {
    size = std::min(size, first_.size() - consumed_);
    std::memcpy(out, first_.data() + consumed_, size);
  } else {
    const size_t at = (consumed_ - first_.size()) % pattern_bytes_;
    size = std::min(size, pattern_bytes_ - at);
    std::memcpy(out, ring_.data() + at, size);
  }
  consumed_ += size;
  return size;
}

void Flood::End(uint64_t now_ns) {
  if (block_bytes_ == 0 || ended_) return;
  const uint64_t least = std::max<uint64_t>(consumed_ + Available(now_ns), first_.size());
  const uint64_t in_blocks = least - first_.size();
  const uint64_t blocks =
      limited() ? (in_blocks + block_bytes_ - 1) / block_bytes_ : in_blocks / block_bytes_;
  end_ = first_.size() + blocks * block_bytes_;
  ended_ = true;
}

Counters Flood::Count() const {
  Counters counters;
  if (block_bytes_ == 0) return counters;
  const uint64_t blocks = (end_ - first_.size()) / block_bytes_;
  counters.delivered_bytes = consumed_;
  counters.discarded_bytes = end_ - consumed_;
  counters.dropped_bytes = dropped_blocks_ * block_bytes_;
  counters.dropped_records = dropped_blocks_ * block_records_;
  counters.generated_bytes = end_ + counters.dropped_bytes;
  counters.generated_records = first_records_ + (blocks + dropped_blocks_) * block_records_;
  return counters;
}

}  // namespace profd::sim
