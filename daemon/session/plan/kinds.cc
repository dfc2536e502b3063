#include "daemon/session/plan/kinds.h"

#include <algorithm>
#include <array>

#include "base/edit_distance.h"
#include "base/text.h"
#include "daemon/driver/capabilities.h"
#include "format/agent_blocks.h"

namespace profd::session {

namespace {

constexpr HostKind kHostKinds[] = {
    {"host-cpu", HostKind::Scope::kProcess, 50},
    {"host-mem", HostKind::Scope::kProcess, 50},
    {"host-disk", HostKind::Scope::kProcess, 50},
    {"host-network", HostKind::Scope::kHost, 50},
    {"host-sys-cpu", HostKind::Scope::kHost, 10},
    {"host-sys-mem", HostKind::Scope::kHost, 10},
    {"host-pid-cpu", HostKind::Scope::kEither, 10},
    {"host-pid-mem", HostKind::Scope::kEither, 10},
    {"host-cpu-profile", HostKind::Scope::kProcess, 99, 999},
    {"host-off-cpu", HostKind::Scope::kProcess, 0, 0},
    {"host-osrt", HostKind::Scope::kProcess, 0, 0},
    {"host-pthread", HostKind::Scope::kProcess, 0, 0, true},
    {"host-cgroup", HostKind::Scope::kProcess, 10},
    {"host-net-devices", HostKind::Scope::kHost, 10},
    {"host-hardware", HostKind::Scope::kHost, 10},
};

constexpr std::string_view kPresets[] = {"node", "memory", "network", "host", "light", "detail", "all"};

constexpr std::string_view kMemory[] = {"hbm", "ddr", "llc", "npu-mem", "npu-app-mem", "npu-module-mem"};
constexpr std::string_view kNetwork[] = {"nic", "roce", "netdev", "hccs", "pcie", "ub", "host-network"};
constexpr std::string_view kWholeHost[] = {"host-sys-cpu", "host-sys-mem", "host-network"};
constexpr std::string_view kOfTargets[] = {"host-cpu", "host-mem", "host-disk", "host-network"};
// A first look at a job that one can always afford: what ran when, on the device and in the program.
constexpr std::string_view kLight[] = {"task",       "agent-step",   "agent-range",
                                       "agent-mark", "agent-kernel", "agent-comm",
                                       "agent-api",  "host-cpu",     "host-mem"};
constexpr std::string_view kLightOfNode[] = {"task", "npu-mem", "host-sys-cpu", "host-sys-mem"};
// Everything that is known of tasks: with the counters of each, its memory, and what the host did meanwhile.
constexpr std::string_view kDetail[] = {"agent-memory", "agent-counter", "aicore-task", "aivector-task",
                                        "l2",           "aicpu",         "ccu-task",    "ccu",
                                        "hccs",         "pcie"};
constexpr std::string_view kDetailOfTargets[] = {"host-disk", "host-cpu-profile"};
// Not peripherals of the node but cores and processors at work for somebody.
constexpr std::string_view kCores[] = {"tscpu", "aicore", "aivector", "aicpu", "task", "ccu", "ccu-task"};

// They interrupt or slow down what they look at, or take another library than the driver's: only for who
// names them.
constexpr std::string_view kByNameOnly[] = {"host-cpu-profile", "host-off-cpu", "host-osrt", "host-pthread",
                                            "soc-pmu",          "l2",           "instr",     "aicore-task",
                                            "aivector-task",    "ctrlcpu",      "dev-cpu",   "dev-mem",
                                            "dev-pid-cpu",      "dev-pid-mem",  "netdev"};

bool Has(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string Unknown(std::string_view what, std::string_view name,
                    const std::vector<std::string_view>& known) {
  std::string message = "unknown " + std::string(what) + " '" + base::Excerpt(name) + "'; ";
  if (const std::string_view nearest = base::Nearest(name, known); !nearest.empty())
    return message + "did you mean " + std::string(nearest) + "?";
  std::string all;
  for (const std::string_view candidate : known) all += (all.empty() ? "" : " ") + std::string(candidate);
  return message + "there are: " + all;
}

}  // namespace

std::span<const HostKind> HostKindTable() { return kHostKinds; }

const HostKind* FindHostKind(std::string_view name) {
  for (const HostKind& kind : kHostKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::span<const std::string_view> AgentKindNames() {
  static const auto kNames = [] {
    std::array<std::string_view, format::kAgentKinds> names;
    for (size_t i = 0; i < names.size(); ++i)
      names[i] = format::AgentKindName(static_cast<format::AgentKind>(i));
    return names;
  }();
  return kNames;
}
bool IsAgentKind(std::string_view name) { return Has(AgentKindNames(), name); }

std::vector<std::string_view> UsualDeviceKinds() {
  std::vector<std::string_view> kinds;
  for (const std::string_view kind : driver::DeviceKindNames()) {
    if (!Has(kByNameOnly, kind)) kinds.push_back(kind);
  }
  return kinds;
}

std::vector<std::string_view> PresetKinds(std::string_view preset, bool with_targets) {
  std::vector<std::string_view> kinds;
  const auto add = [&kinds](std::span<const std::string_view> names) {
    kinds.insert(kinds.end(), names.begin(), names.end());
  };
  if (preset == "memory") {
    add(kMemory);
  } else if (preset == "network") {
    add(kNetwork);
  } else if (preset == "host") {
    add(with_targets ? std::span<const std::string_view>(kOfTargets) : kWholeHost);
  } else if (preset == "light") {
    add(with_targets ? std::span<const std::string_view>(kLight) : kLightOfNode);
  } else if (preset == "detail") {
    add(with_targets ? std::span<const std::string_view>(kLight) : kLightOfNode);
    for (const std::string_view kind : kDetail) {
      if (with_targets || !IsAgentKind(kind)) kinds.push_back(kind);
    }
    for (const std::string_view kind : kMemory) {
      if (!Has(kinds, kind)) kinds.push_back(kind);
    }
    if (with_targets) add(kDetailOfTargets);
  } else if (preset == "node") {
    for (const std::string_view kind : UsualDeviceKinds()) {
      if (!Has(kCores, kind)) kinds.push_back(kind);
    }
    add(kWholeHost);
  } else if (preset == "all") {
    add(UsualDeviceKinds());
    for (const HostKind& kind : kHostKinds) {
      if (Has(kByNameOnly, kind.name)) continue;
      if (with_targets || kind.scope != HostKind::Scope::kProcess) kinds.push_back(kind.name);
    }
    if (with_targets) add(AgentKindNames());
  }
  return kinds;
}

bool IsMemoryKind(std::string_view kind) { return Has(kMemory, kind) || kind == "qos"; }
bool IsLinkKind(std::string_view kind) { return kind == "pcie" || kind == "hccs"; }

std::string UnknownKind(std::string_view name) {
  std::vector<std::string_view> known(driver::DeviceKindNames().begin(), driver::DeviceKindNames().end());
  for (const HostKind& kind : kHostKinds) known.push_back(kind.name);
  known.insert(known.end(), AgentKindNames().begin(), AgentKindNames().end());
  return Unknown("kind", name, known);
}

std::string UnknownPreset(std::string_view name) {
  return Unknown("preset", name, {std::begin(kPresets), std::end(kPresets)});
}

}  // namespace profd::session
