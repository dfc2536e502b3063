#include "daemon/session/manager.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/version.h"
#include "daemon/agent/drain.h"
#include "daemon/agent/registry.h"
#include "daemon/base/executor.h"
#include "daemon/base/log.h"
#include "daemon/host/process.h"
#include "daemon/host/sampler.h"
#include "daemon/session/archive.h"
#include "daemon/session/aside.h"
#include "daemon/session/node.h"
#include "daemon/session/past.h"
#include "daemon/session/resumer.h"
#include "daemon/session/selection.h"
#include "daemon/session/session.h"
#include "daemon/session/writers.h"
#include "daemon/store/spool.h"
#include "daemon/store/write_probe.h"

namespace profd::session {

namespace {

using auth::Action;
using auth::Caller;
using auth::May;
using base::Code;
using base::Result;
using base::Status;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kMaxEnded = 256;
constexpr double kProbeFrom = 10e6;  // bytes per second; any disk takes less
constexpr uint64_t kProbeAfterNs = 1 * kSecond;
constexpr uint64_t kProbeEveryNs = 600 * kSecond;
constexpr size_t kMaxName = 128;
constexpr size_t kMaxLabels = 64;
constexpr size_t kMaxPids = 256;

std::string NewId() {
  uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) random = static_cast<uint32_t>(base::RawNs());
  char text[9];
  std::snprintf(text, sizeof text, "%08x", random);
  return text;
}

Status CheckText(const std::string& what, const std::string& text) {
  if (text.size() > kMaxName) {
    return {Code::kInvalidArgument, what + " is " + std::to_string(text.size()) + " bytes long; at most " +
                                        std::to_string(kMaxName) + " are taken"};
  }
  const bool printable =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (!printable) return {Code::kInvalidArgument, what + " holds a control character; give printable text"};
  return Status::Ok();
}

// Without a process of the caller's own it is about the whole node; the answer names what was asked for.
Status MayCollect(const Caller& caller, const SessionSpec& spec, const Plan& plan) {
  if (!spec.pids.empty()) return Status::Ok();
  if (spec.all_devices || !spec.devices.empty()) {
    PROFD_RETURN_IF_ERROR(May(caller, Action::kCollectDevice));
  }
  return plan.host.empty() ? Status::Ok() : May(caller, Action::kCollectHost);
}

}  // namespace

class Manager::Impl {
 public:
  Impl(base::Executor& ctl, const config::Config& config, std::shared_ptr<driver::Driver> driver,
       std::string driver_error, agent::Registry& agents)
      : ctl_(ctl),
        config_(config),
        agents_(agents),
        node_(ctl, config, std::move(driver), std::move(driver_error)),
        writers_(ctl, config),
        sampler_([this](std::function<void()> work) { ctl_.Post(std::move(work)); }),
        drain_({}, [this](std::function<void()> work) { ctl_.Post(std::move(work)); }),
        aside_(ctl),
        archive_(
            ctl, aside_, config,
            [this](const store::Kept& kept, const store::RemovedTrace& trace) { OnRemoved(kept, trace); }),
        resumer_(ctl, aside_, agents, config.store.spool) {
    // So that the first start finds the facts.
    ctl_.Post([this] { node_.WhenKnown([] {}); });
    // Before a session that goes on (--resume) is linked to what there is of it.
    aside_.Run([this, spool = config_.store.spool, now = base::WallNs()] {
      RecoverPastSessions(spool, now);
      auto past = std::make_shared<std::vector<SessionInfo>>(ReadPastSessions(spool, kMaxEnded));
      return [this, past] {
        past_ = std::move(*past);
        archive_.Begin();
        resumer_.Resume([this](ResumeRecord record) { Resume(std::move(record)); });
      };
    });
  }

