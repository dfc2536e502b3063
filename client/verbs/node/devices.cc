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
  const base::Result<v1::DevicesReply> reply = co_await connection->control->Devices();
  if (!reply.ok()) co_return context.Fail(reply.status());
  context.Print(context.json ? DevicesJson(*reply) : RenderDevices(*reply, *look));
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto shown = std::make_shared<Shown>();
  DefineShown(arguments, shown.get());
  return {.ask = [shown](const Context& context) { return Ask(context, *shown); }};
}

}  // namespace

namespace verbs {
Verb Devices() {
  return {"devices", "chips, health, kinds with rate ranges, who holds what", Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
