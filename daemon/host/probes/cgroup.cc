// host-cgroup: limits and use of the targets' cgroups, and of those above them that have limits.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/host/files/cgroups.h"
#include "daemon/host/files/sys_file.h"
#include "daemon/host/probes/counter_rows.h"
#include "format/kind.h"

namespace profd::host {

namespace {

constexpr size_t kMostGroups = 64;
constexpr uint64_t kUsPerSecond = 1'000'000;
constexpr uint64_t kNsPerUs = 1000;
constexpr uint64_t kNoMemoryLimit = uint64_t{1} << 62;  // version 1 says so with a number

enum File : uint8_t {
  kCpuLimit,
  kCpuPeriod,
  kCpuStat,
  kCpuUsage,
  kMemory,
  kMemoryLimit,
  kMemoryStat,
  kIoBytes,
  kIoCount,
  kPids,
  kPidsLimit,
  kFiles
};
struct FileName {
  Controller controller;
  std::string_view v2, v1;  // "": what it says is in another one
};
constexpr std::array<FileName, kFiles> kNames = {{
    {Controller::kCpu, "cpu.max", "cpu.cfs_quota_us"},
    {Controller::kCpu, "", "cpu.cfs_period_us"},
    {Controller::kCpu, "cpu.stat", "cpu.stat"},
    {Controller::kCpuAccounting, "", "cpuacct.usage"},
    {Controller::kMemory, "memory.current", "memory.usage_in_bytes"},
    {Controller::kMemory, "memory.max", "memory.limit_in_bytes"},
    {Controller::kMemory, "memory.stat", "memory.stat"},
    {Controller::kIo, "io.stat", "blkio.throttle.io_service_bytes"},
    {Controller::kIo, "", "blkio.throttle.io_serviced"},
    {Controller::kPids, "pids.current", "pids.current"},
    {Controller::kPids, "pids.max", "pids.max"},
}};
constexpr std::array kControllers = {Controller::kCpu, Controller::kCpuAccounting, Controller::kMemory,
                                     Controller::kIo, Controller::kPids};

using Number = std::optional<uint64_t>;

void Sum(Number& sum, Number more) {
  if (more) sum = sum.value_or(0) + *more;
}

// Of all disks together: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 …".
Number SumOf(std::string_view text, std::string_view key) {
  Number sum;
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    for (std::string_view word = TakeWord(line); !word.empty(); word = TakeWord(line)) {
      if (word.starts_with(key)) Sum(sum, LeadingNumber(word.substr(key.size())));
    }
  }
  return sum;
}

// The same of version 1: "8:0 Read 1".
Number SumOfV1(std::string_view text, std::string_view key) {
  Number sum;
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    TakeWord(line);
    if (TakeWord(line) == key) Sum(sum, LeadingNumber(TakeWord(line)));
  }
  return sum;
}

// **Thread:** sample.
class CgroupProbe final : public CounterRows {
 public:
  CgroupProbe(const ProbeOptions& options, const ProbeContext& context)
      : CounterRows(options, context, std::string(format::file::kHostCgroup)) {
    Refresh();
    if (groups_.empty() && options.outcome)
      options.outcome->note = "no cgroup of the targets can be read here: there is nothing to count yet";
  }

 private:
  struct Group {
    std::string name;
    std::array<std::optional<SysFile>, kFiles> files;
    std::array<bool, kControllers.size()> v2{};
  };
  using Places = std::map<Controller, Cgroup>;

  void Refresh() override {
    std::map<std::string, Places> all;
    std::vector<std::string> wanted;
    for (const pid_t pid : context_.targets) {
      for (const Controller controller : kControllers) {
        bool nearest = true;
        for (const Cgroup& cgroup : CgroupsOf(context_.tree, pid, controller)) {
          all[cgroup.name].emplace(controller, cgroup);
          if (std::exchange(nearest, false) || Limits(cgroup, controller)) wanted.push_back(cgroup.name);
        }
      }
    }
    for (const std::string& name : wanted) {
      const bool known = std::ranges::any_of(groups_, [&](const Group& group) { return group.name == name; });
      if (!known && groups_.size() < kMostGroups) Add(name, all[name]);
    }
  }

  bool Limits(const Cgroup& cgroup, Controller controller) const {
    const auto number = [&](std::string_view v2, std::string_view v1) {
      return context_.tree.Number(cgroup.dir + "/" + std::string(cgroup.v2 ? v2 : v1));
    };
    if (controller == Controller::kCpu) return number(kNames[kCpuLimit].v2, kNames[kCpuLimit].v1).has_value();
    if (controller != Controller::kMemory) return false;
    return number(kNames[kMemoryLimit].v2, kNames[kMemoryLimit].v1).value_or(kNoMemoryLimit) < kNoMemoryLimit;
  }

