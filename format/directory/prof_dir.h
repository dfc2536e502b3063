// Names and control files of a PROF directory: build and parse. The layout is the vendor's (docs/formats.md);
// pure text in, text out.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/chip.h"
#include "format/clock_map.h"

namespace profd::format {

// "PROF_000001_20261121055338123_00012345ABCDEFGHI": seq 1..999999, local time, pid, 8 letters A..R made from
// `salt`.
std::string ProfDirName(uint32_t seq, uint64_t wall_ns, pid_t pid, uint64_t salt);
// "hbm.data.0.slice_3"; device < 0 for host files ("host_cpu.data.slice_0").
std::string SliceName(std::string_view file, int device, uint64_t slice);
// The vendor's ".done" marker of a slice and of a control file.
std::string SliceDone(uint64_t bytes);
std::string ControlDone(uint64_t bytes, bool blank_after_colon);

// What info.json says of the host and of one device. Numbers that the vendor writes as text are text there.
struct HostFacts {
  std::string os, hostname, hwtype, up_time;
  std::string cpu_name, cpu_type;  // vendor and model
  std::string cpu_mhz;             // "" when the host counter's frequency is unknown
  uint32_t cpu_nums = 1;           // configured logical CPUs
  uint64_t memory_total_kb = 0;
  uint32_t clock_ticks = 100;  // sysClockFreq
  struct NetCard {
    std::string name;
    uint64_t speed_mbps = 0;
  };
  std::vector<NetCard> net_cards;
};
// `root` stands in front of /proc and /sys. cpu_mhz stays "": only the driver knows the host counter's
// frequency.
HostFacts ReadHostFacts(const std::string& root = "");
// Its `up_time` alone, which is never the same.
std::string ReadUpTime(const std::string& root = "");
// "TaishanV110" for implementer << 12 | part of a MIDR; "" for a core the vendor has no name for.
std::string_view CoreName(int64_t midr);

struct DeviceInfo {
  uint32_t id = 0;
  Chip chip = Chip::k310;
  int64_t env_type = 0, ctrl_cpu_core_num = 0, ctrl_cpu_id = 0, ctrl_cpu_endian_little = 1,
          ts_cpu_core_num = 0, ai_cpu_core_num = 0, ai_cpu_core_id = 0, ai_core_num = 0, ai_core_id = 0,
          aicpu_occupy_bitmap = 0, aiv_num = 0;
  double counter_mhz = 0, aic_mhz = 0, aiv_mhz = 0;
};

struct Target {
  pid_t pid = 0;  // 0 = none: "NA"
  std::string name;
};

// info.json (device == nullptr: host) and info.json.N. `platform_chip` is written on both sides.
std::string InfoJson(const HostFacts& host, const DeviceInfo* device, Chip platform_chip,
                     uint32_t api_version, const Target& target);

// info.json.N with a rank and with what tells the host from others. One that cannot be read is made anew,
// with the device's number.
std::string InfoJsonOfRank(std::string_view info_json, uint32_t device, int64_t rank,
                           std::string_view hostname);

// How the counters of cores were read, as sample.json says it.
inline constexpr char kSampleBased[] = "sample-based", kTaskBased[] = "task-based";

// sample.json: the vendor's keys with its defaults; the values below are what was really taken.
struct SampleSettings {
  std::string result_dir;
  std::string job_id;
  uint64_t storage_limit_mb = 0;
  uint64_t period_s = 0;
  std::vector<std::string> kinds;               // kinds really collected on this side
  std::vector<std::string> absent;              // … that the chip of the device does not have
  std::map<std::string, uint32_t> interval_us;  // by kind; those of the host in every copy
  std::string hbm_events = "read,write";
  std::string llc_mode;                                         // read | write | capacity | bandwidth | ""
  std::string llc_preset = "read", llc_preset_events = "read";  // what the vendor says of a program's device
  std::string qos_events;                                       // names in the order of the bandwidth columns
  bool streams_chosen = false;                                  // … which somebody asked for
  bool power_left_out = false;                                  // of a chip that measures it
  std::string aicore_events, aicore_metrics, aiv_events, aiv_metrics;
  std::string cpu_events;     // of each CPU of a device that is sampled: "0x8,0x11"
  std::string l2_events;      // "0xf6,0xfb"; of a start that names events "HA:0x02,0x03;SMMU:0x10"
  std::string npu_events;     // "HA:0xf6,0xfb;SMMU:0x2"
  uint32_t instr_cycles = 0;  // 0: not collected
  uint32_t host_disk_hz = 0;
  bool host_alone = false;  // there are no devices beside it
  pid_t target_pid = 0;
  pid_t collector_pid = 0;
  // Of a program: its calls or its tasks are collected.
  bool of_program = false;
  std::string program;                                        // its name
  bool calls = false;                                         // the agent in it records them:
  bool acl_calls = false, runtime_calls = false;              // those of AscendCL, of the runtime
  bool tasks = false;                                         // by the devices' schedulers or the agent
  uint32_t task_level = 1;                                    // what CANN says of them: --task-time=l0 to l2
  bool hwts_log = false;                                      // by schedulers before STARS
  bool firmware = false, blocks = false, few_blocks = false;  // what the log of tasks has besides
};
std::string SampleJson(const SampleSettings& settings, int device);  // device < 0: host ("64")

// start_info/end_info: the other end's fields are "".
std::string StartInfo(const ClockPair& at);
std::string EndInfo(const ClockPair& at);
// host_start.log ("[Host]", device < 0) or host_start.log.N ("[DeviceN]"), and dev_start.log.N.
std::string HostStartLog(const ClockPair& at, int device);
std::string DevStartLog(const ClockPair& at);

// Reading them back; total: any bytes in, Status or value out.
struct StartLogs {
  uint64_t clock_monotonic_raw = 0;
  uint64_t cntvct = 0;
  std::string section;  // "Host", "Device0", "" for dev_start.log
};
base::Result<StartLogs> ParseStartLog(std::string_view text);
struct CollectionTime {
  uint64_t wall_us = 0;
  uint64_t clock_monotonic_raw = 0;
  bool is_end = false;
};
base::Result<CollectionTime> ParseCollectionTime(std::string_view json);
struct ParsedSlice {
  std::string file;
  int device = -1;  // -1 host
  uint64_t slice = 0;
};
std::optional<ParsedSlice> ParseSliceName(std::string_view name);
bool IsProfDirName(std::string_view name);

}  // namespace profd::format
