#include "tests/unit/driver/scripted_hal.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace {

using profd::driver::Script;

constexpr int kNotSupported = 0xfffe;
constexpr int32_t kMonotonicRaw = 14;

Script& TheScript() {
  static Script script;
  return script;
}

struct StartPara {
  int32_t channel_type;
  uint32_t sample_period;
  uint32_t real_time;
  const std::byte* user_data;
  uint32_t user_data_size;
};

struct ChannelList {
  uint32_t chip_type;
  uint32_t count;
  struct {
    char name[32];
    uint32_t type;
    uint32_t id;
  } channel[160];
};

struct QosQuery {
  uint32_t device;
  uint16_t stream_count;
  uint16_t mode;
  uint8_t mpam_id[20];
  char stream_name[256];
};

}  // namespace

extern "C" {

Script* ScriptedHalScript() { return &TheScript(); }

int halGetAPIVersion(int* version) {
  *version = TheScript().api_version;
  return 0;
}

int drvGetDevNum(uint32_t* count) {
  *count = TheScript().device_count;
  return TheScript().device_count_code;
}

int drvGetDevIDs(uint32_t* ids, uint32_t size) {
  const auto& from = TheScript().device_ids;
  std::copy_n(from.begin(), std::min<size_t>(size, from.size()), ids);
  return TheScript().device_ids_code;
}

int drvDeviceStatus(uint32_t, int* status) {
  if (TheScript().status_code == 0) *status = TheScript().status;
  return TheScript().status_code;
}

int drvDeviceGetPhyIdByIndex(uint32_t, uint32_t* id) {
  *id = TheScript().physical_id;
  return 0;
}

int drvGetDeviceSplitMode(unsigned, unsigned* mode) {
  *mode = TheScript().split_mode;
  return 0;
}

int halGetDeviceInfo(uint32_t, int32_t module, int32_t info, int64_t* value) {
  Script& script = TheScript();
  script.asked.emplace_back(module, info);
  if (module == 0 && info == kMonotonicRaw && !script.monotonic_raw.empty()) {
    *value = script.monotonic_raw.front();
    if (!script.slow_ms.empty()) {
      // How long the call is to take.
      std::this_thread::sleep_for(std::chrono::milliseconds(script.slow_ms.front()));
      script.slow_ms.erase(script.slow_ms.begin());
    }
    if (script.monotonic_raw.size() > 1) script.monotonic_raw.erase(script.monotonic_raw.begin());
    return 0;
  }
  const auto found = script.info.find({module, info});
  if (found == script.info.end()) return kNotSupported;
  *value = found->second;
  return 0;
}

int halGetDeviceInfoByBuff(uint32_t, int32_t module, int32_t info, void* buffer, int32_t* size) {
  const Script& script = TheScript();
  if (module != 9 || info != 33 || *size != static_cast<int32_t>(sizeof(QosQuery))) return kNotSupported;
  auto& query = *static_cast<QosQuery*>(buffer);
  if (query.mode == 0) {
    query.stream_count = script.qos_count;
    for (size_t i = 0; i < std::min(script.qos.size(), sizeof query.mpam_id); ++i) {
      query.mpam_id[i] = script.qos[i].first;
    }
    return 0;
  }
  for (const auto& [id, name] : script.qos) {
    if (id != query.mpam_id[0]) continue;
    std::memcpy(query.stream_name, name.data(), std::min(name.size(), sizeof query.stream_name));
    return 0;
  }
  return kNotSupported;
}

int halGetChipInfo(unsigned, char* info) {
  const std::string& name = TheScript().chip_name;
  if (name.empty()) return 87;
  std::memcpy(info + 32, name.data(), std::min<size_t>(name.size(), 32));
  return 0;
}

int prof_drv_get_channels(unsigned, ChannelList* list) {
  const Script& script = TheScript();
  list->count = script.list_count;
  for (size_t i = 0; i < std::min<size_t>(script.list.size(), 160); ++i) list->channel[i].id = script.list[i];
  return script.list_code;
}

int prof_drv_start(unsigned device, unsigned channel, StartPara* para) {
  profd::driver::ScriptedStart start;
  start.device = device;
  start.channel = channel;
  start.channel_type = para->channel_type;
  start.period_ms = para->sample_period;
  start.real_time = para->real_time;
  start.has_user_data = para->user_data != nullptr;
  if (start.has_user_data) start.user_data.assign(para->user_data, para->user_data + para->user_data_size);
  TheScript().starts.push_back(start);
  return TheScript().start_code;
}

int prof_stop(unsigned, unsigned) { return 0; }
int prof_channel_poll(void*, int, int) { return -4; }

int prof_channel_read(unsigned, unsigned, char* out, unsigned size) {
  std::memset(out, 'x', size);
  return TheScript().read_code;
}

int halProfDataFlush(unsigned, unsigned, unsigned* waiting) {
  if (TheScript().flush_code == 0) *waiting = 42;
  return TheScript().flush_code;
}

}  // extern "C"
