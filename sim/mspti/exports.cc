// What every libmspti.so has.
#include "sim/hal/exports/export.h"
#include "sim/mspti/library.h"

using profd::sim::mspti::CallbackFn;
using profd::sim::mspti::CompleteFn;
using profd::sim::mspti::Library;
using profd::sim::mspti::RequestFn;
using profd::sim::mspti::Subscriber;
namespace mspti = profd::sim::mspti;

PROFD_SIM_EXPORT int msptiSubscribe(Subscriber* out, CallbackFn function, void* user) {
  return Library::Get().Subscribe(out, function, user);
}
PROFD_SIM_EXPORT int msptiUnsubscribe(Subscriber subscriber) {
  return Library::Get().Unsubscribe(subscriber);
}
PROFD_SIM_EXPORT int msptiEnableCallback(uint32_t on, Subscriber subscriber, uint32_t domain,
                                         uint32_t callback) {
  return Library::Get().EnableCallback(on != 0, subscriber, domain, callback);
}
PROFD_SIM_EXPORT int msptiEnableDomain(uint32_t on, Subscriber subscriber, uint32_t domain) {
  return Library::Get().EnableDomain(on != 0, subscriber, domain);
}
PROFD_SIM_EXPORT int msptiActivityRegisterCallbacks(RequestFn request, CompleteFn complete) {
  return Library::Get().RegisterCallbacks(request, complete);
}
PROFD_SIM_EXPORT int msptiActivityEnable(uint32_t kind) { return Library::Get().Enable(kind); }
PROFD_SIM_EXPORT int msptiActivityDisable(uint32_t kind) { return Library::Get().Disable(kind); }
PROFD_SIM_EXPORT int msptiActivityFlushAll(uint32_t) { return Library::Get().FlushAll(); }
PROFD_SIM_EXPORT int msptiActivityFlushPeriod(uint32_t ms) { return Library::Get().FlushPeriod(ms); }
PROFD_SIM_EXPORT int msptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) {
  return Library::Get().PushExternal(kind, id);
}
PROFD_SIM_EXPORT int msptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t* last) {
  return Library::Get().PopExternal(kind, last);
}
PROFD_SIM_EXPORT int msptiActivityEnableMarkerDomain(const char* name) {
  return Library::Get().SetMarkerDomain(name, true);
}
PROFD_SIM_EXPORT int msptiActivityDisableMarkerDomain(const char* name) {
  return Library::Get().SetMarkerDomain(name, false);
}

// The cursor is the thread's, not the buffer's, and an unknown kind never lets it go on.
PROFD_SIM_EXPORT int msptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  thread_local size_t at = 0;
  if (buffer == nullptr || record == nullptr) return mspti::kInvalid;
  if (at >= valid) {
    at = 0;
    return mspti::kMaxLimit;
  }
  uint32_t kind;
  std::memcpy(&kind, buffer + at, sizeof kind);
  if (kind < 1 || kind >= mspti::kKinds) return mspti::kInner;
  *record = buffer + at;
  at += Library::Get().buffers().SizeOf(kind);
  return mspti::kSuccess;
}
