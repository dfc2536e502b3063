#include "client/verbs/sessions/start.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/join.h"
#include "client/files/output_dir.h"
#include "client/node/container.h"
#include "client/show/expected.h"
#include "client/show/interrupt.h"
#include "client/show/json.h"
#include "client/show/kinds/shared_rates.h"
#include "client/show/render.h"
#include "client/verbs/program.h"
#include "client/verbs/sessions/start_spec.h"
#include "client/verbs/user_presets.h"
#include "client/verbs/vendor_options.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/text.h"
#include "client/words/vendor_words.h"
#include "remote/clock_labels.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint32_t kProgressPeriodMs = 500;
constexpr uint64_t kLookAgainNs = 50'000'000;

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
      const Result<v1::StopReply> ignored = control->Stop(request).Now();
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
  using Line = std::function<std::string(const v1::SessionInfo&)>;
  explicit Progress(const Line& line) : line_(line ? line : RenderProgress) {}
  ~Progress() { Clear(); }
  void Show(const v1::SessionInfo& info) {
    if (!is_terminal_) return;
    std::fprintf(stderr, "\r\033[K%s", line_(info).c_str());
    shown_ = true;
  }
  void Clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  const Line line_;
  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

Result<double> MostLossOf(const StartOptions& options) {
  if (options.max_loss.empty()) return kUsualMostLossPercent;
  if (!options.wait) return Status(Code::kInvalidArgument, "--max-loss says how --wait ends: add --wait");
  return ParsePercent("--max-loss", options.max_loss);
}

// On the terminal, unless somebody else asked.
void Show(const Context& context, const v1::SessionInfo& info, bool is_over, v1::SessionInfo* result) {
  if (result != nullptr) {
    *result = info;
  } else {
    context.Print(context.json ? SessionJson(info) : RenderSession(info, is_over, OwnLook()));
  }
}

// "host-cpu of pid:42 3 of 103, …"
std::string LostText(const v1::SessionInfo& info) {
  std::vector<std::string> kinds;
  for (const v1::KindState& kind : info.kinds()) {
    if (kind.lost() == 0) continue;
    kinds.push_back(kind.kind() + " of " + kind.unit() + " " + std::to_string(kind.lost()) + " of " +
                    std::to_string(kind.lost() + kind.records()));
  }
  return base::Joined(kinds, ", ");
}

// Of a session whose profd is heard of no more: where its data lie, and what can be done with them.
Status Unheard(const Context& context, const Status& status, const v1::SessionInfo& latest) {
  if (status.code() != Code::kUnavailable || !context.host.empty() || latest.directories().empty())
    return status;
  std::vector<std::string> directories;
  for (const std::string& directory : latest.directories()) directories.push_back(OneLine(directory));
  const std::string names = base::Joined(directories, " ");
  return {status.code(), status.message() + "; session " + latest.session() + " is recorded up to here in " +
                             names + ": profctl repair " + names +
                             " seals it if profd has ended, profctl "
                             "export and analyze read it"};
}

ExitCode Wait(const Context& context, const v1::SessionSpec& spec, const std::string& session,
              const StartOptions& options, ControlClient& control, const Interruption& interruption,
              v1::SessionInfo* result) {
  Progress progress(options.progress);
  v1::SessionInfo latest;
  const Result<v1::SessionInfo> last =
      control.Watch(session, kProgressPeriodMs, [&progress, &latest](const v1::SessionInfo& info) {
        latest = info;
        progress.Show(info);
      });
  progress.Clear();
  if (!last.ok() && interruption.detached()) {
    std::fprintf(stderr, "profctl: detached; see profctl status %s\n", session.c_str());
    return ExitCode::kOk;
  }
  if (!last.ok()) return context.Fail(Unheard(context, last.status(), latest));
  Show(context, *last, true, result);
  const ExitCode code = SessionResult(spec, *last, MostLossOf(options).value());
  if (last->lost() > 0 && code != ExitCode::kPartialLoss)
    context.Note(std::to_string(last->lost()) + " samples were lost, no kind above --max-loss");
  else if (last->lost() > 0 && result != nullptr)  // which shows none of it
    context.Note("lost: " + LostText(*last));
  return code;
}

