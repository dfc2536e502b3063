// What the registry keeps of one process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/agent/peer.h"
#include "daemon/base/executor.h"

namespace profd::agent {

// **Thread:** ctl only.
class RegisteredPeer : public Peer, public std::enable_shared_from_this<RegisteredPeer> {
 public:
  RegisteredPeer(base::Executor& ctl, Identity identity, Hello hello, std::shared_ptr<Region> region,
                 std::shared_ptr<Link> link);

  const Identity& identity() const override { return identity_; }
  const Hello& hello() const override { return hello_; }
  const std::shared_ptr<Region>& region() const override { return region_; }
  uint64_t registered_wall_ns() const override { return registered_wall_ns_; }
  uint64_t last_seen_wall_ns() const override { return last_seen_wall_ns_; }
  bool gone() const override { return link_ == nullptr; }
  base::Status Usable() const override { return usable_; }

  void Send(Action action, uint64_t timeout_ns, std::function<void(const Ack&)> done) override;

  bool Claim(const std::string& holder) override;
  void Unclaim() override;
  const std::string& holder() const override { return holder_; }
  void OnGone(std::function<void()> gone) override { on_gone_ = std::move(gone); }
  void OnStepWindow(std::function<void(const StepWindow&)> window) override {
    on_window_ = std::move(window);
  }
  void OnCapabilities(std::function<void()> changed) override { on_capabilities_ = std::move(changed); }

  // The process said so.
  void TakeAck(const Ack& ack);
  void TakeStepWindow(const StepWindow& window);
  void TakeCapabilities(std::vector<Capability> capabilities, std::vector<uint32_t> devices);
  // It went away: every command that waits is answered, then the claimant hears of it. The link, for who
  // closes it.
  std::shared_ptr<Link> Leave();

 private:
  struct Waiting {
    base::Executor::TimerId timer = 0;
    std::function<void(const Ack&)> done;
  };

  void Answer(const Ack& ack);

  base::Executor& ctl_;
  const Identity identity_;
  Hello hello_;
  const std::shared_ptr<Region> region_;
  const uint64_t registered_wall_ns_;
  const base::Status usable_;
  uint64_t last_seen_wall_ns_;
  std::shared_ptr<Link> link_;  // nullptr: gone
  uint64_t next_command_ = 1;
  std::map<uint64_t, Waiting> waiting_;
  std::string holder_;
  std::function<void()> on_gone_;
  std::function<void(const StepWindow&)> on_window_;
  std::function<void()> on_capabilities_;
};

}  // namespace profd::agent
