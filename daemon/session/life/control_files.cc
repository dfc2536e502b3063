#include "daemon/session/life/control_files.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include "daemon/agent/peer.h"
#include "daemon/driver/offers.h"
#include "daemon/driver/starts.h"
#include "format/events/stand_in.h"
#include "format/kind.h"
#include "format/preset.h"

namespace profd::session {

using format::Kind;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// Of a 310's cache, which counts by user (the vendor's collector, LlcEventUtils::GenerateCapacityEvents).
constexpr char kCacheOf310[] =
    "hisi_l3c0_1/dsid0/,hisi_l3c0_1/dsid1/,hisi_l3c0_1/dsid2/,hisi_l3c0_1/dsid3/,"
    "hisi_l3c0_1/dsid4/,hisi_l3c0_1/dsid5/,hisi_l3c0_1/dsid6/,hisi_l3c0_1/dsid7/";

void NoteInterval(const KindState& kind, format::SampleSettings& settings) {
  if (kind.effective_hz > 0)
    settings.interval_us[std::string(NameOf(kind.kind))] =
        static_cast<uint32_t>(std::lround(1e6 / kind.effective_hz));
}

// Whether the agent of the target records the calls of a level.
bool RecordsCalls(const ControlInput& input, std::string_view level) {
  const auto agent = std::ranges::find(input.plan.agents, input.target.pid, &AgentStart::pid);
  const uint32_t levels = agent == input.plan.agents.end() ? 0 : agent->call_levels;
  const auto bit = std::ranges::find(agent::kCallLevels, level) - std::begin(agent::kCallLevels);
  return levels == 0 || (levels >> bit & 1) != 0;
}

format::SampleSettings CommonSettings(const ControlInput& input) {
  format::SampleSettings settings;
  settings.result_dir = input.result_dir;
  settings.job_id = input.job_id;
  settings.cpu_events = driver::kCpuEvents;
  settings.storage_limit_mb = input.storage_limit_bytes / 1'000'000;
  settings.period_s = input.duration_ns / kSecond;
  settings.target_pid = input.target.pid;
  settings.collector_pid = ::getpid();
  settings.program = input.target.name;
  for (const KindState& kind : input.plan.kinds) {
    const bool logged = kind.kind == Kind::kTask, by_agent = kind.kind == Kind::kAgentKernel;
    settings.tasks = settings.tasks || logged || by_agent;
    // Calls begin when the program loads CANN, which may be later.
    const bool awaited = kind.verdict == Verdict::kStarted || kind.verdict == Verdict::kPending;
    settings.calls = settings.calls || (kind.kind == Kind::kAgentApi && awaited);
  }
  for (const AgentStart& start : input.plan.agents) {  // tasks are l0
    if (start.reports > agent::Reported::kNothing)
      settings.task_level = static_cast<uint32_t>(start.reports) - 1;
  }
  settings.acl_calls = settings.calls && RecordsCalls(input, "acl");
  settings.runtime_calls = settings.calls && RecordsCalls(input, "runtime");
  settings.of_program = input.target.pid > 0 && (settings.tasks || settings.calls);
  // The vendor's copies all say the host's interval.
  for (const HostStart& start : input.plan.host) NoteInterval(input.plan.kinds[start.kind_index], settings);
  return settings;
}

void NoteKind(const KindState& kind, format::SampleSettings& settings) {
  if (std::ranges::count(settings.kinds, NameOf(kind.kind)) == 0)
    settings.kinds.emplace_back(NameOf(kind.kind));
  NoteInterval(kind, settings);
}

void NoteDevice(const ControlInput& input, const driver::DeviceFacts& device,
                format::SampleSettings& settings) {
  settings.power_left_out = format::TraitsOf(device.chip).fine_soc_profile;
  for (const ChannelStart& start : input.plan.channels) {
    if (start.device != device.id) continue;
    NoteKind(input.plan.kinds[start.kind_index], settings);
    for (const DeviceFileStart& file : start.files) NoteKind(input.plan.kinds[file.kind_index], settings);
    driver::NoteStart(start.channel, start.para, input.plan.kinds[start.kind_index].kind, start.mode, device,
                      settings);
  }
  settings.hwts_log = !format::TraitsOf(device.chip).stars;
  if (device.chip == format::Chip::k310) {
    settings.llc_preset = "capacity";
    settings.llc_preset_events = kCacheOf310;
  }
  for (const format::Kind kind : format::kDeviceKinds) {
    if (!driver::LookUp(kind, device, input.api_version).available())
      settings.absent.emplace_back(NameOf(kind));
  }
  // aicore and aivector may share one start.
  for (const KindState& kind : input.plan.kinds) {
    if (kind.unit == "device:" + std::to_string(device.id) && kind.verdict == Verdict::kStarted) {
      NoteKind(kind, settings);
    }
  }
}

// The vendor has one set of settings for all sides, and its parser asks the host's file how the cores are
// counted (ConfigMgr.is_ai_core_sample_based of the host's path). QoS names are each device's own.
format::SampleSettings HostSettings(const ControlInput& input, const driver::DeviceFacts* first_device) {
  format::SampleSettings settings = CommonSettings(input);
  settings.host_alone = first_device == nullptr;
  if (first_device != nullptr) NoteDevice(input, *first_device, settings);
  std::erase(settings.kinds, NameOf(Kind::kQos));
  std::erase(settings.absent, NameOf(Kind::kQos));
  for (const HostStart& start : input.plan.host) {
    NoteKind(input.plan.kinds[start.kind_index], settings);
    if (start.kind == Kind::kHostDisk) settings.host_disk_hz = start.hz;
  }
  return settings;
}

format::DeviceInfo ToInfo(const driver::DeviceFacts& facts) {
  format::DeviceInfo info;
  info.id = facts.id;
  info.chip = facts.chip;
  info.env_type = facts.env_type;
  info.ctrl_cpu_core_num = facts.ctrl_cpu_core_num;
  info.ctrl_cpu_id = facts.ctrl_cpu_id;
  info.ctrl_cpu_endian_little = facts.ctrl_cpu_endian_little;
  info.ts_cpu_core_num = facts.ts_cpu_core_num;
  info.ai_cpu_core_num = facts.ai_cpu_core_num;
  info.ai_cpu_core_id = facts.ai_cpu_core_id;
  info.ai_core_num = facts.ai_core_num;
  info.ai_core_id = facts.ai_core_id;
  info.aicpu_occupy_bitmap = facts.aicpu_occupy_bitmap;
  // As the vendor, who does not ask chips before STARS (DrvGetAivNum() of its collector).
  info.aiv_num = format::TraitsOf(facts.chip).stars ? facts.aiv_num : 0;
  info.counter_mhz = facts.counter_mhz;
  info.aic_mhz = facts.aic_mhz;
  info.aiv_mhz = facts.aiv_mhz;
  return info;
}

store::ControlFile File(std::string path, std::string content) {
  store::ControlFile file;
  file.path = std::move(path);
  file.content = std::move(content);
  return file;
}

// Those whose log of tasks the vendor's parser reads together with the host's launches only.
std::vector<uint32_t> LoggedAlone(const ControlInput& input) {
  std::vector<uint32_t> devices;
  for (const driver::DeviceFacts& device : input.devices) {
    const auto logs = [&](const ChannelStart& start) {
      return start.device == device.id && start.file == format::file::kStarsLog;
    };
    if (device.chip == format::Chip::k910B && std::ranges::any_of(input.plan.channels, logs))
      devices.push_back(device.id);
  }
  return devices;
}

std::string Folder(uint32_t device) { return "device_" + std::to_string(device) + "/"; }
// A file of a device's folder whose name ends in the device's number.
std::string Numbered(uint32_t device, const char* name) {
  return Folder(device) + name + "." + std::to_string(device);
}

}  // namespace