  void Start(const Caller& caller, SessionSpec spec, std::function<void(Result<SessionInfo>)> done);
  void Stop(const Caller& caller, const StopTarget& target,
            std::function<void(Result<std::vector<SessionInfo>>)> done);
  Result<SessionInfo> Get(const Caller& caller, const std::string& id);
  void Snapshot(const Caller& caller, const std::string& id, uint64_t newest_ns,
                std::function<void(Result<SessionInfo>)> done);
  void Pin(const Caller& caller, const std::string& id, bool pinned,
           std::function<void(Result<SessionInfo>)> done);
  void Remove(const Caller& caller, const std::string& id, std::function<void(Result<SessionInfo>)> done);
  std::vector<SessionInfo> List(const Caller& caller) const;
  void Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done);
  void Targets(const Caller& caller, std::function<void(std::vector<Target>)> done);
  void Doctor(const Caller& caller, pid_t pid, std::function<void(std::vector<Check>)> done);
  void Shutdown(std::function<void()> done);

 private:
  struct Request {
    Caller caller;
    SessionSpec spec;
    Plan plan;
    std::string target_name;
    std::string resumes;  // id of a session that goes on
    std::vector<std::string> directories;
    base::UniqueFd move_to;  // --output, when the spool comes first
    std::function<void(Result<SessionInfo>)> done;
  };

  Status CheckSpec(SessionSpec& spec) const;
  Result<NodeFacts> FactsFor(const Caller& caller, const SessionSpec& spec) const;
  void Admit(std::shared_ptr<Request> request);
  void PlanStart(std::shared_ptr<Request> request);
  void OpenOutput(std::shared_ptr<Request> request);
  void Launch(const std::shared_ptr<Request>& request, base::UniqueFd parent, std::string parent_path);
  void Remember(const std::shared_ptr<Session>& session);
  void MoveToOutput(const std::shared_ptr<Session>& session);
  void Probe(const std::shared_ptr<Session>& session);
  void Resume(ResumeRecord record);
  void ForgetOld();
  Result<SessionInfo> Changeable(const Caller& caller, const std::string& id) const;
  void OnRemoved(const store::Kept& kept, const store::RemovedTrace& trace);
  NodeReport Report() const;
  std::vector<Check> LibraryChecks() const;

  base::Executor& ctl_;
  const config::Config& config_;
  agent::Registry& agents_;
  Node node_;
  Writers writers_;
  host::Sampler sampler_;
  agent::Drain drain_;
  Aside aside_;
  Archive archive_;
  Resumer resumer_;
  std::deque<std::shared_ptr<Session>> sessions_;  // oldest first
  std::vector<SessionInfo> past_;
  struct ProbedDisk {
    uint64_t until_ns = 0;
    double bytes_per_second = 0;  // 0 = not known yet
  };
  std::map<dev_t, ProbedDisk> probed_;
  uint32_t next_trace_ = 1;
  bool shutting_down_ = false;
};

Status Manager::Impl::CheckSpec(SessionSpec& spec) const {
  PROFD_RETURN_IF_ERROR(CheckText("name", spec.name));
  if (spec.labels.size() > kMaxLabels) return {Code::kInvalidArgument, "more than 64 labels"};
  for (const auto& [key, value] : spec.labels) {
    PROFD_RETURN_IF_ERROR(CheckText("label " + key, key));
    PROFD_RETURN_IF_ERROR(CheckText("label " + key, value));
  }
  if (spec.pids.size() > kMaxPids) return {Code::kInvalidArgument, "more than 256 pids in one session"};
  std::sort(spec.pids.begin(), spec.pids.end());
  spec.pids.erase(std::unique(spec.pids.begin(), spec.pids.end()), spec.pids.end());
  if (spec.duration_ns == 0) spec.duration_ns = config_.session.default_duration_s * kSecond;
  if (spec.duration_ns > config_.session.max_duration_s * kSecond) {
    return {Code::kOutOfRange, "duration " + std::to_string(spec.duration_ns / kSecond) +
                                   " s is longer than " + std::to_string(config_.session.max_duration_s) +
                                   " s, the longest this profd allows (session.max_duration_s)"};
  }
  if (spec.delay_ns > config_.session.max_duration_s * kSecond) {
    return {Code::kOutOfRange,
            "delay is longer than " + std::to_string(config_.session.max_duration_s) + " s"};
  }
  const auto open = static_cast<size_t>(std::count_if(sessions_.begin(), sessions_.end(),
                                                      [](const auto& session) { return !session->ended(); }));
  if (open >= config_.session.max_sessions) {
    return {Code::kResourceExhausted, std::to_string(open) +
                                          " sessions are open, the most this profd allows "
                                          "(session.max_sessions); stop one first"};
  }
  if (shutting_down_) return {Code::kUnavailable, "profd is stopping"};
  return Status::Ok();
}

