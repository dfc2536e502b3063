#include "daemon/session/starter.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "daemon/agent/registry.h"
#include "daemon/base/after.h"
#include "daemon/base/log.h"
#include "daemon/host/process/process.h"
#include "daemon/host/process/process_image.h"
#include "daemon/session/new_id.h"
#include "daemon/session/node/doctor.h"
#include "daemon/session/plan/kinds.h"
#include "daemon/session/plan/selection.h"
#include "daemon/session/plan/spec_check.h"
#include "daemon/session/plan/windows.h"
#include "daemon/store/spool/bounds.h"

namespace profd::session {

using auth::Action;
using auth::Caller;
using auth::May;
using base::Code;
using base::Result;
using base::Status;

namespace {

// Of a user's CPU profiles together. Each interrupts every processor so often, whoever runs there.
constexpr uint64_t kMostProfileHz = 2000;
// Who has fewer may have one of the reserve.
constexpr size_t kFewSessions = 4;
// How often it is looked whether what others hold is free.
constexpr uint64_t kTryAgainNs = 500'000'000;
// An agent that does not answer is taken at its earlier word. As long as it is then waited for to arm: what
// is not known here starts a task log that has to make way.
constexpr uint64_t kDescribePatienceNs = 2'000'000'000;
constexpr std::string_view kAgentLibrary = "libprofd_agent.so";

// Devices that are named without a process of the caller's own: all of them or none.
Status MayCollect(const Caller& caller, const SessionSpec& spec) {
  if (!spec.pids.empty()) return Status::Ok();
  for (const uint32_t device : spec.devices) {
    PROFD_RETURN_IF_ERROR(May(caller, Action::kCollectDevice, {.device = device}));
  }
  return Status::Ok();
}

uint64_t ProfileHz(const SessionSpec& spec) {
  uint64_t hz = 0;
  for (const KindRequest& request : spec.kinds) {
    if (request.kind != format::Kind::kHostCpuProfile) continue;
    hz += request.hz > 0 ? static_cast<uint64_t>(request.hz) : TraitsOf(request.kind).habits.usual_hz;
  }
  return hz;
}

// "" = there is more free than stays free.
std::string LittleRoom(const store::Space& space, uint64_t configured) {
  const uint64_t keep = store::KeepFreeBytes(configured, space.total_bytes);
  if (space.total_bytes == 0 || space.free_bytes >= keep) return "";
  const auto mb = [](uint64_t bytes) { return std::to_string(bytes / 1'000'000) + " MB"; };
  return "its disk is full: " + mb(space.free_bytes) + " are free, " + mb(keep) +
         " stay free (store.keep_free_bytes): ended sessions go first, then what this one has recorded; make "
         "room, or "
         "write elsewhere (--output)";
}

void TellKinds(const SessionInfo& info) {
  for (const KindState& kind : info.kinds) {
    base::LogDebug([&] {
      return "session " + info.id + ": " + std::string(NameOf(kind.kind)) + " of " + kind.unit + " " +
             VerdictName(kind.verdict) + (kind.reason.empty() ? "" : ": " + kind.reason);
    });
  }
}

}  // namespace

// A start on its way.
struct Starter::Request {
  Caller caller;
  SessionSpec spec;
  Plan plan;
  std::string target_name;
  std::map<pid_t, uint64_t> start_ticks;  // of the targets
  std::string resumes;                    // id of a session that goes on
  std::vector<std::string> directories;
  std::set<pid_t> preloaded;   // targets that were started with the agent
  bool wants_windows = false;  // of programs' own profilers
  std::vector<WindowStart> windows;
  std::vector<Window> refused_windows;
  uint64_t wait_until_ns = 0;  // host raw: how long it waits for what others hold
  Done done;
};

Starter::Starter(Services services, auth::Rights& rights, base::Aside& aside, Book& book, Resumer& resumer)
    : services_(services),
      rights_(rights),
      aside_(aside),
      book_(book),
      resumer_(resumer),
      probe_(services.timers, aside),
      cpus_(static_cast<uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)))),
      interfaces_(std::max<uint64_t>(1, host::CountInterfaces())) {}

