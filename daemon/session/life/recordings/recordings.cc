#include "daemon/session/life/recordings/recordings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/agent/lanes/ring_reader.h"
#include "daemon/base/after.h"
#include "daemon/host/process/process.h"
#include "daemon/session/plan/kinds.h"

namespace profd::session {

namespace {

using base::Code;
using base::Status;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kArmPatienceNs = 2'000 * kMs;
constexpr uint64_t kStopPatienceNs = 2'000 * kMs;
// The program may hold its loader for as long as an import takes.
constexpr uint64_t kAddPatienceNs = 120'000 * kMs;
// Several processes begin at one instant, far enough ahead for all of them to know.
constexpr uint64_t kTogetherNs = 10 * kMs;
constexpr uint64_t kSettleNs = 1'000 * kMs;  // of verdicts
constexpr uint64_t kDeathNs = 100 * kMs;
constexpr size_t kMostKept = 16;  // memory of dead processes, by session
constexpr char kComing[] = "CANN is loaded, its kinds are about to begin";
constexpr size_t kMaxTroubles = 32;
constexpr size_t kMaxWindows = 10'000;
constexpr int kMaxAncestors = 64;

}  // namespace

Recordings::Recordings(base::Timers& timers, agent::Registry& registry, agent::Drain& drain, Setup setup)
    : timers_(timers),
      registry_(registry),
      drain_(drain),
      setup_(std::move(setup)),
      outcomes_(setup_.starts.size()) {}

Recordings::~Recordings() {
  if (arrivals_ != 0) registry_.Unwatch(arrivals_);
}

// A recording of this process, which nobody else has now.
Recordings::MemberPtr Recordings::Take(const std::shared_ptr<agent::Peer>& peer, size_t start) {
  auto member = std::make_shared<Member>();
  member->peer = peer;
  member->start = start;
  member->outcome = std::make_shared<AgentOutcome>();
  member->outcome->pid = peer->identity().pid;
  // It is back.
  std::erase_if(outcomes_[start], [&](const auto& outcome) {
    return outcome->pid == member->outcome->pid && !outcome->awaited.empty();
  });
  outcomes_[start].push_back(member->outcome);
  members_.push_back(member);
  return member;
}

void Recordings::Begin() {
  for (size_t i = 0; i < setup_.starts.size(); ++i) {
    const pid_t pid = setup_.starts[i].pid;
    const auto peer = registry_.Find(pid);
    if (peer != nullptr && peer->Claim(setup_.holder)) {
      Take(peer, i);
      continue;
    }
    auto outcome = std::make_shared<AgentOutcome>();
    outcome->pid = pid;
    outcome->answered = true;
    if (peer != nullptr && !peer->holder().empty()) {
      outcome->status = {Code::kAborted, "process " + std::to_string(pid) +
                                             " cannot be recorded: " + peer->holder() + " has it"};
    } else {
      outcome->status = {Code::kUnavailable, "the agent of process " + std::to_string(pid) + " has gone"};
      NoteGone(*outcome);
    }
    outcomes_[i].push_back(std::move(outcome));
  }
  arrivals_ = registry_.WatchArrivals([weak = weak_from_this()](const std::shared_ptr<agent::Peer>& peer) {
    if (const auto self = weak.lock()) self->OnArrival(peer);
  });
  const std::vector<MemberPtr> members = members_;
  const auto fired = base::After(members.size(), [self = shared_from_this()] {
    self->begun_ = true;
    for (const auto& begun : std::exchange(self->on_begun_, {})) begun();
  });
  if (members.size() == 1) {
    ArmAndFire(members.front(), fired);
    return;
  }
  const auto armed = base::After(members.size(), [self = shared_from_this(), members, fired] {
    const uint64_t at_raw_ns = self->timers_.RawNs() + kTogetherNs;
    for (const MemberPtr& member : members) {
      if (member->armed && !member->ended) {
        self->Fire(member, at_raw_ns, fired);
      } else {
        self->End(member, "failed", fired);
      }
    }
  });
  for (const MemberPtr& member : members) Arm(member, armed);
}

void Recordings::WhenBegun(std::function<void()> done) {
  if (begun_) {
    done();
  } else {
    on_begun_.push_back(std::move(done));
  }
}

agent::Arm Recordings::Prepare(const MemberPtr& member) {
  std::weak_ptr<Recordings> weak = weak_from_this();
  // First the reader, which sets aside what an earlier recording left behind.
  member->drain =
      drain_.Start(member->peer->region(),
                   setup_.flight_recorder ? agent::RingMode::kOverwriteOldest : agent::RingMode::kDropNewest,
                   TargetFor(member), [weak, member] {
                     if (const auto self = weak.lock()) self->CutOff(member);
                   });
  member->peer->OnGone([weak, member] {
    if (const auto self = weak.lock()) self->OnGone(member);
  });
  member->peer->OnStepWindow([weak, member](const agent::StepWindow& window) {
    if (const auto self = weak.lock()) self->OnStepWindow(member, window);
  });
  member->peer->OnCapabilities([weak, member] {
    if (const auto self = weak.lock()) self->OnCapabilities(member);
  });
  return ArmOf(*member);
}

agent::Arm Recordings::ArmOf(const Member& member) const {
  const AgentStart& start = setup_.starts[member.start];
  const auto wants = [&start](format::Kind kind) { return std::ranges::count(start.kinds, kind) > 0; };
  return {.kinds = start.kinds,
          .flight_recorder = setup_.flight_recorder,
          .steps = setup_.steps,
          .domains = setup_.domains,
          .announce = start.announce,
          .device_marks =
              start.kinds.empty() || wants(format::Kind::kAgentMark) || wants(format::Kind::kAgentRange),
          .call_levels = start.call_levels,
          .reports = start.reports};
}

void Recordings::Arm(const MemberPtr& member, std::function<void()> done) {
  member->peer->Send(Prepare(member), kArmPatienceNs,
                     [self = shared_from_this(), member, done = std::move(done)](const agent::Ack& ack) {
                       NoteArmed(*member, ack);
                       done();
                     });
}

// One that need not wait for others gets both words at once.
void Recordings::ArmAndFire(const MemberPtr& member, std::function<void()> done) {
  agent::Arm arm = Prepare(member);
  arm.fire = true;
  const uint64_t asked_ns = timers_.RawNs();
  member->peer->Send(
      std::move(arm), kArmPatienceNs,
      [self = shared_from_this(), member, asked_ns, done = std::move(done)](const agent::Ack& ack) {
        NoteArmed(*member, ack);
        if (!member->armed) return self->End(member, "failed", done);
        self->NoteBegun(*member, ack, asked_ns);
        done();
      });
}

void Recordings::Fire(const MemberPtr& member, uint64_t at_raw_ns, std::function<void()> done) {
  member->part->manifest.fire_raw_ns = at_raw_ns;
  member->peer->Send(
      agent::Fire{at_raw_ns}, kArmPatienceNs + kTogetherNs,
      [self = shared_from_this(), member, at_raw_ns, done = std::move(done)](const agent::Ack& ack) {
        if (!ack.status.ok()) {
          if (member->outcome->status.ok()) {
            NoteFailed(*member,
                       {ack.status.code(), "process " + std::to_string(member->peer->identity().pid) +
                                               " did not begin to record: " + ack.status.message()});
          }
          self->End(member, "failed", done);
          return;
        }
        self->NoteBegun(*member, ack, at_raw_ns);
        done();
      });
}

void Recordings::NoteArmed(Member& member, const agent::Ack& ack) {
  member.armed = ack.status.ok();
  member.outcome->missing = ack.missing;
  member.outcome->answered = true;
  if (member.armed) return;
  NoteFailed(member, {ack.status.code(), "process " + std::to_string(member.peer->identity().pid) +
                                             " could not be made ready to record: " + ack.status.message()});
}

// Of those, the kinds that it records.
std::vector<format::Kind> Recordings::ReportedKinds(const Member& member) const {
  const AgentStart& start = setup_.starts[member.start];
  std::vector<format::Kind> reported;
  if (start.reports == agent::Reported::kNothing || !member.armed) return reported;
  std::ranges::copy_if(start.kinds, std::back_inserter(reported), [&](format::Kind kind) {
    return IsFromMspti(kind) && std::ranges::count(member.outcome->missing, kind, &agent::Missing::kind) == 0;
  });
  return reported;
}

// One that came with CANN loaded reported already, to nobody.
void Recordings::NoteReportsBefore(Member& member) {
  std::ranges::copy(ReportedKinds(member), std::back_inserter(member.outcome->late));
}

// What it reports goes to somebody else from now on. Told when it happens: the program may end before it is
// stopped.
void Recordings::NoteHandedOver(Member& member) {
  const agent::Capability* const reports = FindReports(member.peer->hello().capabilities);
  if (reports == nullptr || reports->available || reports->later || ReportedKinds(member).empty()) return;
  if (!std::exchange(member.handed_over, true)) TellHandedOver(member, reports->reason);
}

void Recordings::TellHandedOver(const Member& member, const std::string& to) {
  Trouble("process " + std::to_string(member.peer->identity().pid) + ": " + to);
}

void Recordings::NoteFailed(Member& member, Status status) {
  member.outcome->status = std::move(status);
  if (member.peer->gone()) NoteGone(*member.outcome);
}

// A process whose agent went away may be another program in a moment.
void Recordings::NoteGone(AgentOutcome& outcome) {
  if (host::ProcessExists(outcome.pid)) {
    outcome.awaited = kNotRegistered;
  } else {
    outcome.ended = true;
  }
}

void Recordings::OnLateKinds(MakeWay make_way, std::function<void(pid_t)> take_back) {
  make_way_ = std::move(make_way);
  take_back_ = std::move(take_back);
  for (const pid_t target : late_targets_) make_way_(target, [] {});
}

// What some of its kinds waited for has come.
void Recordings::OnCapabilities(const MemberPtr& member) {
  if (member->ended || !member->armed || paused_) return;
  NoteHandedOver(*member);
  std::vector<format::Kind> kinds = PendingKinds(*member->outcome, setup_.starts[member->start].kinds);
  if (kinds.empty() || std::exchange(member->adding, true)) return;
  auto add = [weak = weak_from_this(), member, kinds = std::move(kinds)] {
    const auto self = weak.lock();
    if (self && !member->ended && !self->paused_) return self->AddKinds(member, kinds);
    member->adding = false;
  };
  for (agent::Missing& one : member->outcome->missing) {
    if (one.later) one.why = kComing;
  }
  const pid_t target = setup_.starts[member->start].pid;
  late_targets_.insert(target);
  if (make_way_) {
    make_way_(target, std::move(add));
  } else {
    add();
  }
}

void Recordings::AddKinds(const MemberPtr& member, std::vector<format::Kind> kinds) {
  agent::AddKinds add{kinds};
  member->peer->Send(std::move(add), kAddPatienceNs,
                     [self = shared_from_this(), member, kinds = std::move(kinds)](const agent::Ack& ack) {
                       member->adding = false;
                       if (member->ended) return;
                       member->outcome->missing = ack.missing;
                       if (ack.status.ok()) {
                         member->outcome->late = kinds;
                         member->outcome->missed_ns = ack.missed_ns;
                       }
                       if (!ack.status.ok() && ack.missing.empty()) {
                         for (const format::Kind kind : kinds)
                           member->outcome->missing.push_back({kind, ack.status.message()});
                       }
                       self->TellVerdicts();
                       self->TakeBackWithout(self->setup_.starts[member->start].pid);
                     });
}

// Way was made for kernels; where none come, what made way is wanted again.
void Recordings::TakeBackWithout(pid_t target) {
  if (!late_targets_.contains(target)) return;
  if (VerdictOf(target, format::Kind::kAgentKernel).verdict == Verdict::kStarted) return;
  late_targets_.erase(target);
  if (take_back_) take_back_(target);
}

void Recordings::TellVerdicts() {
  if (on_verdicts_) on_verdicts_(false);
  if (std::exchange(settles_, true)) return;
  timers_.After(kSettleNs, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->settles_ = false;
    if (self->on_verdicts_) self->on_verdicts_(true);
  });
}

