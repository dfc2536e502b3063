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
  base::Result<v1::TargetsReply> reply = co_await connection->control->Targets();
  if (!reply.ok()) co_return context.Fail(reply.status());
  const std::vector<v1::Target> all(reply->targets().begin(), reply->targets().end());
  Table table = TargetTable(*reply);
  const base::Result<std::vector<v1::Target>> targets = Choose(shown, table, all);
  if (!targets.ok()) co_return context.Fail(targets.status());
  reply->mutable_targets()->Assign(targets->begin(), targets->end());
  context.Print(context.json ? TargetsJson(*reply) : RenderTargets(*reply, table, *look));
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
Verb Targets() {
  return {"targets", "processes that can be recorded from inside, and why others can't", Reach::kManyNodes,
          Define};
}
}  // namespace verbs

}  // namespace profd::client