Result<NodeFacts> Manager::Impl::FactsFor(const Caller& caller, const SessionSpec& spec) const {
  NodeFacts facts = node_.Facts();
  const Status device_kinds = May(caller, Action::kCollectDevice);
  facts.device_kinds_allowed = device_kinds.ok();
  facts.device_kinds_denied_reason = device_kinds.message();
  for (const pid_t pid : spec.pids) {
    const host::ProcessFacts process = host::ReadProcessFacts(pid);
    if (process.exists && !process.is_thread) {
      PROFD_RETURN_IF_ERROR(May(caller, Action::kCollectProcess, process.uid));
    }
    ProcessFacts entry;
    entry.pid = pid;
    entry.uid = process.uid;
    entry.name = process.comm;
    entry.exists = process.exists;
    entry.is_thread = process.is_thread;
    entry.open_devices = process.open_devices;
    if (const auto peer = agents_.Find(pid)) entry.agent = AgentFactsOf(*peer);
    facts.processes.push_back(std::move(entry));
  }
  return facts;
}

void Manager::Impl::Start(const Caller& caller, SessionSpec spec,
                          std::function<void(Result<SessionInfo>)> done) {
  auto request = std::make_shared<Request>();
  request->caller = caller;
  request->done = std::move(done);
  const auto selected = SelectAgents(agents_, caller, spec);
  if (!selected.ok()) {
    request->done(selected.status());
    return;
  }
  spec.pids.insert(spec.pids.end(), selected->begin(), selected->end());
  request->spec = std::move(spec);
  Admit(std::move(request));
}

void Manager::Impl::Admit(std::shared_ptr<Request> request) {
  if (const Status status = CheckSpec(request->spec); !status.ok()) {
    request->done(status);
    return;
  }
  node_.WhenKnown([this, request] { PlanStart(request); });
}

void Manager::Impl::PlanStart(std::shared_ptr<Request> request) {
  auto facts = FactsFor(request->caller, request->spec);
  if (!facts.ok()) {
    request->done(facts.status());
    return;
  }
  auto plan = MakePlan(request->spec, *facts);
  if (!plan.ok()) {
    request->done(plan.status());
    return;
  }
  request->plan = std::move(plan).value();
  if (const Status status = MayCollect(request->caller, request->spec, request->plan); !status.ok()) {
    request->done(status);
    return;
  }
  if (!facts->processes.empty()) request->target_name = facts->processes.front().name;
  OpenOutput(std::move(request));
}

void Manager::Impl::OpenOutput(std::shared_ptr<Request> request) {
  const auto passed = std::make_shared<base::UniqueFd>(std::move(request->spec.output_dir));
  aside_.Run([this, request, passed, spool = config_.store.spool, spool_first = config_.store.spool_first] {
    const Caller& caller = request->caller;
    std::string path = request->spec.output;
    Result<base::UniqueFd> parent = Status{};
    if (*passed && spool_first) {
      const Status usable = store::CheckOutputDir(passed->get());
      path = spool + "/" + caller.user;
      parent = usable.ok() ? store::OpenSpoolFor(spool, caller.uid, caller.gid, caller.user)
                           : Result<base::UniqueFd>(usable);
      request->move_to = std::move(*passed);
    } else if (*passed) {
      const Status usable = store::CheckOutputDir(passed->get());
      parent = usable.ok() ? Result<base::UniqueFd>(std::move(*passed)) : Result<base::UniqueFd>(usable);
    } else {
      path = spool + "/" + caller.user;
      parent = store::OpenSpoolFor(spool, caller.uid, caller.gid, caller.user);
    }
    auto opened = std::make_shared<Result<base::UniqueFd>>(std::move(parent));
    return [this, request, opened, path] {
      if (!opened->ok()) {
        request->done(opened->status());
        return;
      }
      Launch(request, std::move(*opened).value(), path);
    };
  });
}

