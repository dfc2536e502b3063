// pin and unpin.
#include "client/verbs/data/keep.h"

namespace profd::client {

namespace {

Asking<ExitCode> Ask(const Context& context, const std::string& session, bool pinned) {
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::SessionInfo> info = co_await connection->control->Pin(session, pinned);
  co_return ShowKept(context, info, pinned ? "pinned" : "unpinned");
}

template <bool pinned>
Action Define(cli::Arguments arguments) {
  const auto session = std::make_shared<std::string>();
  arguments.Text("SESSION", session.get(), kSessionHelp).Required();
  return {.ask = [session](const Context& context) { return Ask(context, *session, pinned); }};
}

}  // namespace

namespace verbs {
Verb Pin() { return {"pin", "keep a session even if room is short", Reach::kManyNodes, Define<true>}; }
Verb Unpin() {
  return {"unpin", "let profd remove the session again if room is short", Reach::kManyNodes, Define<false>};
}
}  // namespace verbs

}  // namespace profd::client
