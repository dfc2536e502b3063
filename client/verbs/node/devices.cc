#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/verb.h"

namespace profd::client {

namespace {

Asking<ExitCode> Ask(const Context& context) {
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::DevicesReply> reply = co_await connection->control->Devices();
  if (!reply.ok()) co_return context.Fail(reply.status());
  context.Print(context.json ? DevicesJson(*reply) : RenderDevices(*reply, ColouredOutput()));
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments) { return {.ask = Ask}; }

}  // namespace

namespace verbs {
Verb Devices() {
  return {"devices", "chips, health, kinds with rate ranges, who holds what", Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