void Manager::Impl::Launch(const std::shared_ptr<Request>& request, base::UniqueFd parent,
                           std::string parent_path) {
  ForgetOld();
  Session::Setup setup;
  setup.id = request->resumes.empty() ? NewId() : request->resumes;
  setup.directories = request->directories;
  setup.owner = request->caller;
  setup.spec = std::move(request->spec);
  setup.plan = std::move(request->plan);
  setup.parent = std::move(parent);
  setup.parent_path = std::move(parent_path);
  setup.target_name = request->target_name;
  setup.next_trace_id = [this] { return next_trace_++; };
  const bool in_spool = setup.spec.output.empty() || request->move_to;
  setup.move_to = std::move(request->move_to);
  setup.bounds = archive_.BoundsFor(setup.owner, setup.parent.get(), in_spool);
  setup.on_rolled = [this, id = setup.id, uid = setup.owner.uid](const std::string& directory) {
    archive_.TakeRolled({id, uid, {directory}});
  };
  auto session = std::make_shared<Session>(
      Services{ctl_, config_, node_, writers_, sampler_, agents_, drain_}, std::move(setup));
  sessions_.push_back(session);
  session->WhenEnded([this, weak = std::weak_ptr(session)](const SessionInfo& info) {
    archive_.TakeEnded({info.id, info.uid, info.directories}, [this, weak] {
      const auto session = weak.lock();
      if (!session) return;
      session->LeaveBounds();
      MoveToOutput(session);
    });
  });
  session->Start([this, session, request](const Result<SessionInfo>& result) {
    // Refused: the caller has the reason, there is nothing to look at later.
    if (!result.ok()) std::erase(sessions_, session);
    if (result.ok() && session->spec().resume) Remember(session);
    if (result.ok()) Probe(session);
    request->done(result);
  });
}

void Manager::Impl::MoveToOutput(const std::shared_ptr<Session>& session) {
  const auto to = std::make_shared<base::UniqueFd>(session->TakeMoveTo());
  if (!*to || session->state() != State::kSealed) return;
  session->NoteMoving();
  archive_.Move({session->id(), session->uid(), session->Info().directories}, to,
                [weak = std::weak_ptr(session)](const std::string& directory, const Status& status) {
                  if (const auto session = weak.lock()) session->NoteMoved(directory, status);
                });
}

// A moment after the session has begun, and for a file system once in a while: whether the disk is fast
// enough is known before it matters, and no start or stop waits for what the probe has written.
void Manager::Impl::Probe(const std::shared_ptr<Session>& session) {
  struct stat where {};
  if (session->WriteRate() < kProbeFrom || ::fstat(session->parent(), &where) != 0) return;
  ProbedDisk& disk = probed_[where.st_dev];
  if (disk.until_ns > base::MonotonicNs()) {
    if (disk.bytes_per_second > 0) session->NoteProbe(disk.bytes_per_second);
    return;
  }
  disk = {base::MonotonicNs() + kProbeEveryNs, 0};
  const auto parent = std::make_shared<base::UniqueFd>(::fcntl(session->parent(), F_DUPFD_CLOEXEC, 0));
  ctl_.After(kProbeAfterNs,
             [this, parent, device = where.st_dev, owner = session->owner(), weak = std::weak_ptr(session)] {
               if (weak.expired()) return;
               aside_.Run([this, parent, device, owner, weak] {
                 const Result<double> rate = store::ProbeWriteRate(parent->get(), owner.uid, owner.gid);
                 return [this, device, weak, rate] {
                   if (!rate.ok()) return;
                   probed_[device].bytes_per_second = *rate;
                   if (const auto session = weak.lock()) session->NoteProbe(*rate);
                 };
               });
             });
}

