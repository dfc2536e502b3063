// pause and resume.
#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/verb.h"

namespace profd::client {

namespace {

Asking<ExitCode> Ask(const Context& context, const std::string& session, bool paused) {
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::SessionInfo> info = co_await connection->control->SetPaused(session, paused);
  if (!info.ok()) co_return context.Fail(info.status());
  context.Print(context.json ? SessionJson(*info) : RenderSession(*info, true, OwnLook()));
  co_return ExitCode::kOk;
}

template <bool paused>
Action Define(cli::Arguments arguments) {
  const auto session = std::make_shared<std::string>();
  arguments.Text("SESSION", session.get(), kSessionHelp).Required();
  return {.ask = [session](const Context& context) { return Ask(context, *session, paused); }};
}

}  // namespace

namespace verbs {
Verb Pause() {
  return {"pause", "store nothing until resumed; nothing counts as lost", Reach::kManyNodes, Define<true>};
}
Verb Resume() { return {"resume", "store again after a pause", Reach::kManyNodes, Define<false>}; }
}  // namespace verbs

}  // namespace profd::client
