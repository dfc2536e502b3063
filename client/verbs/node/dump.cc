#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/threads.h"
#include "client/verbs/shown.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"

namespace profd::client {

namespace {

struct Options {
  std::string pid;
  bool all = false;
};

Asking<ExitCode> Ask(const Context& context, const Options& options) {
  const base::Result<std::vector<int32_t>> pids = ParsePids(options.pid);
  if (!pids.ok()) co_return context.Fail(pids.status());
  if (pids->size() != 1)
    co_return context.Fail({base::Code::kInvalidArgument, "dump: one process at a time, e.g. --pid 4711"});
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  base::Result<v1::StacksReply> reply = co_await connection->control->Stacks(pids->front());
  if (!reply.ok()) co_return context.Fail(reply.status());
  const ShownProcess process = WithNames(std::move(reply).value());
  context.Print(context.json ? ThreadsJson(process) : RenderThreads(process, OwnLook(options.all)));
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("--pid", &options->pid, "the process to look at").Required();
  arguments.Flag("--all", &options->all,
                 "show every thread by itself, even if several are at the same place");
  return {.ask = [options](const Context& context) { return Ask(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Dump() {
  return {"dump", "where every thread of a process is right now, C++ and Python", Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