void Starter::Shutdown() {
  shutting_down_ = true;
  for (const auto& request : std::exchange(waiting_, {})) {
    request->done(Status{Code::kUnavailable, "profd is stopping"});
  }
}

// For one more session.
Status Starter::CheckRoom(const Caller& caller) const {
  const auto his = static_cast<size_t>(
      std::count_if(book_.sessions().begin(), book_.sessions().end(),
                    [&](const auto& session) { return !session->ended() && session->uid() == caller.uid; }));
  const auto waits =
      static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& request) {
        return request->caller.uid == caller.uid;
      }));
  const bool is_admin = auth::IsAdmin(caller);
  if (!is_admin && his + waits >= services_.config.limits.sessions_per_user) {
    return {Code::kResourceExhausted, "user " + caller.user + " has " + std::to_string(his + waits) +
                                          " open sessions, the most a user may have "
                                          "(limits.sessions_per_user); stop one first"};
  }
  const size_t open = book_.open();
  // A few accounts that take all they get keep nobody else out, and nobody keeps an admin from looking what
  // is the matter.
  const size_t most = services_.config.session.max_sessions;
  const size_t reserve = (is_admin || his + waits < kFewSessions ? most / 4 : 0) + (is_admin ? most / 8 : 0);
  if (open >= most + reserve) {
    return {Code::kResourceExhausted, std::to_string(open) +
                                          " sessions are open, the most this profd allows "
                                          "(session.max_sessions); stop one first"};
  }
  if (shutting_down_) return {Code::kUnavailable, "profd is stopping"};
  return Status::Ok();
}

Status Starter::CheckProfiles(const Caller& caller, const SessionSpec& spec) const {
  const uint64_t wanted = ProfileHz(spec);
  if (wanted == 0 || auth::IsAdmin(caller)) return Status::Ok();
  uint64_t open = 0;
  for (const auto& session : book_.sessions()) {
    if (!session->ended() && session->uid() == caller.uid) open += ProfileHz(session->spec());
  }
  if (open == 0 || open + wanted <= kMostProfileHz) return Status::Ok();
  return {Code::kResourceExhausted, "the CPU profiles of user " + caller.user + " have " +
                                        std::to_string(open) + " Hz altogether; with " +
                                        std::to_string(wanted) + " Hz more it is over the " +
                                        std::to_string(kMostProfileHz) +
                                        " Hz that a user may have: stop one first, or ask for less "
                                        "(host-cpu-profile=99Hz)"};
}

// Every flight recorder may come to fill its memory.
Status Starter::CheckMemory(const SessionSpec& spec) const {
  constexpr uint64_t kLeastBuffer = 64ull << 10;
  uint64_t left = services_.config.store.flight_recorder_bytes;
  for (const MemoryBuffer& buffer : spec.buffers) {
    if (buffer.bytes < kLeastBuffer || buffer.bytes > left) {
      return {Code::kInvalidArgument, "--buffer: " + std::to_string(buffer.bytes) +
                                          " bytes: must be at least 64KiB, and all buffers " +
                                          "together at most the " +
                                          std::to_string(services_.config.store.flight_recorder_bytes) +
                                          " bytes of a flight recorder (store.flight_recorder_bytes)"};
    }
    left -= buffer.bytes;
  }
  const uint64_t limit = services_.config.limits.rss_mb * 1'000'000 / 2;
  if (!spec.flight_recorder || limit == 0) return Status::Ok();
  const auto recorders =
      1 + static_cast<uint64_t>(std::ranges::count_if(book_.sessions(), [](const auto& session) {
        return !session->ended() && session->spec().flight_recorder;
      }));
  const uint64_t each = services_.config.store.flight_recorder_bytes;
  if (recorders * each <= limit) return Status::Ok();
  return {Code::kResourceExhausted,
          std::to_string(recorders) + " flight recorders of " + std::to_string(each) +
              " bytes (store.flight_recorder_bytes) would take more than half of what profd may "
              "(limits.rss_mb); stop one first"};
}

