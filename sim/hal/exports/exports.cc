// What every driver library has: the channel calls and the facts about devices.
#include "sim/hal/driver.h"
#include "sim/hal/exports/export.h"

using profd::sim::ChannelList;
using profd::sim::Driver;
using profd::sim::PollInfo;
using profd::sim::StartPara;
namespace code = profd::sim::code;

PROFD_SIM_EXPORT int prof_drv_get_channels(unsigned device, ChannelList* channels) {
  return Driver::Get().GetChannels(device, channels);
}
PROFD_SIM_EXPORT int prof_drv_start(unsigned device, unsigned channel, StartPara* para) {
  return Driver::Get().Start(device, channel, para);
}
PROFD_SIM_EXPORT int prof_stop(unsigned device, unsigned channel) {
  return Driver::Get().Stop(device, channel);
}
PROFD_SIM_EXPORT int prof_channel_read(unsigned device, unsigned channel, char* out, unsigned size) {
  return Driver::Get().Read(device, channel, out, size);
}
PROFD_SIM_EXPORT int prof_channel_poll(PollInfo* out, int count, int timeout_s) {
  return Driver::Get().Poll(out, count, timeout_s);
}

PROFD_SIM_EXPORT int drvGetDevNum(uint32_t* count) { return Driver::Get().DeviceCount(count); }
PROFD_SIM_EXPORT int drvGetDevIDs(uint32_t* ids, uint32_t count) {
  return Driver::Get().DeviceIds(ids, count);
}
PROFD_SIM_EXPORT int drvGetPlatformInfo(uint32_t* platform) {
  constexpr uint32_t kHost = 1;
  if (platform == nullptr) return code::kInvalidHandle;
  *platform = kHost;
  return code::kOk;
}
PROFD_SIM_EXPORT int drvDeviceStatus(uint32_t device, uint32_t* status) {
  return Driver::Get().DeviceStatus(device, status);
}
PROFD_SIM_EXPORT int drvDeviceGetPhyIdByIndex(uint32_t device, uint32_t* id) {
  return Driver::Get().PhysicalId(device, id);
}
PROFD_SIM_EXPORT int halGetAPIVersion(int* version) { return Driver::Get().ApiVersion(version); }
PROFD_SIM_EXPORT int halGetDeviceInfo(uint32_t device, int32_t module, int32_t info, int64_t* value) {
  return Driver::Get().DeviceInfo(device, module, info, value);
}