// How far the node's clock is ahead of ours, as whoever started the session found.
ClockDistance ClockOf(const v1::SessionInfo& info) {
  const auto number = [&info](const char* label) {
    const auto found = info.labels().find(label);
    return found == info.labels().end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 10);
  };
  return {number(remote::kClockAhead), static_cast<uint64_t>(number(remote::kClockUncertainty))};
}

// Waits for the instant and looks when the session really began.
Asking<Result<v1::SessionInfo>> AwaitFiring(const Context& context, const std::string& session,
                                            ControlClient& control) {
  const uint64_t at_wall_ns = context.at_wall_ns;
  for (;;) {
    const uint64_t now_ns = base::WallNs();
    control.Pause((now_ns < at_wall_ns ? at_wall_ns - now_ns : 0) + kLookAgainNs);
    Result<v1::SessionInfo> info = co_await control.Get(session);
    if (!info.ok()) co_return info;
    if (info->state() == v1::SESSION_STATE_PENDING || info->state() == v1::SESSION_STATE_ARMED) continue;
    const ClockDistance clock = ClockOf(*info);
    context.output->Fired(
        {static_cast<int64_t>(info->start_wall_ns()) - clock.ahead_ns - static_cast<int64_t>(at_wall_ns),
         clock.uncertainty_ns});
    co_return info;
  }
}

// Adds what the options in the vendor's words ask for, as far as the node has it.
Asking<Result<Granted>> Grant(const StartOptions& options, ControlClient& control, v1::SessionSpec* spec) {
  if (options.vendor.empty()) co_return Granted();
  const Result<v1::DevicesReply> node = co_await control.Devices();
  if (!node.ok()) co_return node.status();
  co_return AddWishes(options.vendor, options.vendor_defaults, *node, spec);
}

void AddExtras(const StartOptions& options, v1::SessionSpec* spec) {
  for (const std::string& kind : options.extras) {
    const bool is_named = std::ranges::any_of(
        spec->kinds(), [&kind](const v1::KindRequest& named) { return named.kind() == kind; });
    if (is_named) continue;
    v1::KindRequest* extra = spec->add_kinds();
    extra->set_kind(kind);
    extra->set_by_default(true);
  }
}

// A rate that others keep it from: the verdict and its reason are in the session, who they are is not.
Asking<bool> TellSharedRates(const Context& context, const v1::SessionInfo& info, ControlClient& control) {
  if (!HasSharedRate(info)) co_return false;
  const Result<v1::DevicesReply> node = co_await control.Devices();
  for (const std::string& line : SharedRates(info, node.ok() ? *node : v1::DevicesReply()))
    context.Note(line);
  co_return true;
}

ExitCode Worse(ExitCode code, bool granted) {
  return code == ExitCode::kOk && !granted ? ExitCode::kPartlyStarted : code;
}

// An option in the vendor's words that somebody gave, and nothing of it is recorded.
bool HasEmptyOption(const StartOptions& options, const v1::SessionInfo& info) {
  std::map<const options::Option*, bool> recorded;
  for (const options::Wish& wish : options::WishesOf(options.vendor, options::kNoChip).kinds) {
    if (options.vendor_defaults.contains(std::string(wish.option->name))) continue;
    for (const v1::KindState& kind : info.kinds()) {
      if (kind.kind() != wish.kind) continue;
      bool& has = recorded[wish.option];
      has = has || kind.verdict() != v1::VERDICT_SKIPPED;
    }
  }
  return std::ranges::any_of(recorded, [](const auto& option) { return !option.second; });
}

void TellCosts(const Context& context, const v1::SessionInfo& info) {
  for (const std::string& line : CostWarnings(info)) context.Note(line);
}

