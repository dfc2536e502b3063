#include "client/commands/commands.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

ExitCode RunList(const Common& common) {
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  const base::Result<v1::ListReply> reply = connection->control->List();
  if (!reply.ok()) return Fail(reply.status());
  const std::vector<v1::SessionInfo> sessions((*reply).sessions().begin(), (*reply).sessions().end());
  Print(common.json ? SessionsJson(sessions) : RenderList(sessions, ColouredOutput()));
  return ExitCode::kOk;
}

}  // namespace profd::client
