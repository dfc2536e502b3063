#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/shown.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Status;

struct Options {
  Shown shown;
  uint64_t pid = 0;
  std::vector<std::string> labels;
  bool values = false;
};

base::Result<v1::JobsRequest> RequestOf(const Options& options, bool json) {
  v1::JobsRequest request;
  request.set_pid(static_cast<int32_t>(options.pid));
  for (const std::string& label : options.labels) {
    const size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Status(Code::kInvalidArgument, "--label " + OneLine(label) + ": NAME=VALUE is expected");
    (*request.mutable_labels())[label.substr(0, equals)] = label.substr(equals + 1);
  }
  if (json || options.values) return request;
  for (const std::string_view metric : JobTableMetrics()) request.add_metrics(std::string(metric));
  return request;
}

Asking<ExitCode> Ask(const Context& context, const Options& options) {
  const base::Result<Look> look = LookFor(options.shown);
  if (!look.ok()) co_return context.Fail(look.status());
  const base::Result<v1::JobsRequest> request = RequestOf(options, context.json);
  if (!request.ok()) co_return context.Fail(request.status());
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  base::Result<v1::JobsReply> reply =
      co_await connection->control->Ask<v1::JobsReply>(*request, ControlClient::Patience::kQuick);
  if (!reply.ok()) co_return context.Fail(reply.status());
  if (options.pid != 0 && reply->jobs().empty()) {
    co_return context.Fail(
        {Code::kNotFound, "no account of pid " + std::to_string(options.pid) +
                              ": it has no agent, or ended too long ago, or is another user's"});
  }
  Table table = JobTable(*reply, base::WallNs());
  const std::vector<v1::Job> all(reply->jobs().begin(), reply->jobs().end());
  const base::Result<std::vector<v1::Job>> jobs = Choose(options.shown, table, all);
  if (!jobs.ok()) co_return context.Fail(jobs.status());
  reply->mutable_jobs()->Assign(jobs->begin(), jobs->end());
  if (context.json) {
    context.Print(JobsJson(*reply, base::WallNs()));
  } else if (reply->jobs().empty()) {
    context.Print(
        "no jobs: a process with an agent (`profctl run -- COMMAND`) has an account from then on\n");
  } else {
    context.Print(table.Text(*look));
    for (const v1::Job& job : reply->jobs()) {
      if (options.values)
        context.Print("\n" + std::to_string(job.pid()) + " " + OneLine(job.name()) + "\n" +
                      RenderJobValues(job, *look));
    }
  }
  co_return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Number("--pid", &options->pid, "Only of this process");
  arguments.List("--label", &options->labels, "NAME=VALUE: only of processes with this label; all of several")
      .Joined();
  arguments.Flag("--values", &options->values, "Each value: mean, least, most, sum");
  DefineShown(arguments, &options->shown);
  DefineChoice(arguments, &options->shown);
  return {.ask = [options](const Context& context) { return Ask(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Jobs() {
  return {"jobs", "what jobs took of the node: energy, power, memory, heat", Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
