#include "daemon/auth/door/gate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
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
#include "daemon/base/token_bucket.h"

namespace profd::auth {

using base::UniqueFd;

namespace {

constexpr uint64_t kSweepEveryNs = 100'000'000;
constexpr uint64_t kSayEveryNs = 60'000'000'000;
constexpr size_t kForgetAbove = 256;
constexpr size_t kNetworkBytes = 8;  // of an IPv6 address, the rest of which its owner chooses

// What may come over TCP from one address. Requests are small; who fetches says that he has read, which is
// less than a hundredth of it. Beyond that are floods, such as of calls that are opened and reset: gRPC
// serves all connections of a process out of one set, and so everybody waits for it. With TLS nobody else can
// tell.
constexpr double kBytesPerSecond = 64 << 10, kBytesAtOnce = 1 << 20, kReadPerByte = 0.01;
constexpr uint64_t kLookEveryNs = 50'000'000, kKeptOutNs = 10'000'000'000;
constexpr int kKernelBytes = 8 << 10;  // that wait for gRPC

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

struct Carried {
  uint64_t in = 0, out = 0;
};
Carried CarriedBy(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
  return {info.tcpi_bytes_received, info.tcpi_bytes_acked};
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
    ctl_ = &ctl;
    PROFD_ASSIGN_OR_RETURN(listener_, Listener::StartTcp(on, ctl, [this](UniqueFd fd) {
                             ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kKernelBytes,
                                          sizeof kKernelBytes);
                             Admit(std::move(fd));
                           }));
    return base::Status::Ok();
  }
  ~Impl() {
    if (look_ != 0) ctl_->Cancel(look_);
  }

 private:
  struct Connection {
    int fd = -1;
    ino_t inode = 0;
    // Over TCP: so that a connection can be looked at when it has been closed, which the client hears with
    // the next look.
    UniqueFd own = {};
    Carried carried = {};  // when it was last looked at
  };
  struct Crowd {
    uid_t uid = static_cast<uid_t>(-1);
    std::vector<Connection> connections;
    uint64_t swept_ns = 0;
    double owed = 0;
    base::TokenBucket bytes{kBytesPerSecond, kBytesAtOnce};  // over TCP
    uint64_t kept_out_until_ns = 0;
    bool is_forgotten = false;
  };

  void Admit(UniqueFd fd) {
    const Peer peer = PeerOf(fd.get());
    struct stat facts {};
    if (peer.name.empty() || ::fstat(fd.get(), &facts) != 0) return;
    const uint64_t now = base::MonotonicNs();
    if (total_ >= options_.room.most) SweepAll(now);
    Crowd& crowd = crowds_[peer.name];
    crowd.uid = peer.uid;
    if (now < crowd.kept_out_until_ns) return;
    if (crowd.connections.size() >= options_.room.most_of_one) Sweep(crowd, now);
    if (total_ >= options_.room.most) Relieve(crowd);
    if (!options_.room.For(total_, crowd.connections.size(), peer.uid == 0)) {
      if (ctl_ == nullptr && crowd.connections.empty()) crowds_.erase(peer.name);
      return Say(peer.name, now);
    }
    crowd.connections.push_back({fd.get(), facts.st_ino});
    if (ctl_ != nullptr) crowd.connections.back().own.Reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    ++total_;
    if (crowds_.size() > kForgetAbove) SweepAll(now);
    options_.pass(std::move(fd), peer.uid);
    if (ctl_ != nullptr && look_ == 0) look_ = ctl_->After(kLookEveryNs, [this] { Look(); });
  }

  static void Charge(Crowd& crowd, Connection& connection) {
    const Carried now = CarriedBy(connection.own.get());
    crowd.owed += static_cast<double>(now.in - connection.carried.in) -
                  kReadPerByte * static_cast<double>(now.out - connection.carried.out);
    connection.carried = now;
  }

  // As long as there are connections.
  void Look() {
    look_ = 0;
    const uint64_t now = base::MonotonicNs();
    for (auto& [name, crowd] : crowds_) {
      crowd.swept_ns = 0;
      Sweep(crowd, now);
      if (!crowd.bytes.Take(now, std::max(std::exchange(crowd.owed, 0), 0.0))) KeepOut(name, crowd, now);
      crowd.is_forgotten =
          crowd.connections.empty() && crowd.kept_out_until_ns < now && crowd.bytes.IsFull(now);
    }
    std::erase_if(crowds_, [](const auto& entry) { return entry.second.is_forgotten; });
    if (!crowds_.empty()) look_ = ctl_->After(kLookEveryNs, [this] { Look(); });
  }

  void KeepOut(const std::string& name, Crowd& crowd, uint64_t now) {
    if (crowd.kept_out_until_ns < now)
      base::LogWarn(name + " has sent more than requests are: its connections are closed, and more for 10 s");
    crowd.kept_out_until_ns = now + kKeptOutNs;
    for (const Connection& connection : crowd.connections) ::shutdown(connection.own.get(), SHUT_RDWR);
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
    total_ -= std::erase_if(crowd.connections, [&crowd](Connection& c) {
      if (c.own) Charge(crowd, c);
      return !IsOpen(c);
    });
  }

  void SweepAll(uint64_t now) {
    if (swept_ns_ != 0 && now - swept_ns_ < kSweepEveryNs) return;
    swept_ns_ = now;
    for (auto& [name, crowd] : crowds_) {
      crowd.swept_ns = 0;
      Sweep(crowd, now);
    }
    // What came over TCP is remembered a little longer: Look() forgets it.
    if (ctl_ == nullptr)
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
  base::Executor* ctl_ = nullptr;  // over TCP
  base::Timers::Id look_ = 0;
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
