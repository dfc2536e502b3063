#include "daemon/agent/registry.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "daemon/agent/registered_peer.h"
#include "daemon/base/log.h"

namespace profd::agent {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr size_t kFew = 16;  // agents of a user

}  // namespace

class Registry::Impl {
 public:
  Impl(base::Executor& ctl, Options options) : ctl_(ctl), options_(std::move(options)) {}

  Result<Seat> TakeSeat(const Identity& identity);
  void LeaveSeat(uint64_t seat);
  Result<std::shared_ptr<Peer>> Register(uint64_t seat, std::string user, Hello hello,
                                         std::shared_ptr<Link> link);
  RegisteredPeer* PeerAt(uint64_t seat) const;
  void Disconnect(uint64_t seat);
  std::shared_ptr<Peer> Find(pid_t pid) const;
  std::vector<std::shared_ptr<Peer>> All() const;
  Counts Count() const { return {seats_.size(), options_.max_peers, turned_away_}; }
  WatchId WatchArrivals(std::function<void(const std::shared_ptr<Peer>&)> arrived);
  void Unwatch(WatchId id) { watches_->erase(id); }

 private:
  struct Taken {
    Identity identity;
    std::shared_ptr<Region> region;
    std::shared_ptr<RegisteredPeer> peer;  // while its stream is open
  };
  using Watches = std::map<WatchId, std::function<void(const std::shared_ptr<Peer>&)>>;

  base::Executor& ctl_;
  const Options options_;
  std::map<uint64_t, Taken> seats_;  // newest last
  std::unordered_map<uid_t, size_t> per_uid_;
  uint64_t next_seat_ = 1;
  uint64_t turned_away_ = 0;
  // Shared with what is posted: an announcement may come after the registry's end.
  const std::shared_ptr<Watches> watches_ = std::make_shared<Watches>();
  WatchId next_watch_ = 1;
};

Result<Registry::Seat> Registry::Impl::TakeSeat(const Identity& identity) {
  if (identity.pid <= 0) {
    return Status{Code::kFailedPrecondition,
                  "profd can't see this process: run profd in the host's pid namespace (hostPID)"};
  }
  const auto count = per_uid_.find(identity.uid);
  const size_t his = count == per_uid_.end() ? 0 : count->second;
  // A reserve, so that two users with all that they may have leave some to others.
  const size_t reserve = his < kFew ? options_.max_peers / 8 : 0;
  if (seats_.size() >= options_.max_peers + reserve) {
    ++turned_away_;
    return Status{Code::kResourceExhausted, "profd has the " + std::to_string(options_.max_peers) +
                                                " agents it takes: raise agent.max_agents in its settings"};
  }
  if (his >= options_.max_peers_per_uid) {
    ++turned_away_;
    return Status{Code::kResourceExhausted,
                  "user " + std::to_string(identity.uid) + " has the " +
                      std::to_string(options_.max_peers_per_uid) +
                      " agents a user may have: raise agent.max_agents_per_user in profd's settings"};
  }
  PROFD_ASSIGN_OR_RETURN(std::shared_ptr<Region> region, Region::Make(options_.geometry));
  const uint64_t seat = next_seat_++;
  ++per_uid_[identity.uid];
  seats_.emplace(seat, Taken{identity, region, nullptr});
  return Seat{seat, std::move(region)};
}

void Registry::Impl::LeaveSeat(uint64_t seat) {
  const auto it = seats_.find(seat);
  if (it == seats_.end()) return;
  const Taken taken = std::move(it->second);
  seats_.erase(it);
  const auto count = per_uid_.find(taken.identity.uid);
  if (--count->second == 0) per_uid_.erase(count);
  if (taken.peer == nullptr) return;
  taken.peer->Leave()->Close({Code::kUnavailable, "the door connection is closed"});
}