void Manager::Impl::Remember(const std::shared_ptr<Session>& session) {
  resumer_.Remember(MakeResume(session->Info(), session->owner(), session->spec()));
  session->WhenEnded([this](const SessionInfo& info) {
    if (info.end_reason != EndReason::kDaemonStop) resumer_.Forget(info.id);
  });
}

// As if its owner had started it again.
void Manager::Impl::Resume(ResumeRecord record) {
  auto request = std::make_shared<Request>();
  request->caller = record.owner;
  request->resumes = record.session;
  request->directories = std::move(record.directories);
  request->spec = std::move(record.spec);
  request->done = [this, id = record.session](const Result<SessionInfo>& result) {
    if (result.ok()) {
      std::erase_if(past_, [&id](const SessionInfo& info) { return info.id == id; });
      base::LogInfo("session " + id + " goes on");
    } else {
      base::LogWarn("session " + id + " does not go on: " + result.status().message());
      resumer_.Forget(id);
    }
  };
  Admit(std::move(request));
}

void Manager::Impl::ForgetOld() {
  while (sessions_.size() >= kMaxEnded) {
    const auto oldest = std::find_if(sessions_.begin(), sessions_.end(),
                                     [](const auto& session) { return session->ended(); });
    if (oldest == sessions_.end()) return;
    sessions_.erase(oldest);
  }
}

void Manager::Impl::Stop(const Caller& caller, const StopTarget& target,
                         std::function<void(Result<std::vector<SessionInfo>>)> done) {
  std::vector<std::shared_ptr<Session>> chosen;
  Status refused;
  for (const auto& session : sessions_) {
    if (session->ended()) {
      if (!target.session.empty() && session->id() == target.session &&
          May(caller, Action::kSeeSession, session->uid()).ok()) {
        done(Status{Code::kFailedPrecondition, "session " + target.session + " has ended already (" +
                                                   EndReasonName(session->Info().end_reason) + ")"});
        return;
      }
      continue;
    }
    const bool wanted = target.all || (!target.session.empty() && session->id() == target.session) ||
                        (target.pid != 0 && session->Targets(target.pid));
    if (!wanted) continue;
    if (const Status may = May(caller, Action::kStopSession, session->uid()); !may.ok()) {
      if (!target.all) refused = may;
      continue;
    }
    chosen.push_back(session);
  }
  if (chosen.empty()) {
    if (!refused.ok()) {
      done(refused);
    } else if (target.all) {
      done(std::vector<SessionInfo>{});
    } else if (target.pid != 0) {
      done(Status{Code::kNotFound,
                  "no running session has pid " + std::to_string(target.pid) + " as its target"});
    } else {
      done(Status{Code::kNotFound, "no running session '" + target.session + "'; profctl list shows them"});
    }
    return;
  }
  struct Waiting {
    size_t left;
    std::vector<SessionInfo> infos;
  };
  auto waiting = std::make_shared<Waiting>(Waiting{chosen.size(), {}});
  for (const auto& session : chosen) {
    session->Stop(EndReason::kStopped, [waiting, done](SessionInfo info) {
      waiting->infos.push_back(std::move(info));
      if (--waiting->left == 0) done(std::move(waiting->infos));
    });
  }
}

Result<SessionInfo> Manager::Impl::Get(const Caller& caller, const std::string& id) {
  for (const SessionInfo& info : List(caller)) {
    if (info.id == id) return info;
  }
  return Status{Code::kNotFound, "no session '" + id + "'; profctl list shows them"};
}

