#include <cstdio>
#include <set>
#include <string>

#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/user_presets.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/entities.h"

namespace profd::client {

namespace {

struct Options {
  std::vector<std::string> kinds;
  std::string interval, since;
  uint64_t count = 0;  // 0 = without end
  std::vector<std::string> devices, pids;
};

constexpr uint64_t kFirstSets = 2;  // rates need two readings

// 0 of none.
base::Result<uint32_t> Milliseconds(std::string_view option, const std::string& text) {
  if (text.empty()) return uint32_t{0};
  PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs(option, text));
  return static_cast<uint32_t>(ns / 1'000'000);  // 30 days at most
}

base::Result<v1::LiveRequest> Request(const Options& options) {
  v1::LiveRequest request;
  for (const std::string& word : options.kinds) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<v1::KindRequest> of_preset, KindsOfUserPreset(word));
    for (const v1::KindRequest& kind : of_preset) request.add_kinds(kind.kind());
    if (of_preset.empty()) request.add_kinds(word);
  }
  PROFD_ASSIGN_OR_RETURN(const uint32_t period_ms, Milliseconds("--interval", options.interval));
  PROFD_ASSIGN_OR_RETURN(const uint32_t since_ms, Milliseconds("--since", options.since));
  request.set_period_ms(period_ms);
  request.set_since_ms(since_ms);
  return request;
}

ExitCode Run(const Context& context, const Options& options) {
  const base::Result<v1::LiveRequest> request = Request(options);
  if (!request.ok()) return context.Fail(request.status());
  const base::Result<Entities> entities = Entities::Parse(options.devices, options.pids);
  if (!entities.ok()) return context.Fail(entities.status());
  base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) return context.Fail(connection.status());
  uint64_t sets = 0;
  std::set<std::string> had;
  const base::Status status = connection->control->Live(*request, [&](const v1::LiveValues& all) {
    const v1::LiveValues values = entities->Only(all);
    context.Print(context.json ? LiveJson(values) : RenderLive(values, OwnLook()));
    // A reader that has gone (`| head`) ends it.
    if (std::fflush(stdout) != 0) return false;
    for (const v1::LiveMetric& metric : values.metrics()) had.insert(metric.kind());
    if (++sets == (options.count == 1 ? 1 : kFirstSets)) {
      for (const v1::LiveLack& lack : values.lacks()) {
        if (!had.contains(lack.kind())) context.Note(lack.kind() + ": no values yet: " + lack.text());
      }
    }
    return sets != options.count;
  });
  return status.ok() ? ExitCode::kOk : context.Fail(status);
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.List("kinds", &options->kinds,
                 "KIND…: hbm, device, host-cpu, process, profd …, or a --user-preset; default all");
  arguments.Text("--interval", &options->interval,
                 "time between two sets of values, e.g. 5s; default profd's");
  arguments.Text("--since", &options->since,
                 "first what profd still knows of that time, e.g. 30s (live.history_s)");
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
