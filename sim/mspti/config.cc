#include "sim/mspti/config.h"

#include <cstdio>

#include "sim/hal/yaml_map.h"

namespace profd::sim::mspti {
namespace {

constexpr std::array<const char*, kKinds> kKindNames = {"invalid",       "marker",  "kernel",
                                                        "api",           "hccl",    "memory",
                                                        "memset",        "memcpy",  "external_correlation",
                                                        "communication", "acl_api", "node_api",
                                                        "runtime_api"};

MsptiConfig Read(const YAML::Node& root) {
  MsptiConfig config;
  const YAML::Node section = root["mspti"];
  if (!section) return config;
  Map map(section, "mspti");
  map.Read("auto", config.auto_devices);
  if (const YAML::Node node = map.Get("rates")) {
    Map rates(node, "rates");
    for (uint32_t kind = 1; kind < kKinds; ++kind) {
      rates.ReadBetween(kKindNames[kind], config.rate[kind], 0U, 10'000'000U);
    }
    rates.RefuseOthers();
  }
  map.Read("busy", config.busy);
  map.Read("collects_from_s", config.collects_from_s);
  map.Read("unknown_every", config.unknown_every);
  map.Read("larger_kernels", config.larger_kernels);
  map.Read("odd_texts", config.odd_texts);
  map.Read("free_texts", config.free_texts);
  map.Read("missing_every", config.missing_every);
  map.Read("silent_after", config.silent_after);
  map.Read("drop_every", config.drop_every);
  map.Read("late_ms", config.late_ms);
  map.Read("complete_jitter_us", config.complete_jitter_us);
  map.Read("disable_ms", config.disable_ms);
  map.Read("unsubscribe_ms", config.unsubscribe_ms);
  map.Read("truth", config.truth);
  if (const YAML::Node node = map.Get("clock")) {
    Map clock(node, "mspti.clock");
    clock.ReadBetween("resync_s", config.resync_s, 0.01, 1e6);
    clock.Read("step_us", config.clock_step_us);
    clock.Read("jump_s", config.jump_s);
    clock.Read("jump_at_s", config.jump_at_s);
    clock.Read("device_offset_ns", config.device_offset_ns);
    clock.RefuseOthers();
  }
  map.RefuseOthers();
  return config;
}

}  // namespace

const char* KindName(uint32_t kind) { return kind < kKinds ? kKindNames[kind] : "unknown"; }

Configs LoadConfigs(const char* file) {
  Configs configs{.node = LoadConfig(file), .mspti = {}};
  if (file == nullptr || *file == '\0' || configs.node.devices.empty()) return configs;
  const auto complain = [&](int line, const char* message) {
    std::fprintf(stderr, "mspti simulator: %s:%d: %s; continuing without devices\n", file, line, message);
    configs.node.devices.clear();
    return configs;
  };
  try {
    const YAML::Node root = YAML::LoadFile(file);
    if (root.IsMap()) configs.mspti = Read(root);
    return configs;
  } catch (const ConfigError& error) {
    return complain(error.line, error.what());
  } catch (const YAML::Exception& error) {
    return complain(error.mark.line + 1, error.msg.c_str());
  }
}

}  // namespace profd::sim::mspti
