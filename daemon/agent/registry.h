// Every process that has an agent, from the door to its end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/agent/lanes/region.h"
#include "daemon/agent/peer.h"
#include "daemon/base/executor.h"

namespace profd::agent {

// **Thread:** ctl only.
class Registry {
 public:
  struct Options {
    Geometry geometry;
    size_t max_peers = 2048;
    size_t max_peers_per_uid = 1024;
  };
  Registry(base::Executor& ctl, Options options);
  ~Registry();

  // The door: a process knocked. Its region, to be passed on; the seat is its number until LeaveSeat().
  struct Seat {
    uint64_t number = 0;
    std::shared_ptr<Region> region;
  };
  base::Result<Seat> TakeSeat(const Identity& identity);
  // The door connection closed: the process has gone, or gave up its lanes.
  void LeaveSeat(uint64_t seat);

  // The stream opened; `link` is kept until Disconnect() or LeaveSeat(), which closes it. `user`: the name of
  // its uid.
  base::Result<std::shared_ptr<Peer>> Register(uint64_t seat, std::string user, Hello hello,
                                               std::shared_ptr<Link> link);
  void OnAck(uint64_t seat, const Ack& ack);
  void OnStepWindow(uint64_t seat, const StepWindow& window);
  void OnCapabilities(uint64_t seat, std::vector<Capability> capabilities, std::vector<uint32_t> devices);
  void Disconnect(uint64_t seat);

  // nullptr when that process has no agent. A pid with several regions (re-attached): the newest.
  std::shared_ptr<Peer> Find(pid_t pid) const;
  std::vector<std::shared_ptr<Peer>> All() const;
  // For those who look for one that is missing.
  struct Counts {
    size_t seats = 0;
    size_t max_seats = 0;
    uint64_t turned_away = 0;  // knocks ever, for want of room
  };
  Counts Count() const;

  // Calls `arrived`, never from inside a call, for every process that registers from now on.
  using WatchId = uint64_t;
  WatchId WatchArrivals(std::function<void(const std::shared_ptr<Peer>&)> arrived);
  void Unwatch(WatchId id);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::agent