void Manager::Impl::Snapshot(const Caller& caller, const std::string& id, uint64_t newest_ns,
                             std::function<void(Result<SessionInfo>)> done) {
  for (const auto& session : sessions_) {
    if (session->id() != id || session->ended()) continue;
    const Status may = May(caller, Action::kStopSession, session->uid());
    if (may.ok()) {
      session->Snapshot(newest_ns, std::move(done));
    } else {
      done(may);
    }
    return;
  }
  done(Status{Code::kNotFound, "no running session '" + id + "'; profctl list shows them"});
}

// A session that the caller may pin and remove, all of its directories together.
Result<SessionInfo> Manager::Impl::Changeable(const Caller& caller, const std::string& id) const {
  std::optional<SessionInfo> whole;
  for (const SessionInfo& info : List(caller)) {
    if (info.id != id || (whole && info.uid != whole->uid)) continue;
    if (!whole) {
      whole = info;
      continue;
    }
    for (const std::string& directory : info.directories) {
      if (std::find(whole->directories.begin(), whole->directories.end(), directory) ==
          whole->directories.end()) {
        whole->directories.insert(whole->directories.begin(), directory);
      }
    }
  }
  if (!whole) return Status{Code::kNotFound, "no session '" + id + "'; profctl list shows them"};
  PROFD_RETURN_IF_ERROR(May(caller, Action::kKeepSession, whole->uid));
  return *whole;
}

void Manager::Impl::Pin(const Caller& caller, const std::string& id, bool pinned,
                        std::function<void(Result<SessionInfo>)> done) {
  const Result<SessionInfo> info = Changeable(caller, id);
  if (!info.ok()) return done(info);
  archive_.Pin({id, info->uid, info->directories}, pinned,
               [this, caller, id, done = std::move(done)](const Status& status) {
                 done(status.ok() ? Get(caller, id) : Result<SessionInfo>(status));
               });
}

void Manager::Impl::Remove(const Caller& caller, const std::string& id,
                           std::function<void(Result<SessionInfo>)> done) {
  const Result<SessionInfo> info = Changeable(caller, id);
  if (!info.ok()) return done(info);
  if (info->state != State::kSealed && info->state != State::kFailed) {
    return done(Status{Code::kFailedPrecondition, "session " + id + " is " + StateName(info->state) +
                                                      "; profctl stop " + id + " first"});
  }
  archive_.Remove({id, info->uid, info->directories},
                  [info = *info, done = std::move(done)](const Status& status) {
                    done(status.ok() ? Result<SessionInfo>(info) : Result<SessionInfo>(status));
                  });
}

void Manager::Impl::OnRemoved(const store::Kept& kept, const store::RemovedTrace& trace) {
  const std::string directory = config_.store.spool + "/" + kept.user + "/" + kept.name;
  std::erase_if(past_, [&](const SessionInfo& info) { return info.directory == directory; });
  for (const auto& session : sessions_) {
    session->NoteRemoved(directory, kept.disk_bytes, trace.bytes, trace.records);
  }
  std::erase_if(sessions_, [](const auto& session) {
    return session->state() == State::kSealed && session->Info().directories.empty();
  });
}

std::vector<SessionInfo> Manager::Impl::List(const Caller& caller) const {
  std::vector<SessionInfo> infos;
  for (auto session = sessions_.rbegin(); session != sessions_.rend(); ++session) {
    if (May(caller, Action::kSeeSession, (*session)->uid()).ok()) infos.push_back((*session)->Info());
  }
  for (const SessionInfo& info : past_) {
    if (May(caller, Action::kSeeSession, info.uid).ok()) infos.push_back(info);
  }
  for (SessionInfo& info : infos) info.pinned = archive_.Pinned(info.id, info.uid);
  return infos;
}

