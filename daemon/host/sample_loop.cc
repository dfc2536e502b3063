#include "daemon/host/sample_loop.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/calendar.h"
#include "base/clock.h"
#include "format/kind.h"

namespace profd::host {

using format::Kind;

namespace {

constexpr size_t kMaxOpenFiles = 8192;
constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kRetryNs = 2'000'000;  // while chunks or the queue are short
// What others read in our place is waited for until so long before the next sample, and within these limits.
constexpr uint64_t kMarginNs = 2'000'000, kLeastWaitNs = 5'000'000, kMostWaitNs = 200'000'000;

// Half of what the process may open at most: the rest is for files that hold results.
size_t OpenFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<size_t>(std::min<rlim_t>(kMaxOpenFiles, limit.rlim_cur / 2));
}

// Of all loops together.
std::atomic<size_t>& OpenFilesLeft() {
  static std::atomic<size_t> left{OpenFileLimit()};
  return left;
}

uint64_t DeadlineNs(uint64_t index, uint32_t hz) { return (index * kSecondNs + hz - 1) / hz; }
uint64_t IndexAt(uint64_t mono_ns, uint32_t hz) { return mono_ns * hz / kSecondNs; }

bool HasKind(const SampleRequest& request, std::string_view kind) {
  return std::ranges::any_of(request.probes, [&](const ProbeRequest& probe) { return probe.kind == kind; });
}

}  // namespace

SampleLoop::SampleLoop(SampleMailbox& mailbox)
    : mailbox_(mailbox),
      budget_(OpenFilesLeft()),
      foreign_(OpenFileLimit() / 2),
      files_(budget_),
      reader_(files_, budget_, foreign_),
      processes_(budget_, foreign_) {}

void SampleLoop::Run() {
  while (HandleCommands()) {
    const bool all_begun = FinishStarts(), all_finished = FinishStopped();
    const uint64_t deadline = NextDeadline();
    const bool all_pushed = EndTick(deadline);
    mailbox_.bell.Prepare();
    if (mailbox_.commands.size() > 0) {
      mailbox_.bell.Cancel();
      continue;
    }
    mailbox_.bell.Wait(all_begun && all_finished && all_pushed
                           ? deadline
                           : std::min(deadline, base::MonotonicNs() + kRetryNs));
    if (base::MonotonicNs() >= deadline) RunTick(deadline);
  }
  for (const auto& recording : recordings_) {
    if (!recording->stopped) Stop(recording->trace, [] {});
  }
  FinishStopped();
}

Tick SampleLoop::BeginTick() {
  const Tick tick{.number = ++tick_number_, .raw_ns = base::RawNs(), .mono_ns = base::MonotonicNs()};
  // Who does not answer costs nobody else a sample.
  const uint64_t next_ns = DeadlineAfter(tick.mono_ns) - kMarginNs;
  foreign_.Begin(std::clamp(next_ns, tick.mono_ns + kLeastWaitNs, tick.mono_ns + kMostWaitNs));
  return tick;
}

bool SampleLoop::HandleCommands() {
  while (const auto taken = mailbox_.commands.Take()) {
    SampleCommand* const command = taken->get();
    switch (command->what) {
      case SampleCommand::What::kStart:
        Start(command->request, std::move(command->done));
        break;
      case SampleCommand::What::kStop:
        Stop(command->trace, std::move(command->done));
        break;
      case SampleCommand::What::kRead:
        *command->reading = reader_.Read(command->reading_request, BeginTick());
        command->done();
        break;
      case SampleCommand::What::kQuit:
        return false;
    }
  }
  return true;
}

