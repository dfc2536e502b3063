#include <cstdio>
#include <limits>
#include <string>

#include "client/args.h"
#include "client/commands/commands.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

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
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  uint64_t sets = 0;
  const base::Status status = connection->control->Live(
      options.kinds, static_cast<uint32_t>(interval_ns / 1'000'000), [&](const v1::LiveValues& values) {
        Print(common.json ? LiveJson(values) : RenderLive(values, ColouredOutput()));
        // A reader that has gone (`| head`) ends it.
        if (std::fflush(stdout) != 0) return false;
        return ++sets != options.count;
      });
  return status.ok() ? ExitCode::kOk : Fail(status);
}

}  // namespace profd::client
