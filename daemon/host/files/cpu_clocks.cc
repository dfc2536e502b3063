#include "daemon/host/files/cpu_clocks.h"

#include <algorithm>

#include "base/text.h"

namespace profd::host {

namespace {

constexpr uint64_t kKhzPerMhz = 1000;
constexpr size_t kMaxGovernor = 32;

}  // namespace

CpuClocks ReadCpuClocks(const SysTree& tree) {
  CpuClocks clocks;
  const std::string policies = "/sys/devices/system/cpu/cpufreq";
  size_t known = 0;
  size_t slow = 0;
  size_t limited = 0;
  std::string governor;
  uint64_t least_khz = 0;
  uint64_t most_khz = 0;
  for (const std::string& policy : tree.Names(policies, "policy")) {
    const std::string dir = policies + "/" + policy;
    const std::string text = tree.Read(dir + "/scaling_governor");
    std::string_view rest = text;
    const std::string_view name = TakeLine(rest);
    if (name.empty()) continue;
    ++known;
    if (name != "performance" && slow++ == 0) governor = base::OneLine(name, kMaxGovernor);
    const uint64_t max = tree.Number(dir + "/cpuinfo_max_freq").value_or(0);
    const uint64_t held = tree.Number(dir + "/scaling_max_freq").value_or(max);
    if (held >= max) continue;
    if (limited++ == 0 || held < least_khz) {
      least_khz = held;
      most_khz = max;
    }
  }
  const auto of_all = [known](size_t count) {
    return std::to_string(count) + " of " + std::to_string(known) + " CPU frequency policies";
  };
  if (slow > 0) clocks.governor = governor + " on " + of_all(slow);
  if (limited > 0) {
    clocks.limit = std::to_string(least_khz / kKhzPerMhz) + " of " + std::to_string(most_khz / kKhzPerMhz) +
                   " MHz on " + of_all(limited);
  }
  const std::string cpus = "/sys/devices/system/cpu";
  for (const std::string& cpu : tree.Names(cpus, "cpu")) {
    if (!LeadingNumber(std::string_view(cpu).substr(3))) continue;
    const std::string dir = cpus + "/" + cpu + "/thermal_throttle";
    const auto core = tree.Number(dir + "/core_throttle_count");
    if (!core) break;  // none has it, then
    if (!clocks.heat) clocks.heat = CpuClocks::Heat{};
    CpuClocks::Heat& heat = *clocks.heat;
    heat.cores += *core;
    heat.packages =
        std::max(heat.packages, tree.Number(dir + "/package_throttle_count").value_or(heat.packages));
  }
  return clocks;
}

}  // namespace profd::host