NodeReport Manager::Impl::Report() const {
  NodeReport report;
  report.profd_version = base::kVersion;
  report.driver_error = node_.library_error();
  report.host_kinds = HostKinds();
  if (node_.driver() == nullptr) return report;
  report.driver_path = node_.driver()->path();
  report.driver_api_version = node_.driver()->api_version();
  report.missing_symbols = node_.driver()->missing_symbols();
  const std::vector<device::Holding> holdings = node_.hub()->Holdings();
  for (const driver::DeviceFacts& facts : node_.devices()) {
    DeviceReport device;
    device.facts = facts;
    device.kinds = DeviceKinds(facts, report.driver_api_version);
    for (const device::Holding& holding : holdings) {
      if (holding.device == facts.id) device.holders.push_back({holding.kind, holding.holder});
    }
    report.devices.push_back(std::move(device));
  }
  return report;
}

void Manager::Impl::Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done) {
  if (const Status may = May(caller, Action::kSeeNode); !may.ok()) {
    done(may);
    return;
  }
  node_.Refresh([this, done = std::move(done)] { done(Report()); });
}

std::vector<Check> Manager::Impl::LibraryChecks() const {
  using Outcome = Check::Outcome;
  const driver::Driver* driver = node_.driver();
  if (driver == nullptr) {
    return {{"driver library", Outcome::kWarn, node_.library_error(),
             "on a node with NPUs install the driver, or name the library: profd --hal PATH; without it host "
             "kinds "
             "only"}};
  }
  std::vector<Check> checks;
  char version[32];
  std::snprintf(version, sizeof version, ", API 0x%06x", driver->api_version());
  checks.push_back({"driver library", Outcome::kOk, driver->path() + version, ""});
  const std::vector<std::string> missing = driver->missing_symbols();
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  checks.push_back({"symbols", missing.empty() ? Outcome::kOk : Outcome::kWarn,
                    missing.empty() ? "all there" : "missing: " + names,
                    missing.empty() ? "" : "an older driver; what needs them is skipped"});
  if (node_.devices().empty()) {
    checks.push_back({"devices", Outcome::kBroken,
                      node_.library_error().empty() ? "the driver lists no device" : node_.library_error(),
                      "check `npu-smi info`, the permissions of /dev/davinci* and the driver's log"});
  }
  for (const driver::DeviceFacts& device : node_.devices()) {
    const bool works = device.status == 1 && device.error.empty();
    size_t kinds = 0;
    for (const KindOffer& offer : DeviceKinds(device, driver->api_version()))
      kinds += offer.available ? 1 : 0;
    checks.push_back({"device " + std::to_string(device.id), works ? Outcome::kOk : Outcome::kBroken,
                      device.chip_name + ", " + std::to_string(kinds) + " kinds" +
                          (works ? "" : ", status " + std::to_string(device.status) + " " + device.error),
                      works ? "" : "the device does not work (1 = working, 4 = lost): see the driver's log"});
  }
  return checks;
}

void Manager::Impl::Targets(const Caller& caller, std::function<void(std::vector<Target>)> done) {
  auto registered = std::make_shared<std::vector<Target>>();
  for (const auto& peer : agents_.All()) registered->push_back(TargetOf(*peer));
  aside_.Run([caller, registered, done = std::move(done)] {
    auto targets = std::make_shared<std::vector<Target>>(FindTargets(caller, std::move(*registered)));
    return [targets, done] { done(std::move(*targets)); };
  });
}

