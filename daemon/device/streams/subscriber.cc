#include "daemon/device/streams/subscriber.h"

#include <array>
#include <cstring>
#include <utility>

namespace profd::device {

using format::StampDomain;

namespace {

// What a device and its driver may hold back, by far.
constexpr uint64_t kMostFromBeforeNs = 2'000'000'000;

}  // namespace

Subscriber::Subscriber(const format::StreamFormat& format, format::StreamKey key, chunk::StreamStatsPtr stats,
                       chunk::Pipe& pipe, const Join* join, std::shared_ptr<const FileSinks> files)
    : format_(&format), stamp_(format, 0), outlet_(key, std::move(stats), pipe) {
  if (files != nullptr) {
    unpacker_ = std::make_unique<Unpacker>(std::move(files), key.trace, pipe, join != nullptr);
    return;
  }
  if (join == nullptr) return;
  if (join->periods > 1) combiner_ = MakeCombiner(format, join->periods);
  switch (format.stamp) {
    case StampDomain::kStartUs64:
    case StampDomain::kStartUs32:
      rebase_ = Rebase::kShift;
      origin_ = static_cast<uint64_t>(join->LessUs());
      break;
    case StampDomain::kDeviceNs:
    case StampDomain::kTextDeviceNs:
      rebase_ = Rebase::kDropOnly;
      origin_ = join->session_start_ns;
      break;
    case StampDomain::kNone:
    case StampDomain::kDeviceTicks:
    case StampDomain::kHostCounter:
      break;
  }
}

void Subscriber::NoteTime(uint64_t now_ns) {
  if (first_ns_ == 0) first_ns_ = now_ns;
  if (now_ns - first_ns_ >= kMostFromBeforeNs) begun_ = true;
}

bool Subscriber::Keep(std::byte* record, uint32_t bytes) {
  const uint64_t stamp = stamp_.Read(record, bytes);
  if (!begun_ && stamp_.Distance(origin_, stamp) < 0) return false;
  begun_ = true;
  if (rebase_ == Rebase::kShift) stamp_.Write(record, stamp - origin_);
  return true;
}

void Subscriber::Deliver(const std::byte* data, uint32_t bytes, uint32_t records, uint64_t now_ns) {
  NoteTime(now_ns);
  if (unpacker_ != nullptr) return unpacker_->Take(data, bytes, outlet_, now_ns);
  if (combiner_ == nullptr && !Touches() && bytes <= outlet_.pipe().chunk_bytes()) {
    if (bytes != 0) outlet_.Append(data, bytes, records, now_ns);
    return;
  }
  ForEachRecord(*format_, data, bytes, [&](const std::byte* record, uint32_t size) {
    std::array<std::byte, kMaxLine> copy;
    if (Touches()) {
      std::memcpy(copy.data(), record, size);
      if (!Keep(copy.data(), size)) return;
      record = copy.data();
    }
    if (combiner_ != nullptr) {
      combiner_->Add(record, size, outlet_, now_ns);
    } else {
      outlet_.Append(record, size, 1, now_ns);
    }
  });
}

void Subscriber::DeliverInPlace(uint32_t bytes, uint32_t records, uint64_t now_ns) {
  NoteTime(now_ns);
  if (Touches()) {
    std::byte* data = outlet_.chunk().data;
    uint32_t kept = 0;
    records = 0;
    ForEachRecord(*format_, data, bytes, [&](const std::byte* record, uint32_t size) {
      std::byte* to = data + kept;
      if (to != record) std::memmove(to, record, size);
      if (!Keep(to, size)) return;
      kept += size;
      ++records;
    });
    bytes = kept;
  }
  if (bytes != 0) outlet_.Commit(bytes, records, now_ns);
}

void Subscriber::Finish(uint64_t now_ns, bool ended) {
  if (combiner_ != nullptr) combiner_->Flush(outlet_, now_ns);
  if (unpacker_ != nullptr) unpacker_->Finish(now_ns, ended);
}

bool Subscriber::Push() {
  const bool files = unpacker_ != nullptr && unpacker_->Push();
  return outlet_.Push() || files;
}

}  // namespace profd::device
