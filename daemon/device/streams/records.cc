#include "daemon/device/streams/records.h"

namespace profd::device {

using format::StampDomain;

namespace {

uint32_t Width(StampDomain domain, uint32_t text) {
  switch (domain) {
    case StampDomain::kNone:
      return 0;
    case StampDomain::kStartUs32:
      return sizeof(uint32_t);
    case StampDomain::kTextDeviceNs:
      return text;
    case StampDomain::kStartUs64:
    case StampDomain::kDeviceNs:
    case StampDomain::kDeviceTicks:
    case StampDomain::kHostCounter:
      break;
  }
  return sizeof(uint64_t);
}

}  // namespace

StampField::StampField(const format::StreamFormat& format, double counter_mhz)
    : domain_(format.stamp),
      offset_(format.stamp_offset),
      width_(Width(format.stamp, kText)),
      counter_mhz_(counter_mhz) {}

double StampField::UnitsPerMs() const {
  switch (domain_) {
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

// "<seconds>:<nanoseconds>", up to the first character that is of neither.
uint64_t StampField::ReadText(const std::byte* line, uint32_t bytes) {
  uint64_t seconds = 0;
  uint64_t part = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    const char c = static_cast<char>(line[i]);
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

void StampField::Write(std::byte* record, uint64_t stamp) const {
  if (width_ == sizeof(uint64_t)) {
    format::Store(record + offset_, stamp);
  } else if (width_ == sizeof(uint32_t)) {
    format::Store(record + offset_, static_cast<uint32_t>(stamp));
  }
}

}  // namespace profd::device
