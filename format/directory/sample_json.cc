#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "format/directory/prof_dir.h"
#include "format/kind.h"

namespace profd::format {

namespace {

using nlohmann::ordered_json;

// Every key of the vendor's file, with what it holds when nothing is collected. Order: the session; memory;
// links and ports; CPUs; cores; host; what belongs to task data.
constexpr char kDefaults[] = R"json({
  "result_dir": "", "devices": "", "job_id": "", "jobInfo": "", "profMode": "system", "profiling_mode": "",
  "profiling_period": -1, "durationTime": "", "delayTime": "", "isCancel": false, "storageLimit": "",
  "profiling_options": "", "msprofBinPid": -1, "app": "", "app_dir": "", "app_location": "",
  "app_parameters": "", "app_env": "", "acl": "",

  "hardware_mem": "off", "hardware_mem_sampling_interval": 20000, "hbmProfiling": "", "hbmInterval": 20,
  "hbm_profiling_events": "", "ddr_profiling": "", "ddr_interval": 20, "ddr_profiling_events": "",
  "ddr_master_id": 0, "msprof_llc_profiling": "", "llc_interval": 20, "llc_profiling": "",
  "llc_profiling_events": "", "memProfiling": "off", "appMemProfiling": "on", "memInterval": 20,
  "memServiceflow": "", "qosProfiling": "", "qosEvents": "", "npuEvents": "",

  "interconnection_profiling": "off", "interconnection_sampling_interval": 20, "pcieProfiling": "",
  "pcieInterval": 20, "hccsProfiling": "off", "hccsInterval": 20, "ubProfiling": "off", "ubInterval": 20,
  "hscb": "off", "io_profiling": "off", "io_sampling_interval": 10, "nicProfiling": "off",
  "nicInterval": 10, "roceProfiling": "off", "roceInterval": 10, "dvpp_profiling": "off",
  "dvpp_sampling_interval": 20, "sysLp": "on", "sysLpFreq": 10000, "ai_core_lpm": "off",

  "cpu_profiling": "off", "cpu_sampling_interval": 20, "tsCpuProfiling": "off",
  "ts_cpu_profiling_events": "", "ts_cpu_hot_function": "", "ts_cpu_usage": "", "aiCtrlCpuProfiling": "off",
  "ai_ctrl_cpu_profiling_events": "", "sys_profiling": "off", "sys_sampling_interval": 100,
  "pid_profiling": "off", "pid_sampling_interval": 100,

  "ai_core_profiling": "", "ai_core_profiling_mode": "", "ai_core_profiling_events": "",
  "ai_core_profiling_metrics": "", "ai_core_metrics": "", "aicore_sampling_interval": 10,
  "ai_core_status": "", "aicoreShape": "off", "aicScale": "all", "aiv_profiling": "",
  "aiv_profiling_mode": "", "aiv_profiling_events": "", "aiv_profiling_metrics": "", "aiv_metrics": "",
  "aiv_sampling_interval": 10, "ai_vector_status": "",

  "hostProfiling": false, "host_sys": "", "host_sys_pid": -1, "hostProfilingSamplingInterval": 20,
  "host_cpu_profiling": "off", "host_mem_profiling": "off", "host_disk_profiling": "off",
  "host_disk_freq": 50, "host_network_profiling": "off", "host_osrt_profiling": "off",
  "host_numa_profiling": "off", "hostSysUsage": "", "hostAllPidCpuProfiling": "off",
  "hostAllPidMemProfiling": "off",

  "aicpuTrace": "", "ccuInstr": "off", "geApi": "off", "hcclTrace": "", "hwts_log": "", "hwts_log1": "",
  "instrProfiling": "", "instrProfilingFreq": 1000, "l2CacheTaskProfiling": "",
  "l2CacheTaskProfilingEvents": "", "msprof": "off", "msproftx": "off", "mstxDomainExclude": "",
  "mstxDomainInclude": "", "ntsMetrics": "", "ntsPmuEvents": "", "opType": "", "pcSampling": "off",
  "prof_level": "off", "pureCpu": "off", "runtimeApi": "off", "runtimeTrace": "", "stars_acsq_task": "",
  "taskBlock": "", "taskBlockShink": "", "taskMemory": "off", "taskTime": "on", "taskTrace": "on",
  "taskTsfw": "off", "ts_fw_training": "", "ts_keypoint": "", "ts_memcpy": "", "ts_task_time": "",
  "ts_task_track": "", "ts_timeline": ""
})json";

