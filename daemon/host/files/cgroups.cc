#include "daemon/host/files/cgroups.h"

#include <algorithm>

namespace profd::host {

namespace {

constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxName = 4096;
constexpr uint64_t kNsPerUs = 1000;

std::string_view V1Name(Controller controller) {
  switch (controller) {
    case Controller::kCpu:
      return "cpu";
    case Controller::kCpuAccounting:
      return "cpuacct";
    case Controller::kMemory:
      return "memory";
    case Controller::kIo:
      return "blkio";
    case Controller::kPids:
      return "pids";
  }
  return "";
}

bool Lists(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == wanted) return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

// A cgroup outside of our namespace is shown with "..", and is not to be had.
bool IsName(std::string_view name) {
  return name.starts_with('/') && name.size() <= kMaxName && name.find('\0') == std::string_view::npos &&
         name.find("/..") == std::string_view::npos;
}

}  // namespace

std::vector<Cgroup> CgroupsOf(const SysTree& tree, pid_t pid, Controller controller) {
  constexpr std::string_view kMount = "/sys/fs/cgroup";
  const std::string text = tree.Read("/proc/" + std::to_string(pid) + "/cgroup");
  const std::string_view wanted = V1Name(controller);
  std::string mount;
  std::string name;
  bool v2 = false;
  // "<number>:<controllers>:<name>". What version 1 has of a controller version 2 has not.
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = TakeLine(rest);
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos || !IsName(line.substr(second + 1))) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (Lists(controllers, wanted)) {
      mount = std::string(kMount) + "/" + std::string(controllers);
      if (!tree.Has(mount)) mount = std::string(kMount) + "/" + std::string(wanted);
      name = line.substr(second + 1);
      v2 = false;
      break;
    }
    if (line.substr(0, second + 1) == "0::") {
      mount = kMount;
      if (!tree.Has(mount + "/cgroup.controllers")) mount += "/unified";
      name = line.substr(second + 1);
      v2 = true;
    }
  }
  std::vector<Cgroup> cgroups;
  if (name.empty()) return cgroups;
  while (cgroups.size() < kMaxDepth) {
    cgroups.push_back({name, name == "/" ? mount : mount + name, v2});
    if (name == "/") break;
    name.resize(std::max<size_t>(name.rfind('/'), 1));
  }
  return cgroups;
}

std::optional<CpuThrottling> ReadCpuThrottling(const SysTree& tree, const Cgroup& cgroup) {
  const std::string text = tree.Read(cgroup.dir + "/cpu.stat");
  const auto times = NumberOf(text, "nr_throttled");
  if (!times) return std::nullopt;
  const auto us = NumberOf(text, "throttled_usec");
  return CpuThrottling{*times, us ? *us : NumberOf(text, "throttled_time").value_or(0) / kNsPerUs};
}

std::optional<MemoryEvents> ReadMemoryEvents(const SysTree& tree, const Cgroup& cgroup) {
  MemoryEvents events;
  if (!cgroup.v2) {
    const auto met = tree.Number(cgroup.dir + "/memory.failcnt");
    if (!met) return std::nullopt;
    events.max = *met;
    events.oom_kills = NumberOf(tree.Read(cgroup.dir + "/memory.oom_control"), "oom_kill").value_or(0);
    return events;
  }
  // The other file has those below it in it, too; it is all that kernels before 5.2 have.
  std::string text = tree.Read(cgroup.dir + "/memory.events.local");
  if (text.empty()) text = tree.Read(cgroup.dir + "/memory.events");
  const auto max = NumberOf(text, "max");
  if (!max) return std::nullopt;
  events.max = *max;
  events.high = NumberOf(text, "high").value_or(0);
  events.oom_kills = NumberOf(text, "oom_kill").value_or(0);
  return events;
}

}  // namespace profd::host