  void Add(const std::string& name, const Places& places) {
    Group& group = groups_.emplace_back();
    group.name = name;
    for (size_t file = 0; file < kFiles; ++file) {
      const auto place = places.find(kNames[file].controller);
      if (place == places.end()) continue;
      const bool v2 = place->second.v2;
      group.v2[static_cast<size_t>(kNames[file].controller)] = v2;
      const std::string_view file_name = v2 ? kNames[file].v2 : kNames[file].v1;
      if (file_name.empty()) continue;
      group.files[file].emplace(context_.tree, place->second.dir + "/" + std::string(file_name),
                                context_.budget);
    }
  }

  std::string_view Read(Group& group, File file) {
    return group.files[file] ? group.files[file]->Read(buffer_) : std::string_view();
  }

  void AppendRows() override {
    for (Group& group : groups_) {
      std::array<Number, 16> numbers;
      AppendCpu(group, numbers.data());
      AppendMemory(group, numbers.data() + 5);
      AppendIo(group, numbers.data() + 10);
      numbers[14] = LeadingNumber(Read(group, kPids));
      numbers[15] = LeadingNumber(Read(group, kPidsLimit));
      const bool there =
          std::ranges::any_of(numbers, [](const Number& number) { return number.has_value(); });
      if (there) AppendRow("cgroup", numbers, group.name);
    }
  }

  // CPU time used in µs, as many as it may use in a second, periods, those in which it had to wait, µs of
  // that.
  void AppendCpu(Group& group, Number* numbers) {
    const bool v2 = group.v2[static_cast<size_t>(Controller::kCpu)];
    std::string_view limit = Read(group, kCpuLimit);
    const Number quota = LeadingNumber(TakeWord(limit));
    Number period = LeadingNumber(TakeWord(limit));
    if (!v2) period = LeadingNumber(Read(group, kCpuPeriod));
    if (quota && period.value_or(0) > 0) {
      numbers[1] =
          static_cast<uint64_t>(static_cast<double>(*quota) * kUsPerSecond / static_cast<double>(*period));
    }
    const std::string_view stat = Read(group, kCpuStat);
    numbers[0] = NumberOf(stat, "usage_usec");
    numbers[2] = NumberOf(stat, "nr_periods");
    numbers[3] = NumberOf(stat, "nr_throttled");
    numbers[4] = NumberOf(stat, "throttled_usec");
    if (const Number ns = NumberOf(stat, "throttled_time"); ns && !numbers[4]) numbers[4] = *ns / kNsPerUs;
    if (const Number ns = LeadingNumber(Read(group, kCpuUsage)); ns) numbers[0] = *ns / kNsPerUs;
  }

  // Bytes used, allowed, anonymous, of files; major faults.
  void AppendMemory(Group& group, Number* numbers) {
    numbers[0] = LeadingNumber(Read(group, kMemory));
    numbers[1] = LeadingNumber(Read(group, kMemoryLimit));
    if (numbers[1].value_or(0) >= kNoMemoryLimit) numbers[1].reset();
    const bool v2 = group.v2[static_cast<size_t>(Controller::kMemory)];
    const std::string_view stat = Read(group, kMemoryStat);
    numbers[2] = NumberOf(stat, v2 ? "anon" : "total_rss");
    numbers[3] = NumberOf(stat, v2 ? "file" : "total_cache");
    numbers[4] = NumberOf(stat, v2 ? "pgmajfault" : "total_pgmajfault");
  }

  // Bytes read, written; operations.
  void AppendIo(Group& group, Number* numbers) {
    if (group.v2[static_cast<size_t>(Controller::kIo)]) {
      const std::string_view stat = Read(group, kIoBytes);
      constexpr std::string_view kKeys[] = {"rbytes=", "wbytes=", "rios=", "wios="};
      for (size_t i = 0; i < std::size(kKeys); ++i) numbers[i] = SumOf(stat, kKeys[i]);
      return;
    }
    const std::string_view bytes = Read(group, kIoBytes);
    numbers[0] = SumOfV1(bytes, "Read");
    numbers[1] = SumOfV1(bytes, "Write");
    const std::string_view operations = Read(group, kIoCount);
    numbers[2] = SumOfV1(operations, "Read");
    numbers[3] = SumOfV1(operations, "Write");
  }

  std::vector<Group> groups_;
};

}  // namespace

std::unique_ptr<Probe> MakeCgroupProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<CgroupProbe>(options, context);
}

}  // namespace profd::host
