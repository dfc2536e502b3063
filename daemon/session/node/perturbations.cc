#include "daemon/session/node/perturbations.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/join.h"
#include "base/text.h"
#include "daemon/base/after.h"
#include "daemon/host/files/cpu_clocks.h"
#include "daemon/host/process/collectors.h"
#include "daemon/host/process/process.h"
#include "daemon/host/process/process_image.h"
#include "daemon/session/node/doctor.h"

namespace profd::session {

namespace {

using namespace perturbation;

constexpr uint64_t kPatienceNs = 1'000'000'000;
constexpr size_t kMostCollectors = 16;
constexpr size_t kMostEnvironmentBytes = 1 << 20;
constexpr size_t kMostSwitches = 64;
constexpr size_t kMostNameBytes = 256;
constexpr size_t kMostChildren = 256;
constexpr double kMhzSlack = 1;  // the driver rounds

struct Switch {
  std::string_view variable;
  std::string_view value;  // that disturbs; "" any but those that mean off
  std::string_view why;
};
constexpr std::string_view kByItself = "the process collects by itself";
constexpr Switch kSwitches[] = {
    {"PROFILING_MODE", "", kByItself},
    {"PROFILING_OPTIONS", "", kByItself},
    {"PROFILER_SAMPLECONFIG", "", kByItself},
    {"NPU_MONITOR_START", "", kByItself},
    {"MSMONITOR_USE_DAEMON", "", kByItself},
    {"ASCEND_LAUNCH_BLOCKING", "", "every operator is waited for"},
    {"ASCEND_GLOBAL_LOG_LEVEL", "0", "debug logs are written"},
    {"ACL_DUMP_DATA", "", "inputs and outputs of operators are dumped"},
};

void AddCgroups(const HostQuestion& question, host::Controller controller, std::vector<host::Cgroup>& known) {
  for (const pid_t pid : question.pids) {
    for (host::Cgroup& cgroup : host::CgroupsOf(question.tree, pid, controller)) {
      const bool is_new = std::ranges::none_of(
          known, [&cgroup](const host::Cgroup& other) { return other.dir == cgroup.dir; });
      if (is_new && known.size() < HostQuestion::kMostCgroups) known.push_back(std::move(cgroup));
    }
  }
}

std::string NameOf(const host::Cgroup& cgroup) {
  return "cgroup " + base::OneLine(cgroup.name, kMostNameBytes);
}

void ReadEnvironment(HostQuestion& question) {
  for (const pid_t pid : question.pids) {
    const std::string who = "process " + std::to_string(pid);
    const std::string text = host::EnvironmentOf(pid, kMostEnvironmentBytes, question.tree.root());
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view entry = rest.substr(0, std::min(rest.find('\0'), rest.size()));
      rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
      const size_t equals = entry.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view name = entry.substr(0, equals);
      const std::string_view why = WhyDisturbing(name, entry.substr(equals + 1));
      if (why.empty() || question.environment.size() >= kMostSwitches) continue;
      question.environment.push_back(
          {kEnvironment, who + " " + std::string(name),
           who + " was started with " + std::string(name) + ": " + std::string(why)});
    }
  }
}

}  // namespace

std::string_view WhyDisturbing(std::string_view variable, std::string_view value) {
  for (const Switch& one : kSwitches) {
    if (one.variable != variable) continue;
    if (!one.value.empty()) return value == one.value ? one.why : "";
    const bool off = value.empty() || value == "0" || value == "false" || value == "FALSE" || value == "off";
    return off ? "" : one.why;
  }
  return "";
}

void LookAtTargets(HostQuestion& question, Sight& sight) {
  const host::SysTree& tree = question.tree;
  AddCgroups(question, host::Controller::kCpu, question.cpu);
  AddCgroups(question, host::Controller::kMemory, question.memory);
  for (const host::Cgroup& cgroup : question.cpu) {
    if (const auto waits = host::ReadCpuThrottling(tree, cgroup))
      sight.counts.push_back({kCpuThrottling, NameOf(cgroup), {waits->times, waits->us, 0}});
  }
  for (const host::Cgroup& cgroup : question.memory) {
    if (const auto met = host::ReadMemoryEvents(tree, cgroup))
      sight.counts.push_back({kMemoryLimit, NameOf(cgroup), {met->high, met->max, met->oom_kills}});
  }
}

