#include "client/node/connection.h"
#include "client/verbs/verb.h"

namespace profd::client {

namespace {

Asking<ExitCode> Ask(const Context& context) {
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::UptimeReply> reply = co_await connection->control->Ask<v1::UptimeReply>(
      v1::UptimeRequest(), ControlClient::Patience::kQuick);
  if (!reply.ok()) co_return context.Fail(reply.status());
  const uint64_t seconds = (*reply).running_ns() / 1'000'000'000;
  context.Print(context.json ? "{\"seconds\": " + std::to_string(seconds) + "}\n"
                             : std::to_string(seconds) + " s\n");
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments) { return {.ask = Ask}; }

}  // namespace

namespace verbs {
Verb Uptime() { return {"uptime", "how long a profd runs", Reach::kManyNodes, Define}; }
}  // namespace verbs

}  // namespace profd::client
