#include "libagent/src/mspti/activity.h"

#include <cstring>

namespace profd::agent::mspti {

namespace {

// Bytes of a record by kind; 0: unknown.
constexpr uint32_t kBytes[] = {0, 56, 56, 48, 56, 64, 56, 56, 24, 72, 48, 48, 48};
constexpr uint32_t kKinds = sizeof(kBytes) / sizeof(kBytes[0]);

template <typename T>
void Get(const uint8_t* record, size_t offset, T* value) {
  memcpy(value, record + offset, sizeof(*value));
}

// Begin, end, device and stream, or process and thread, lie together in most kinds.
void GetTimes(const uint8_t* record, size_t offset, Activity* activity) {
  Get(record, offset, &activity->begin_ns);
  Get(record, offset + 8, &activity->end_ns);
}
void GetPlace(const uint8_t* record, size_t offset, Activity* activity) {
  Get(record, offset, &activity->device);
  Get(record, offset + 4, &activity->stream);
}

void Decode(const uint8_t* record, Activity* activity) {
  switch (activity->kind) {
    case kMarkerKind: {
      uint32_t source = 0;
      Get(record, 4, &activity->detail);
      Get(record, 8, &source);
      Get(record, 12, &activity->begin_ns);
      activity->end_ns = activity->begin_ns;
      Get(record, 20, &activity->correlation);
      activity->of_device = source == 1;
      activity->on_stream = activity->of_device || activity->detail >> kOnStreamShift != 0;
      if (activity->detail >> kOnStreamShift != 0) activity->detail >>= kOnStreamShift;
      if (activity->of_device) {
        GetPlace(record, 28, activity);
      } else {
        Get(record, 32, &activity->thread);
      }
      Get(record, 36, &activity->name);
      break;
    }
    case kKernelKind:
      GetTimes(record, 4, activity);
      GetPlace(record, 20, activity);
      Get(record, 28, &activity->correlation);
      Get(record, 36, &activity->type);
      Get(record, 44, &activity->name);
      break;
    case kApiKind:
    case kAclApiKind:
    case kNodeApiKind:
    case kRuntimeApiKind:
      GetTimes(record, 4, activity);
      Get(record, 24, &activity->thread);
      Get(record, 28, &activity->correlation);
      Get(record, 36, &activity->name);
      break;
    case kHcclKind:
      GetTimes(record, 4, activity);
      GetPlace(record, 20, activity);
      Get(record, 36, &activity->name);
      Get(record, 44, &activity->group);
      break;
    case kMemoryKind:
      Get(record, 4, &activity->detail);
      Get(record, 12, &activity->correlation);
      GetTimes(record, 20, activity);
      Get(record, 36, &activity->address);
      Get(record, 44, &activity->bytes);
      GetPlace(record, 56, activity);
      break;
    case kMemsetKind:
    case kMemcpyKind:
      Get(record, 4, &activity->detail);
      Get(record, 8, &activity->bytes);
      GetTimes(record, 16, activity);
      GetPlace(record, 32, activity);
      Get(record, 40, &activity->correlation);
      activity->is_async = record[48] != 0;
      break;
    case kCommunicationKind:
      Get(record, 4, &activity->data_type);
      Get(record, 8, &activity->count);
      GetPlace(record, 16, activity);
      GetTimes(record, 24, activity);
      Get(record, 40, &activity->algorithm);
      Get(record, 48, &activity->name);
      Get(record, 56, &activity->group);
      Get(record, 64, &activity->correlation);
      break;
    default:
      break;
  }
}

}  // namespace

bool Walker::Next(Activity* activity) {
  uint32_t kind;
  if (left_ < sizeof(kind)) return false;
  memcpy(&kind, at_, sizeof(kind));
  if (kind >= kKinds || kBytes[kind] == 0 || kBytes[kind] > left_) return false;
  *activity = {};
  activity->kind = kind;
  Decode(at_, activity);
  at_ += kBytes[kind];
  left_ -= kBytes[kind];
  ++read_;
  return true;
}

uint64_t Walker::Unread() const {
  const uint64_t bytes = read_ != 0 ? (valid_ - left_) / read_ : kBytes[kKernelKind];
  return (left_ + bytes - 1) / bytes;
}

}  // namespace profd::agent::mspti
