#include "client/commands/commands.h"
#include "client/json.h"
#include "client/output_dir.h"
#include "client/render.h"

namespace profd::client {

namespace {

ExitCode Show(const Common& common, const base::Result<v1::SessionInfo>& info, const std::string& done) {
  if (!info.ok()) return Fail(info.status());
  Print(common.json ? SessionJson(*info) : "session " + info->session() + " " + done + "\n");
  return ExitCode::kOk;
}

}  // namespace

ExitCode RunPin(const Common& common, const KeepOptions& options, bool pinned) {
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  return Show(common, connection->control->Pin(options.session, pinned), pinned ? "pinned" : "unpinned");
}

ExitCode RunRemove(const Common& common, const KeepOptions& options) {
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  return Show(common, connection->control->Remove(options.session), "removed");
}

ExitCode RunMove(const Common& common, const MoveOptions& options) {
  const base::Result<OutputDir> output = OpenOutputDir(options.directory);
  if (!output.ok()) return Fail(output.status());
  base::Result<Connection> connection = Connect(common, output->fd.get());
  const base::Result<v1::SessionInfo> info =
      connection.ok() ? connection->control->Move(options.session, output->path) : connection.status();
  if (!info.ok()) DropOutputDir(*output);
  const bool known = info.ok() && !info->directory().empty();
  return Show(common, info, "moved to " + (known ? info->directory() : output->path));
}

}  // namespace profd::client
