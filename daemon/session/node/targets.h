// Which processes can be recorded from inside, and why others can't: `profctl targets`, `profctl doctor
// --pid`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/agent/peer.h"
#include "daemon/auth/policy.h"
#include "daemon/driver/driver.h"
#include "daemon/fabric/clients.h"
#include "daemon/session/node/check.h"

namespace profd::session {

struct Target {
  pid_t pid = 0;
  pid_t container_pid = 0;  // in its own pid namespace
  pid_t parent_pid = 0;
  bool forked = false;  // from a process that had an agent
  uid_t uid = 0;
  std::string user;
  std::string executable;
  std::vector<std::string> command_line;
  std::map<std::string, std::string> labels;
  std::vector<uint32_t> devices;
  std::string agent_version;  // "" = no agent
  bool attachable = false;
  std::string reason;  // why not, what to do
  uint64_t registered_wall_ns = 0;
  uint64_t last_seen_wall_ns = 0;  // its last word
  std::string recording_by;        // session
  std::vector<agent::Capability> capabilities;
  bool without_mspti = false;  // the node's chips are none of its
  std::string door;            // to its own profiler; "" = none
};

// What the registry knows of one on a node with these devices. **Thread:** ctl.
Target TargetOf(const agent::Peer& peer, const std::vector<driver::DeviceFacts>& devices);

// They read /proc and may block. **Thread:** any but ctl.
// The registered processes, those that have an NPU open and those that poll the fabric, as far as the caller
// may see them, by pid.
std::vector<Target> FindTargets(const auth::Caller& caller, std::vector<Target> registered,
                                const std::vector<fabric::Client>& clients);
// The chain from the process to its recording, up to the first link that is broken.
std::vector<Check> CheckProcess(const auth::Caller& caller, pid_t pid, const std::string& socket,
                                const std::optional<Target>& registered);

}  // namespace profd::session
