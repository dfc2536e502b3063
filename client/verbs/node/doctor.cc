// Walks the chain from the client's end: where it breaks, everything behind is unknown, so it stops there.
// With --hardware: starts every channel of devices once.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/version.h"
#include "client/hardware/report.h"
#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/node/device_choice.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"

namespace profd::client {

namespace {

class Chain {
 public:
  void Ok(const std::string& name, const std::string& detail) { Add(name, v1::OUTCOME_OK, detail, ""); }
  void Warn(const std::string& name, const std::string& detail, const std::string& remedy) {
    Add(name, v1::OUTCOME_WARN, detail, remedy);
  }
  void Broken(const std::string& name, const base::Status& status, const std::string& remedy) {
    Add(name, v1::OUTCOME_BROKEN, status.message(), remedy);
    if (code_ == ExitCode::kOk) code_ = ExitCodeOf(status);
  }
  // The daemon's own; a broken one is a failure of the node, not of the way to it.
  void Append(const v1::DoctorReply& reply) {
    for (const v1::Check& check : reply.checks()) {
      checks_.push_back(check);
      if (check.outcome() == v1::OUTCOME_BROKEN && code_ == ExitCode::kOk) code_ = ExitCode::kFailed;
    }
  }

  const std::vector<v1::Check>& checks() const { return checks_; }
  ExitCode code() const { return code_; }

 private:
  void Add(const std::string& name, v1::Outcome outcome, const std::string& detail,
           const std::string& remedy) {
    v1::Check& check = checks_.emplace_back();
    check.set_name(name);
    check.set_outcome(outcome);
    check.set_detail(detail);
    check.set_remedy(remedy);
  }

  std::vector<v1::Check> checks_;
  ExitCode code_ = ExitCode::kOk;
};

base::Status CheckSocketFile(const std::string& socket) {
  struct stat found {};
  if (::stat(socket.c_str(), &found) != 0) {
    const base::Status status = base::Status::FromErrno(socket);
    const bool is_denied = status.code() == base::Code::kPermissionDenied;
    return {is_denied ? base::Code::kPermissionDenied : base::Code::kUnavailable, status.message()};
  }
  if (!S_ISSOCK(found.st_mode)) return {base::Code::kUnavailable, socket + " is not a socket"};
  return base::Status::Ok();
}

Asking<bool> Check(ControlClient& control, int32_t pid, Chain* chain) {
  const base::Result<v1::DoctorReply> checks = co_await control.Doctor(pid);
  if (checks.ok()) {
    chain->Append(*checks);
  } else {
    chain->Broken("checks", checks.status(), "look at profd's log");
  }
  co_return checks.ok();
}

void Walk(const std::string& socket, int32_t pid, Chain* chain) {
  if (const base::Status status = CheckSocketFile(socket); !status.ok()) {
    return chain->Broken("socket", status,
                         "start profd (systemctl start profd, or profd --socket " + socket +
                             "), or name its socket with --socket or PROFD_ADDRESS");
  }
  chain->Ok("socket", socket);

  const base::Result<DoorClient> door = DoorClient::Knock(socket, -1);
  if (!door.ok()) {
    return chain->Broken("door", door.status(),
                         "restart profd; a container needs the folder of the socket mounted");
  }
  chain->Ok("door", "profd knows who calls and gave a ticket");

  ControlClient control(socket, door->ticket());
  const base::Result<v1::HelloReply> hello = control.Hello();
  if (!hello.ok()) return chain->Broken("daemon", hello.status(), "look at profd's log and restart it");
  chain->Ok("daemon", "answers, protocol " + std::to_string((*hello).protocol()));
  const std::string versions = "profd " + (*hello).profd_version() + ", profctl " + base::kVersion;
  if ((*hello).profd_version() == base::kVersion) {
    chain->Ok("versions", versions);
  } else {
    chain->Warn("versions", versions, "works, but install the same release on both sides");
  }

  static_cast<void>(Check(control, pid, chain).Now());
}

// Another node, whose socket and door are none of ours.
Asking<bool> WalkTo(const Context& context, int32_t pid, Chain* chain) {
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) {
    chain->Broken("connection", connection.status(),
                  "look at profd's log there, at remote.listen and at both certificates");
    co_return false;
  }
  chain->Ok("connection", context.host);
  co_return co_await Check(*connection->control, pid, chain);
}

Asking<ExitCode> Ask(const Context& context, const std::string& of_pid) {
  int32_t pid = 0;
  if (!of_pid.empty()) {
    const base::Result<std::vector<int32_t>> pids = ParsePids(of_pid);
    if (!pids.ok()) co_return context.Fail(pids.status());
    pid = pids->front();
  }
  Chain chain;
  if (context.host.empty()) {
    const base::Result<std::string> socket = SocketPath(context.socket, std::getenv("PROFD_ADDRESS"));
    if (!socket.ok()) co_return context.Fail(socket.status());
    Walk(*socket, pid, &chain);
  } else {
    co_await WalkTo(context, pid, &chain);
  }
  context.Print(context.json ? ChecksJson(chain.checks()) : RenderChecks(chain.checks(), OwnLook()));
  co_return chain.code();
}

struct Options {
  std::string pid;
  bool hardware = false, keep = false;
  DeviceChoice choice;
};

Asking<ExitCode> AskHardware(const Context& context, const Options& options) {
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<ChosenDevices> chosen = co_await Choose(*connection->control, options.choice);
  if (!chosen.ok()) co_return context.Fail(chosen.status());
  HearOptions how{.for_ns = chosen->for_ns, .keeps_sessions = options.keep};
  how.says = [&context](const std::string& line) { context.Note(line); };
  const base::Result<NodeEvidence> heard = co_await Hear(*connection->control, chosen->devices, how);
  if (!heard.ok()) co_return context.Fail(heard.status());
  std::vector<DeviceJudgement> judged;
  for (const DeviceEvidence& device : heard->devices) judged.push_back(Judge(device));
  context.Print(context.json ? HardwareJson(heard->node, judged)
                             : RenderHardware(heard->node, judged, OwnLook()));
  const bool has_failed = std::ranges::any_of(judged, &DeviceJudgement::has_failed);
  co_return has_failed ? ExitCode::kFailed : ExitCode::kOk;
}

Asking<ExitCode> AskEither(const Context& context, const Options& options) {
  if (!options.hardware && (options.choice.IsGiven() || options.keep)) {
    co_return context.Fail(
        {base::Code::kInvalidArgument, "doctor: --devices, --for, --force and --keep go with --hardware"});
  }
  if (options.hardware && !options.pid.empty())
    co_return context.Fail({base::Code::kInvalidArgument, "doctor: --pid or --hardware, not both"});
  if (options.hardware) co_return co_await AskHardware(context, options);
  co_return co_await Ask(context, options.pid);
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("--pid", &options->pid, "also check what this process needs");
  arguments.Flag("--hardware", &options->hardware,
                 "instead: start every channel of the devices once, one device after the other, and say what "
                 "comes of it");
  DefineDeviceChoice(arguments, &options->choice);
  arguments.Flag("--keep", &options->keep, "with --hardware: keep its sessions in profd's spool");
  return {
      .ask = [options](const Context& context) { return AskEither(context, *options); },
      .against_many =
          [options] { return std::string(options->hardware ? "doctor --hardware looks at one node" : ""); }};
}

}  // namespace

namespace verbs {
Verb Doctor() {
  return {"doctor", "check everything from the socket to the disk; say what is wrong and what to do",
          Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
