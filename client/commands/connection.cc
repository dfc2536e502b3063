#include <cstdio>
#include <cstdlib>
#include <utility>

#include "client/args.h"
#include "client/commands/commands.h"
#include "client/text.h"

namespace profd::client {

base::Result<Connection> Connect(const Common& common, int output_dir) {
  PROFD_ASSIGN_OR_RETURN(const std::string socket, SocketPath(common.socket, std::getenv("PROFD_ADDRESS")));
  PROFD_ASSIGN_OR_RETURN(DoorClient door, DoorClient::Knock(socket, output_dir));
  auto control = std::make_unique<ControlClient>(socket, door.ticket());
  PROFD_RETURN_IF_ERROR(control->Hello().status());
  return Connection{std::move(door), std::move(control)};
}

ExitCode Fail(const base::Status& status) {
  std::fprintf(stderr, "profctl: %s\n", OneLine(status.message()).c_str());
  return ExitCodeOf(status);
}

void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace profd::client
