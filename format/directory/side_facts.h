// What the control files of one side of a PROF directory (host/ or device_<N>/) say that its data need.
// profd's own files and the vendor's of any version: what is missing keeps its default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/chip.h"
#include "format/clock_map.h"
#include "format/directory/prof_dir.h"

namespace profd::format {

struct SideFacts {
  int device = -1;  // -1: the host

  // info.json
  Chip chip = Chip::kUnknown;
  bool records_v2 = false;  // "version": "2.0": HBM, LLC and npu_mem records are laid out otherwise
  int64_t pid = 0;          // the profiled process, 0 = none
  std::string pid_name, hostname, host_uid, cann_version;
  int64_t rank_id = -1, driver_version = 0;
  double host_counter_mhz = 0;  // 0: stamps of the host's counter are raw ns already
  double counter_mhz = 0, aic_mhz = 0, aiv_mhz = 0;
  int64_t ai_core_num = 0, aiv_num = 0;
  std::vector<int64_t> ctrl_cpus, ai_cpus;
  uint64_t memory_total_kb = 0;
  uint32_t cpu_nums = 1, clock_ticks = 100;
  std::vector<HostFacts::NetCard> net_cards;

  // sample.json
  std::vector<std::string> hbm_events = {"read", "write"};
  std::string llc_mode;  // read | write | capacity | bandwidth | ""
  std::vector<std::string> qos_events;
  // Of ai_core_profiling_mode and aiv_profiling_mode one is "sample-based", or none of them and one is
  // "task-based".
  bool cores_sampled = false, cores_by_task = false;
  std::vector<uint32_t> aic_events, aiv_events, ts_cpu_events, ctrl_cpu_events;
  std::vector<uint32_t> l2_events;                           // of l2_cache.data, in the order of its counters
  std::vector<uint32_t> ha_events, smmu_events, noc_events;  // of socpmu.data, by unit
  std::string aic_metrics, aiv_metrics;
  uint32_t instr_cycles = 0;  // core clocks from sample to sample; 0: not collected
  uint32_t host_disk_hz = 0;
  std::string prof_level, job_id;

  // start_info, end_info (0: not there), host_start.log, dev_start.log
  uint64_t begin_wall_ns = 0, begin_raw_ns = 0, end_wall_ns = 0, end_raw_ns = 0;
  ClockPair at_start;
  bool has_host_clock = false;  // host_start.log was read
  bool has_device_clock =
      false;  // dev_start.log was read; without it no stamp of the device's own clocks can be dated

  // The host's expand_stream_spec: stream numbers in the records of STARS have 15 bits, not 11.
  bool wide_streams = false;
};

// Only the first line counts, as for the vendor's reader. Fields of a wrong type keep their default.
base::Status ParseInfoJson(std::string_view text, SideFacts& facts);
base::Status ParseSampleJson(std::string_view text, SideFacts& facts);
// What tells its host from others: what info.json says, else a number made of the host's name; "0" without
// one.
std::string HostUidOf(std::string_view host_uid, std::string_view hostname);
// SideFacts::cores_by_task, of a sample.json.
bool CoresByTask(std::string_view sample_json);

}  // namespace profd::format
