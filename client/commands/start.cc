#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "client/args.h"
#include "client/commands/collect.h"
#include "client/commands/transcript.h"
#include "client/container.h"
#include "client/expected.h"
#include "client/interrupt.h"
#include "client/json.h"
#include "client/output_dir.h"
#include "client/render.h"
#include "client/shared_rates.h"
#include "client/vendor_words.h"
#include "node/clock_labels.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint32_t kProgressPeriodMs = 500;
constexpr size_t kMaxStep = size_t{1} << 40;
constexpr uint64_t kLookAgainNs = 50'000'000;

// Repeated options mean the same as one with commas.
std::string Joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}

Status ParseUnits(const StartOptions& options, v1::SessionSpec* spec) {
  if (!options.pids.empty()) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> pids, ParsePids(Joined(options.pids)));
    spec->mutable_pids()->Assign(pids.begin(), pids.end());
  }
  if (!options.devices.empty()) {
    PROFD_ASSIGN_OR_RETURN(const DeviceList list, ParseDevices(Joined(options.devices)));
    spec->set_all_devices(list.all);
    spec->mutable_devices()->Assign(list.devices.begin(), list.devices.end());
  }
  if (!options.collect.empty()) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<v1::KindRequest> kinds, ParseCollect(Joined(options.collect)));
    spec->mutable_kinds()->Assign(kinds.begin(), kinds.end());
  }
  spec->set_preset(options.preset);
  spec->set_all_agents(options.all_agents);
  if (!options.steps.empty()) {
    PROFD_ASSIGN_OR_RETURN(*spec->mutable_steps(), ParseSteps(options.steps));
  }
  if (!options.step.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t step, ParseCount("--step", options.step, kMaxStep));
    v1::StepSchedule* steps = spec->mutable_steps();
    steps->set_from_step(step);
    // Without a schedule: every step from then on.
    if (steps->active() == 0) steps->set_active(1);
  }
  if (!options.domains.empty() || !options.domains_exclude.empty()) {
    PROFD_ASSIGN_OR_RETURN(*spec->mutable_agent_domains(),
                           ParseDomains(options.domains, options.domains_exclude));
  }
  spec->set_flight_recorder(options.flight_recorder);
  if (!options.snapshot_on.empty()) {
    PROFD_ASSIGN_OR_RETURN(const v1::SnapshotOn snapshot_on, ParseSnapshotOn(options.snapshot_on));
    spec->set_snapshot_on(snapshot_on);
  }
  spec->set_resume(options.resume);
  return Status::Ok();
}

Result<v1::SessionSpec> ParseSpec(const StartOptions& options) {
  v1::SessionSpec spec;
  PROFD_RETURN_IF_ERROR(ParseUnits(options, &spec));
  if (!options.duration.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--duration", options.duration));
    spec.set_duration_ns(ns);
  }
  if (!options.delay.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--delay", options.delay));
    spec.set_delay_ns(ns);
  }
  if (!options.on_full.empty()) {
    PROFD_ASSIGN_OR_RETURN(const v1::OnFull on_full, ParseOnFull(options.on_full));
    spec.set_on_full(on_full);
  }
  if (!options.storage_limit.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t bytes, ParseStorageLimit(options.storage_limit));
    spec.set_storage_limit_bytes(bytes);
  }
  PROFD_ASSIGN_OR_RETURN(const std::string name, WithEnvironment("--name", options.name));
  PROFD_RETURN_IF_ERROR(CheckName("--name", name));
  spec.set_name(name);
  for (const std::string& text : options.labels) {
    PROFD_ASSIGN_OR_RETURN(const auto label, ParseLabel(text));
    if (!spec.mutable_labels()->insert({label.first, label.second}).second) {
      return Status(Code::kInvalidArgument, "--label: " + label.first + " is given twice: leave one");
    }
  }
  // With --all-agents a label also says which.
  if (options.all_agents) *spec.mutable_agent_labels() = spec.labels();
  return spec;
}

