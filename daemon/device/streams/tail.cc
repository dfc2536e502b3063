#include "daemon/device/streams/tail.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace profd::device {

namespace {

constexpr uint64_t kEveryNs = 200'000'000;
constexpr size_t kMostBytes = 32u << 10;
constexpr size_t kRecords = 256;
constexpr size_t kLineBytes = 64;

size_t MostBytes(const format::StreamFormat& format) {
  if (format.framing == format::Framing::kOpaque) return 0;
  if (format.framing == format::Framing::kLines) return kRecords * kLineBytes;
  return std::min(kMostBytes, kRecords * format.record_bytes);
}

}  // namespace

Tail::Tail(const format::StreamFormat& format) : format_(&format), most_bytes_(MostBytes(format)) {}

void Tail::Take(const std::byte* data, uint32_t bytes, uint64_t now_ns) {
  if (bytes == 0 || most_bytes_ == 0) return;
  if (now_ns - taken_ns_ < kEveryNs) {
    gap_ = true;
    return;
  }
  taken_ns_ = now_ns;
  if (std::exchange(gap_, false) || bytes >= most_bytes_) bytes_.clear();
  const size_t from = bytes > most_bytes_ ? WholeFrom(data, bytes - most_bytes_, bytes) : 0;
  const size_t taken = bytes - from;
  if (bytes_.size() + taken > most_bytes_) {
    const size_t drop = WholeFrom(bytes_.data(), bytes_.size() + taken - most_bytes_, bytes_.size());
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(drop));
  }
  bytes_.insert(bytes_.end(), data + from, data + bytes);
}

// The first edge of a record at or behind `from`.
size_t Tail::WholeFrom(const std::byte* data, size_t from, size_t bytes) const {
  if (format_->framing == format::Framing::kFixed) {
    return std::min(bytes,
                    (from + format_->record_bytes - 1) / format_->record_bytes * format_->record_bytes);
  }
  if (from == 0 || from >= bytes) return std::min(from, bytes);
  const void* end = std::memchr(data + from - 1, '\n', bytes - from + 1);
  return end == nullptr ? bytes : static_cast<size_t>(static_cast<const std::byte*>(end) - data) + 1;
}

}  // namespace profd::device
