#include "client/commands/commands.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

ExitCode RunDevices(const Common& common) {
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  const base::Result<v1::DevicesReply> reply = connection->control->Devices();
  if (!reply.ok()) return Fail(reply.status());
  Print(common.json ? DevicesJson(*reply) : RenderDevices(*reply, ColouredOutput()));
  return ExitCode::kOk;
}

}  // namespace profd::client
