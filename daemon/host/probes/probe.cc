#include "daemon/host/probes/probe.h"

#include <map>
#include <mutex>
#include <string_view>

#include "base/clock.h"
#include "format/kind.h"

namespace profd::host {

// Each in a file of its own.
using MakesProbe = std::unique_ptr<Probe>(const ProbeOptions&, const ProbeContext&);
MakesProbe MakeCpuProbe, MakeMemProbe, MakeDiskProbe, MakeNetworkProbe, MakeSystemProbe, MakeProcessProbe,
    MakeCpuProfileProbe, MakeOffCpuProbe, MakeSyscallProbe, MakePthreadProbe, MakeCgroupProbe,
    MakeNetDevicesProbe, MakeHardwareProbe;
// Whether the kernel lets profd have the events that a kind is made of.
using ChecksEvents = base::Status();
ChecksEvents CheckCpuProfileEvents, CheckOffCpuEvents, CheckSyscallEvents, CheckPthreadEvents;

namespace {

using format::Kind;
using format::Scope;

constexpr uint64_t kAnswerLastsNs = 5'000'000'000;

struct ProbeRow {
  Kind kind;
  MakesProbe* make;
  bool reads_processes = false;
  // What the kernel says of a process by files that it may have their reader wait for (foreign_files.h).
  bool reads_foreign_files = false;
  uint32_t tick_hz = 0;           // 0: its rate
  ChecksEvents* check = nullptr;  // of what not every machine has
};

constexpr ProbeRow kProbes[] = {
    {Kind::kHostCpu, MakeCpuProbe, true, true},
    {Kind::kHostMem, MakeMemProbe, true},
    {Kind::kHostDisk, MakeDiskProbe, true, true},
    {Kind::kHostNetwork, MakeNetworkProbe},
    {Kind::kHostSysCpu, MakeSystemProbe},
    {Kind::kHostSysMem, MakeSystemProbe},
    {Kind::kHostPidCpu, MakeProcessProbe, true, true},
    {Kind::kHostPidMem, MakeProcessProbe, true},
    {Kind::kHostCpuProfile, MakeCpuProfileProbe, true, false, 10, CheckCpuProfileEvents},
    {Kind::kHostOffCpu, MakeOffCpuProbe, true, false, 10, CheckOffCpuEvents},
    {Kind::kHostOsrt, MakeSyscallProbe, true, false, 50, CheckSyscallEvents},
    {Kind::kHostPthread, MakePthreadProbe, true, false, 50, CheckPthreadEvents},
    {Kind::kHostCgroup, MakeCgroupProbe},
    {Kind::kHostNetDevices, MakeNetDevicesProbe},
    {Kind::kHostHardware, MakeHardwareProbe},
};

const ProbeRow* FindProbe(std::string_view name) {
  for (const ProbeRow& probe : kProbes) {
    if (NameOf(probe.kind) == name) return &probe;
  }
  return nullptr;
}

}  // namespace

bool KnownKind(const std::string& kind) { return FindProbe(kind) != nullptr; }

uint32_t KindMaxHz(const std::string& kind) {
  const ProbeRow* known = FindProbe(kind);
  return known == nullptr ? 0 : TraitsOf(known->kind).habits.max_hz;
}

uint32_t KindTickHz(const std::string& kind, uint32_t hz) {
  const ProbeRow* known = FindProbe(kind);
  return known == nullptr || known->tick_hz == 0 ? hz : known->tick_hz;
}

bool KindNeedsTargets(const std::string& kind) {
  const ProbeRow* known = FindProbe(kind);
  return known != nullptr && TraitsOf(known->kind).scope == Scope::kProcess;
}

bool KindReadsProcesses(const std::string& kind) {
  const ProbeRow* known = FindProbe(kind);
  return known != nullptr && known->reads_processes;
}

bool KindReadsForeignFiles(const std::string& kind) {
  const ProbeRow* known = FindProbe(kind);
  return known != nullptr && known->reads_foreign_files;
}

base::Status CheckKind(const std::string& kind) {
  const ProbeRow* known = FindProbe(kind);
  if (known == nullptr || known->check == nullptr) return base::Status::Ok();
  // To open an event and close it again makes the kernel wait for every CPU: not for each who asks.
  struct Answer {
    base::Status status;
    uint64_t mono_ns;
  };
  static std::mutex mutex;
  static std::map<const ProbeRow*, Answer> answers;
  const std::lock_guard lock(mutex);
  const auto last = answers.find(known);
  if (last != answers.end() && base::MonotonicNs() - last->second.mono_ns < kAnswerLastsNs)
    return last->second.status;
  base::Status status = known->check();
  answers.insert_or_assign(known, Answer{status, base::MonotonicNs()});
  return status;
}

std::unique_ptr<Probe> MakeProbe(const ProbeOptions& options, const ProbeContext& context) {
  return FindProbe(options.kind)->make(options, context);
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
