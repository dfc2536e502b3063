// What a device's driver does when every channel is started once: short sessions of our own, and every call
// of the driver meanwhile with its bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/node/asking.h"
#include "client/node/control_client.h"
#include "profd/v1/control.pb.h"

namespace profd::client {

// One session: kinds that stand in each other's way take turns.
struct HardwareRound {
  v1::SessionInfo session;  // as it ended
  std::string refused;      // why nothing was started
  std::vector<v1::DriverCall> calls;
};

struct DeviceEvidence {
  v1::Device device;                  // as it says of itself
  std::vector<v1::DriverCall> facts;  // the calls that asked for it
  std::vector<HardwareRound> rounds;
  uint64_t left_out_calls = 0, left_out_bytes = 0;
};

struct NodeEvidence {
  v1::DevicesReply node;
  std::vector<DeviceEvidence> devices;
};

struct HearOptions {
  uint64_t for_ns = 2'000'000'000;  // of each session
  uint64_t most_bytes = 0;          // of a device's calls; 0: as much as profd holds
  bool keeps_sessions = false;
  bool with_processes = true;                         // what names processes of the device's system, too
  std::function<void(const std::string&)> says = {};  // what it does now
};

// Why the node's sessions and jobs stand in the way: a line each; empty = nothing does.
Asking<base::Result<std::vector<std::string>>> InTheWay(ControlClient& control, const v1::DevicesReply& node,
                                                        std::vector<uint32_t> devices);

// Device by device. What is refused is evidence, too: fails only where nothing can be heard.
Asking<base::Result<NodeEvidence>> Hear(ControlClient& control, std::vector<uint32_t> devices,
                                        HearOptions options);

}  // namespace profd::client
