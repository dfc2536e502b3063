#include "daemon/session/life/session.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/calendar.h"
#include "base/join.h"
#include "base/version.h"
#include "daemon/base/after.h"
#include "daemon/base/log.h"
#include "daemon/host/process/process.h"
#include "format/directory/simulated.h"

namespace profd::session {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kManifestEveryS = 5;
constexpr uint64_t kKeptNs = 600 * kSecond;  // a flight recorder, after its last process
constexpr uint64_t kFirstLookNs = 50'000'000;
// Without it the driver's library reaches no device: one that answers all the same simulates them.
constexpr char kDriverFile[] = "/dev/davinci_manager";

}  // namespace

Session::Session(Services services, Setup setup)
    : services_(services),
      setup_(std::move(setup)),
      perturbations_(std::make_shared<Perturbations>(services_.timers, services_.aside, services_.node,
                                                     setup_.owner, setup_.spec.pids, setup_.plan->devices)) {
  const auto tells_of_kernels = [](const AgentStart& start) {
    return start.kind_index[static_cast<size_t>(format::AgentKind::kKernel)] != kNoKind;
  };
  if (std::ranges::any_of(setup_.plan->agents, tells_of_kernels)) {
    perturbations_->ExpectAgents([&agents = services_.agents] {
      std::vector<pid_t> pids;
      for (const auto& peer : agents.All()) pids.push_back(peer->identity().pid);
      return pids;
    });
  }
  start_wall_ns_ = services_.timers.WallNs();
  start_raw_ns_ = services_.timers.RawNs();
  holder_ = "session " + setup_.id + " of " + setup_.owner.user + " since " + base::UtcText(start_wall_ns_);
  directories_ = setup_.directories;
  for (const auto& bound : setup_.bounds) {
    if (std::dynamic_pointer_cast<store::Quota>(bound)) quotas_.push_back(bound);
  }
  budget_ = std::make_shared<store::Budget>(setup_.spec.storage_limit_bytes, std::move(setup_.bounds));
  if (setup_.spec.flight_recorder) {
    std::vector<store::RecentChunks::Buffer> own;
    for (const MemoryBuffer& buffer : setup_.spec.buffers) own.push_back({buffer.bytes, buffer.keeps_first});
    recent_ = std::make_shared<store::RecentChunks>(services_.config.store.flight_recorder_bytes, own,
                                                    services_.writers.RecorderAccount(setup_.owner.uid));
  }
}

Session::~Session() { StopTimers(); }

