#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/verb.h"

namespace profd::client {

namespace {

Asking<ExitCode> Ask(const Context& context) {
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::ListReply> reply = co_await connection->control->List();
  if (!reply.ok()) co_return context.Fail(reply.status());
  const std::vector<v1::SessionInfo> sessions(reply->sessions().begin(), reply->sessions().end());
  context.Print(context.json ? SessionsJson(sessions) : RenderList(sessions, ColouredOutput()));
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments) { return {.ask = Ask}; }

}  // namespace

namespace verbs {
Verb List() { return {"list", "sessions and what is on disk", Reach::kManyNodes, Define}; }
}  // namespace verbs

}  // namespace profd::client