// Ctrl-C of --wait: the first stops the session, the second leaves it to the daemon.
// **Thread:** Interrupted() on the interrupt thread, the rest on main.
class Interruption {
 public:
  // While it lives, interrupts act on `control`. **Owns:** the thread that asks to stop.
  class Scope {
   public:
    Scope(Interruption& interruption, ControlClient& control) : interruption_(interruption) {
      interruption_.Attach(&control);
    }
    ~Scope() { interruption_.Detach(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Interruption& interruption_;
  };

  void Interrupted(int count) {
    const std::lock_guard lock(mutex_);
    stop_wanted_ = true;
    detached_ = count > 1;
    ActLocked();
  }
  void SetSession(const std::string& session) {
    const std::lock_guard lock(mutex_);
    session_ = session;
    ActLocked();
  }
  bool detached() const { return detached_; }

 private:
  void Attach(ControlClient* control) {
    const std::lock_guard lock(mutex_);
    control_ = control;
    ActLocked();
  }
  void Detach() {
    std::thread stopper;
    {
      const std::lock_guard lock(mutex_);
      control_ = nullptr;
      stopper.swap(stopper_);
    }
    if (stopper.joinable()) stopper.join();
  }

  void ActLocked() {
    if (control_ == nullptr) return;
    if (detached_) return control_->CancelAll();
    if (!stop_wanted_ || session_.empty() || stopper_.joinable()) return;
    stopper_ = std::thread([control = control_, session = session_] {
      v1::StopRequest request;
      request.set_session(session);
      // The session may have ended by itself meanwhile; what became of it is what the watch says.
      const Result<v1::StopReply> ignored = control->Stop(request);
      static_cast<void>(ignored);
    });
  }

  std::mutex mutex_;
  ControlClient* control_ = nullptr;
  std::string session_;
  bool stop_wanted_ = false;
  std::atomic<bool> detached_{false};
  std::thread stopper_;
};

// The line on stderr that a waiting terminal shows.
class Progress {
 public:
  ~Progress() { Clear(); }
  void Show(const v1::SessionInfo& info) {
    if (!is_terminal_) return;
    std::fprintf(stderr, "\r\033[K%s", RenderProgress(info).c_str());
    shown_ = true;
  }
  void Clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

// On the terminal, unless somebody else asked.
void Show(const Common& common, const v1::SessionInfo& info, bool is_over, v1::SessionInfo* result) {
  if (result != nullptr) {
    *result = info;
  } else {
    Print(common.json ? SessionJson(info) : RenderSession(info, is_over, ColouredOutput()));
  }
}

ExitCode Wait(const Common& common, const v1::SessionSpec& spec, const std::string& session,
              ControlClient& control, const Interruption& interruption, v1::SessionInfo* result) {
  Progress progress;
  const Result<v1::SessionInfo> last = control.Watch(
      session, kProgressPeriodMs, [&progress](const v1::SessionInfo& info) { progress.Show(info); });
  progress.Clear();
  if (!last.ok() && interruption.detached()) {
    std::fprintf(stderr, "profctl: detached; see profctl status %s\n", session.c_str());
    return ExitCode::kOk;
  }
  if (!last.ok()) return Fail(last.status());
  Show(common, *last, true, result);
  return SessionResult(spec, *last);
}

// How far the node's clock is ahead of ours, as whoever started the session found.
ClockDistance ClockOf(const v1::SessionInfo& info) {
  const auto number = [&info](const char* label) {
    const auto found = info.labels().find(label);
    return found == info.labels().end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 10);
  };
  return {number(node::kClockAhead), static_cast<uint64_t>(number(node::kClockUncertainty))};
}

// Waits for the instant and looks when the session really began.
Result<v1::SessionInfo> AwaitFiring(uint64_t at_wall_ns, const std::string& session, ControlClient& control) {
  for (;;) {
    const uint64_t now_ns = base::WallNs();
    control.Pause((now_ns < at_wall_ns ? at_wall_ns - now_ns : 0) + kLookAgainNs);
    PROFD_ASSIGN_OR_RETURN(v1::SessionInfo info, control.Get(session));
    if (info.state() == v1::SESSION_STATE_PENDING || info.state() == v1::SESSION_STATE_ARMED) continue;
    if (Transcript* transcript = CurrentTranscript()) {
      const ClockDistance clock = ClockOf(info);
      transcript->Note(
          {static_cast<int64_t>(info.start_wall_ns()) - clock.ahead_ns - static_cast<int64_t>(at_wall_ns),
           clock.uncertainty_ns});
    }
    return info;
  }
}

// Adds what the options in the vendor's words ask for, as far as the node has it.
Result<Granted> Grant(const StartOptions& options, ControlClient& control, v1::SessionSpec* spec) {
  if (options.vendor.empty()) return Granted();
  PROFD_ASSIGN_OR_RETURN(const v1::DevicesReply node, control.Devices());
  return AddWishes(options.vendor, options.vendor_defaults, node, spec);
}

// A rate that others keep it from: the verdict and its reason are in the session, who they are is not.
void TellSharedRates(const v1::SessionInfo& info, ControlClient& control) {
  if (!HasSharedRate(info)) return;
  const Result<v1::DevicesReply> node = control.Devices();
  for (const std::string& line : SharedRates(info, node.ok() ? *node : v1::DevicesReply())) Note(line);
}

ExitCode Worse(ExitCode code, bool granted) {
  return code == ExitCode::kOk && !granted ? ExitCode::kPartlyStarted : code;
}

void TellCosts(const v1::SessionInfo& info) {
  for (const std::string& line : CostWarnings(info)) Note(line);
}

ExitCode ShowPlan(const Common& common, const v1::SessionSpec& asked, const v1::SessionSpec& spec,
                  bool granted, ControlClient& control) {
  const Result<v1::SessionInfo> planned = control.Plan(spec);
  if (!planned.ok()) return Fail(planned.status());
  Print(common.json ? SessionJson(*planned) : RenderPlan(*planned, ColouredOutput()));
  TellCosts(*planned);
  return Worse(StartResult(asked, *planned), granted);
}

ExitCode StartSession(const Common& common, const StartOptions& options, v1::SessionSpec spec,
                      uint64_t wait_ns, const OutputDir* output, Interruption* interruption,
                      v1::SessionInfo* result) {
  Result<Connection> connection = Connect(common, output == nullptr ? -1 : output->fd.get());
  if (!connection.ok()) {
    if (output != nullptr) DropOutputDir(*output);
    return Fail(connection.status());
  }
  ControlClient& control = *connection->control;
  const Interruption::Scope interrupts(*interruption, control);
  if (options.at_wall_ns != 0) {
    const Result<ClockDistance> clock = control.MeasureClock();
    if (!clock.ok()) return Fail(clock.status());
    SetInstant(options.at_wall_ns, *clock, &spec);
  }
  // What an option brings along and the node does not have is no failure, as with a preset.
  const v1::SessionSpec asked = spec;
  const Result<Granted> granted = Grant(options, control, &spec);
  if (granted.ok()) {
    for (const std::string& remark : granted->remarks) Note(remark);
  }
  if (granted.ok() && options.dry_run) return ShowPlan(common, asked, spec, !granted->unmet, control);
  Result<v1::SessionInfo> info =
      granted.ok() ? control.Start(spec, wait_ns, options.once) : Result<v1::SessionInfo>(granted.status());
  if (info.ok() && options.at_wall_ns != 0 && !options.wait) {
    info = AwaitFiring(options.at_wall_ns, info->session(), control);
  }
  if (!info.ok()) {
    if (output != nullptr) DropOutputDir(*output);
    return Fail(options.explain ? options.explain(info.status()) : info.status());
  }
  if (!options.wait) {
    Show(common, *info, false, result);
    if (result == nullptr) TellCosts(*info);
    if (!common.json) TellSharedRates(*info, control);
    return Worse(StartResult(asked, *info), !granted->unmet);
  }
  interruption->SetSession((*info).session());
  if (result == nullptr) TellCosts(*info);
  if (!common.json) TellSharedRates(*info, control);
  return Worse(Wait(common, asked, (*info).session(), control, *interruption, result), !granted->unmet);
}

// Where one of our options keeps what the vendor's word for it says; nullptr: in one of the lists.
std::string* TextOf(StartOptions* options, std::string_view ours) {
  if (ours == "duration") return &options->duration;
  if (ours == "agent-domains") return &options->domains;
  if (ours == "agent-domains-exclude") return &options->domains_exclude;
  return nullptr;
}

// Options of the vendor's that say what one of ours does.
Status TakeSessionWords(StartOptions* options) {
  for (const auto& [name, value] : options->vendor) {
    const options::Option* option = options::Find(name);
    if (option == nullptr || option->becomes != options::Becomes::kSession || option->what == name) continue;
    std::string* const text = TextOf(options, option->what);
    std::vector<std::string>& list = option->what == "pid" ? options->pids : options->devices;
    if (text != nullptr ? !text->empty() : !list.empty()) {
      return {Code::kInvalidArgument,
              "--" + name + " and --" + std::string(option->what) + ": give one of them"};
    }
    if (text != nullptr) {
      *text = value + (option->what == "duration" ? "s" : "");
    } else {
      list = {value};
    }
  }
  if (options->vendor.empty()) return {};
  if (!options->pids.empty() || options->all_agents) options->vendor.emplace(options::kProcess, "yes");
  return options::Check(options->vendor, 0);
}

// From here on they are this node's.
Status TakePidsOfContainer(const Common& common, StartOptions* options) {
  if (!common.host.empty() || common.exchange != nullptr)
    return {Code::kInvalidArgument, "--container is looked for on this node: not with --host and --hosts"};
  if (options->pids.empty())
    return {Code::kInvalidArgument, "--container says whose pids they are: name them with --pid"};
  PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> inside, ParsePids(Joined(options->pids)));
  PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> pids,
                         PidsOfContainer("/proc", options->container, inside));
  options->pids.clear();
  for (const int32_t pid : pids) options->pids.push_back(std::to_string(pid));
  return {};
}

}  // namespace