std::shared_ptr<Trace> Session::NewTrace(bool all_or_nothing) {
  TraceSetup trace;
  trace.id = setup_.next_trace_id();
  trace.seq = static_cast<uint32_t>((directories_.size() + removed_.size()) % 999'999 + 1);
  trace.plan = setup_.plan;
  trace.owner = setup_.owner;
  trace.gid = setup_.owner.gid;
  trace.holder = holder_;
  trace.recordings = recordings_;
  trace.perturbations = perturbations_;
  trace.begin_raw_ns = start_raw_ns_;
  trace.all_or_nothing = all_or_nothing;
  trace.budget = budget_;
  trace.recent = recent_;
  trace.parent = base::UniqueFd(::dup(setup_.parent.get()));
  trace.parent_path = setup_.parent_path;
  trace.file_system = setup_.file_system;
  trace.in_spool = setup_.spec.output.empty() || setup_.move_to;
  trace.pids = setup_.spec.pids;
  if (!setup_.spec.pids.empty()) trace.target = {setup_.spec.pids.front(), setup_.target_name};
  format::Manifest& manifest = trace.manifest;
  manifest.session = setup_.id;
  manifest.name = setup_.spec.name;
  manifest.user = setup_.owner.user;
  manifest.uid = setup_.owner.uid;
  manifest.labels = setup_.spec.labels;
  manifest.profd_version = base::kVersion;
  manifest.protocol_version = std::to_string(base::kProtocolVersion);
  if (services_.node.driver() != nullptr) {
    manifest.driver_path = services_.node.driver()->path();
    manifest.driver_api_version = services_.node.driver()->api_version();
  }
  manifest.state = "running";
  manifest.begin_wall_ns = start_wall_ns_;
  for (const pid_t pid : setup_.spec.pids) manifest.pids.push_back(pid);
  manifest.duration_ns = setup_.spec.duration_ns;
  manifest.storage_limit_bytes = setup_.spec.storage_limit_bytes;
  for (const auto& [name, version] : services_.node.versions().of)
    manifest.settings["version_" + name] = version;
  if (const std::string& note = services_.node.versions().note; !note.empty())
    manifest.settings["versions_note"] = note;
  if (services_.node.driver() != nullptr && ::access(kDriverFile, F_OK) != 0)
    manifest.settings[format::kSimulatedDevices] = std::string("no ") + kDriverFile;
  if (!setup_.spec.preset.empty()) manifest.settings["preset"] = setup_.spec.preset;
  for (const KindRequest& request : setup_.spec.kinds) {
    if (request.by_default) continue;
    base::AddTo(manifest.settings["collect"], NameOf(request.kind), ",");
  }
  if (setup_.spec.delay_ns > 0) manifest.settings["delay_ns"] = std::to_string(setup_.spec.delay_ns);
  const agent::StepSchedule& steps = setup_.spec.steps;
  if (steps.active > 0) {
    manifest.settings["steps"] =
        "skip_first=" + std::to_string(steps.skip_first) + ",wait=" + std::to_string(steps.wait) +
        ",warmup=" + std::to_string(steps.warmup) + ",active=" + std::to_string(steps.active) +
        ",repeat=" + std::to_string(steps.repeat) + ",from_step=" + std::to_string(steps.from_step);
    if (steps.skip_first_wait) manifest.settings["steps"] += ",skip_first_wait=1";
    if (steps.round_up > 1) manifest.settings["steps"] += ",round_up=" + std::to_string(steps.round_up);
  }
  for (const auto& [word, value] : setup_.spec.framework_options)
    base::AddTo(manifest.settings["framework_options"], word + "=" + value, ";");
  if (const agent::DomainFilter& domains = setup_.spec.agent_domains; !domains.names.empty()) {
    manifest.settings[domains.exclude ? "agent_domains_exclude" : "agent_domains"] =
        base::Joined(domains.names, ",");
  }
  if (TakesReports(*setup_.plan)) manifest.settings["reports"] = "true";
  if (setup_.move_to) manifest.settings["move_to"] = setup_.spec.output;
  if (setup_.spec.flight_recorder) {
    const std::string kinds =
        base::Joined(setup_.spec.flight_recorder_kinds, ",", [](format::Kind kind) { return NameOf(kind); });
    manifest.settings["flight_recorder"] = kinds.empty() ? "true" : kinds;
    for (const MemoryBuffer& buffer : setup_.spec.buffers) {
      std::string& all = manifest.settings["buffers"];
      all += (all.empty() ? "" : " ") +
             base::Joined(buffer.kinds, ",", [](format::Kind kind) { return NameOf(kind); }) + "=" +
             std::to_string(buffer.bytes) + (buffer.keeps_first ? ":first" : "");
    }
  }
  if (setup_.spec.snapshot_on != SnapshotOn::kAsked)
    manifest.settings["snapshot_on"] = setup_.spec.snapshot_on == SnapshotOn::kExit ? "exit" : "crash";
  if (!directories_.empty())
    manifest.previous = directories_.back().substr(directories_.back().rfind('/') + 1);
  manifest.removed = removed_;
  return std::make_shared<Trace>(services_, std::move(trace));
}

void Session::Start(std::function<void(Result<SessionInfo>)> done) {
  on_started_ = std::move(done);
  if (const std::string& note = services_.node.versions().note;
      !note.empty() && !setup_.plan->devices.empty())
    warnings_.push_back(note);
  budget_->WhenFull(setup_.spec.on_full, [&ctl = services_.ctl, weak = weak_from_this()] {
    ctl.Post([weak] {
      if (const auto self = weak.lock()) self->Stop(EndReason::kDisk, nullptr);
    });
  });
  if (!setup_.plan->agents.empty()) {
    recordings_ = std::make_shared<Recordings>(
        services_.timers, services_.agents, services_.drain,
        Recordings::Setup{holder_, setup_.owner.uid, setup_.plan->agents, setup_.spec.steps,
                          setup_.spec.agent_domains, setup_.plan->agents_in_memory, setup_.spec.snapshot_on,
                          services_.aside});
    recordings_->OnStepsDone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->StopWithWindows(EndReason::kSteps);
    });
    recordings_->OnWritesAtEnd([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->WriteRecentForDeath();
    });
    recordings_->OnBecame([weak = weak_from_this()](pid_t pid) {
      if (const auto self = weak.lock()) self->OnTargetBecame(pid);
    });
  }
  if (setup_.spec.delay_ns > 0) {
    trace_ = NewTrace();
    trace_->Arm([self = shared_from_this()](const Status& status) {
      if (status.ok()) {
        self->OnArmed();
      } else {
        self->Fail(EndReason::kFailed, status);
      }
    });
    return;
  }
  Take(Event::kInstant);
  // Before anything that takes time: the processes begin while the directory is made.
  if (recordings_) recordings_->Begin();
  trace_ = NewTrace(setup_.spec.wait_ns > 0);
  trace_->Begin([self = shared_from_this()](const Status& status) {
    if (status.ok()) {
      self->directories_.push_back(self->trace_->directory());
      self->WatchTargets();
    }
    self->OnFired(status);
  });
}