void Recordings::Stop(std::function<void()> done) {
  stopping_ = true;
  if (arrivals_ != 0) registry_.Unwatch(std::exchange(arrivals_, 0));
  const std::vector<MemberPtr> members = members_;
  const auto one_done = base::After(members.size(), [self = shared_from_this(), done = std::move(done)] {
    self->NoteOver();
    done();
  });
  for (const MemberPtr& member : members) End(member, "stopped", one_done);
}

// A process that is waited for may come back. Of those that ended alike one is enough to judge by.
void Recordings::NoteEnded(const Member& member) {
  const AgentOutcome& ended = *member.outcome;
  if (!ended.awaited.empty()) return;
  std::erase_if(outcomes_[member.start], [&ended](const auto& other) {
    return other.get() != &ended && other->over && other->status.code() == ended.status.code() &&
           other->missing == ended.missing;
  });
  member.outcome->over = true;
  TellVerdicts();
}

// Nothing comes any more.
void Recordings::NoteOver() {
  for (const AgentOutcomes& outcomes : outcomes_) {
    for (const auto& outcome : outcomes) outcome->over = true;
  }
  TellVerdicts();
}

// Whoever comes first: the stop, the end of the process, a failure.
void Recordings::End(const MemberPtr& member, const std::string& why, std::function<void()> done) {
  member->on_ended.push_back(std::move(done));
  if (std::exchange(member->ended, true)) return;
  auto drained = [self = shared_from_this(), member, why] {
    if (self->setup_.snapshot_on == SnapshotOn::kAsked || !member->peer->gone())
      return self->Drained(member, why);
    // It is dead a moment after it has hung up, or another program.
    self->timers_.After(kDeathNs, [self, member, why] {
      if (!self->WritesAtEnd(*member)) return self->Drained(member, why);
      if (self->on_writes_at_end_) self->on_writes_at_end_();
      self->drain_.Snapshot(member->drain, 0, [self, member, why] { self->Drained(member, why); });
    });
  };
  if (member->peer->gone()) {
    drained();
    return;
  }
  member->peer->Send(
      agent::StopRecording{}, kStopPatienceNs,
      [self = shared_from_this(), member, drained = std::move(drained)](const agent::Ack& ack) {
        self->NoteStopped(*member, ack);
        drained();
      });
}