std::vector<store::ControlFile> StartControlFiles(const ControlInput& input, const format::ClockPair& host,
                                                  const std::map<uint32_t, format::ClockPair>& devices) {
  std::vector<store::ControlFile> files;
  // The host side carries the chip of the first device, as the vendor's does; 910B where there is none.
  const driver::DeviceFacts* first_device = nullptr;
  for (const driver::DeviceFacts& device : input.devices) {
    const auto pair = devices.find(device.id);
    if (pair == devices.end()) continue;
    if (first_device == nullptr) first_device = &device;
    const format::DeviceInfo info = ToInfo(device);
    const std::string folder = Folder(device.id);
    const int id = static_cast<int>(device.id);
    files.push_back(File(Numbered(device.id, "start_info"), format::StartInfo(pair->second)));
    files.push_back(File(Numbered(device.id, "host_start.log"), format::HostStartLog(pair->second, id)));
    files.push_back(File(Numbered(device.id, "dev_start.log"), format::DevStartLog(pair->second)));
    files.push_back(File(Numbered(device.id, "info.json"),
                         format::InfoJson(input.host, &info, device.chip, input.api_version, input.target)));
    format::SampleSettings settings = CommonSettings(input);
    NoteDevice(input, device, settings);
    files.push_back(File(folder + "sample.json", format::SampleJson(settings, id)));
    files.back().done_blank = true;
  }
  files.push_back(File("host/start_info", format::StartInfo(host)));
  files.push_back(File("host/host_start.log", format::HostStartLog(host, -1)));
  const format::Chip host_chip = first_device == nullptr ? format::Chip::k910B : first_device->chip;
  files.push_back(File("host/info.json",
                       format::InfoJson(input.host, nullptr, host_chip, input.api_version, input.target)));
  files.push_back(File("host/sample.json", format::SampleJson(HostSettings(input, first_device), -1)));
  files.back().done_blank = true;
  if (!TakesReports(input.plan)) {
    for (store::ControlFile& file : StandInFiles(input, host)) files.push_back(std::move(file));
  }
  return files;
}

std::vector<store::ControlFile> StandInFiles(const ControlInput& input, const format::ClockPair& host) {
  std::vector<store::ControlFile> files;
  for (format::StandInFile& file : format::StandInLaunches(LoggedAlone(input), host.host_counter))
    files.push_back(File("host/data/" + file.slice, std::move(file.content)));
  return files;
}

bool TakesReports(const Plan& plan) {
  return std::ranges::any_of(
      plan.agents, [](const AgentStart& start) { return start.reports != agent::Reported::kNothing; });
}

std::vector<store::ControlFile> EndControlFiles(const std::vector<uint32_t>& opened,
                                                const format::ClockPair& host,
                                                const std::map<uint32_t, format::ClockPair>& devices) {
  std::vector<store::ControlFile> files;
  for (const uint32_t device : opened) {
    const auto pair = devices.find(device);
    // A device that no longer answers ends when the host does.
    files.push_back(
        File(Numbered(device, "end_info"), format::EndInfo(pair == devices.end() ? host : pair->second)));
  }
  files.push_back(File("host/end_info", format::EndInfo(host)));
  return files;
}

}  // namespace profd::session