void SetInstant(uint64_t at_wall_ns, const ClockDistance& clock, v1::SessionSpec* spec) {
  spec->set_at_wall_ns(at_wall_ns + static_cast<uint64_t>(clock.ahead_ns));
  (*spec->mutable_labels())[node::kClockAhead] = std::to_string(clock.ahead_ns);
  (*spec->mutable_labels())[node::kClockUncertainty] = std::to_string(clock.uncertainty_ns);
}

Status CheckWishes(const StartOptions& given, ControlClient& control) {
  StartOptions options = given;
  PROFD_RETURN_IF_ERROR(TakeSessionWords(&options));
  PROFD_ASSIGN_OR_RETURN(v1::SessionSpec spec, ParseSpec(options));
  return Grant(options, control, &spec).status();
}

ExitCode RunStart(const Common& common, const StartOptions& given) {
  StartOptions options = given;
  if (!options.container.empty()) {
    if (const Status known = TakePidsOfContainer(common, &options); !known.ok()) return Fail(known);
  }
  if (!options.split) return Collect(common, options, nullptr);
  const Result<std::vector<int32_t>> pids = ParsePids(Joined(options.pids));
  if (options.pids.empty() || options.wait || options.all_agents) {
    return Fail(
        {Code::kInvalidArgument,
         "--split starts a session for each process of --pid: name them, without --wait and --all-agents"});
  }
  if (!pids.ok()) return Fail(pids.status());
  ExitCode worst = ExitCode::kOk;
  for (const int32_t pid : *pids) {
    StartOptions one = options;
    one.pids = {std::to_string(pid)};
    if (!one.once.empty()) one.once += ":" + one.pids.front();
    const ExitCode code = Collect(common, one, nullptr);
    if (worst == ExitCode::kOk) worst = code;
  }
  return worst;
}

