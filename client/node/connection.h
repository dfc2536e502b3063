// The way to a profd.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/node/context.h"
#include "client/node/control_client.h"
#include "client/node/door_client.h"
#include "remote/peer.h"

namespace profd::client {

// What nodes are shown.
base::Result<remote::Credentials> CredentialsOf(const Context& context);

// `at_wall_ns` by the clock that is `clock` ahead of ours. For the record the labels have how far that is,
// and how sure.
void SetInstant(uint64_t at_wall_ns, const ClockDistance& clock, v1::SessionSpec* spec);

// A way to a daemon that speaks the same protocol: to this node's through the door.
struct Connection {
  std::optional<DoorClient> door;
  std::unique_ptr<ControlClient> control;
};
base::Result<Connection> Connect(const Context& context, int output_dir = -1);

}  // namespace profd::client