void Recordings::NoteStopped(const Member& member, const agent::Ack& ack) {
  if (ack.status.ok() || member.peer->gone()) return;
  if (ack.status.code() == Code::kAborted) {
    if (!member.handed_over) TellHandedOver(member, ack.status.message());
    return;
  }
  Trouble("process " + std::to_string(member.peer->identity().pid) +
          " did not acknowledge the end of its recording: " + ack.status.message());
}

void Recordings::CutOff(const MemberPtr& member) {
  Trouble(
      "the lanes of process " + std::to_string(member->peer->identity().pid) +
      " hold what no agent writes: its recording has ended (does it overwrite memory that is not its own?)");
  End(member, "cut off", [] {});
}

void Recordings::Drained(const MemberPtr& member, const std::string& why) {
  drain_.Stop(member->drain, [self = shared_from_this(), member, why] {
    self->NoteClock(*member);
    member->part->manifest.end = why;
    self->NoteEnded(*member);
    if (!self->setup_.domains.names.empty())
      self->seen_domains_.merge(agent::DomainsOf(*member->peer->region()));
    if (!member->peer->gone()) {
      member->peer->Unclaim();
      // The process has the file, too, and can keep it locked.
      self->setup_.aside.RunFor(
          member->peer->identity().uid,
          [region = member->peer->region()]() -> std::function<void()> {
            region->ReleaseRings();
            return [] {};
          },
          [](const Status&) {});
    }
    std::erase(self->members_, member);
    self->OnStepWindow(member, {.last = true});  // nothing more comes of it
    for (const auto& ended : std::exchange(member->on_ended, {})) ended();
  });
}

