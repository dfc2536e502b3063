#include <cstdio>
#include <limits>
#include <set>
#include <string>

#include "client/args.h"
#include "client/commands/commands.h"
#include "client/entities.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

namespace {

constexpr uint64_t kFirstSets = 2;  // rates need two readings

std::string WhyNothing(const std::string& kind) {
  if (kind == "process") return "no process with an agent that you may see; profctl targets lists them";
  if (kind == "session") return "no session runs that you may see";
  if (kind == "device") return "no device answers; profctl doctor tells why";
  if (kind == "profd" || kind.starts_with("host-")) return "profd reads none here";
  return "they come while a session samples it (profctl start --collect " + kind + "), to who may collect it";
}

}  // namespace

ExitCode RunWatch(const Common& common, const WatchOptions& options) {
  uint64_t interval_ns = 0;
  if (!options.interval.empty()) {
    const base::Result<uint64_t> parsed = ParseDurationNs("--interval", options.interval);
    if (!parsed.ok()) return Fail(parsed.status());
    interval_ns = *parsed;
  }
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (interval_ns / 1'000'000 > kMost) {
    return Fail({base::Code::kInvalidArgument, "--interval " + options.interval + ": at most 49 days"});
  }
  const base::Result<Entities> entities = Entities::Parse(options.devices, options.pids);
  if (!entities.ok()) return Fail(entities.status());
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  uint64_t sets = 0;
  std::set<std::string> without(options.kinds.begin(), options.kinds.end());
  const base::Status status = connection->control->Live(
      options.kinds, static_cast<uint32_t>(interval_ns / 1'000'000), [&](const v1::LiveValues& all) {
        const v1::LiveValues values = entities->Only(all);
        Print(common.json ? LiveJson(values) : RenderLive(values, ColouredOutput()));
        // A reader that has gone (`| head`) ends it.
        if (std::fflush(stdout) != 0) return false;
        for (const v1::LiveMetric& metric : values.metrics()) {
          if (metric.values_size() > 0) without.erase(metric.kind());
        }
        if (++sets == (options.count == 1 ? 1 : kFirstSets)) {
          for (const std::string& kind : without) Note(kind + ": no values yet: " + WhyNothing(kind));
        }
        return sets != options.count;
      });
  return status.ok() ? ExitCode::kOk : Fail(status);
}

}  // namespace profd::client
