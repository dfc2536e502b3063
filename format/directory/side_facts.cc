#include "format/directory/side_facts.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "format/op_names.h"

namespace profd::format {

namespace {

using base::Code;
using base::Status;
using nlohmann::json;

json FirstLine(std::string_view text) { return json::parse(text.substr(0, text.find('\n')), nullptr, false); }

const json* Find(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string Text(const json& object, const char* key) {
  const json* value = Find(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// A number, written as one or as text: the vendor does both.
std::optional<double> Number(const json& object, const char* key) {
  const json* value = Find(object, key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  if (!value->is_string()) return std::nullopt;
  const std::string& text = value->get_ref<const std::string&>();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

template <typename Integer>
void TakeInteger(const json& object, const char* key, Integer& out) {
  const auto number = Number(object, key);
  if (!number) return;
  const double least = std::is_signed_v<Integer> ? -9e15 : 0;
  const double most = sizeof(Integer) == 4 ? 4e9 : 9e15;
  if (*number >= least && *number <= most) out = static_cast<Integer>(*number);
}

double Megahertz(const json& object, const char* key) {
  const double mhz = Number(object, key).value_or(0);
  return mhz > 0 && mhz < 1e6 ? mhz : 0;
}

constexpr size_t kMostItems = 1024;

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> items;
  while (!text.empty() && items.size() < kMostItems) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) items.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return items;
}

std::vector<std::string> Items(const json& object, const char* key) {
  std::vector<std::string> items;
  const json* value = Find(object, key);
  if (value != nullptr && value->is_array()) {
    for (const json& item : *value) {
      if (item.is_string() && items.size() < kMostItems) items.push_back(item.get<std::string>());
    }
  } else {
    return Split(Text(object, key), ',');
  }
  return items;
}

template <typename Integer>
std::vector<Integer> Integers(const std::vector<std::string>& items) {
  std::vector<Integer> numbers;
  for (const std::string& item : items) {
    std::string_view digits = item;
    while (digits.starts_with(' ')) digits.remove_prefix(1);
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (hex) digits.remove_prefix(2);
    Integer number = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
    if (error == std::errc() && end == digits.data() + digits.size()) numbers.push_back(number);
  }
  return numbers;
}
template <typename Integer>
std::vector<Integer> Integers(const json& object, const char* key) {
  return Integers<Integer>(Items(object, key));
}

// "HA:0xf6,0xfb;SMMU:0x2"; without a unit they are of HA.
void TakeSocEvents(const std::string& text, SideFacts& facts) {
  for (const std::string& group : Split(text, ';')) {
    const size_t colon = group.find(':');
    const std::string unit = colon == std::string::npos ? "HA" : group.substr(0, colon);
    const size_t begin = colon == std::string::npos ? 0 : colon + 1;
    const auto events = Integers<uint32_t>(Split(std::string_view(group).substr(begin), ','));
    if (unit == "HA" || unit == "MATA") facts.ha_events = events;
    if (unit == "SMMU") facts.smmu_events = events;
    if (unit == "NOC") facts.noc_events = events;
  }
}

const json& FirstOf(const json& list) {
  static const json kEmpty = json::object();
  return list.is_array() && !list.empty() ? list.front() : kEmpty;
}

}  // namespace

std::string HostUidOf(std::string_view host_uid, std::string_view hostname) {
  if (!host_uid.empty()) return std::string(host_uid);
  return hostname.empty() ? "0" : std::to_string(CannHash(hostname));
}

Status ParseInfoJson(std::string_view text, SideFacts& facts) {
  const json info = FirstLine(text);
  if (!info.is_object()) return Status(Code::kInvalidArgument, "its first line is no JSON object");
  uint32_t number = NumberOf(Chip::kUnknown);
  TakeInteger(info, "platform_version", number);
  facts.chip = Chip{number};
  facts.records_v2 = Text(info, "version") == "2.0";
  TakeInteger(info, "pid", facts.pid);
  facts.pid_name = Text(info, "pid_name");
  facts.hostname = Text(info, "hostname");
  facts.host_uid = Text(info, "hostUid");
  facts.cann_version = Text(info, "cannVersion");
  TakeInteger(info, "rank_id", facts.rank_id);
  TakeInteger(info, "drvVersion", facts.driver_version);
  TakeInteger(info, "memoryTotal", facts.memory_total_kb);
  TakeInteger(info, "cpuNums", facts.cpu_nums);
  TakeInteger(info, "sysClockFreq", facts.clock_ticks);
  if (const json* cpus = Find(info, "CPU")) facts.host_counter_mhz = Megahertz(FirstOf(*cpus), "Frequency");
  if (const json* cards = Find(info, "netCard"); cards != nullptr && cards->is_array()) {
    for (const json& card : *cards) {
      HostFacts::NetCard& taken = facts.net_cards.emplace_back();
      taken.name = Text(card, "netCardName");
      TakeInteger(card, "speed", taken.speed_mbps);
    }
  }
  if (const json* devices = Find(info, "DeviceInfo")) {
    const json& device = FirstOf(*devices);
    facts.counter_mhz = Megahertz(device, "hwts_frequency");
    facts.aic_mhz = Megahertz(device, "aic_frequency");
    facts.aiv_mhz = Megahertz(device, "aiv_frequency");
    TakeInteger(device, "ai_core_num", facts.ai_core_num);
    TakeInteger(device, "aiv_num", facts.aiv_num);
    facts.ctrl_cpus = Integers<int64_t>(device, "ctrl_cpu");
    facts.ai_cpus = Integers<int64_t>(device, "ai_cpu");
  }
  if (facts.chip == Chip::kUnknown) return Status(Code::kInvalidArgument, "names no platform_version");
  return Status::Ok();
}

Status ParseSampleJson(std::string_view text, SideFacts& facts) {
  const json sample = FirstLine(text);
  if (!sample.is_object()) return Status(Code::kInvalidArgument, "its first line is no JSON object");
  if (auto events = Items(sample, "hbm_profiling_events"); !events.empty()) {
    facts.hbm_events = std::move(events);
  }
  facts.llc_mode = Text(sample, "llc_profiling");
  facts.qos_events = Items(sample, "qosEvents");
  facts.cores_sampled = Text(sample, "ai_core_profiling_mode") == kSampleBased ||
                        Text(sample, "aiv_profiling_mode") == kSampleBased;
  const auto by_task = [&sample](const char* key) { return Text(sample, key) == kTaskBased; };
  facts.cores_by_task =
      !facts.cores_sampled && (by_task("ai_core_profiling_mode") || by_task("aiv_profiling_mode"));
  facts.aic_events = Integers<uint32_t>(sample, "ai_core_profiling_events");
  facts.aiv_events = Integers<uint32_t>(sample, "aiv_profiling_events");
  facts.ts_cpu_events = Integers<uint32_t>(sample, "ts_cpu_profiling_events");
  facts.ctrl_cpu_events = Integers<uint32_t>(sample, "ai_ctrl_cpu_profiling_events");
  facts.l2_events = Integers<uint32_t>(sample, "l2CacheTaskProfilingEvents");
  TakeSocEvents(Text(sample, "npuEvents"), facts);
  facts.aic_metrics = Text(sample, "ai_core_metrics");
  facts.aiv_metrics = Text(sample, "aiv_metrics");
  TakeInteger(sample, "host_disk_freq", facts.host_disk_hz);
  if (Text(sample, "instrProfiling") == "on") {
    TakeInteger(sample,
                Find(sample, "instrProfilingFreq") != nullptr ? "instrProfilingFreq" : "instr_profiling_freq",
                facts.instr_cycles);
  }
  facts.prof_level = Text(sample, Find(sample, "profLevel") != nullptr ? "profLevel" : "prof_level");
  facts.job_id = Text(sample, "job_id");
  return Status::Ok();
}

bool CoresByTask(std::string_view sample_json) {
  SideFacts facts;
  return ParseSampleJson(sample_json, facts).ok() && facts.cores_by_task;
}

}  // namespace profd::format
