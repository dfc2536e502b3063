#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/shown.h"
#include "client/verbs/verb.h"

namespace profd::client {

namespace {

Asking<ExitCode> Ask(const Context& context, const Shown& shown) {
  const base::Result<Look> look = LookFor(shown);
  if (!look.ok()) co_return context.Fail(look.status());
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::ListReply> reply = co_await connection->control->List();
  if (!reply.ok()) co_return context.Fail(reply.status());
  const std::vector<v1::SessionInfo> all(reply->sessions().begin(), reply->sessions().end());
  Table table = SessionTable(all, *look);
  const base::Result<std::vector<v1::SessionInfo>> sessions = Choose(shown, table, all);
  if (!sessions.ok()) co_return context.Fail(sessions.status());
  context.Print(context.json ? SessionsJson(*sessions) : RenderList(*sessions, table, *look));
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto shown = std::make_shared<Shown>();
  DefineShown(arguments, shown.get());
  DefineChoice(arguments, shown.get());
  return {.ask = [shown](const Context& context) { return Ask(context, *shown); }};
}

}  // namespace

namespace verbs {
Verb List() { return {"list", "all sessions, and what they take on disk", Reach::kManyNodes, Define}; }
}  // namespace verbs

}  // namespace profd::client
