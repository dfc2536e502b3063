#include "sim/hal/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include "sim/abi.h"
#include "sim/hal/yaml_map.h"
#include "sim/scenario/producers/channel_ids.h"

namespace profd::sim {
namespace {

constexpr uint32_t kListStallMs = 60'000, kStopStallMs = 60'000, kNoReplyMs = 10'000;

const Chip* ReadChip(const YAML::Node& node) {
  const auto name = Map::As<std::string>(node, "chip");
  const Chip* chip = FindChip(name);
  if (chip == nullptr) throw ConfigError(node, "chip '" + name + "' is none of 310 910 310P 910B 310B 950");
  return chip;
}

std::vector<DeviceConfig> ReadDevices(const YAML::Node& node, const Chip* chip) {
  std::vector<DeviceConfig> devices;
  if (node && node.IsSequence()) {
    for (const YAML::Node& entry : node) {
      Map map(entry, "a device");
      const auto id = static_cast<uint32_t>(devices.size());
      DeviceConfig device{.id = id, .chip = chip, .physical_id = id};
      if (const YAML::Node own = map.Get("chip")) device.chip = ReadChip(own);
      map.Read("physical_id", device.physical_id);
      map.Read("split_mode", device.split_mode);
      map.RefuseOthers();
      devices.push_back(device);
    }
  } else {
    const auto count = node ? Map::As<uint32_t>(node, "devices") : 2;
    for (uint32_t id = 0; id < std::min(count, kMaxDevices + 1); ++id) {
      devices.push_back({.id = id, .chip = chip, .physical_id = id});
    }
  }
  if (devices.size() > kMaxDevices) throw ConfigError(node, "at most 64 devices");
  return devices;
}

// What the capture's devices say they are; a chip nobody knows has the usual transport.
std::vector<DeviceConfig> DevicesOf(const Capture& capture) {
  const int32_t asked[] = {module::kSystem, info::kVersion};
  const std::string key =
      Capture::KeyOf("halGetDeviceInfo", {reinterpret_cast<const char*>(asked), sizeof asked});
  std::vector<DeviceConfig> devices;
  for (const auto& [id, device] : capture.devices) {
    const Chip* chip = nullptr;
    const auto version = device.answers.find(key);
    if (version != device.answers.end() && version->second.front().bytes.size() > 1)
      chip = FindChip(static_cast<uint8_t>(version->second.front().bytes[1]));
    devices.push_back({.id = id, .chip = chip == nullptr ? FindChip("910B") : chip, .physical_id = id});
  }
  return devices;
}

std::vector<uint32_t> ReadChannels(const YAML::Node& node) {
  std::vector<uint32_t> ids;
  if (node.IsSequence()) {
    for (const YAML::Node& entry : node) ids.push_back(Map::As<uint32_t>(entry, "channel"));
  } else {
    ids.push_back(Map::As<uint32_t>(node, "channel"));
  }
  for (const uint32_t id : ids) {
    if (id == 0 || id >= kMaxChannels) throw ConfigError(node, "a channel is a number from 1 to 159");
  }
  return ids;
}

std::vector<uint32_t> ChannelsThat(bool (*test)(uint32_t)) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 1; id < kMaxChannels; ++id) {
    if (test(id)) ids.push_back(id);
  }
  return ids;
}

constexpr std::pair<const char*, Call> kCalls[] = {{"get_channels", Call::kGetChannels},
                                                   {"start", Call::kStart},
                                                   {"stop", Call::kStop},
                                                   {"read", Call::kRead},
                                                   {"poll", Call::kPoll},
                                                   {"flush", Call::kFlush},
                                                   {"dev_num", Call::kDevNum},
                                                   {"dev_ids", Call::kDevIds},
                                                   {"api_version", Call::kApiVersion},
                                                   {"status", Call::kStatus},
                                                   {"physical_id", Call::kPhysicalId},
                                                   {"info", Call::kInfo},
                                                   {"info_by_buffer", Call::kInfoByBuffer},
                                                   {"pair_info", Call::kPairInfo},
                                                   {"chip_info", Call::kChipInfo},
                                                   {"split_mode", Call::kSplitMode},
                                                   {"attach", Call::kAttach},
                                                   {"query_group", Call::kQueryGroup},
                                                   {"create_group", Call::kCreateGroup},
                                                   {"subscribe", Call::kSubscribe},
                                                   {"wait_event", Call::kWaitEvent},
                                                   {"can_process", Call::kCanProcess},
                                                   {"open_process", Call::kOpenProcess},
                                                   {"process_states", Call::kProcessStates},
                                                   {"close_process", Call::kCloseProcess},
                                                   {"init_cards", Call::kInitCards},
                                                   {"card_list", Call::kCardList},
                                                   {"devices_of_card", Call::kDevicesOfCard},
                                                   {"device_number", Call::kDeviceNumber},
                                                   {"port_totals", Call::kPortTotals},
                                                   {"card_health", Call::kCardHealth}};