Asking<ExitCode> ShowPlan(const Context& context, const v1::SessionSpec& asked, const v1::SessionSpec& spec,
                          bool granted, ControlClient& control) {
  const Result<v1::SessionInfo> planned = co_await control.Plan(spec);
  if (!planned.ok()) co_return context.Fail(planned.status());
  context.Print(context.json ? SessionJson(*planned) : RenderPlan(*planned, OwnLook()));
  TellCosts(context, *planned);
  co_return Worse(StartResult(asked, *planned), granted);
}

Asking<ExitCode> StartSession(const Context& context, const StartOptions& options, v1::SessionSpec spec,
                              uint64_t wait_ns, const OutputDir* output, Interruption* interruption,
                              v1::SessionInfo* result) {
  Result<Connection> connection = Connect(context, output == nullptr ? -1 : output->fd.get());
  if (!connection.ok()) {
    if (output != nullptr) DropOutputDir(*output);
    co_return context.Fail(connection.status());
  }
  ControlClient& control = *connection->control;
  const Interruption::Scope interrupts(*interruption, control);
  if (context.at_wall_ns != 0) {
    const Result<ClockDistance> clock = control.MeasureClock();
    if (!clock.ok()) co_return context.Fail(clock.status());
    SetInstant(context.at_wall_ns, *clock, &spec);
  }
  // What an option brings along and the node does not have is no failure, as with a preset.
  const v1::SessionSpec asked = spec;
  AddExtras(options, &spec);
  const Result<Granted> granted = co_await Grant(options, control, &spec);
  if (granted.ok()) {
    for (const std::string& remark : granted->remarks) context.Note(remark);
  }
  if (granted.ok() && options.dry_run)
    co_return co_await ShowPlan(context, asked, spec, !granted->unmet, control);
  Result<v1::SessionInfo> info = granted.status();
  if (granted.ok()) info = co_await control.Start(spec, wait_ns, options.once);
  if (info.ok() && context.at_wall_ns != 0 && !options.wait) {
    const std::string session = info->session();
    info = co_await AwaitFiring(context, session, control);
  }
  if (!info.ok()) {
    if (output != nullptr) DropOutputDir(*output);
    co_return context.Fail(info.status());
  }
  const bool met = !granted->unmet && !HasEmptyOption(options, *info);
  if (!options.wait) {
    Show(context, *info, false, result);
    if (result == nullptr) TellCosts(context, *info);
    if (!context.json) co_await TellSharedRates(context, *info, control);
    co_return Worse(StartResult(asked, *info), met);
  }
  interruption->SetSession((*info).session());
  if (options.started) options.started();
  if (result == nullptr) TellCosts(context, *info);
  if (!context.json) co_await TellSharedRates(context, *info, control);
  co_return Worse(Wait(context, asked, (*info).session(), options, control, *interruption, result), met);
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
  return options::Check(options->vendor, options::kNoChip);
}

// From here on they are this node's.
Status TakePidsOfContainer(const Context& context, StartOptions* options) {
  if (!context.host.empty() || context.exchange != nullptr)
    return {Code::kInvalidArgument, "--container works on this node only: not with --host or --hosts"};
  if (options->pids.empty())
    return {Code::kInvalidArgument, "--container needs --pid: the pids inside that container"};
  PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> inside, ParsePids(WithCommas(options->pids)));
  PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> pids,
                         PidsOfContainer("/proc", options->container, inside));
  options->pids.clear();
  for (const int32_t pid : pids) options->pids.push_back(std::to_string(pid));
  return {};
}

}  // namespace

void RecordFromBegin(Program& program, StartOptions* options) {
  options->pids = {std::to_string(program.pid())};
  options->agents_expected = true;
  options->started = [&program] { program.Release(); };
}

Status CheckWishes(const StartOptions& given, ControlClient& control) {
  StartOptions options = given;
  PROFD_RETURN_IF_ERROR(TakeSessionWords(&options));
  PROFD_ASSIGN_OR_RETURN(v1::SessionSpec spec, ParseSpec(options));
  return Grant(options, control, &spec).Now().status();
}