bool Session::Take(Event event) {
  const auto step = StepFor(phase_, event);
  if (!step) {
    base::LogError("session " + setup_.id + " is " + PhaseName(phase_) + ", and cannot take \"" +
                   EventName(event) + "\"");
    return false;
  }
  base::LogDebug([&] {
    return "session " + setup_.id + ": " + EventName(event) + ", so " + PhaseName(phase_) + " -> " +
           PhaseName(step->next);
  });
  phase_ = step->next;
  switch (step->action) {
    case StepAction::kNone:
    case StepAction::kWait:
    case StepAction::kAnswer:
      break;
    case StepAction::kCancel:
      LetGo({Code::kCancelled, "stopped before it began"});
      break;
    case StepAction::kSeal:
      Seal();
      break;
  }
  return true;
}

// The directory stands: the caller is answered, the kinds start when the delay is over.
void Session::OnArmed() {
  if (!Take(Event::kMade)) return;
  directories_.push_back(trace_->directory());
  if (end_reason_ != EndReason::kNone) {
    Take(Event::kStop);
    return;
  }
  WatchTargets();
  std::exchange(on_started_, nullptr)(Info());
  timers_.push_back(services_.timers.After(DelayLeft(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnInstant();
  }));
}

void Session::OnInstant() {
  if (phase_ != Phase::kArmed || !Take(Event::kInstant)) return;
  if (recordings_) recordings_->Begin();
  trace_->Restamp([self = shared_from_this()] {
    self->trace_->Fire([self](const Status& status) { self->OnFired(status); });
  });
}

void Session::OnFired(const Status& status) {
  if (status.ok()) {
    OnRunning();
  } else {
    Fail(EndReason::kFailed, status);
  }
}

// What arming took is part of the way to an instant, not of a delay.
uint64_t Session::DelayLeft() const {
  const uint64_t at_ns = setup_.spec.at_wall_ns;
  if (at_ns == 0) return setup_.spec.delay_ns;
  return at_ns - std::min(at_ns, services_.timers.WallNs());
}

void Session::OnRunning() {
  if (!Take(Event::kFired)) return;
  trace_start_ns_ = services_.timers.RawNs();
  if (setup_.spec.delay_ns > 0) {  // the time before is not the session's
    start_wall_ns_ = services_.timers.WallNs();
    start_raw_ns_ = trace_start_ns_;
    trace_->SetBegin(start_wall_ns_, start_raw_ns_);
  }
  BeginWindows();
  if (on_started_) std::exchange(on_started_, nullptr)(Info());
  if (end_reason_ != EndReason::kNone) {
    Take(Event::kStop);
    return;
  }
  std::weak_ptr<Session> weak = weak_from_this();
  timers_.push_back(services_.timers.After(setup_.spec.duration_ns, [weak] {
    const auto self = weak.lock();
    if (!self) return;
    // Steps are waited for no longer than asked for; a window of time began later than the session.
    if (self->setup_.spec.steps.active > 0) return self->Stop(EndReason::kDuration, nullptr);
    self->StopWithWindows(EndReason::kDuration);
  }));
  tick_ = services_.timers.After(kManifestEveryS * kSecond, [weak] {
    if (const auto self = weak.lock()) self->Tick();
  });
  // Not what the first records wait for.
  timers_.push_back(services_.timers.After(kFirstLookNs, [found = perturbations_] { found->Look([] {}); }));
  base::LogInfo("session " + setup_.id + " of " + setup_.owner.user + " runs into " + trace_->directory());
}