// A named fault is one of the accidents, or a shorthand for faults of calls.
std::vector<FaultSpec> Named(const YAML::Node& node, const std::string& name, FaultSpec spec) {
  constexpr std::pair<const char*, Accident> kAccidents[] = {
      {"device_lost", Accident::kDeviceLost},     {"ring_overwrite", Accident::kRingOverwrite},
      {"ring_drop", Accident::kRingDrop},         {"lose_slots", Accident::kLoseSlots},
      {"poll_spurious", Accident::kPollSpurious}, {"clock_step", Accident::kClockStep}};
  for (const auto& [text, accident] : kAccidents) {
    if (name != text) continue;
    spec.accident = accident;
    return {spec};
  }
  const auto of_call = [&spec](Call call, std::optional<int> ret, uint32_t delay_ms) {
    FaultSpec fault = spec;
    fault.call = call;
    if (!fault.ret) fault.ret = ret;
    if (fault.delay_ms == 0) fault.delay_ms = delay_ms;
    return fault;
  };
  if (name == "stop_stall") return {of_call(Call::kStop, std::nullopt, kStopStallMs)};
  if (name == "list_stall") return {of_call(Call::kGetChannels, std::nullopt, kListStallMs)};
  if (name == "start_no_reply") return {of_call(Call::kStart, code::kWaitTimeout, kNoReplyMs)};
  if (name == "biu_loss") {
    if (spec.channels.empty()) spec.channels = ChannelsThat(channel::IsBiu);
    return {of_call(Call::kStop, code::kBiuLoss, 0)};
  }
  if (name == "no_compute_process") {
    if (spec.channels.empty()) spec.channels = ChannelsThat(channel::IsTaskScheduler);
    return {of_call(Call::kStart, code::kNoComputeProcess, 0)};
  }
  if (name == "permission") {
    FaultSpec list = of_call(Call::kGetChannels, std::nullopt, 0);
    list.ret = code::kInvalidValue;
    FaultSpec start = of_call(Call::kStart, std::nullopt, 0);
    start.ret = code::kNotSupported;
    return {of_call(Call::kDevNum, code::kInner, 0), list, start};
  }
  throw ConfigError(node, "unknown fault '" + name + "'");
}

std::vector<FaultSpec> ReadFault(const YAML::Node& node) {
  Map map(node, "a fault");
  FaultSpec spec;
  map.Read("at_s", spec.at_s);
  map.Read("for_s", spec.for_s);
  map.Read("while", spec.while_file);
  map.Read("device", spec.device);
  if (const YAML::Node channels = map.Get("channel")) spec.channels = ReadChannels(channels);
  map.Read("ret", spec.ret);
  map.Read("ones", spec.ones);
  map.Read("delay_ms", spec.delay_ms);
  map.Read("times", spec.times);
  map.Read("step_s", spec.step_s);
  const YAML::Node call = map.Get("call");
  const YAML::Node name = map.Get("name");
  map.RefuseOthers();
  if (static_cast<bool>(call) == static_cast<bool>(name))
    throw ConfigError(node, "a fault has either a call or a name");
  if (name) return Named(name, Map::As<std::string>(name, "name"), spec);

  const auto text = Map::As<std::string>(call, "call");
  for (const auto& [known, value] : kCalls) {
    if (text != known) continue;
    if (!spec.ret && !spec.ones && spec.delay_ms == 0)
      throw ConfigError(node, "a fault of a call needs ret, ones or delay_ms");
    spec.call = value;
    return {spec};
  }
  throw ConfigError(call, "unknown call '" + text + "'");
}