// The vendor starts some kinds together; such a group has a switch and an interval of its own.
struct Group {
  const char* switch_key;
  const char* interval_key;
  uint32_t per_ms;  // units of the interval in a millisecond
};
constexpr Group kHardwareMem = {"hardware_mem", "hardware_mem_sampling_interval", 1000};
constexpr Group kInterconnection = {"interconnection_profiling", "interconnection_sampling_interval", 1};
constexpr Group kPorts = {"io_profiling", "io_sampling_interval", 1};
constexpr Group kCpu = {"cpu_profiling", "cpu_sampling_interval", 1};
constexpr Group kSystem = {"sys_profiling", "sys_sampling_interval", 1};
constexpr Group kProcesses = {"pid_profiling", "pid_sampling_interval", 1};
constexpr Group kNoGroup = {"", "", 1};
constexpr uint32_t kMicrosecondsPerMs = 1000;
constexpr uint32_t kFinestOfMemoryUs = 10'000;  // of its own kinds

struct KindKeys {
  Kind kind;
  const char* switch_key;  // "" where the vendor has none
  const char* interval_key;
  uint32_t per_ms;
  Group group;
};
constexpr Kind kInBothGroups = Kind::kUb;  // it says of neither that it is on
constexpr KindKeys kDeviceKinds[] = {
    {Kind::kHbm, "hbmProfiling", "hbmInterval", 1, kHardwareMem},
    {Kind::kDdr, "ddr_profiling", "ddr_interval", 1, kHardwareMem},
    {Kind::kLlc, "msprof_llc_profiling", "llc_interval", 1, kHardwareMem},
    {Kind::kNpuMem, "memProfiling", "memInterval", 1, kHardwareMem},
    {Kind::kNpuAppMem, "appMemProfiling", "memInterval", 1, kHardwareMem},
    {Kind::kNpuModuleMem, "", "memInterval", 1, kHardwareMem},
    {Kind::kQos, "qosProfiling", "", 1, kHardwareMem},
    {Kind::kPcie, "pcieProfiling", "pcieInterval", 1, kInterconnection},
    {Kind::kHccs, "hccsProfiling", "hccsInterval", 1, kInterconnection},
    {kInBothGroups, "ubProfiling", "ubInterval", 1, kPorts},
    {kInBothGroups, "ubProfiling", "ubInterval", 1, kInterconnection},
    {Kind::kSocProfile, "", "", 1, kNoGroup},
    {Kind::kNic, "nicProfiling", "nicInterval", 1, kPorts},
    {Kind::kRoce, "roceProfiling", "roceInterval", 1, kPorts},
    {Kind::kNetdev, "", "", 1, kPorts},
    {Kind::kDvpp, "dvpp_profiling", "dvpp_sampling_interval", 1, kNoGroup},
    {Kind::kLowPower, "ai_core_lpm", "", 1, kNoGroup},
    {Kind::kTsCpu, "tsCpuProfiling", "", 1, kCpu},
    {Kind::kCtrlCpu, "aiCtrlCpuProfiling", "", 1, kCpu},
    {Kind::kDevCpu, "", "", 1, kSystem},
    {Kind::kDevMem, "", "", 1, kSystem},
    {Kind::kDevPidCpu, "", "", 1, kProcesses},
    {Kind::kDevPidMem, "", "", 1, kProcesses},
    {Kind::kAiCore, "ai_core_profiling", "aicore_sampling_interval", 1, kNoGroup},
    {Kind::kAiVector, "aiv_profiling", "aiv_sampling_interval", 1, kNoGroup},
    {Kind::kAiCoreTask, "ai_core_profiling", "", 1, kNoGroup},
    {Kind::kAiVectorTask, "aiv_profiling", "", 1, kNoGroup},
    {Kind::kInstr, "instrProfiling", "", 1, kNoGroup},
    {Kind::kAiCpu, "aicpuTrace", "", 1, kNoGroup},
    {Kind::kCcu, "ccuInstr", "", 1, kNoGroup},
    {Kind::kCcuTask, "ccuInstr", "", 1, kNoGroup},
    {Kind::kSocPmu, "l2CacheTaskProfiling", "", 1, kNoGroup},
    {Kind::kL2, "l2CacheTaskProfiling", "", 1, kNoGroup},
};