void Manager::Impl::Doctor(const Caller& caller, pid_t pid, std::function<void(std::vector<Check>)> done) {
  node_.Refresh([this, caller, pid, done = std::move(done)] {
    using Outcome = Check::Outcome;
    auto checks = std::make_shared<std::vector<Check>>(LibraryChecks());
    const Status device_kinds = May(caller, Action::kCollectDevice);
    checks->push_back(
        {"rights", device_kinds.ok() ? Outcome::kOk : Outcome::kWarn,
         caller.user + (device_kinds.ok() ? " may collect every kind" : ": " + device_kinds.message()),
         device_kinds.ok() ? "" : "ask root, or collect host kinds of your own processes"});
    const agent::Registry::Counts agents = agents_.Count();
    checks->push_back({"agents", agents.turned_away == 0 ? Outcome::kOk : Outcome::kWarn,
                       std::to_string(agents.seats) + " of at most " + std::to_string(agents.max_seats) +
                           " processes with an agent" +
                           (agents.turned_away == 0 ? ""
                                                    : ", turned away " + std::to_string(agents.turned_away) +
                                                          " times for want of room"),
                       agents.turned_away == 0
                           ? ""
                           : "raise agent.max_agents or agent.max_agents_per_user in profd's settings"});
    std::optional<Target> registered;
    if (const auto peer = agents_.Find(pid)) registered = TargetOf(*peer);
    aside_.Run([checks, done, caller, pid, registered, socket = config_.socket, spool = config_.store.spool] {
      if (pid != 0) {
        const std::vector<Check> chain = CheckProcess(caller, pid, socket, registered);
        checks->insert(checks->end(), chain.begin(), chain.end());
      }
      struct statvfs disk {};
      if (::statvfs(spool.c_str(), &disk) != 0) {
        checks->push_back({"spool", Outcome::kWarn, Status::FromErrno(spool).message(),
                           "it is created by the first session; check store.spool"});
      } else {
        const uint64_t free = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
        const bool enough = free >= (1ull << 30);
        checks->push_back({"spool", enough ? Outcome::kOk : Outcome::kWarn,
                           spool + ", " + std::to_string(free >> 20) + " MiB free",
                           enough ? "" : "free some space or set store.spool"});
      }
      return [checks, done] { done(std::move(*checks)); };
    });
  });
}

void Manager::Impl::Shutdown(std::function<void()> done) {
  shutting_down_ = true;
  auto left = std::make_shared<size_t>(1);
  const auto one_done = [left, done = std::move(done)] {
    if (--*left == 0) done();
  };
  for (const auto& session : std::deque(sessions_)) {
    if (session->ended()) continue;
    ++*left;
    session->Stop(EndReason::kDaemonStop, [one_done](const SessionInfo&) { one_done(); });
  }
  one_done();
}

Manager::Manager(base::Executor& ctl, const config::Config& config, std::shared_ptr<driver::Driver> driver,
                 std::string driver_error, agent::Registry& agents)
    : impl_(std::make_unique<Impl>(ctl, config, std::move(driver), std::move(driver_error), agents)) {}
Manager::~Manager() = default;

void Manager::Start(const Caller& caller, SessionSpec spec, std::function<void(Result<SessionInfo>)> done) {
  impl_->Start(caller, std::move(spec), std::move(done));
}
void Manager::Stop(const Caller& caller, StopTarget target,
                   std::function<void(Result<std::vector<SessionInfo>>)> done) {
  impl_->Stop(caller, target, std::move(done));
}
Result<SessionInfo> Manager::Get(const Caller& caller, const std::string& session) {
  return impl_->Get(caller, session);
}
std::vector<SessionInfo> Manager::List(const Caller& caller) { return impl_->List(caller); }
void Manager::Pin(const Caller& caller, const std::string& session, bool pinned,
                  std::function<void(Result<SessionInfo>)> done) {
  impl_->Pin(caller, session, pinned, std::move(done));
}
void Manager::Remove(const Caller& caller, const std::string& session,
                     std::function<void(Result<SessionInfo>)> done) {
  impl_->Remove(caller, session, std::move(done));
}
void Manager::Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done) {
  impl_->Devices(caller, std::move(done));
}
void Manager::Snapshot(const Caller& caller, const std::string& session, uint64_t newest_ns,
                       std::function<void(Result<SessionInfo>)> done) {
  impl_->Snapshot(caller, session, newest_ns, std::move(done));
}
void Manager::Targets(const Caller& caller, std::function<void(std::vector<Target>)> done) {
  impl_->Targets(caller, std::move(done));
}
void Manager::Doctor(const Caller& caller, pid_t pid, std::function<void(std::vector<Check>)> done) {
  impl_->Doctor(caller, pid, std::move(done));
}
void Manager::Shutdown(std::function<void()> done) { impl_->Shutdown(std::move(done)); }

}  // namespace profd::session
