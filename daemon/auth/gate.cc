#include "daemon/auth/gate.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/auth/listener.h"
#include "daemon/base/log.h"

namespace profd::auth {

using base::UniqueFd;

namespace {

constexpr uint64_t kSweepEveryNs = 100'000'000;
constexpr uint64_t kSayEveryNs = 60'000'000'000;

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

 private:
  struct Connection {
    int fd = -1;
    ino_t inode = 0;
  };
  struct User {
    std::vector<Connection> connections;
    uint64_t swept_ns = 0;
  };

  void Admit(UniqueFd fd) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    struct stat facts {};
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        ::fstat(fd.get(), &facts) != 0) {
      return;
    }
    const uint64_t now = base::MonotonicNs();
    if (total_ >= options_.max_connections) SweepAll(now);
    User& user = users_[peer.uid];
    if (user.connections.size() >= options_.max_connections_per_uid) Sweep(user, now);
    if (total_ >= options_.max_connections || user.connections.size() >= options_.max_connections_per_uid) {
      if (user.connections.empty()) users_.erase(peer.uid);
      return Say(peer.uid, now);
    }
    user.connections.push_back({fd.get(), facts.st_ino});
    ++total_;
    options_.pass(std::move(fd));
  }

  static bool IsOpen(const Connection& connection) {
    struct stat now {};
    return ::fstat(connection.fd, &now) == 0 && S_ISSOCK(now.st_mode) && now.st_ino == connection.inode;
  }

  void Sweep(User& user, uint64_t now) {
    if (user.swept_ns != 0 && now - user.swept_ns < kSweepEveryNs) return;
    user.swept_ns = now;
    total_ -= std::erase_if(user.connections, [](const Connection& c) { return !IsOpen(c); });
  }

  void SweepAll(uint64_t now) {
    if (swept_ns_ != 0 && now - swept_ns_ < kSweepEveryNs) return;
    swept_ns_ = now;
    for (auto& [uid, user] : users_) {
      user.swept_ns = 0;
      Sweep(user, now);
    }
    std::erase_if(users_, [](const auto& entry) { return entry.second.connections.empty(); });
  }

  // There is no HTTP/2 yet to say it in; an honest client heard it at the door.
  void Say(uid_t uid, uint64_t now) {
    if (said_ns_ != 0 && now - said_ns_ < kSayEveryNs) return;
    said_ns_ = now;
    base::LogWarn("user " + std::to_string(uid) +
                  " has as many connections as there may be: more are closed");
  }

  const Options options_;
  std::unique_ptr<Listener> listener_;
  std::unordered_map<uid_t, User> users_;
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

}  // namespace profd::auth
