#include "client/args.h"
#include "client/commands/commands.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

namespace {

base::Result<v1::StopRequest> Target(const StopOptions& options) {
  const int given = (options.session.empty() ? 0 : 1) + (options.pid.empty() ? 0 : 1) + (options.all ? 1 : 0);
  if (given != 1) {
    return base::Status(base::Code::kInvalidArgument, "stop: name one of SESSION, --pid N or --all");
  }
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

}  // namespace

ExitCode RunStop(const Common& common, const StopOptions& options) {
  const base::Result<v1::StopRequest> request = Target(options);
  if (!request.ok()) return Fail(request.status());
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  const base::Result<v1::StopReply> reply = connection->control->Stop(*request);
  if (!reply.ok()) return Fail(reply.status());

  const std::vector<v1::SessionInfo> sessions((*reply).sessions().begin(), (*reply).sessions().end());
  if (common.json) {
    Print(!options.session.empty() && sessions.size() == 1 ? SessionJson(sessions.front())
                                                           : SessionsJson(sessions));
  } else if (sessions.empty()) {
    Print("no sessions to stop\n");
  }
  ExitCode code = ExitCode::kOk;
  for (const v1::SessionInfo& info : sessions) {
    if (!common.json && info.end_reason() != v1::END_REASON_STOPPED)
      Print("session " + info.session() + " had ended already (" + EndReasonName(info.end_reason()) + ")\n");
    if (!common.json) Print(RenderSession(info, true, ColouredOutput()));
    if (info.state() != v1::SESSION_STATE_SEALED) code = ExitCode::kFailed;
  }
  return code;
}

}  // namespace profd::client