void SampleLoop::Start(const SampleRequest& request, std::function<void()> done) {
  const Tick tick = BeginTick();
  Recording& recording = *recordings_.emplace_back(std::make_unique<Recording>(request));
  if (std::ranges::any_of(request.probes, [](const ProbeRequest& p) { return KindReadsProcesses(p.kind); })) {
    recording.family = std::make_unique<Family>(request.pids, processes_, files_, tick);
  }
  const ProbeContext context{.files = files_,
                             .output = recording.output,
                             .family = recording.family.get(),
                             .targets = recording.targets,
                             .tree = tree_,
                             .budget = budget_};
  for (const ProbeRequest& probe : request.probes) {
    const uint32_t tick_hz = KindTickHz(probe.kind, probe.hz);
    const ProbeOptions options{.kind = probe.kind,
                               .stats = probe.stats,
                               .hz = probe.hz,
                               .outcome = probe.outcome,
                               .trouble = probe.trouble,
                               .per_process_elsewhere = HasKind(request, probe.kind == NameOf(Kind::kHostMem)
                                                                             ? NameOf(Kind::kHostPidMem)
                                                                             : NameOf(Kind::kHostPidCpu))};
    recording.probes.push_back({.probe = MakeProbe(options, context),
                                .hz = tick_hz,
                                .next_index = IndexAt(tick.mono_ns, tick_hz) + 1,
                                .last_raw_ns = tick.raw_ns});
    if (!KindReadsForeignFiles(probe.kind) || !probe.trouble) continue;
    recording.probes.back().hangs = [kind = probe.kind, trouble = probe.trouble](pid_t pid,
                                                                                 const std::string& why) {
      trouble(kind + " of pid " + std::to_string(pid) + " hangs: " + why);
    };
  }
  recording.started = std::move(done);
}

bool SampleLoop::FinishStarts() {
  bool all_known = true;
  for (const auto& recording : recordings_) {
    if (!recording->started) continue;
    const Tick tick = BeginTick();
    const bool known = std::ranges::all_of(
        recording->probes, [&tick](const Scheduled& scheduled) { return scheduled.probe->MayBegin(tick); });
    if (known) std::exchange(recording->started, nullptr)();
    all_known &= known;
  }
  return all_known;
}

void SampleLoop::Stop(uint32_t trace, std::function<void()> done) {
  const Tick tick = BeginTick();
  for (const auto& recording : recordings_) {
    if (recording->trace != trace || recording->stopped) continue;
    if (recording->started) std::exchange(recording->started, nullptr)();
    recording->stopped = std::move(done);
    FinishProbes(*recording, tick);
    return;
  }
  done();
}

// False: some need a moment more.
bool SampleLoop::FinishProbes(Recording& recording, const Tick& tick) {
  std::erase_if(recording.probes, [&tick](const Scheduled& scheduled) {
    if (!scheduled.probe->MayFinish()) return false;
    scheduled.probe->Finish(tick);
    return true;
  });
  return recording.probes.empty();
}

bool SampleLoop::FinishStopped() {
  if (std::ranges::none_of(recordings_, [](const auto& recording) { return recording->stopped != nullptr; }))
    return true;
  // Looks at all of them, so before any goes.
  const Tick tick = BeginTick();
  bool all_finished = true;
  std::erase_if(recordings_, [&](const std::unique_ptr<Recording>& recording) {
    if (!recording->stopped) return false;
    const bool probes_finished = recording->probes.empty() || FinishProbes(*recording, tick);
    if (!probes_finished || !recording->output.Finish()) {
      all_finished = false;
      return false;
    }
    if (chunk::Pipe* pipe = recording->output.TakeKick()) pipe->Kick();
    recording->stopped();
    return true;
  });
  return all_finished;
}

// What Thin() leaves out counts as missed once the next sample is taken.
uint64_t SampleLoop::DueIndex(const Scheduled& scheduled) const {
  const uint64_t one_in = mailbox_.one_in.load(std::memory_order_relaxed);
  return (scheduled.next_index + one_in - 1) / one_in * one_in;
}