Result<NodeFacts> Starter::FactsFor(const Request& request, const Processes& processes) const {
  const Caller& caller = request.caller;
  NodeFacts facts = services_.node.Facts();
  const Status device_kinds = May(caller, Action::kCollectDevice);
  facts.device_kinds_allowed = device_kinds.ok();
  facts.device_kinds_denied_reason = device_kinds.message();
  facts.leased_devices = caller.leased;
  facts.cpus = cpus_;
  facts.interfaces = interfaces_;
  facts.host_kinds_denied_reason = May(caller, Action::kCollectHost).message();
  facts.breakpoints_denied_reason = May(caller, Action::kSetBreakpoints).message();
  for (const host::ProcessFacts& process : processes) {
    if (process.exists && !process.is_thread) {
      PROFD_RETURN_IF_ERROR(May(caller, Action::kCollectProcess, {.owner = process.uid}));
      if (!process.answers) {
        return Status(Code::kUnavailable,
                      "pid " + std::to_string(process.pid) +
                          " does not answer: it hangs in the kernel, end it or see to the "
                          "mounts that its files are on");
      }
    }
    ProcessFacts entry;
    entry.pid = process.pid;
    entry.uid = process.uid;
    entry.name = process.comm;
    entry.exists = process.exists;
    entry.is_thread = process.is_thread;
    entry.threads = process.threads;
    entry.open_devices = process.open_devices;
    if (const auto peer = services_.agents.Find(process.pid)) entry.agent = AgentFactsOf(*peer);
    entry.agent_expected = request.spec.agents_expected || request.preloaded.contains(process.pid);
    facts.processes.push_back(std::move(entry));
  }
  return facts;
}

// Where steps are all that is asked for, what a door cannot do is a refusal; beside what the host shows of a
// process it is a remark.
Status Starter::PlanWindows(Request* request, NodeFacts* facts) const {
  request->windows.clear();
  request->refused_windows.clear();
  const auto done = [request] {
    if (request->spec.framework_options.empty() || !request->windows.empty() ||
        !request->refused_windows.empty())
      return Status::Ok();
    return Status(
        Code::kInvalidArgument,
        "--framework-options: for programs without an agent whose profiler polls the dynolog fabric, and "
        "with --steps or --duration; none is asked here: leave it out (--collect says what agents record)");
  };
  if (!request->wants_windows) return done();
  const std::vector<fabric::Client> clients = services_.fabric.All();
  for (ProcessFacts& process : facts->processes) {
    if (!process.exists || process.is_thread || process.agent || process.agent_expected) continue;
    const auto client = PollsFor(clients, process.pid, process.uid, host::ParentOf);
    if (!client) continue;
    auto window = PlanWindow(request->spec, process.pid, *client);
    if (window.ok()) {
      process.has_window = true;
      request->windows.push_back(std::move(window).value());
    } else if (request->spec.steps.active > 0) {
      return window.status();
    } else {
      Window refused = ShownWindow({process.pid, *client, {}});
      refused.state = "refused";
      refused.text = window.status().message();
      request->refused_windows.push_back(std::move(refused));
    }
  }
  return done();
}

