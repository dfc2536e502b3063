#include "client/args.h"
#include "client/commands/commands.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

ExitCode RunSnapshot(const Common& common, const SnapshotOptions& options) {
  uint64_t last_ns = 0;
  if (!options.last.empty()) {
    const base::Result<uint64_t> parsed = ParseDurationNs("--last", options.last);
    if (!parsed.ok()) return Fail(parsed.status());
    last_ns = *parsed;
  }
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  const base::Result<v1::SessionInfo> info = connection->control->Snapshot(options.session, last_ns);
  if (!info.ok()) return Fail(info.status());
  Print(common.json ? SessionJson(*info) : RenderSession(*info, true, ColouredOutput()));
  return ExitCode::kOk;
}

ExitCode RunPause(const Common& common, const PauseOptions& options, bool paused) {
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  const base::Result<v1::SessionInfo> info = connection->control->SetPaused(options.session, paused);
  if (!info.ok()) return Fail(info.status());
  Print(common.json ? SessionJson(*info) : RenderSession(*info, true, ColouredOutput()));
  return ExitCode::kOk;
}

}  // namespace profd::client
