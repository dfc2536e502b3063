#include "daemon/device/records.h"

#include "format/records/packed.h"

namespace profd::device {

using format::StampDomain;

StampField::StampField(const format::StreamFormat& format, double counter_mhz)
    : format_(&format), counter_mhz_(counter_mhz) {}

double StampField::UnitsPerMs() const {
  switch (format_->stamp) {
    case StampDomain::kStartUs64:
    case StampDomain::kStartUs32:
      return 1e3;
    case StampDomain::kDeviceNs:
    case StampDomain::kTextDeviceNs:
      return 1e6;
    case StampDomain::kDeviceTicks:
      return counter_mhz_ * 1e3;
    case StampDomain::kNone:
    case StampDomain::kHostCounter:
      break;
  }
  return 0;
}

uint64_t StampField::Read(const std::byte* record, uint32_t bytes) const {
  switch (format_->stamp) {
    case StampDomain::kNone:
      return 0;
    case StampDomain::kStartUs32:
      return format::Load<uint32_t>(record + format_->stamp_offset);
    case StampDomain::kTextDeviceNs: {
      // "<sec>:<nsec>": digits to the first character that is neither.
      uint64_t seconds = 0;
      uint64_t part = 0;
      for (uint32_t i = 0; i < bytes; ++i) {
        const char c = static_cast<char>(record[i]);
        if (c == ':') {
          seconds = part;
          part = 0;
        } else if (c >= '0' && c <= '9') {
          part = part * 10 + static_cast<uint64_t>(c - '0');
        } else {
          break;
        }
      }
      return seconds * 1'000'000'000U + part;
    }
    case StampDomain::kStartUs64:
    case StampDomain::kDeviceNs:
    case StampDomain::kDeviceTicks:
    case StampDomain::kHostCounter:
      break;
  }
  return format::Load<uint64_t>(record + format_->stamp_offset);
}

int64_t StampField::Distance(uint64_t from, uint64_t to) const {
  if (format_->stamp == StampDomain::kStartUs32) {
    return static_cast<int32_t>(static_cast<uint32_t>(to) - static_cast<uint32_t>(from));
  }
  return static_cast<int64_t>(to - from);
}

void StampField::Write(std::byte* record, uint64_t stamp) const {
  if (format_->stamp == StampDomain::kStartUs32) {
    format::Store(record + format_->stamp_offset, static_cast<uint32_t>(stamp));
  } else if (present() && format_->stamp != StampDomain::kTextDeviceNs) {
    format::Store(record + format_->stamp_offset, stamp);
  }
}

}  // namespace profd::device