void Recordings::Pause(std::function<void()> done) {
  paused_ = true;
  const std::vector<MemberPtr> members = members_;
  const auto one_done = base::After(members.size(), std::move(done));
  for (const MemberPtr& member : members) {
    member->peer->Send(agent::StopRecording{}, kStopPatienceNs,
                       [self = shared_from_this(), member, one_done](const agent::Ack& ack) {
                         self->NoteStopped(*member, ack);
                         one_done();
                       });
  }
}

void Recordings::Resume(std::function<void()> done) {
  paused_ = false;
  const std::vector<MemberPtr> members = members_;
  const auto one_done = base::After(members.size(), std::move(done));
  for (const MemberPtr& member : members) {
    if (member->ended || member->peer->gone()) {
      one_done();
      continue;
    }
    agent::Arm arm = ArmOf(*member);
    arm.fire = true;
    member->peer->Send(std::move(arm), kArmPatienceNs,
                       [self = shared_from_this(), member, one_done](const agent::Ack& ack) {
                         if (member->ended) return one_done();
                         NoteArmed(*member, ack);
                         if (!member->armed) return self->End(member, "failed", one_done);
                         self->TellVerdicts();
                         one_done();
                       });
  }
  for (const auto& peer : std::exchange(arrived_, {})) OnArrival(peer);
}