Config Read(const YAML::Node& root) {
  Config config;
  Map map(root, "the configuration");
  const Chip* chip = FindChip("910B");
  if (const YAML::Node node = map.Get("chip")) chip = ReadChip(node);
  config.devices = ReadDevices(map.Get("devices"), chip);
  map.Read("seed", config.seed);
  if (const YAML::Node mode = map.Get("mode")) {
    const auto text = Map::As<std::string>(mode, "mode");
    if (text != "clock" && text != "flood") throw ConfigError(mode, "mode is clock or flood");
    config.flood = text == "flood";
  }
  map.ReadBetween("rate_mb_s", config.rate_mb_s, 0.0, 1e6);
  map.Read("api_version", config.api_version);
  if (const YAML::Node node = map.Get("clock")) {
    Map clock(node, "clock");
    clock.Read("offset_ns", config.clock_offset_ns);
    clock.ReadBetween("drift_ppm", config.clock_drift_ppm, -100'000.0, 100'000.0);
    clock.Read("osc_busy_s", config.osc_busy_s);
    clock.Read("query_latency_us", config.query_latency_us);
    clock.RefuseOthers();
  }
  if (const YAML::Node node = map.Get("late_channels")) {
    Map late(node, "late_channels");
    late.Read("delay_s", config.late_delay_s);
    if (const YAML::Node ids = late.Get("ids")) config.late_channels = ReadChannels(ids);
    late.RefuseOthers();
    std::sort(config.late_channels.begin(), config.late_channels.end());
  }
  if (const YAML::Node node = map.Get("device_process")) {
    Map process(node, "device_process");
    process.Read("capable", config.process_capable);
    process.Read("ret", config.process_ret);
    process.RefuseOthers();
  }
  if (const YAML::Node node = map.Get("ports")) {
    Map ports(node, "ports");
    ports.Read("ret", config.ports_ret);
    ports.Read("at_s", config.ports_from_s);
    ports.Read("for_s", config.ports_for_s);
    ports.Read("while", config.ports_while);
    ports.RefuseOthers();
  }
  if (const YAML::Node node = map.Get("health")) {
    Map health(node, "health");
    health.Read("alarm", config.health.alarm);
    health.Read("temperature", config.health.temperature);
    health.Read("power", config.health.power);
    health.Read("hbm_temperature", config.health.hbm_temperature);
    health.Read("hbm_mb", config.health.hbm_mb);
    health.Read("hbm_used_mb", config.health.hbm_used_mb);
    health.Read("corrected", config.health.corrected);
    health.Read("uncorrected", config.health.uncorrected);
    health.Read("isolated_pages", config.health.isolated_pages);
    health.Read("faults", config.health.faults);
    health.Read("network", config.health.network);
    health.RefuseOthers();
  }
  if (const YAML::Node node = map.Get("scenario")) {
    Map scenario(node, "scenario");
    scenario.ReadBetween("step_ms", config.scenario.step_ms, 20U, 60'000U);
    scenario.ReadBetween("checkpoint_every", config.scenario.checkpoint_every, 1U, 1'000'000U);
    scenario.RefuseOthers();
  }
  if (const YAML::Node node = map.Get("replay")) {
    if (node.IsScalar()) {
      if (root["devices"] || root["chip"])
        throw ConfigError(node, "a capture has its own devices: leave out devices and chip");
      const auto file = Map::As<std::string>(node, "replay");
      try {
        config.capture = std::make_shared<Capture>(ReadCapture(file));
      } catch (const std::runtime_error& error) {
        throw ConfigError(node, "'" + file + "' " + error.what());
      }
      config.devices = DevicesOf(*config.capture);
    } else if (!node.IsMap()) {
      throw ConfigError(node, "replay is a capture, or a map of channel: file");
    }
    for (const auto& entry : node) {
      const auto id = Map::As<uint32_t>(entry.first, "replay");
      if (id == 0 || id >= kMaxChannels)
        throw ConfigError(entry.first, "a channel is a number from 1 to 159");
      std::ifstream file(Map::As<std::string>(entry.second, "replay"), std::ios::binary);
      if (!file) throw ConfigError(entry.second, "cannot open '" + entry.second.as<std::string>() + "'");
      config.replay[id].assign(std::istreambuf_iterator<char>(file), {});
    }
  }
  map.Read("truth", config.truth);
  if (const YAML::Node node = map.Get("containers")) {
    Map containers(node, "containers");
    containers.Read("bindings", config.bindings);
    containers.Read("host_mounts", config.host_mounts);
    containers.RefuseOthers();
  }
  if (const YAML::Node node = map.Get("faults")) {
    if (!node.IsSequence()) throw ConfigError(node, "faults must be a list");
    for (const YAML::Node& entry : node) {
      for (FaultSpec& fault : ReadFault(entry)) config.faults.push_back(std::move(fault));
    }
  }
  map.Get("mspti");  // sim/mspti reads it
  map.RefuseOthers();
  return config;
}

}  // namespace

Config LoadConfig(const char* file) {
  const auto complain = [file](int line, const char* message) {
    std::fprintf(stderr, "ascend simulator: %s:%d: %s; continuing without devices\n", file, line, message);
    return Config{};
  };
  try {
    if (file == nullptr || *file == '\0') return Read(YAML::Node(YAML::NodeType::Map));
    const YAML::Node root = YAML::LoadFile(file);
    return Read(root.IsNull() ? YAML::Node(YAML::NodeType::Map) : root);
  } catch (const ConfigError& error) {
    return complain(error.line, error.what());
  } catch (const YAML::Exception& error) {
    return complain(error.mark.line + 1, error.msg.c_str());
  }
}

}  // namespace profd::sim
