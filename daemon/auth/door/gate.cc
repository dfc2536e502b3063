#include "daemon/auth/door/gate.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/auth/door/listener.h"
#include "daemon/base/log.h"

namespace profd::auth {

using base::UniqueFd;

namespace {

constexpr uint64_t kSweepEveryNs = 100'000'000;
constexpr uint64_t kSayEveryNs = 60'000'000'000;
constexpr size_t kForgetAbove = 256;
constexpr size_t kNetworkBytes = 8;  // of an IPv6 address, the rest of which its owner chooses

// Whom a connection counts for; `name` is for the log, "" when it is gone already.
struct Peer {
  std::string name = {};
  uid_t uid = static_cast<uid_t>(-1);
};

Peer PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text.data(), text.size());
    return {.name = text.data()};
  }
  if (address.ss_family == AF_INET6) {
    in6_addr six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(&six)) std::fill(six.s6_addr + kNetworkBytes, std::end(six.s6_addr), 0);
    ::inet_ntop(AF_INET6, &six, text.data(), text.size());
    return {.name = text.data()};
  }
  ucred local{};
  size = sizeof local;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &local, &size) != 0) return {};
  return {.name = "user " + std::to_string(local.uid), .uid = local.uid};
}

}  // namespace

// Whoever took a connection over closes it without a word. A descriptor's number alone is no identity; with
// the socket's inode it is one, so closed ones are found, when room is short.
class Gate::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {}

  base::Status Listen(const std::string& path, base::Executor& ctl) {
    PROFD_ASSIGN_OR_RETURN(
        listener_, Listener::Start(path, SOCK_STREAM, ctl, [this](UniqueFd fd) { Admit(std::move(fd)); }));
    return base::Status::Ok();
  }
  base::Status ListenTcp(const base::HostPort& on, base::Executor& ctl) {
    PROFD_ASSIGN_OR_RETURN(listener_,
                           Listener::StartTcp(on, ctl, [this](UniqueFd fd) { Admit(std::move(fd)); }));
    return base::Status::Ok();
  }

 private:
  struct Connection {
    int fd = -1;
    ino_t inode = 0;
  };
  struct Crowd {
    uid_t uid = static_cast<uid_t>(-1);
    std::vector<Connection> connections;
    uint64_t swept_ns = 0;
  };

  void Admit(UniqueFd fd) {
    const Peer peer = PeerOf(fd.get());
    struct stat facts {};
    if (peer.name.empty() || ::fstat(fd.get(), &facts) != 0) return;
    const uint64_t now = base::MonotonicNs();
    if (total_ >= options_.room.most) SweepAll(now);
    Crowd& crowd = crowds_[peer.name];
    crowd.uid = peer.uid;
    if (crowd.connections.size() >= options_.room.most_of_one) Sweep(crowd, now);
    if (total_ >= options_.room.most) Relieve(crowd);
    if (!options_.room.For(total_, crowd.connections.size(), peer.uid == 0)) {
      if (crowd.connections.empty()) crowds_.erase(peer.name);
      return Say(peer.name, now);
    }
    crowd.connections.push_back({fd.get(), facts.st_ino});
    ++total_;
    if (crowds_.size() > kForgetAbove) SweepAll(now);
    options_.pass(std::move(fd), peer.uid);
  }

  // Whoever has most, if it is not the one who comes.
  void Relieve(const Crowd& comes) const {
    const Crowd* most = &comes;
    for (const auto& [name, crowd] : crowds_) {
      if (crowd.connections.size() > most->connections.size()) most = &crowd;
    }
    if (most != &comes && options_.relieve) options_.relieve(most->uid);
  }

  static bool IsOpen(const Connection& connection) {
    struct stat now {};
    return ::fstat(connection.fd, &now) == 0 && S_ISSOCK(now.st_mode) && now.st_ino == connection.inode;
  }

  void Sweep(Crowd& crowd, uint64_t now) {
    if (crowd.swept_ns != 0 && now - crowd.swept_ns < kSweepEveryNs) return;
    crowd.swept_ns = now;
    total_ -= std::erase_if(crowd.connections, [](const Connection& c) { return !IsOpen(c); });
  }

  void SweepAll(uint64_t now) {
    if (swept_ns_ != 0 && now - swept_ns_ < kSweepEveryNs) return;
    swept_ns_ = now;
    for (auto& [name, crowd] : crowds_) {
      crowd.swept_ns = 0;
      Sweep(crowd, now);
    }
    std::erase_if(crowds_, [](const auto& entry) { return entry.second.connections.empty(); });
  }

  // There is no HTTP/2 yet to say it in; an honest local client heard it at the door.
  void Say(const std::string& name, uint64_t now) {
    if (said_ns_ != 0 && now - said_ns_ < kSayEveryNs) return;
    said_ns_ = now;
    if (total_ < options_.room.most)
      return base::LogWarn(name + " has as many connections as there may be: more are closed");
    base::LogWarn("there is no room for more connections of " + name + " beside the " +
                  std::to_string(total_) + " of all: more are closed");
  }

  const Options options_;
  std::unique_ptr<Listener> listener_;
  std::unordered_map<std::string, Crowd> crowds_;
  size_t total_ = 0;
  uint64_t swept_ns_ = 0;
  uint64_t said_ns_ = 0;
};

Gate::Gate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gate::~Gate() = default;

base::Result<std::unique_ptr<Gate>> Gate::Start(const std::string& path, base::Executor& ctl,
                                                Options options) {
  std::unique_ptr<Gate> gate(new Gate(std::make_unique<Impl>(std::move(options))));
  PROFD_RETURN_IF_ERROR(gate->impl_->Listen(path, ctl));
  return gate;
}

base::Result<std::unique_ptr<Gate>> Gate::StartTcp(const base::HostPort& on, base::Executor& ctl,
                                                   Options options) {
  std::unique_ptr<Gate> gate(new Gate(std::make_unique<Impl>(std::move(options))));
  PROFD_RETURN_IF_ERROR(gate->impl_->ListenTcp(on, ctl));
  return gate;
}

}  // namespace profd::auth