Result<std::shared_ptr<Peer>> Registry::Impl::Register(uint64_t seat, std::string user, Hello hello,
                                                       std::shared_ptr<Link> link) {
  const auto it = seats_.find(seat);
  if (it == seats_.end()) {
    return Status{Code::kUnauthenticated, "the agent's door connection is closed: knock at the door again"};
  }
  Taken& taken = it->second;
  if (taken.peer != nullptr) {
    return Status{Code::kAlreadyExists,
                  "the agent has registered already: one Register call for each ticket"};
  }
  taken.identity.user = std::move(user);
  taken.peer =
      std::make_shared<RegisteredPeer>(ctl_, taken.identity, std::move(hello), taken.region, std::move(link));
  const std::shared_ptr<Peer> peer = taken.peer;
  base::LogDebug([&] {
    return "agent of pid " + std::to_string(taken.identity.pid) + " of " + taken.identity.user +
           " registers, version " + base::Excerpt(peer->hello().agent_version);
  });
  for (const auto& [id, arrived] : *watches_) {
    ctl_.Post([watches = watches_, id = id, peer] {
      const auto watch = watches->find(id);
      if (watch == watches->end() || peer->gone()) return;
      const auto called = watch->second;  // a copy: it may end its own watch
      called(peer);
    });
  }
  return peer;
}

RegisteredPeer* Registry::Impl::PeerAt(uint64_t seat) const {
  const auto it = seats_.find(seat);
  return it == seats_.end() ? nullptr : it->second.peer.get();
}

void Registry::Impl::Disconnect(uint64_t seat) {
  const auto it = seats_.find(seat);
  if (it == seats_.end() || it->second.peer == nullptr) return;
  const auto peer = std::exchange(it->second.peer, nullptr);
  base::LogDebug([&] { return "agent of pid " + std::to_string(it->second.identity.pid) + " is gone"; });
  peer->Leave();
}

std::shared_ptr<Peer> Registry::Impl::Find(pid_t pid) const {
  for (auto seat = seats_.rbegin(); seat != seats_.rend(); ++seat) {
    if (seat->second.identity.pid == pid && seat->second.peer != nullptr) return seat->second.peer;
  }
  return nullptr;
}

std::vector<std::shared_ptr<Peer>> Registry::Impl::All() const {
  std::vector<std::shared_ptr<Peer>> all;
  for (const auto& [number, taken] : seats_) {
    if (taken.peer != nullptr) all.push_back(taken.peer);
  }
  return all;
}

Registry::WatchId Registry::Impl::WatchArrivals(std::function<void(const std::shared_ptr<Peer>&)> arrived) {
  watches_->emplace(next_watch_, std::move(arrived));
  return next_watch_++;
}

Registry::Registry(base::Executor& ctl, Options options)
    : impl_(std::make_unique<Impl>(ctl, std::move(options))) {}
Registry::~Registry() = default;

Result<Registry::Seat> Registry::TakeSeat(const Identity& identity) { return impl_->TakeSeat(identity); }
void Registry::LeaveSeat(uint64_t seat) { impl_->LeaveSeat(seat); }
Result<std::shared_ptr<Peer>> Registry::Register(uint64_t seat, std::string user, Hello hello,
                                                 std::shared_ptr<Link> link) {
  return impl_->Register(seat, std::move(user), std::move(hello), std::move(link));
}
void Registry::OnAck(uint64_t seat, const Ack& ack) {
  if (RegisteredPeer* peer = impl_->PeerAt(seat)) peer->TakeAck(ack);
}
void Registry::OnStepWindow(uint64_t seat, const StepWindow& window) {
  if (RegisteredPeer* peer = impl_->PeerAt(seat)) peer->TakeStepWindow(window);
}
void Registry::OnCapabilities(uint64_t seat, std::vector<Capability> capabilities,
                              std::vector<uint32_t> devices) {
  if (RegisteredPeer* peer = impl_->PeerAt(seat))
    peer->TakeCapabilities(std::move(capabilities), std::move(devices));
}
void Registry::Disconnect(uint64_t seat) { impl_->Disconnect(seat); }
std::shared_ptr<Peer> Registry::Find(pid_t pid) const { return impl_->Find(pid); }
std::vector<std::shared_ptr<Peer>> Registry::All() const { return impl_->All(); }
Registry::Counts Registry::Count() const { return impl_->Count(); }
Registry::WatchId Registry::WatchArrivals(std::function<void(const std::shared_ptr<Peer>&)> arrived) {
  return impl_->WatchArrivals(std::move(arrived));
}
void Registry::Unwatch(WatchId id) { impl_->Unwatch(id); }

}  // namespace profd::agent