void Session::BeginWindows() {
  if (setup_.windows.empty() && setup_.refused_windows.empty()) return;
  Windows::Setup setup;
  setup.session = setup_.id;
  setup.holder = holder_;
  setup.uid = setup_.owner.uid;
  setup.gid = setup_.owner.gid;
  setup.directory = trace_->directory();
  setup.name = trace_->name();
  setup.parent = std::make_shared<base::UniqueFd>(::dup(setup_.parent.get()));
  setup.quotas = quotas_;
  setup.starts = setup_.windows;
  setup.refused = setup_.refused_windows;
  windows_ = std::make_shared<Windows>(services_, std::move(setup));
  windows_->WhenOver([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const bool by_steps = self->setup_.spec.steps.active > 0 && !self->recordings_;
    if (by_steps && self->after_windows_ == EndReason::kNone) self->after_windows_ = EndReason::kSteps;
    if (self->after_windows_ != EndReason::kNone) self->Stop(self->after_windows_, nullptr);
  });
  windows_->Begin();
}

void Session::StopWithWindows(EndReason reason) {
  if (!windows_ || !windows_->is_open()) return Stop(reason, nullptr);
  if (after_windows_ == EndReason::kNone) after_windows_ = reason;
}

void Session::Fail(EndReason reason, const Status& status) {
  if (!Take(Event::kRefused)) return;
  end_reason_ = reason;
  LetGo(status);
}

void Session::LetGo(const Status& status) {
  if (recordings_) {
    // First of all: what they feed goes with the trace.
    std::exchange(recordings_, nullptr)->Stop([self = shared_from_this(), status] { self->LetGo(status); });
    return;
  }
  StopTimers();
  elapsed_ns_ = services_.timers.RawNs() - start_raw_ns_;
  error_ = status.message();
  setup_.parent.Reset();
  recent_.reset();
  const auto finish = [self = shared_from_this(), status] {
    self->Take(Event::kTakenDown);
    if (self->on_started_) std::exchange(self->on_started_, nullptr)(Result<SessionInfo>(status));
    for (auto& waiter : std::exchange(self->on_sealed_, {})) waiter(self->Info());
  };
  if (trace_) {
    auto trace = std::exchange(trace_, nullptr);
    directories_ = setup_.directories;
    trace->Discard(finish);
  } else {
    finish();
  }
}

bool Session::Targets(pid_t pid) const {
  return std::find(setup_.spec.pids.begin(), setup_.spec.pids.end(), pid) != setup_.spec.pids.end();
}

void Session::WatchTargets() {
  std::weak_ptr<Session> weak = weak_from_this();
  for (const pid_t pid : setup_.spec.pids) {
    base::UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd) {
      // Gone already (checked at the request, so a moment ago); a kernel without pidfd would be older
      // than 5.3.
      services_.ctl.Post([weak, pid] {
        if (const auto self = weak.lock()) self->OnTargetExit(pid);
      });
      targets_[pid] = {base::UniqueFd(), 0};
      continue;
    }
    const auto watch = services_.ctl.WatchReadable(fd.get(), [weak, pid] {
      if (const auto self = weak.lock()) self->OnTargetExit(pid);
    });
    targets_[pid] = {std::move(fd), watch};
  }
}

void Session::OnTargetExit(pid_t pid) {
  if (targets_.erase(pid) == 0 || ended()) return;
  if (trace_) trace_->NotePidEnd(pid, "exited");
  if (windows_) windows_->OnExit(pid);
  const bool keeps = setup_.spec.flight_recorder && setup_.spec.snapshot_on == SnapshotOn::kAsked;
  const bool in_memory = (recordings_ && recordings_->HaveMemory()) || (recent_ && recent_->bytes() > 0);
  if (targets_.empty() && keeps && state() == State::kRunning && in_memory) {
    // What the processes did is not to make way for devices and a host without them.
    if (recent_) recent_->KeepUntil(services_.timers.RawNs());
    warnings_.push_back("its processes have ended; profctl snapshot " + setup_.id +
                        " writes what they had in memory, for 10 minutes");
    std::weak_ptr<Session> weak = weak_from_this();
    timers_.push_back(services_.timers.After(kKeptNs, [weak] {
      if (const auto self = weak.lock()) self->Stop(EndReason::kTargetExit, nullptr);
    }));
  } else if (targets_.empty()) {
    StopWithWindows(EndReason::kTargetExit);
  } else if (!setup_.spec.all_agents && setup_.spec.agent_labels.empty()) {
    // Of processes that nobody named one may end as it likes.
    AddReason(degraded_, "pid " + std::to_string(pid) + " exited");
  }
}

