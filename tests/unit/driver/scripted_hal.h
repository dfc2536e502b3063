// A driver library that answers as its script says: for what no well-behaved library can be made to show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace profd::driver {

struct ScriptedStart {
  uint32_t device = 0, channel = 0;
  int32_t channel_type = -1;
  uint32_t period_ms = 0, real_time = 0;
  bool has_user_data = false;
  std::vector<std::byte> user_data;
};

struct Script {
  int api_version = 0x072418;
  int device_count_code = 0;
  uint32_t device_count = 0;
  int device_ids_code = 0;
  std::vector<uint32_t> device_ids;
  int status_code = 0;
  int status = 1;
  std::map<std::pair<int32_t, int32_t>, int64_t> info;  // by module and number; others are not supported
  std::vector<int64_t> monotonic_raw;  // answers in turn, the last one again and again; overrides `info`
  std::vector<int> slow_ms;            // how long each of these answers takes, in turn
  std::string chip_name;               // put into its 32 bytes without a NUL when it is longer
  uint32_t physical_id = 0;
  uint32_t split_mode = 0;
  int list_code = 0;
  uint32_t list_count = 0;  // may lie about `list`
  std::vector<uint32_t> list;
  uint16_t qos_count = 0;  // may lie about `qos`
  std::vector<std::pair<uint8_t, std::string>> qos;
  int flush_code = 0;
  int start_code = 0;
  int read_code = 0;

  std::vector<ScriptedStart> starts;
  std::vector<std::pair<int32_t, int32_t>> asked;  // every halGetDeviceInfo
};

}  // namespace profd::driver

extern "C" profd::driver::Script* ScriptedHalScript();