// A flight recorder's memory is profd's, too: it outlives the process.
void Recordings::OnGone(const MemberPtr& member) {
  const bool keep = setup_.flight_recorder && setup_.snapshot_on == SnapshotOn::kAsked && member->armed;
  if (!keep || member->ended) return End(member, "gone", [] {});
  // In the order of their deaths: those of long ago make way for those of late, children before targets.
  std::erase(members_, member);
  members_.push_back(member);
  std::vector<MemberPtr> kept;
  std::copy_if(members_.begin(), members_.end(), std::back_inserter(kept), IsKept);
  if (kept.size() > kMostKept) {
    const auto child = std::find_if(kept.begin(), kept.end(), [this](const MemberPtr& one) {
      return one->outcome->pid != setup_.starts[one->start].pid;
    });
    End(child != kept.end() ? *child : kept.front(), "gone", [] {});
  }
  OnStepWindow(member, {.last = true});  // no step comes of it any more
}

// Dead, and its memory is still to be had.
bool Recordings::IsKept(const MemberPtr& member) { return member->peer->gone() && !member->ended; }

bool Recordings::HaveMemory() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const MemberPtr& one) { return one->armed && !one->ended; });
}

bool Recordings::WritesAtEnd(const Member& member) const {
  if (setup_.snapshot_on == SnapshotOn::kAsked || host::ProcessExists(member.outcome->pid)) return false;
  return setup_.snapshot_on == SnapshotOn::kExit || !member.peer->region()->ended_well();
}

void Recordings::Snapshot(uint64_t newest_ns, std::function<void()> done) {
  std::vector<MemberPtr> present;
  for (const MemberPtr& member : members_) {
    if (!member->ended) present.push_back(member);
  }
  const auto one_done = base::After(present.size(), std::move(done));
  for (const MemberPtr& member : present) {
    // A fresh pair of clocks says which ticks are how old.
    member->peer->Send(agent::PairClocks{}, kStopPatienceNs,
                       [self = shared_from_this(), member, newest_ns, one_done](const agent::Ack&) {
                         self->NoteClock(*member);
                         if (member->ended) return one_done();
                         self->drain_.Snapshot(member->drain, newest_ns, one_done);
                       });
  }
}

// A target that has attached anew, or a child of one: it records too.
void Recordings::OnArrival(const std::shared_ptr<agent::Peer>& peer) {
  if (stopping_) return;
  if (setup_.uid != 0 && peer->identity().uid != setup_.uid) return;
  if (paused_) {
    std::erase_if(arrived_, [](const auto& one) { return one->gone(); });
    return arrived_.push_back(peer);
  }
  pid_t pid = peer->identity().pid;
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i, pid = host::ParentOf(pid)) {
    const auto start = std::find_if(setup_.starts.begin(), setup_.starts.end(),
                                    [pid](const AgentStart& start) { return start.pid == pid; });
    if (start == setup_.starts.end()) continue;
    if (!peer->Claim(setup_.holder)) return;
    if (start->pid == peer->identity().pid && on_became_) on_became_(pid);
    const MemberPtr member = Take(peer, static_cast<size_t>(start - setup_.starts.begin()));
    ArmAndFire(member, [self = shared_from_this(), member] {
      self->NoteReportsBefore(*member);
      // One that has gone meanwhile is no trouble: it has ended, or becomes another program.
      if (!member->outcome->status.ok() && !member->peer->gone())
        self->Trouble(member->outcome->status.message());
      self->TellVerdicts();
    });
    return;
  }
}

void Recordings::OnStepWindow(const MemberPtr& member, const agent::StepWindow& window) {
  std::vector<format::ManifestStepWindow>& windows = member->part->manifest.step_windows;
  if (window.ticks != 0 && windows.size() < kMaxWindows) {
    windows.push_back({window.cycle, window.step, window.ticks, window.opened});
  }
  member->steps_done =
      member->steps_done || (window.last && !window.opened);  // the last one opens with `last`, too
  const bool all =
      std::all_of(members_.begin(), members_.end(), [](const MemberPtr& one) { return one->steps_done; });
  if (setup_.steps.active == 0 || !all || stopping_ || on_steps_done_ == nullptr) return;
  if (std::all_of(members_.begin(), members_.end(), IsKept)) return;  // or there are none
  timers_.After(0, std::exchange(on_steps_done_, nullptr));
}

void Recordings::Trouble(const std::string& what) {
  if (troubles_.size() < kMaxTroubles &&
      std::find(troubles_.begin(), troubles_.end(), what) == troubles_.end()) {
    troubles_.push_back(what);
  }
}

}  // namespace profd::session