void Starter::Start(const Caller& caller, SessionSpec spec, Done done) {
  auto request = std::make_shared<Request>();
  request->caller = caller;
  request->done = std::move(done);
  if (spec.wait_ns > 0) request->wait_until_ns = services_.timers.RawNs() + spec.wait_ns;
  request->wants_windows = WantsWindows(spec);
  std::vector<pid_t> polling;
  if (request->wants_windows) polling = SelectPolling(services_.fabric.All(), caller, spec);
  // An agent is the better way, also into who has msMonitor poll for it.
  std::erase_if(polling, [this](pid_t pid) {
    return services_.agents.Find(pid) != nullptr || services_.agents.Find(host::ParentOf(pid)) != nullptr;
  });
  const auto selected = SelectAgents(services_.agents, caller, spec);
  if (selected.ok()) {
    spec.pids.insert(spec.pids.end(), selected->begin(), selected->end());
  } else if (polling.empty()) {
    request->done(selected.status());
    return;
  }
  spec.pids.insert(spec.pids.end(), polling.begin(), polling.end());
  request->spec = std::move(spec);
  Admit(request);
}

void Starter::Admit(const std::shared_ptr<Request>& request) {
  Status status = CheckSpec(request->spec, services_.config);
  if (status.ok()) status = MayCollect(request->caller, request->spec);
  if (status.ok()) status = CheckRoom(request->caller);
  if (status.ok()) status = CheckProfiles(request->caller, request->spec);
  if (status.ok()) status = CheckMemory(request->spec);
  if (!status.ok()) {
    Refuse(request, status);
    return;
  }
  // A driver that hangs holds up nobody who wants nothing of it.
  if (IsOfHostAlone(request->spec)) return AskAgents(request);
  services_.node.WhenKnown([this, request] { AskAgents(request); });
}

// What an agent lacked when it registered may have come since, and what it could receive may be MSPTI's by
// now.
void Starter::AskAgents(const std::shared_ptr<Request>& request) {
  const bool of_reports = std::ranges::any_of(request->spec.kinds, [](const KindRequest& kind) {
    const base::Result<agent::Reported> asked = ReportedOf(kind.kind, kind.mode);
    return asked.ok() && *asked != agent::Reported::kNothing;
  });
  std::vector<std::shared_ptr<agent::Peer>> lacking;
  for (const pid_t pid : request->spec.pids) {
    const auto peer = services_.agents.Find(pid);
    if (peer == nullptr) continue;
    const std::vector<agent::Capability>& said = peer->hello().capabilities;
    if (std::ranges::any_of(said, &agent::Capability::later) || (of_reports && FindReports(said) != nullptr))
      lacking.push_back(peer);
  }
  const auto one_told = base::After(lacking.size(), [this, request] { Prepare(request); });
  for (const auto& peer : lacking)
    peer->Send(agent::Describe{}, kDescribePatienceNs, [one_told](const agent::Ack&) { one_told(); });
}

// A process may have as many descriptors as it likes, which takes as long to look at. The way to the output
// is opened beside that, if it is there already: who is refused leaves nothing behind.
void Starter::Prepare(const std::shared_ptr<Request>& request) {
  if (request->spec.pids.empty()) {
    PlanStart(request, {}, {});
    return;
  }
  aside_.RunFor(
      request->caller.uid,
      [this, request, pids = request->spec.pids, spool = services_.config.store.spool,
       spool_first = services_.config.store.spool_first]() -> std::function<void()> {
        auto processes = std::make_shared<Processes>(host::ReadProcessFacts(pids));
        auto preloaded = std::make_shared<std::set<pid_t>>();
        for (const pid_t pid : pids) {
          const auto preload = host::StartedWith(pid, "LD_PRELOAD");
          if (preload && preload->find(kAgentLibrary) != std::string::npos) preloaded->insert(pid);
        }
        auto output =
            std::make_shared<Output>(OpenOutput(*request, spool, spool_first, store::IfMissing::kFail));
        return [this, request, processes, preloaded, output] {
          request->preloaded = std::move(*preloaded);
          PlanStart(request, *processes, std::move(*output));
        };
      },
      [request](const Status& status) { request->done(status); });
}

