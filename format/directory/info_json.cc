#include <cmath>
#include <nlohmann/json.hpp>

#include "format/directory/bounded_json.h"
#include "format/directory/prof_dir.h"
#include "format/directory/side_facts.h"

namespace profd::format {

namespace {

using nlohmann::ordered_json;

// Far more than a true one has.
constexpr size_t kMostInfoValues = 10'000, kMostInfoDepth = 8;

// CPU numbers first … end-1 as the vendor lists them: "1,2,3".
std::string CpuList(int64_t first, int64_t end) {
  constexpr int64_t kMostCpus = 1024;  // foreign numbers: keep the text short whatever the driver says
  std::string list;
  for (int64_t cpu = std::max<int64_t>(first, 0); cpu < std::min(end, kMostCpus); ++cpu) {
    if (!list.empty()) list += ',';
    list += std::to_string(cpu);
  }
  return list;
}

std::string WholeMhz(double mhz) { return std::to_string(std::llround(mhz)); }

ordered_json DeviceJson(const DeviceInfo& device) {
  ordered_json json;
  json["id"] = device.id;
  json["env_type"] = device.env_type;
  json["ctrl_cpu_id"] = CoreName(device.ctrl_cpu_id);
  json["ctrl_cpu_core_num"] = device.ctrl_cpu_core_num;
  json["ctrl_cpu_endian_little"] = device.ctrl_cpu_endian_little;
  json["ctrl_cpu"] = CpuList(0, device.ctrl_cpu_core_num);
  json["ts_cpu_core_num"] = device.ts_cpu_core_num;
  json["ai_cpu_core_id"] = device.ai_cpu_core_id;
  json["ai_cpu_core_num"] = device.ai_cpu_core_num;
  // The vendor's own bounds: the AI CPUs are taken to follow the control CPUs.
  json["ai_cpu"] = CpuList(device.ai_cpu_core_id, device.ctrl_cpu_core_num + device.ai_cpu_core_num);
  json["aicpu_occupy_bitmap"] = device.aicpu_occupy_bitmap;
  json["ai_core_id"] = device.ai_core_id;
  json["ai_core_num"] = device.ai_core_num;
  json["aiv_num"] = device.aiv_num;
  json["hwts_frequency"] = std::to_string(device.counter_mhz);
  json["aic_frequency"] = WholeMhz(device.aic_mhz);
  json["aiv_frequency"] = WholeMhz(device.aiv_mhz);
  return json;
}

}  // namespace

std::string InfoJson(const HostFacts& host, const DeviceInfo* device, Chip platform_chip,
                     uint32_t api_version, const Target& target) {
  ordered_json json;
  json["version"] = "1.0";  // of the record layouts
  json["platform_version"] = std::to_string(NumberOf(platform_chip));
  json["platform"] = "";
  json["drvVersion"] = api_version;
  json["cannVersion"] = "";
  json["devices"] = device != nullptr ? std::to_string(device->id) : "";
  // An empty list is how the vendor's reader tells the host's side from a device's.
  json["DeviceInfo"] = ordered_json::array();
  if (device != nullptr) json["DeviceInfo"].push_back(DeviceJson(*device));
  json["OS"] = host.os;
  json["hostname"] = host.hostname;
  json["hwtype"] = host.hwtype;
  json["upTime"] = host.up_time;
  json["memoryTotal"] = host.memory_total_kb;
  json["cpuNums"] = host.cpu_nums;
  json["cpuCores"] = 1;  // entries of "CPU"
  json["sysClockFreq"] = host.clock_ticks;
  json["CPU"] = ordered_json::array({{{"Id", 0},
                                      {"Name", host.cpu_name},
                                      {"Frequency", host.cpu_mhz},
                                      {"Logical_CPU_Count", std::to_string(host.cpu_nums)},
                                      {"Type", host.cpu_type}}});
  json["netCardNums"] = host.net_cards.size();
  json["netCard"] = ordered_json::array();
  for (const HostFacts::NetCard& card : host.net_cards) {
    json["netCard"].push_back({{"netCardName", card.name}, {"speed", card.speed_mbps}});
  }
  json["pid"] = target.pid > 0 ? std::to_string(target.pid) : "NA";
  json["pid_name"] = target.pid > 0 ? target.name : "NA";
  json["rank_id"] = -1;  // none
  json["jobInfo"] = "NA";
  // Host and process names are foreign bytes; what is not UTF-8 in them must not cost the trace.
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string InfoJsonOfRank(std::string_view info_json, uint32_t device, int64_t rank,
                           std::string_view hostname) {
  // Only the first line counts, as for the vendor's reader.
  const std::string_view line = info_json.substr(0, info_json.find('\n'));
  ordered_json json;
  if (IsBounded(line, kMostInfoValues, kMostInfoDepth)) json = ordered_json::parse(line, nullptr, false);
  if (!json.is_object()) {
    json = ordered_json::object();
    json["devices"] = std::to_string(device);
    json["DeviceInfo"] = ordered_json::array({{{"id", device}}});
    json["hostname"] = hostname;
  }
  json["rank_id"] = rank;
  const auto uid = json.find("hostUid");
  json["hostUid"] = HostUidOf(uid != json.end() && uid->is_string() ? uid->get<std::string>() : "", hostname);
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace profd::format