// A shell that runs the program in its place, for one.
void Session::OnTargetBecame(pid_t pid) {
  const std::string name = host::CommandName(pid);
  if (pid != setup_.spec.pids.front() || name.empty() || name == setup_.target_name) return;
  setup_.target_name = name;
  if (trace_) trace_->NoteTargetName(name);
}

void Session::Tick() {
  std::weak_ptr<Session> weak = weak_from_this();
  tick_ = services_.timers.After(kManifestEveryS * kSecond, [weak] {
    if (const auto self = weak.lock()) self->Tick();
  });
  if (phase_ != Phase::kRunning && phase_ != Phase::kSwitching) return;
  for (const auto& trace : rolled_) {
    trace->RefreshAged([weak, trace](bool more) {
      const auto self = weak.lock();
      if (!self || more || std::erase(self->rolled_, trace) == 0) return;
      trace->Close([self, trace] {
        if (!self->budget_->limited()) self->setup_.on_rolled(trace->directory());
      });
    });
  }
  ++ticks_;
  const uint64_t every = std::max<uint64_t>(1, services_.config.session.clock_pair_every_s / kManifestEveryS);
  if (!paused_ && phase_ == Phase::kRunning &&
      services_.timers.RawNs() - trace_start_ns_ >= services_.config.store.roll_after_s * kSecond) {
    Roll();
  } else if (ticks_ % every == 0) {
    trace_->PairClocks([self = shared_from_this(), trace = trace_] {
      if (self->trace_ == trace && self->state() == State::kRunning) trace->RefreshManifest(self->Degraded());
    });
  } else {
    trace_->RefreshManifest(Degraded());
  }
}

void Session::Roll() {
  if (!Take(Event::kRoll)) return;
  auto next = NewTrace();
  const auto give_up = [self = shared_from_this()](const Status& status) {
    self->trace_start_ns_ = self->services_.timers.RawNs();  // tried again after the next roll_after
    AddReason(self->degraded_, "no new directory: " + status.message());
    self->OnRolled();
  };
  next->Arm([self = shared_from_this(), next, give_up](const Status& armed) {
    if (!armed.ok()) {
      give_up(armed);
      return;
    }
    // The new trace joins the running channels before the old one leaves, so nothing falls between the two.
    next->Fire([self, next, give_up](const Status& fired) {
      if (!fired.ok()) {
        give_up(fired);
        return;
      }
      auto old = std::exchange(self->trace_, next);
      self->directories_.push_back(next->directory());
      next->SetRemoved(self->removed_);  // more may have gone while it was armed
      self->trace_start_ns_ = self->services_.timers.RawNs();
      old->SetNext(*next);
      old->Seal(EndReason::kNone, self->Degraded(), [self, old] {
        const std::vector<KindState> kinds = old->Kinds();
        if (self->finished_kinds_.empty()) {
          self->finished_kinds_ = kinds;
        } else {
          for (size_t i = 0; i < kinds.size(); ++i) {
            self->finished_kinds_[i].bytes += kinds[i].bytes;
            self->finished_kinds_[i].records += kinds[i].records;
            self->finished_kinds_[i].lost += kinds[i].lost;
          }
        }
        if (self->recordings_) self->recordings_->Forget(old->id());
        if (self->budget_->limited() || self->recent_) {
          self->rolled_.push_back(old);
        } else {
          self->setup_.on_rolled(old->directory());
        }
        for (const std::string& trouble : old->troubles()) AddReason(self->degraded_, trouble);
        self->OnRolled();
      });
    });
  });
}

void Session::OnRolled() {
  if (Take(Event::kRolled) && end_reason_ != EndReason::kNone) Take(Event::kStop);
}

void Session::Stop(EndReason reason, std::function<void(SessionInfo)> done) {
  if (ended()) {
    if (done) done(Info());
    return;
  }
  if (done) on_sealed_.push_back(std::move(done));
  if (end_reason_ != EndReason::kNone) return;  // on its way
  end_reason_ = reason;
  Take(Event::kStop);
}