Asking<ExitCode> Collect(const Context& context, const StartOptions& given, v1::SessionInfo* session) {
  StartOptions options = given;
  if (const Status taken = TakeSessionWords(&options); !taken.ok()) co_return context.Fail(taken);
  Result<v1::SessionSpec> spec = ParseSpec(options);
  if (!spec.ok()) co_return context.Fail(spec.status());
  if (const Status loss = MostLossOf(options).status(); !loss.ok()) co_return context.Fail(loss);
  uint64_t wait_ns = 0;
  if (options.wait_lease) {
    const Result<uint64_t> parsed = ParseDurationNs("--wait-lease", options.wait_lease_for);
    if (!parsed.ok()) co_return context.Fail(parsed.status());
    wait_ns = *parsed;
  }
  std::optional<OutputDir> output;
  if (!options.output.empty() && !options.dry_run) {
    const Result<std::string> path =
        WithNames("--output", options.output, spec->pids_size() > 0 ? spec->pids(0) : 0);
    if (!path.ok()) co_return context.Fail(path.status());
    Result<OutputDir> opened = OpenOutputDir(*path);
    if (!opened.ok()) co_return context.Fail(opened.status());
    output = std::move(opened).value();
    spec->set_output(output->path);
  }
  const OutputDir* dir = output ? &*output : nullptr;

  Interruption interruption;
  std::optional<InterruptWatch> watch;
  if (options.wait) watch.emplace([&interruption](int count) { interruption.Interrupted(count); });
  co_return co_await StartSession(context, options, *spec, wait_ns, dir, &interruption, session);
}