ExitCode Collect(const Common& common, const StartOptions& given, v1::SessionInfo* session) {
  StartOptions options = given;
  if (const Status taken = TakeSessionWords(&options); !taken.ok()) return Fail(taken);
  Result<v1::SessionSpec> spec = ParseSpec(options);
  if (!spec.ok()) return Fail(spec.status());
  uint64_t wait_ns = 0;
  if (options.wait_lease) {
    const Result<uint64_t> parsed = ParseDurationNs("--wait-lease", options.wait_lease_for);
    if (!parsed.ok()) return Fail(parsed.status());
    wait_ns = *parsed;
  }
  std::optional<OutputDir> output;
  if (!options.output.empty() && !options.dry_run) {
    const Result<std::string> path =
        WithNames("--output", options.output, spec->pids_size() > 0 ? spec->pids(0) : 0);
    if (!path.ok()) return Fail(path.status());
    Result<OutputDir> opened = OpenOutputDir(*path);
    if (!opened.ok()) return Fail(opened.status());
    output = std::move(opened).value();
    spec->set_output(output->path);
  }
  const OutputDir* dir = output ? &*output : nullptr;

  Interruption interruption;
  std::optional<InterruptWatch> watch;
  if (options.wait) watch.emplace([&interruption](int count) { interruption.Interrupted(count); });
  return StartSession(common, options, *spec, wait_ns, dir, &interruption, session);
}

}  // namespace profd::client
