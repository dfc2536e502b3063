#include "client/commands/commands.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

ExitCode RunTargets(const Common& common) {
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  const base::Result<v1::TargetsReply> reply = connection->control->Targets();
  if (!reply.ok()) return Fail(reply.status());
  Print(common.json ? TargetsJson(*reply) : RenderTargets(*reply, ColouredOutput()));
  return ExitCode::kOk;
}

}  // namespace profd::client