uint64_t SampleLoop::NextDeadline() const {
  uint64_t next = UINT64_MAX;
  for (const auto& recording : recordings_) {
    for (const Scheduled& scheduled : recording->probes) {
      next = std::min(next, DeadlineNs(DueIndex(scheduled), scheduled.hz));
    }
  }
  return next;
}

uint64_t SampleLoop::DeadlineAfter(uint64_t mono_ns) const {
  uint64_t next = UINT64_MAX;
  for (const auto& recording : recordings_) {
    for (const Scheduled& scheduled : recording->probes)
      next = std::min(next, DeadlineNs(IndexAt(mono_ns, scheduled.hz) + 1, scheduled.hz));
  }
  return next;
}

void SampleLoop::TellOfHanging(Recording& recording) const {
  std::set<pid_t> hanging;
  for (const auto& process : recording.family->members()) {
    const auto since_ns = process->HangsSince();
    if (!since_ns || !hanging.insert(process->pid()).second) continue;
    if (recording.said_to_hang.contains(process->pid())) continue;
    const std::string why = "what the kernel says of it has not come since " + base::TimeOfDay(*since_ns);
    for (const Scheduled& scheduled : recording.probes) {
      if (scheduled.hangs) scheduled.hangs(process->pid(), why);
    }
  }
  recording.said_to_hang = std::move(hanging);
}

void SampleLoop::RunTick(uint64_t deadline_ns) {
  const Tick tick = BeginTick();
  for (const auto& recording : recordings_) Want(*recording, tick);
  foreign_.Ask();
  uint64_t missed = 0;
  for (const auto& recording : recordings_) Sample(*recording, tick, &missed);
  mailbox_.ticks.fetch_add(1, std::memory_order_relaxed);
  mailbox_.missed_ticks.fetch_add(missed, std::memory_order_relaxed);
  const uint64_t late = tick.mono_ns - deadline_ns;
  if (late > mailbox_.max_late_ns.load(std::memory_order_relaxed)) {
    mailbox_.max_late_ns.store(late, std::memory_order_relaxed);
  }
}

bool SampleLoop::Due(const Scheduled& scheduled, const Tick& tick) const {
  return IndexAt(tick.mono_ns, scheduled.hz) >= DueIndex(scheduled);
}

void SampleLoop::Want(const Recording& recording, const Tick& tick) {
  if (recording.family == nullptr) return;
  bool any = false;
  for (const Scheduled& scheduled : recording.probes) {
    if (!Due(scheduled, tick)) continue;
    scheduled.probe->Want();
    any = true;
  }
  if (any) recording.family->WantUpdate();
}

void SampleLoop::Sample(Recording& recording, const Tick& tick, uint64_t* missed) {
  bool family_updated = recording.family == nullptr;
  for (Scheduled& scheduled : recording.probes) {
    if (!Due(scheduled, tick)) continue;
    const uint64_t index = IndexAt(tick.mono_ns, scheduled.hz);
    if (!std::exchange(family_updated, true)) {
      recording.family->Update(tick);
      if (foreign_.some_hang() || !recording.said_to_hang.empty()) TellOfHanging(recording);
    }
    if (const uint64_t skipped = index - scheduled.next_index; skipped != 0) {
      scheduled.probe->Miss(tick, scheduled.last_raw_ns, skipped);
      *missed = std::max(*missed, skipped);
    }
    scheduled.probe->Sample(tick);
    scheduled.next_index = index + 1;
    scheduled.last_raw_ns = tick.raw_ns;
  }
}

bool SampleLoop::EndTick(uint64_t next_deadline_ns) {
  bool all_pushed = true;
  kicked_.clear();
  for (const auto& recording : recordings_) {
    all_pushed &= recording->output.EndTick(next_deadline_ns);
    chunk::Pipe* pipe = recording->output.TakeKick();
    if (pipe == nullptr || std::ranges::find(kicked_, pipe) != kicked_.end()) continue;
    pipe->Kick();
    kicked_.push_back(pipe);
  }
  return all_pushed;
}

}  // namespace profd::host
