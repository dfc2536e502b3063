#include "daemon/agent/registered_peer.h"

#include <utility>

#include "base/clock.h"
#include "base/version.h"

namespace profd::agent {

using base::Code;
using base::Status;

namespace {

Status CheckProtocol(const Hello& hello) {
  if (hello.protocol == base::kProtocolVersion) return Status::Ok();
  return {Code::kFailedPrecondition, "its agent " + hello.agent_version + " speaks protocol " +
                                         std::to_string(hello.protocol) + ", profd " + base::kVersion +
                                         " protocol " + std::to_string(base::kProtocolVersion) +
                                         ": start the process again with the agent of this release"};
}

}  // namespace

RegisteredPeer::RegisteredPeer(base::Executor& ctl, Identity identity, Hello hello,
                               std::shared_ptr<Region> region, std::shared_ptr<Link> link)
    : ctl_(ctl),
      identity_(std::move(identity)),
      hello_(std::move(hello)),
      region_(std::move(region)),
      registered_wall_ns_(base::WallNs()),
      usable_(CheckProtocol(hello_)),
      last_seen_wall_ns_(registered_wall_ns_),
      link_(std::move(link)) {}

void RegisteredPeer::Send(Action action, uint64_t timeout_ns, std::function<void(const Ack&)> done) {
  const uint64_t id = next_command_++;
  if (gone()) {
    ctl_.Post([id, done = std::move(done), pid = identity_.pid] {
      done(
          {.command_id = id, .status = {Code::kUnavailable, "process " + std::to_string(pid) + " has gone"}});
    });
    return;
  }
  const auto timer = ctl_.After(timeout_ns, [weak = weak_from_this(), id] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->Answer(
        {.command_id = id,
         .status = {Code::kDeadlineExceeded, "process " + std::to_string(self->identity_.pid) +
                                                 " does not answer: is it stopped, or swapped out?"}});
  });
  waiting_.emplace(id, Waiting{timer, std::move(done)});
  link_->Send({id, std::move(action)});
}

bool RegisteredPeer::Claim(const std::string& holder) {
  if (gone() || !usable_.ok() || !holder_.empty()) return false;
  holder_ = holder;
  return true;
}

void RegisteredPeer::Unclaim() {
  holder_.clear();
  on_gone_ = nullptr;
  on_window_ = nullptr;
  on_capabilities_ = nullptr;
}

void RegisteredPeer::TakeAck(const Ack& ack) {
  last_seen_wall_ns_ = base::WallNs();
  Answer(ack);
}

void RegisteredPeer::TakeStepWindow(const StepWindow& window) {
  last_seen_wall_ns_ = base::WallNs();
  if (const auto called = on_window_) called(window);  // a copy: it may be dropped meanwhile
}

void RegisteredPeer::TakeCapabilities(std::vector<Capability> capabilities, std::vector<uint32_t> devices) {
  last_seen_wall_ns_ = base::WallNs();
  hello_.capabilities = std::move(capabilities);
  if (!devices.empty()) hello_.devices = std::move(devices);  // older agents say none
  if (const auto called = on_capabilities_) called();
}

void RegisteredPeer::Answer(const Ack& ack) {
  const auto it = waiting_.find(ack.command_id);
  if (it == waiting_.end()) return;  // too late, or never asked
  const Waiting waiting = std::move(it->second);
  waiting_.erase(it);
  ctl_.Cancel(waiting.timer);
  waiting.done(ack);
}

std::shared_ptr<Link> RegisteredPeer::Leave() {
  const auto self = shared_from_this();
  std::shared_ptr<Link> link = std::exchange(link_, nullptr);
  while (!waiting_.empty()) {
    Answer({.command_id = waiting_.begin()->first,
            .status = {Code::kUnavailable, "process " + std::to_string(identity_.pid) + " went away"}});
  }
  on_window_ = nullptr;
  on_capabilities_ = nullptr;
  if (const auto called = std::exchange(on_gone_, nullptr)) called();
  return link;
}

}  // namespace profd::agent