void Session::Pause(bool paused, std::function<void(Result<SessionInfo>)> done) {
  if (state() != State::kRunning) {
    done(Status{Code::kFailedPrecondition,
                "session " + setup_.id + " is " + StateName(state()) + ", not running"});
    return;
  }
  if (setup_.spec.steps.active > 0) {
    done(Status{
        Code::kFailedPrecondition,
        "session " + setup_.id + " records the steps that --steps names: it cannot be paused besides"});
    return;
  }
  if (phase_ != Phase::kRunning) {
    done(Status{Code::kUnavailable,
                "session " + setup_.id + " is just " +
                    (phase_ == Phase::kRolling ? "going on in a new directory" : "being paused or resumed") +
                    ": try again in a moment"});
    return;
  }
  const uint64_t now_ns = services_.timers.RawNs();
  const bool same = std::exchange(paused_, paused) == paused;
  Take(Event::kSwitch);
  auto noted = [self = shared_from_this(), trace = trace_, paused, now_ns, done = std::move(done)] {
    self->Take(Event::kSwitched);
    trace->Pause(paused, now_ns, [self, done] { done(self->Info()); });
  };
  if (same || !recordings_) return noted();
  if (paused) {
    recordings_->Pause(std::move(noted));
  } else {
    recordings_->Resume(std::move(noted));
  }
}

void Session::Snapshot(uint64_t newest_ns, std::function<void(Result<SessionInfo>)> done) {
  if (state() != State::kRunning) {
    done(Status{Code::kFailedPrecondition,
                "session " + setup_.id + " is " + StateName(state()) + ", not running"});
    return;
  }
  if (!setup_.spec.flight_recorder) {
    done(Status{Code::kFailedPrecondition,
                "the session is not a flight recorder: start it with --flight-recorder"});
    return;
  }
  const uint64_t now_ns = services_.timers.RawNs();
  const uint64_t from_ns = newest_ns == 0 ? 0 : now_ns - std::min(newest_ns, now_ns);
  auto write = [self = shared_from_this(), trace = trace_, from_ns, done = std::move(done)] {
    const auto one_done = base::After(self->rolled_.size() + 1, [self, done] { done(self->Info()); });
    for (const auto& earlier : self->rolled_) earlier->WriteRecent(from_ns, one_done);
    trace->WriteRecent(from_ns, one_done);
  };
  if (!recordings_) return write();
  recordings_->Snapshot(newest_ns, std::move(write));
}

// What profd has in memory belongs to what a process had in its own when it died.
void Session::WriteRecentForDeath() {
  for (const auto& earlier : rolled_) earlier->WriteRecent(0, [] {});
  if (state() == State::kRunning) {
    trace_->WriteRecent(0, [] {});
  } else if (trace_) {
    trace_->WriteRecentAtSeal();
  }
}

void Session::Seal() {
  StopTimers();
  auto finish = [self = shared_from_this()] {
    self->elapsed_ns_ = self->trace_->elapsed_ns();
    self->Take(Event::kTakenDown);
    self->NoteUnseenDomains();
    self->setup_.parent.Reset();
    self->recent_.reset();
    base::LogInfo("session " + self->setup_.id + " sealed: " + EndReasonName(self->end_reason_));
    for (auto& waiter : std::exchange(self->on_sealed_, {})) waiter(self->Info());
  };
  trace_->Seal(end_reason_, Degraded(), [self = shared_from_this(), finish = std::move(finish)]() mutable {
    const auto rolled = std::exchange(self->rolled_, {});
    const auto one_done = base::After(rolled.size(), std::move(finish));
    for (const auto& trace : rolled) trace->Close(one_done);
  });
}

void Session::NoteRemoved(const std::string& directory, uint64_t disk_bytes, uint64_t bytes, uint64_t records,
                          const std::string& why) {
  if (std::erase(directories_, directory) == 0) return;
  budget_->NoteRemoved(disk_bytes, bytes, records, why);
  removed_.push_back(directory.substr(directory.rfind('/') + 1));
  if (trace_ && !ended()) trace_->SetRemoved(removed_);
}

void Session::StopTimers() {
  for (const auto timer : std::exchange(timers_, {})) services_.timers.Cancel(timer);
  if (tick_ != 0) services_.timers.Cancel(std::exchange(tick_, 0));
  if (windows_) windows_->Stop();
  for (auto& [pid, target] : targets_) {
    if (target.second != 0) services_.ctl.Unwatch(target.second);
  }
  targets_.clear();
}

}  // namespace profd::session