void Starter::PlanStart(const std::shared_ptr<Request>& request, const Processes& processes, Output output) {
  for (const host::ProcessFacts& process : processes) request->start_ticks[process.pid] = process.start_ticks;
  auto facts = FactsFor(*request, processes);
  if (!facts.ok()) {
    request->done(facts.status());
    return;
  }
  if (const Status planned = PlanWindows(request.get(), &*facts); !planned.ok()) {
    Refuse(request, planned);
    return;
  }
  auto plan = MakePlan(request->spec, *facts);
  if (plan.ok() && request->wait_until_ns != 0 && !plan->held.empty())
    plan = Status(Code::kAborted, plan->held);
  if (!plan.ok()) {
    Refuse(request, plan.status());
    return;
  }
  request->plan = std::move(plan).value();
  if (!facts->processes.empty()) request->target_name = facts->processes.front().name;
  if (request->spec.plan_only) {
    request->done(PlannedOf(*request));
  } else if (output.status.ok()) {
    Launch(request, std::move(output));
  } else {
    MakeOutput(request);
  }
}

SessionInfo Starter::PlannedOf(const Request& request) {
  SessionInfo info;
  info.name = request.spec.name;
  info.labels = request.spec.labels;
  info.uid = request.caller.uid;
  info.user = request.caller.user;
  info.pids = request.spec.pids;
  info.devices = request.plan.devices;
  info.duration_ns = request.spec.duration_ns;
  info.storage_limit_bytes = request.spec.storage_limit_bytes;
  info.kinds = request.plan.kinds;
  info.windows = request.refused_windows;
  for (const WindowStart& start : request.windows) info.windows.push_back(ShownWindow(start));
  return info;
}