// What the vendor says of a program, in the copies of its devices and of the host.
void SetProgram(const SampleSettings& settings, ordered_json& json) {
  json["profMode"] = "";
  json["app"] = settings.program;
  json["ts_keypoint"] = "on";
  json["acl"] = settings.acl_calls ? "on" : "off";
  json["runtimeApi"] = settings.runtime_calls ? "on" : "off";
  json["ai_core_profiling"] = "off";
  json["llc_profiling"] = settings.llc_preset;
  json["llc_profiling_events"] = settings.llc_preset_events;
  if (!settings.tasks) {
    json["taskTime"] = "off";
    return;
  }
  // The parser looks for no operators at level0.
  json["prof_level"] = "level" + std::to_string(settings.task_level);
  json["runtimeTrace"] = json["ts_memcpy"] = "on";
  if (settings.hwts_log) {
    json["hwts_log"] = json["hwts_log1"] = "on";
  } else {
    json["stars_acsq_task"] = "on";
  }
  if (settings.firmware) json["taskTsfw"] = "on";
  if (settings.blocks) {
    json["taskBlock"] = "on";
    json["taskBlockShink"] = settings.few_blocks ? "on" : "off";
  }
}

// `list` is the key that names the kind by `word`, beside or instead of a switch.
struct HostKeys {
  Kind kind;
  const char* switch_key;
  const char* list_key;
  const char* word;
};
constexpr HostKeys kHostKinds[] = {
    {Kind::kHostCpu, "host_cpu_profiling", "host_sys", "cpu"},
    {Kind::kHostMem, "host_mem_profiling", "host_sys", "mem"},
    {Kind::kHostDisk, "host_disk_profiling", "host_sys", "disk"},
    {Kind::kHostNetwork, "host_network_profiling", "host_sys", "network"},
    {Kind::kHostOsrt, "host_osrt_profiling", "host_sys", "osrt"},
    {Kind::kHostSysCpu, "", "hostSysUsage", "cpu"},
    {Kind::kHostSysMem, "", "hostSysUsage", "mem"},
    {Kind::kHostPidCpu, "hostAllPidCpuProfiling", "", ""},
    {Kind::kHostPidMem, "hostAllPidMemProfiling", "", ""},
};

bool Has(const std::vector<std::string>& kinds, Kind kind) {
  return std::find(kinds.begin(), kinds.end(), NameOf(kind)) != kinds.end();
}

bool Taken(const SampleSettings& settings, Kind kind) { return Has(settings.kinds, kind); }

void AppendWord(ordered_json& list, std::string_view word) {
  std::string text = list.get<std::string>();
  if (!text.empty()) text += ',';
  list = text.append(word);
}

void SetCores(const SampleSettings& settings, ordered_json& json) {
  const bool ai_core_tasks = Taken(settings, Kind::kAiCoreTask),
             vector_tasks = Taken(settings, Kind::kAiVectorTask);
  const bool ai_cores = ai_core_tasks || Taken(settings, Kind::kAiCore);
  if (ai_cores) {
    json["ai_core_profiling_mode"] = ai_core_tasks ? kTaskBased : kSampleBased;
    json["ai_core_profiling_events"] = settings.aicore_events;
    json["ai_core_metrics"] = settings.aicore_metrics;
  } else if (settings.host_alone) {
    // As the vendor's: else its parser takes the way on which a directory without devices is an error.
    json["ai_core_profiling_mode"] = kSampleBased;
  }
  if (vector_tasks || Taken(settings, Kind::kAiVector)) {
    json["aiv_profiling_mode"] = vector_tasks ? kTaskBased : kSampleBased;
    json["aiv_profiling_events"] = settings.aiv_events;
    json["aiv_metrics"] = settings.aiv_metrics;
  } else if (ai_cores && Has(settings.absent, Kind::kAiVector)) {
    // One option for both sorts of core: the vendor names vector cores that the chip cannot count, too.
    json["aiv_profiling"] = "on";
    for (const char* const key : {"profiling_mode", "profiling_events", "metrics"}) {
      json[std::string("aiv_") + key] = json[std::string("ai_core_") + key];
    }
    json["aiv_sampling_interval"] = json["aicore_sampling_interval"];
  }
}

// With a group the vendor switches on all its kinds, on chips that do not have them, too.
void SetAbsentOfGroups(const SampleSettings& settings, ordered_json& json) {
  for (const KindKeys& keys : kDeviceKinds) {
    if (*keys.switch_key == '\0' || *keys.group.switch_key == '\0') continue;
    if (!Has(settings.absent, keys.kind) || json[keys.group.switch_key] != "on") continue;
    json[keys.switch_key] = "on";
    if (*keys.interval_key == '\0') continue;
    json[keys.interval_key] = json[keys.group.interval_key].get<uint64_t>() / keys.group.per_ms;
  }
}

