#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/data/keep.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

struct Options {
  std::string session;
  std::string pid;
  bool all = false;
  bool discards = false;
};

base::Result<v1::StopRequest> Target(const Options& options) {
  const int given = (options.session.empty() ? 0 : 1) + (options.pid.empty() ? 0 : 1) + (options.all ? 1 : 0);
  if (given != 1) {
    return base::Status(base::Code::kInvalidArgument, "stop: name one of SESSION, --pid N or --all");
  }
  if (options.discards && options.session.empty())
    return base::Status(base::Code::kInvalidArgument, "stop --discard: name the one SESSION whose data go");
  v1::StopRequest request;
  request.set_session(options.session);
  request.set_all(options.all);
  if (!options.pid.empty()) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> pids, ParsePids(options.pid));
    if (pids.size() != 1) return base::Status(base::Code::kInvalidArgument, "stop: --pid takes one process");
    request.set_pid(pids.front());
  }
  return request;
}

// "session 988d95bf had ended already, at 2026-11-28 17:33:43: it was stopped"
std::string EndedLine(const v1::SessionInfo& info) {
  std::string text = "session " + info.session() + " had ended already";
  if (info.start_wall_ns() > 0) text += ", at " + FormatWallTime(info.start_wall_ns() + info.elapsed_ns());
  return text + ": " + EndReasonText(info.end_reason()) + "\n";
}

ExitCode Show(const Context& context, const Options& options, const v1::StopReply& reply) {
  const std::vector<v1::SessionInfo> sessions(reply.sessions().begin(), reply.sessions().end());
  if (context.json) {
    context.Print(!options.session.empty() && sessions.size() == 1 ? SessionJson(sessions.front())
                                                                   : SessionsJson(sessions));
  } else if (sessions.empty()) {
    context.Print("no sessions to stop\n");
  }
  ExitCode code = ExitCode::kOk;
  for (const v1::SessionInfo& info : sessions) {
    // One that was ending by itself is waited for like any other.
    const bool had_ended = reply.had_ended() || info.end_reason() != v1::END_REASON_STOPPED;
    if (!context.json && had_ended) context.Print(EndedLine(info));
    if (!context.json) context.Print(RenderSession(info, true, OwnLook()));
    if (info.state() != v1::SESSION_STATE_SEALED) code = ExitCode::kFailed;
  }
  return code;
}

Asking<ExitCode> Ask(const Context& context, const Options& options) {
  const base::Result<v1::StopRequest> request = Target(options);
  if (!request.ok()) co_return context.Fail(request.status());
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::StopReply> reply = co_await connection->control->Stop(*request);
  if (!reply.ok()) co_return context.Fail(reply.status());
  if (!options.discards || reply->sessions_size() != 1) co_return Show(context, options, *reply);
  // What is not in the spool is the caller's own, and stays: profd says where it is.
  const std::string session = reply->sessions(0).session();
  const base::Result<v1::SessionInfo> removed = co_await connection->control->Remove(session);
  if (!removed.ok()) {
    co_return context.Fail(
        {removed.status().code(), "stopped, but not discarded: " + removed.status().message() + ": " +
                                      reply->sessions(0).directory()});
  }
  co_return ShowKept(context, removed, "discarded");
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("SESSION", &options->session, kSessionHelp);
  arguments.Text("--pid", &options->pid, "every session of this process");
  arguments.Flag("--all", &options->all, "every session");
  arguments.Flag("--discard", &options->discards,
                 "and remove its directories from profd's spool, as rm does");
  return {.ask = [options](const Context& context) { return Ask(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Stop() { return {"stop", "stop sessions and wait until they are on disk", Reach::kManyNodes, Define}; }
}  // namespace verbs

}  // namespace profd::client
