// profd's side of an agent, for tests: a door, lanes, and a grpc++ Agent service.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "profd/v1/agent.pb.h"
#include "tests/unit/libagent/region.h"

namespace profd::agent::testing {

// One agent that has come through the door. **Thread:** any.
class AgentPeer {
 public:
  // The next message that is not an answer to Command; empty after a minute.
  std::optional<v1::AgentMessage> Next();
  // Sends and waits for the Ack; code 4 after a minute.
  v1::AgentAck Command(v1::AgentCommand command);
  v1::AgentAck Arm(bool flight_recorder = false);
  v1::AgentAck Fire();
  v1::AgentAck Stop();
  // The server breaks the call off.
  void Cancel();
  bool WaitGone();

  const v1::AgentHello& hello() const { return hello_; }
  int pid() const { return pid_; }
  Region& region() { return *region_; }

 private:
  friend class FakeDaemon;
  friend class FakeService;

  std::optional<v1::AgentMessage> Take(const std::function<bool(const v1::AgentMessage&)>& wanted);

  int pid_ = 0;  // the kernel's word
  int door_ = -1;
  std::string ticket_;
  std::unique_ptr<Region> region_;
  v1::AgentHello hello_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::AgentMessage> received_;
  std::function<void(const v1::AgentCommand&)> send_;
  std::function<void()> cancel_;
  uint64_t next_id_ = 1;
  bool gone_ = false;
};

// **Owns:** the sockets `path` and `path`.door, every region it gave away.
class FakeDaemon {
 public:
  explicit FakeDaemon(std::string path, Geometry geometry = {});
  ~FakeDaemon();
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  // The next agent that said hello; nullptr after a minute.
  std::shared_ptr<AgentPeer> Accept();
  // As Accept, but gives up after `seconds`.
  std::shared_ptr<AgentPeer> AcceptWithin(int seconds);

  // Ends every call at once for want of room.
  std::atomic<bool> full{false};
  std::atomic<int> turned_away{0};

 private:
  friend class FakeService;
  struct Server;

  void Attend();

  const std::string path_;
  const Geometry geometry_;
  int listener_ = -1;
  int stop_ = -1;
  std::thread door_;
  std::unique_ptr<Server> server_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<AgentPeer>> known_;
  std::deque<std::shared_ptr<AgentPeer>> registered_;
};

}  // namespace profd::agent::testing
