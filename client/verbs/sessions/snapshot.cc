#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"

namespace profd::client {

namespace {

struct Options {
  std::string session;
  std::string last;
};

Asking<ExitCode> Ask(const Context& context, const Options& options) {
  uint64_t last_ns = 0;
  if (!options.last.empty()) {
    const base::Result<uint64_t> parsed = ParseDurationNs("--last", options.last);
    if (!parsed.ok()) co_return context.Fail(parsed.status());
    last_ns = *parsed;
  }
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  const base::Result<v1::SessionInfo> info = co_await connection->control->Snapshot(options.session, last_ns);
  if (!info.ok()) co_return context.Fail(info.status());
  context.Print(context.json ? SessionJson(*info) : RenderSession(*info, true, OwnLook()));
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("SESSION", &options->session, kSessionHelp).Required();
  arguments.Text("--last", &options->last, "how far back, e.g. 30s; default all");
  return {.ask = [options](const Context& context) { return Ask(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Snapshot() {
  return {"snapshot", "write out what a flight recorder has in memory", Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