void SetDeviceKinds(const SampleSettings& settings, ordered_json& json) {
  // The smallest interval of all kinds that share a key.
  std::map<std::string_view, uint64_t> intervals;
  const auto note_interval = [&intervals](const char* key, uint64_t value) {
    if (*key == '\0') return;
    const auto [at, is_new] = intervals.try_emplace(key, value);
    if (!is_new) at->second = std::min(at->second, value);
  };
  for (const KindKeys& keys : kDeviceKinds) {
    if (!Taken(settings, keys.kind)) continue;
    const bool marks_group = keys.kind != kInBothGroups;
    for (const char* key : {keys.switch_key, marks_group ? keys.group.switch_key : ""}) {
      if (*key != '\0') json[key] = "on";
    }
    const auto interval = settings.interval_us.find(std::string(NameOf(keys.kind)));
    if (interval == settings.interval_us.end()) continue;
    note_interval(keys.interval_key, uint64_t{interval->second} * keys.per_ms / kMicrosecondsPerMs);
    if (marks_group)
      note_interval(keys.group.interval_key,
                    uint64_t{interval->second} * keys.group.per_ms / kMicrosecondsPerMs);
  }
  for (const auto& [key, value] : intervals) json[std::string(key)] = value;
  SetAbsentOfGroups(settings, json);
  // The option of the memory alone asks for more than its own kinds give, of the one that it shares with
  // links.
  const auto units = settings.interval_us.find("soc-profile");
  if (units != settings.interval_us.end() && units->second < kFinestOfMemoryUs &&
      json[kHardwareMem.switch_key] == "on")
    json[kHardwareMem.interval_key] = units->second;

  if (json["hbmProfiling"] == "on") json["hbm_profiling_events"] = settings.hbm_events;
  if (json["ddr_profiling"] == "on") json["ddr_profiling_events"] = "read,write";
  if (Taken(settings, Kind::kLlc)) json["llc_profiling"] = json["llc_profiling_events"] = settings.llc_mode;
  if (settings.power_left_out) json["sysLp"] = "off";
  if (settings.streams_chosen) json["memServiceflow"] = settings.qos_events;
  if (json["tsCpuProfiling"] == "on") json["ts_cpu_profiling_events"] = settings.cpu_events;
  if (json["aiCtrlCpuProfiling"] == "on") json["ai_ctrl_cpu_profiling_events"] = settings.cpu_events;
  if (settings.instr_cycles != 0) json["instrProfilingFreq"] = settings.instr_cycles;
  json["npuEvents"] = settings.npu_events;
  json["l2CacheTaskProfilingEvents"] = settings.l2_events;
  SetCores(settings, json);
}

// The shortest of the host's kinds, in every copy.
void SetHostInterval(const SampleSettings& settings, ordered_json& json) {
  uint32_t shortest = 0;
  for (const HostKeys& keys : kHostKinds) {
    const auto found = settings.interval_us.find(std::string(NameOf(keys.kind)));
    if (found == settings.interval_us.end()) continue;
    shortest = shortest == 0 ? found->second : std::min(shortest, found->second);
  }
  if (shortest != 0) json["hostProfilingSamplingInterval"] = shortest / kMicrosecondsPerMs;
}

void SetHostKinds(const SampleSettings& settings, ordered_json& json) {
  json["hostProfiling"] = true;
  for (const HostKeys& keys : kHostKinds) {
    if (!Taken(settings, keys.kind)) continue;
    if (*keys.switch_key != '\0') json[keys.switch_key] = "on";
    if (*keys.list_key != '\0') AppendWord(json[keys.list_key], keys.word);
  }
  if (settings.host_disk_hz != 0) json["host_disk_freq"] = settings.host_disk_hz;
}

}  // namespace

std::string SampleJson(const SampleSettings& settings, int device) {
  ordered_json json = ordered_json::parse(std::begin(kDefaults), std::end(kDefaults) - 1, nullptr, false);
  json["result_dir"] = settings.result_dir;
  json["devices"] = device < 0 ? "64" : std::to_string(device);  // 64: the vendor's number for the host
  json["job_id"] = settings.job_id;
  if (settings.period_s != 0 && !settings.of_program) json["profiling_period"] = settings.period_s;
  if (settings.storage_limit_mb != 0) json["storageLimit"] = std::to_string(settings.storage_limit_mb) + "MB";
  if (settings.target_pid > 0) json["host_sys_pid"] = settings.target_pid;
  json["msprofBinPid"] = settings.collector_pid;
  SetHostInterval(settings, json);
  if (settings.of_program) SetProgram(settings, json);
  SetDeviceKinds(settings, json);
  if (device < 0) {
    SetHostKinds(settings, json);
  } else {
    json["qosEvents"] = settings.qos_events;  // of whichever channel; each device has its own
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace profd::format
