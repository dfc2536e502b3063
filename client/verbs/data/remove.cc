#include "client/verbs/data/keep.h"

namespace profd::client {

namespace {

Asking<ExitCode> Ask(const Context& context, const std::string& session) {
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::SessionInfo> info = co_await connection->control->Remove(session);
  co_return ShowKept(context, info, "removed");
}

Action Define(cli::Arguments arguments) {
  const auto session = std::make_shared<std::string>();
  arguments.Text("SESSION", session.get(), kSessionHelp).Required();
  return {.ask = [session](const Context& context) { return Ask(context, *session); }};
}

}  // namespace

namespace verbs {
Verb Remove() {
  return {"rm", "remove a session's directories from profd's spool", Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