namespace {

Asking<ExitCode> Ask(const Context& context, const StartOptions& given) {
  StartOptions options = given;
  if (!options.container.empty()) {
    if (const Status known = TakePidsOfContainer(context, &options); !known.ok())
      co_return context.Fail(known);
  }
  if (!options.split) co_return co_await Collect(context, options, nullptr);
  const Result<std::vector<int32_t>> pids = ParsePids(WithCommas(options.pids));
  if (options.pids.empty() || options.wait || options.all_agents) {
    co_return context.Fail(
        {Code::kInvalidArgument,
         "--split starts a session for each process of --pid: give --pid, without --wait and --all-agents"});
  }
  if (!pids.ok()) co_return context.Fail(pids.status());
  ExitCode worst = ExitCode::kOk;
  for (const int32_t pid : *pids) {
    StartOptions one = options;
    one.pids = {std::to_string(pid)};
    if (!one.once.empty()) one.once += ":" + one.pids.front();
    const ExitCode code = co_await Collect(context, one, nullptr);
    if (worst == ExitCode::kOk) worst = code;
  }
  co_return worst;
}

// The same for every node and every time it is asked, never the same again.
std::string RandomText() {
  std::random_device device;
  char text[33];
  std::snprintf(text, sizeof text, "%08x%08x%08x%08x", device(), device(), device(), device());
  return text;
}

Status Prepare(const std::string& at, StartOptions* options, Context* context) {
  if (context->is_one_of_many) options->once = RandomText();
  if (at.empty()) return {};
  if (!options->delay.empty()) return {Code::kInvalidArgument, "--at and --delay: give one of them"};
  PROFD_ASSIGN_OR_RETURN(context->at_wall_ns, ParseInstant(at, base::WallNs()));
  // The answer comes when it has begun.
  if (context->deadline_ns != 0) context->deadline_ns += context->at_wall_ns - base::WallNs();
  return {};
}

std::string AgainstMany(const StartOptions& options) {
  if (options.wait) return "--wait does not work with --hosts: use profctl status";
  if (!options.output.empty()) return "--output does not work with --hosts: profctl fetch brings the results";
  return "";
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<StartOptions>();
  const auto at = std::make_shared<std::string>();
  arguments.List("--pid", &options->pids, "processes: N,…");
  arguments.Text("--container", &options->container,
                 "the pids of --pid are those inside this container: its id, or at least 8 characters of it");
  arguments.Flag("--split", &options->split, "a session, and a directory, for each of the pids");
  arguments.Flag("--all-agents", &options->all_agents,
                 "every process with an agent; with --label only those, e.g. --label rank=0-7");
  arguments.Text("--steps", &options->steps,
                 "agents record these steps only: skip_first=N,wait=N,warmup=N,active=N,repeat=N,"
                 "skip_first_wait=1,round_up=N");
  arguments.Text("--step", &options->step,
                 "agents begin with the step of this number, by the training loop's own count");
  arguments.List("--framework-options", &options->framework,
                 "of programs that poll the dynolog fabric: options of dyno nputrace, e.g. "
                 "with-stack,profiler-level=Level2,host-sys=cpu+mem");
  arguments.Text(
      "--agent-domains", &options->domains,
      "agents record marks and ranges of these domains only: NAME,… (default: those without a domain)");
  arguments.Text("--agent-domains-exclude", &options->domains_exclude,
                 "agents leave out marks and ranges of these domains");
  arguments.Flag("--flight-recorder", &options->flight_recorder,
                 "keep the newest data in memory; profctl snapshot writes it out");
  arguments.Text("--in-memory", &options->in_memory,
                 "with --flight-recorder: keep only these in memory, KIND,…; write others as they come");
  arguments.List("--buffer", &options->buffers,
                 "with --flight-recorder: KIND,…=SIZE reserves a part of its memory for these kinds; "
                 "KIND,…=SIZE:first keeps their first data, not the newest; may be repeated");
  arguments.Text(
      "--snapshot-on", &options->snapshot_on,
      "with --flight-recorder: write what is in memory when a process ends (exit), or only when it ends "
      "other than by exit(0) (crash)");
  arguments.List("--devices", &options->devices, "all, or numbers: 0,1");
  arguments.List("--collect", &options->collect,
                 "kinds: KIND[:MODE][=RATE][?],… e.g. hbm,pcie=100Hz,host-cpu; with ?: if there is any");
  arguments.Text("--preset", &options->preset, "node, memory, network, host, light, detail or all");
  arguments.Text("--duration", &options->duration, "end after this time, e.g. 10s, 5m, 1h; default 24h");
  arguments.Text("--delay", &options->delay, "wait this long before the first sample, e.g. 2s");
  arguments.Text("--at", at.get(), "first sample at one instant on all nodes: +3s, or @SECONDS since 1970");
  arguments.Text("--output", &options->output, "directory for the result; default profd's own");
  arguments.Text("--storage-limit", &options->storage_limit, "at most this on disk: 200MB or more, e.g. 2GB");
  arguments.Text("--on-full", &options->on_full,
                 "when nothing can be stored: age (the oldest data goes; else pause), pause or stop");
  arguments.Text("--name", &options->name, "a name for the session");
  arguments.List("--label", &options->labels, "KEY=VALUE");
  arguments.Flag("--resume", &options->resume, "if profd restarts, go on in a new, linked directory");
  arguments.Flag("--dry-run", &options->dry_run, "only say what would be collected and how much that makes");
  arguments.Flag(
      "--wait", &options->wait,
      "stay until the session ends and exit with its result; Ctrl-C stops it, a second one detaches");
  arguments.Text(
      "--max-loss", &options->max_loss,
      "with --wait: how much of a kind's samples may be lost without exit code 7, e.g. 0, 5%; default 1%");
  const cli::Argument wait_lease =
      arguments
          .Text("--wait-lease", &options->wait_lease_for,
                "if others hold what is asked for, wait until it is free, at most this long; default 24h")
          .MayBeBare("24h");
  AddVendorOptions(arguments, true, &options->vendor);
  return {.ask = [options](const Context& context) { return Ask(context, *options); },
          .prepare =
              [=](Context* context) {
                options->wait_lease = wait_lease.IsGiven();
                return Prepare(*at, options.get(), context);
              },
          .against_many = [options] { return AgainstMany(*options); }};
}

}  // namespace

namespace verbs {
Verb Start() { return {"start", "start a session", Reach::kManyNodes, Define}; }
}  // namespace verbs

}  // namespace profd::client