Starter::Output Starter::OpenOutput(const Request& request, const std::string& spool, bool spool_first,
                                    store::IfMissing missing) {
  const Caller& caller = request.caller;
  Output output;
  output.status = Status::Ok();
  if (const auto& passed = request.spec.output_dir; passed != nullptr) {
    output.status = auth::ProbeOutputDir(passed->fd.get(), passed->sender);
    if (output.status.ok()) output.status = store::CheckOutputDir(passed->fd.get());
    // The request may come here again.
    base::UniqueFd& own = spool_first ? output.move_to : output.parent;
    own.Reset(::fcntl(passed->fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!own) output.status = Status::FromErrno("keep the output directory open");
    output.parent_path = request.spec.output;
  }
  if (output.status.ok() && !output.parent) {
    auto parent = store::OpenSpoolFor(spool, caller.uid, caller.gid, caller.user, missing);
    output.status = parent.status();
    if (parent.ok()) output.parent = std::move(parent).value();
    output.parent_path = spool + "/" + caller.user;
  }
  struct stat where {};
  if (output.status.ok() && ::fstat(output.parent.get(), &where) != 0)
    output.status = Status::FromErrno("output directory " + output.parent_path);
  output.file_system = where.st_dev;
  if (output.status.ok()) {
    if (const Result<store::Space> space = store::SpaceOf(output.parent.get()); space.ok())
      output.space = *space;
  }
  return output;
}

void Starter::MakeOutput(const std::shared_ptr<Request>& request) {
  aside_.RunFor(
      request->caller.uid,
      [this, request, spool = services_.config.store.spool,
       spool_first = services_.config.store.spool_first]() -> std::function<void()> {
        auto output =
            std::make_shared<Output>(OpenOutput(*request, spool, spool_first, store::IfMissing::kMake));
        return [this, request, output] {
          if (output->status.ok()) {
            Launch(request, std::move(*output));
          } else {
            request->done(output->status);
          }
        };
      },
      [request](const Status& status) { request->done(status); });
}

void Starter::Launch(const std::shared_ptr<Request>& request, Output output) {
  // Others of his may have been on their way with it, and so may Shutdown().
  Status room = CheckRoom(request->caller);
  if (room.ok()) room = CheckProfiles(request->caller, request->spec);
  if (room.ok()) room = CheckMemory(request->spec);
  if (!room.ok()) {
    request->done(room);
    return;
  }
  Session::Setup setup;
  setup.id = request->resumes.empty() ? NewId() : request->resumes;
  setup.directories = request->directories;
  setup.owner = request->caller;
  setup.spec = request->spec;
  setup.spec.output_dir.reset();
  setup.plan = std::make_shared<const Plan>(std::move(request->plan));
  setup.parent = std::move(output.parent);
  setup.file_system = output.file_system;
  setup.parent_path = std::move(output.parent_path);
  setup.target_name = request->target_name;
  setup.start_ticks = request->start_ticks;
  setup.next_trace_id = [this] { return next_trace_++; };
  setup.move_to = std::move(output.move_to);
  setup.windows = request->windows;
  setup.refused_windows = request->refused_windows;
  book_.Bind(setup);
  auto session = std::make_shared<Session>(services_, std::move(setup));
  book_.Add(session);
  session->NoteSaving(saving_);
  if (const std::string little = LittleRoom(output.space, services_.config.store.keep_free_bytes);
      !little.empty())
    session->Warn(little);
  session->Start([this, session, request](const Result<SessionInfo>& result) {
    if (!result.ok()) {
      // The caller has the reason, there is nothing to look at later.
      book_.Erase(session);
      Refuse(request, result.status());
      return;
    }
    TellKinds(*result);
    if (session->spec().resume) Remember(session);
    if (!session->spec().flight_recorder) probe_.Ask(session);  // which writes to the disk
    request->done(result);
  });
}

// What others hold may be free the next time, if the caller waits for it.
void Starter::Refuse(const std::shared_ptr<Request>& request, const Status& status) {
  const bool gone = request->spec.abandoned && request->spec.abandoned();
  const bool waits =
      IsHeld(status.code()) && !gone && !shutting_down_ && services_.timers.RawNs() < request->wait_until_ns;
  if (shutting_down_ && request->wait_until_ns != 0) {
    request->done(Status{Code::kUnavailable, "profd is stopping"});
    return;
  }
  if (!waits) {
    if (status.code() == Code::kAborted) {
      NameCollectors(request, status);
    } else {
      request->done(status);
    }
    return;
  }
  waiting_.push_back(request);
  services_.timers.After(kTryAgainNs, [this, request] {
    // Shutdown() has answered it else.
    if (std::erase(waiting_, request) == 0) return;
    rights_.GrantLeases(request->caller);
    Admit(request);
  });
}

// The driver only says that somebody has the channel.
void Starter::NameCollectors(const std::shared_ptr<Request>& request, const Status& status) {
  aside_.Run([request, status]() -> std::function<void()> {
    const std::string others = OtherCollectors(request->caller);
    const std::string more = others.empty() ? "" : "; other collectors on this node: " + others;
    return [request, status, more] { request->done(Status(status.code(), status.message() + more)); };
  });
}

void Starter::Remember(const std::shared_ptr<Session>& session) {
  resumer_.Remember(MakeResume(session->Info(), session->owner(), session->spec(), session->start_ticks()));
  session->WhenEnded([this](const SessionInfo& info) {
    if (info.end_reason != EndReason::kDaemonStop) resumer_.Forget(info.id);
  });
}

// As if its owner had started it again.
void Starter::Resume(ResumeRecord record) {
  auto request = std::make_shared<Request>();
  request->caller = record.owner;
  rights_.GrantLeases(request->caller);
  request->resumes = record.session;
  request->directories = std::move(record.directories);
  request->spec = std::move(record.spec);
  request->done = [this, id = record.session](const Result<SessionInfo>& result) {
    if (result.ok()) {
      book_.ForgetPast(id);
      base::LogInfo("session " + id + " goes on");
    } else {
      base::LogWarn("session " + id + " does not go on: " + result.status().message());
      resumer_.Forget(id);
    }
  };
  Admit(request);
}

}  // namespace profd::session
