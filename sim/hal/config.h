// The simulator's YAML file (PROFD_SIM_CONFIG), see docs/simulator.md for every key.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/hal/capture/capture.h"
#include "sim/hal/channels/faults.h"
#include "sim/scenario/chip.h"
#include "sim/scenario/load.h"

namespace profd::sim {

struct DeviceConfig {
  uint32_t id = 0;
  const Chip* chip = nullptr;
  uint32_t physical_id = 0;
  uint32_t split_mode = 0;  // ≠ 0: a virtual NPU
};

// What the card library says of device 0, in the vendor's units. Each device is one degree warmer than the
// one before it, and takes 1 W more.
struct HealthConfig {
  uint32_t alarm = 0;            // 3 = critical
  int32_t temperature = 48;      // °C
  int32_t power = 925;           // 0.1 W
  int32_t hbm_temperature = 52;  // °C
  uint32_t hbm_mb = 65536, hbm_used_mb = 3072;
  uint32_t corrected = 0, uncorrected = 0, isolated_pages = 0;
  int32_t faults = 0, network = 0;
};

struct Config {
  std::vector<DeviceConfig> devices;
  uint64_t seed = 1;
  bool flood = false;
  double rate_mb_s = 0;                 // flood, per device; 0 = no limit
  std::optional<uint32_t> api_version;  // none: the library's own
  int64_t clock_offset_ns = 0;
  double clock_drift_ppm = 0;
  double osc_busy_s = 0;
  uint32_t query_latency_us = 0;
  double late_delay_s = 0;
  std::vector<uint32_t> late_channels;
  bool process_capable = true;               // devices have the collector's process
  int process_ret = 0;                       // what starting it answers
  int ports_ret = 0;                         // what the card library answers …
  double ports_from_s = 0, ports_for_s = 0;  // … from then on, so long; 0 = for ever
  std::string ports_while;                   // … and only while this file is there; empty: whether or not
  HealthConfig health;
  ScenarioConfig scenario;
  std::map<uint32_t, std::string> replay;  // channel → recorded bytes
  std::shared_ptr<const Capture> capture;  // what is played in place of all of it; null: nothing is
  std::string truth;                       // file name, empty: none
  std::vector<FaultSpec> faults;
  std::string bindings;      // which containers own which devices; empty: not modelled
  uint64_t host_mounts = 0;  // inode of the host's mount namespace
};

// Without a file (nullptr or ""): two 910B. A file that cannot be used is reported on stderr and yields no
// devices.
Config LoadConfig(const char* file);

}  // namespace profd::sim