void LookAtChildren(const HostQuestion& question, Sight& sight) {
  const auto is_in = [](const std::vector<pid_t>& pids, pid_t pid) {
    return std::ranges::find(pids, pid) != pids.end();
  };
  std::map<pid_t, pid_t> parents;
  for (const pid_t pid : host::ListProcesses()) parents[pid] = host::ParentOf(pid);
  const auto target_of = [&](pid_t pid) {
    // No longer than there are processes: one may have become another's parent meanwhile.
    for (size_t left = parents.size(); left > 0; --left) {
      const auto parent = parents.find(pid);
      if (parent == parents.end()) return 0;
      pid = parent->second;
      if (is_in(question.pids, pid)) return pid;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (const auto& [pid, parent] : parents) {
    if (is_in(question.pids, pid) || is_in(*question.agents, pid) || target_of(pid) == 0) continue;
    if (children.size() < kMostChildren) children.push_back(pid);
  }
  for (const host::ProcessFacts& facts : host::ReadProcessFacts(children)) {
    if (facts.open_devices.empty()) continue;
    if (!auth::May(question.owner, auth::Action::kSeeProcess, {.owner = facts.uid}).ok()) continue;
    const std::string who = "process " + std::to_string(facts.pid);
    const bool several = facts.open_devices.size() > 1;
    sight.conditions.push_back(
        {kUnrecorded, who,
         who + ", a child of process " + std::to_string(target_of(facts.pid)) + ", uses device" +
             (several ? "s " : " ") + base::Joined(facts.open_devices, ",") +
             " without an agent: its kernels are in the log of tasks at best, without names, and nowhere if "
             "that makes way for agent-kernel; start it as a program of its own (spawn)"});
  }
}

void LookAtHost(HostQuestion& question, Sight& sight) {
  const host::SysTree& tree = question.tree;
  LookAtTargets(question, sight);
  const host::CpuClocks clocks = host::ReadCpuClocks(tree);
  if (!clocks.governor.empty())
    sight.conditions.push_back({kCpuFrequency, clocks.governor, "CPU frequency governor " + clocks.governor});
  if (!clocks.limit.empty())
    sight.conditions.push_back({kCpuFrequency, clocks.limit, "CPU frequency held to " + clocks.limit});
  if (clocks.heat) sight.counts.push_back({kCpuHeat, "CPUs", {clocks.heat->cores, clocks.heat->packages, 0}});
  size_t collectors = 0;
  for (const host::Collector& collector : host::FindCollectors()) {
    if (++collectors > kMostCollectors) {
      sight.conditions.push_back({kCollector, "others", "more collectors run than are named"});
      break;
    }
    const std::string text = Describe(question.owner, collector);
    const std::string what = collector.name == host::kOwnName ? "another profd" : "another collector";
    sight.conditions.push_back({kCollector, text, what + " runs: " + text});
  }
  if (question.agents) LookAtChildren(question, sight);
  if (!std::exchange(question.environment_read, true)) ReadEnvironment(question);
  sight.conditions.insert(sight.conditions.end(), question.environment.begin(), question.environment.end());
}

void LookAtDevice(const driver::DeviceFacts& facts, const driver::DeviceReading& reading, Sight& sight) {
  const std::string who = "device " + std::to_string(facts.id);
  if (reading.status && *reading.status != driver::kWorking) {
    const bool lost = *reading.status == driver::kCommunicationLost;
    const std::string status = "status " + std::to_string(*reading.status) + (lost ? " (lost)" : "");
    sight.conditions.push_back({kDeviceHealth, who + " " + status, who + " does not work: " + status,
                                static_cast<int32_t>(facts.id)});
  }
  // Cores that have nothing to do may be slow.
  const bool busy = reading.ai_core_utilization.value_or(1) > 0;
  if (busy && reading.ai_core_mhz && facts.aic_mhz > 0 && *reading.ai_core_mhz < facts.aic_mhz - kMhzSlack) {
    const auto mhz = [](double value) { return std::to_string(static_cast<uint64_t>(value)); };
    sight.conditions.push_back({kDeviceFrequency, who,
                                who + ": AI cores below their " + mhz(facts.aic_mhz) + " MHz, at " +
                                    mhz(*reading.ai_core_mhz) + " MHz when first seen so",
                                static_cast<int32_t>(facts.id)});
  }
}

Perturbations::Perturbations(base::Timers& timers, base::Aside& aside, Node& node, auth::Caller owner,
                             std::vector<pid_t> pids, std::vector<uint32_t> devices)
    : timers_(timers), aside_(aside), node_(node), devices_(std::move(devices)) {
  question_.owner = std::move(owner);
  question_.pids = std::move(pids);
}

// Of this moment, with nothing in it yet.
Sight Perturbations::Now() const {
  Sight now;
  const uint64_t before = timers_.RawNs();
  now.wall_ns = timers_.WallNs();
  const uint64_t after = timers_.RawNs();
  now.raw_ns = before + (after - before) / 2;
  now.error_ns = (after - before + 1) / 2;
  return now;
}

std::function<void()> Perturbations::WithPatience(std::function<void()> done) {
  // Answered once, by whoever comes first.
  const auto answer = std::make_shared<std::function<void()>>(std::move(done));
  const auto timer = timers_.After(kPatienceNs, [answer] {
    if (*answer) std::exchange(*answer, nullptr)();
  });
  return [&timers = timers_, answer, timer] {
    timers.Cancel(timer);
    if (*answer) std::exchange(*answer, nullptr)();
  };
}

void Perturbations::LookLast(std::function<void()> done) {
  Sight now = Now();
  now.only_counts = true;
  if (question_.pids.empty()) {
    log_.Take(now);
    done();
    return;
  }
  const auto answered = WithPatience(std::move(done));
  aside_.Run([weak = weak_from_this(), question = question_, now, answered]() mutable {
    LookAtTargets(question, now);
    return [weak, now, answered] {
      if (const auto self = weak.lock()) self->log_.Take(now);
      answered();
    };
  });
}

void Perturbations::Look(std::function<void()> done) {
  const auto answered = WithPatience(std::move(done));
  if (sight_) {
    next_.emplace_back(answered);
    return;
  }
  asking_.emplace_back(answered);
  Begin();
}

void Perturbations::Begin() {
  sight_ = std::make_shared<Sight>(Now());
  if (agents_) question_.agents = agents_();
  // None of them keeps this alive: a look may hang for as long as a file of /proc does.
  const std::weak_ptr<Perturbations> weak = weak_from_this();
  const auto one_done = base::After(1 + devices_.size(), [weak] {
    if (const auto self = weak.lock()) self->OnAnswered();
  });
  aside_.Run([weak, question = question_, one_done]() mutable {
    Sight seen;
    LookAtHost(question, seen);
    return [weak, question = std::move(question), seen = std::move(seen), one_done] {
      if (const auto self = weak.lock()) {
        self->question_ = question;
        self->sight_->Add(seen);
      }
      one_done();
    };
  });
  for (const uint32_t device : devices_) {
    const auto reading = std::make_shared<driver::DeviceReading>();
    node_.hub()->Call(
        device, [driver = node_.shared_driver(), device, reading] { *reading = driver->ReadNow(device); },
        [weak, device, reading, one_done](bool in_time) {
          if (const auto self = weak.lock()) self->TakeDevice(device, *reading, in_time);
          one_done();
        },
        true);  // the last look is a part of a session's end
  }
}

void Perturbations::TakeDevice(uint32_t device, const driver::DeviceReading& reading, bool in_time) {
  if (!in_time) {
    const std::string who = "device " + std::to_string(device);
    sight_->conditions.push_back({kDeviceHealth, who + " silent",
                                  who + ": the driver does not answer in time",
                                  static_cast<int32_t>(device)});
  } else if (const driver::DeviceFacts* facts = node_.Find(device); facts != nullptr) {
    LookAtDevice(*facts, reading, *sight_);
  }
}

void Perturbations::OnAnswered() {
  log_.Take(*std::exchange(sight_, nullptr));
  const auto answered = std::exchange(asking_, std::exchange(next_, {}));
  if (!asking_.empty()) Begin();
  for (const auto& done : answered) done();
}

}  // namespace profd::session
