#include "daemon/host/probes/probe.h"

#include <array>
#include <map>
#include <mutex>
#include <string_view>

#include "base/clock.h"

namespace profd::host {

namespace {

constexpr uint64_t kAnswerLastsNs = 5'000'000'000;

// Of processes: kFiles by those that they may have their reader wait for (foreign_files.h), too.
enum class Processes : uint8_t { kNone, kRead, kFiles };

struct Kind {
  std::string_view name;
  bool needs_targets;
  Processes processes;
  std::unique_ptr<Probe> (*make)(const ProbeOptions&, const ProbeContext&);
  uint32_t max_hz = 50;
  uint32_t tick_hz = 0;               // 0: its rate
  base::Status (*check)() = nullptr;  // of what not every machine has
};

constexpr std::array kKinds = {
    Kind{"host-cpu", true, Processes::kFiles, MakeCpuProbe},
    Kind{"host-mem", true, Processes::kRead, MakeMemProbe},
    Kind{"host-disk", true, Processes::kFiles, MakeDiskProbe},
    Kind{"host-network", false, Processes::kNone, MakeNetworkProbe},
    Kind{"host-sys-cpu", false, Processes::kNone, MakeSystemProbe},
    Kind{"host-sys-mem", false, Processes::kNone, MakeSystemProbe},
    Kind{"host-pid-cpu", false, Processes::kFiles, MakeProcessProbe},
    Kind{"host-pid-mem", false, Processes::kRead, MakeProcessProbe},
    Kind{"host-cpu-profile", true, Processes::kRead, MakeCpuProfileProbe, 999, 10, CheckCpuProfileEvents},
    Kind{"host-off-cpu", true, Processes::kRead, MakeOffCpuProbe, 0, 10, CheckOffCpuEvents},
    Kind{"host-osrt", true, Processes::kRead, MakeSyscallProbe, 0, 50, CheckSyscallEvents},
    Kind{"host-pthread", true, Processes::kRead, MakePthreadProbe, 0, 50, CheckPthreadEvents},
    Kind{"host-cgroup", true, Processes::kNone, MakeCgroupProbe},
    Kind{"host-net-devices", false, Processes::kNone, MakeNetDevicesProbe},
    Kind{"host-hardware", false, Processes::kNone, MakeHardwareProbe},
};

const Kind* FindKind(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace

bool KnownKind(const std::string& kind) { return FindKind(kind) != nullptr; }

uint32_t KindMaxHz(const std::string& kind) {
  const Kind* known = FindKind(kind);
  return known == nullptr ? 0 : known->max_hz;
}

uint32_t KindTickHz(const std::string& kind, uint32_t hz) {
  const Kind* known = FindKind(kind);
  return known == nullptr || known->tick_hz == 0 ? hz : known->tick_hz;
}

bool KindNeedsTargets(const std::string& kind) {
  const Kind* known = FindKind(kind);
  return known != nullptr && known->needs_targets;
}

bool KindReadsProcesses(const std::string& kind) {
  const Kind* known = FindKind(kind);
  return known != nullptr && known->processes != Processes::kNone;
}

base::Status CheckKind(const std::string& kind) {
  const Kind* known = FindKind(kind);
  if (known == nullptr || known->check == nullptr) return base::Status::Ok();
  // To open an event and close it again makes the kernel wait for every CPU: not for each who asks.
  struct Answer {
    base::Status status;
    uint64_t mono_ns;
  };
  static std::mutex mutex;
  static std::map<const Kind*, Answer> answers;
  const std::lock_guard lock(mutex);
  const auto last = answers.find(known);
  if (last != answers.end() && base::MonotonicNs() - last->second.mono_ns < kAnswerLastsNs)
    return last->second.status;
  base::Status status = known->check();
  answers.insert_or_assign(known, Answer{status, base::MonotonicNs()});
  return status;
}

bool KindReadsForeignFiles(const std::string& kind) {
  const Kind* known = FindKind(kind);
  return known != nullptr && known->processes == Processes::kFiles;
}

std::unique_ptr<Probe> MakeProbe(const ProbeOptions& options, const ProbeContext& context) {
  return FindKind(options.kind)->make(options, context);
}

RowStream* ProcessStreams::Of(const Process& process, const Tick& tick) {
  if (const auto known = streams_.find(process.pid()); known != streams_.end()) return known->second;
  if (process.first_tick() == tick.number) return nullptr;
  if (streams_.size() == kMaxFiles) {
    first_->Lose(format::Loss::Where::kSampler, tick.raw_ns, tick.raw_ns, 1);
    return nullptr;
  }
  RowStream& stream = output_.AddStream(folder_, std::to_string(process.pid()) + suffix_, stats_);
  if (first_ == nullptr) first_ = &stream;
  streams_.emplace(process.pid(), &stream);
  return &stream;
}

void ProcessStreams::Miss(const Family& family, const Tick& tick, uint64_t from_raw_ns, uint64_t count) {
  for (const auto& process : family.members()) {
    const auto known = streams_.find(process->pid());
    if (known == streams_.end() || !process->running()) continue;
    known->second->Lose(format::Loss::Where::kSampler, from_raw_ns, tick.raw_ns, count);
  }
}

}  // namespace profd::host
