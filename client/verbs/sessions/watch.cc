#include <cstdio>
#include <limits>
#include <set>
#include <string>

#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/entities.h"

namespace profd::client {

namespace {

struct Options {
  std::vector<std::string> kinds;
  std::string interval;
  uint64_t count = 0;  // 0 = without end
  std::vector<std::string> devices, pids;
};

constexpr uint64_t kFirstSets = 2;  // rates need two readings

std::string WhyNothing(const std::string& kind) {
  if (kind == "process") return "no process with an agent that you may see; profctl targets lists them";
  if (kind == "session") return "no session runs that you may see";
  if (kind == "device") return "no device answers; profctl doctor tells why";
  if (kind == "profd" || kind.starts_with("host-")) return "profd reads none here";
  return "they come while a session samples it (profctl start --collect " + kind + "), to who may collect it";
}

ExitCode Run(const Context& context, const Options& options) {
  uint64_t interval_ns = 0;
  if (!options.interval.empty()) {
    const base::Result<uint64_t> parsed = ParseDurationNs("--interval", options.interval);
    if (!parsed.ok()) return context.Fail(parsed.status());
    interval_ns = *parsed;
  }
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (interval_ns / 1'000'000 > kMost) {
    return context.Fail(
        {base::Code::kInvalidArgument, "--interval " + options.interval + ": at most 49 days"});
  }
  const base::Result<Entities> entities = Entities::Parse(options.devices, options.pids);
  if (!entities.ok()) return context.Fail(entities.status());
  base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) return context.Fail(connection.status());
  uint64_t sets = 0;
  std::set<std::string> without(options.kinds.begin(), options.kinds.end());
  const base::Status status = connection->control->Live(
      options.kinds, static_cast<uint32_t>(interval_ns / 1'000'000), [&](const v1::LiveValues& all) {
        const v1::LiveValues values = entities->Only(all);
        context.Print(context.json ? LiveJson(values) : RenderLive(values, OwnLook()));
        // A reader that has gone (`| head`) ends it.
        if (std::fflush(stdout) != 0) return false;
        for (const v1::LiveMetric& metric : values.metrics()) {
          if (metric.values_size() > 0) without.erase(metric.kind());
        }
        if (++sets == (options.count == 1 ? 1 : kFirstSets)) {
          for (const std::string& kind : without) context.Note(kind + ": no values yet: " + WhyNothing(kind));
        }
        return sets != options.count;
      });
  return status.ok() ? ExitCode::kOk : context.Fail(status);
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.List("kinds", &options->kinds, "KIND…: hbm, device, host-cpu, process, profd …; default all");
  arguments.Text("--interval", &options->interval,
                 "time between two sets of values, e.g. 5s; default profd's");
  arguments.Number("--count", &options->count, "end after so many sets");
  arguments.List("--devices", &options->devices, "only values of these devices: 0,1");
  arguments.List("--pid", &options->pids, "only values of these processes: N,…");
  return {.run = [options](const Context& context) { return Run(context, *options); },
          .against_many =
              [options] { return options->count == 0 ? "watch: with --hosts it needs --count" : ""; }};
}

}  // namespace

namespace verbs {
Verb Watch() {
  return {"watch", "values of devices, host, processes and profd as they come", Reach::kStreams, Define};
}
}  // namespace verbs

}  // namespace profd::client
