// What sessions, agents and queues of profd are at, as values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/agent/registry.h"
#include "daemon/live/metric.h"
#include "daemon/session/manager.h"

namespace profd::live {

// **Thread:** ctl.
class SelfValues {
 public:
  void Add(session::Manager& manager, const agent::Registry& agents, std::vector<Sample>& samples);

 private:
  enum Source : uint8_t { kDevice, kHost, kAgent };
  struct Stored {
    std::array<uint64_t, 3> bytes{}, lost{};
  };
  static Stored SumsOf(const session::SessionInfo& info);
  void AddSessions(session::Manager& manager, std::vector<Sample>& samples);

  Stored ever_;                         // of sessions that are followed no more
  std::map<std::string, Stored> open_;  // as last seen
};

}  // namespace profd::live
