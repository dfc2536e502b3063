#include "daemon/auth/holders.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/base/log.h"

namespace profd::auth {

using base::Status;

namespace {

constexpr uint64_t kSweepEveryNs = 100'000'000;
constexpr uint64_t kSayEveryNs = 60'000'000'000;
constexpr size_t kForgetAbove = 1024;

// Address and port of the other end, the same however they were written; "" is none.
using Key = std::string;

Key KeyOf(const in6_addr& address, uint16_t port) {
  Key key(sizeof address + sizeof port, '\0');
  std::memcpy(key.data(), &address, sizeof address);
  std::memcpy(key.data() + sizeof address, &port, sizeof port);
  return key;
}

in6_addr Mapped(const in_addr& four) {
  in6_addr six{};
  six.s6_addr[10] = six.s6_addr[11] = 0xff;
  std::memcpy(&six.s6_addr[12], &four, sizeof four);
  return six;
}

Key KeyOf(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  if (name.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(name);
    return KeyOf(six.sin6_addr, ntohs(six.sin6_port));
  }
  if (name.ss_family != AF_INET) return {};
  const auto& four = reinterpret_cast<const sockaddr_in&>(name);
  return KeyOf(Mapped(four.sin_addr), ntohs(four.sin_port));
}

// "ipv4:10.0.0.7:4711", "ipv6:[::1]:4711", the brackets perhaps as %5B and %5D, and a zone behind a %.
Key KeyOf(std::string_view peer) {
  const size_t begin = peer.find(':'), end = peer.rfind(':');
  if (begin == std::string_view::npos || begin == end) return {};
  std::string_view host = peer.substr(begin + 1, end - begin - 1);
  for (const std::string_view bracket : {"[", "%5B"}) {
    if (host.starts_with(bracket)) host.remove_prefix(bracket.size());
  }
  host = host.substr(0, host.find_first_of("%]"));
  uint16_t port = 0;
  if (std::from_chars(peer.data() + end + 1, peer.data() + peer.size(), port).ec != std::errc()) return {};
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, std::string(host).c_str(), &four) == 1) return KeyOf(Mapped(four), port);
  return ::inet_pton(AF_INET6, std::string(host).c_str(), &six) == 1 ? KeyOf(six, port) : Key();
}

}  // namespace

// A descriptor's number alone is no identity; with the socket's inode it is one.
class Holders::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(base::Executor& ctl, Options options) : ctl_(ctl), options_(options) {}

  void Add(int fd) {
    struct stat facts {};
    const Key key = KeyOf(fd);
    if (key.empty() || ::fstat(fd, &facts) != 0) return;
    const std::lock_guard lock(mutex_);
    if (connections_.size() >= forget_above_) Forget();
    Release(key);  // of one that is closed
    connections_[key] = {.fd = fd, .inode = facts.st_ino};
    unclaimed_.push_back({key, facts.st_ino, base::MonotonicNs() + options_.patience_ns});
    if (unclaimed_.size() == 1) Await(options_.patience_ns);
  }

  Status Claim(const std::string& peer, const std::string& holder, bool is_limited) {
    const Key key = KeyOf(std::string_view(peer));
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(key);
    if (found == connections_.end() || found->second.is_claimed) return Status::Ok();
    if (!is_limited) {
      found->second.is_claimed = true;
      return Status::Ok();
    }
    Crowd& crowd = crowds_[holder];
    if (crowd.keys.size() >= options_.most) Sweep(crowd);
    if (crowd.keys.size() >= options_.most) {
      return {base::Code::kResourceExhausted,
              "user " + holder + " has " + std::to_string(crowd.keys.size()) +
                  " connections already, as many as a name in certificates may have "
                  "(limits.connections_per_user): end some of them"};
    }
    crowd.keys.push_back(key);
    found->second.is_claimed = true;
    found->second.holder = holder;
    return Status::Ok();
  }

 private:
  struct Connection {
    int fd = -1;
    ino_t inode = 0;
    bool is_claimed = false;
    std::string holder = {};  // whose crowd it is in
  };
  struct Crowd {
    std::vector<Key> keys;
    uint64_t swept_ns = 0;
  };
  struct Unclaimed {
    Key key;
    ino_t inode = 0;
    uint64_t until_ns = 0;
  };

  static bool IsOpen(const Connection& connection) {
    struct stat now {};
    return ::fstat(connection.fd, &now) == 0 && S_ISSOCK(now.st_mode) && now.st_ino == connection.inode;
  }

  // With mutex_, as all below.
  void Release(const Key& key) {
    const auto found = connections_.find(key);
    if (found == connections_.end()) return;
    const auto crowd = crowds_.find(found->second.holder);
    if (crowd != crowds_.end()) std::erase(crowd->second.keys, key);
    connections_.erase(found);
  }
  void Sweep(Crowd& crowd) {
    const uint64_t now_ns = base::MonotonicNs();
    if (crowd.swept_ns != 0 && now_ns - crowd.swept_ns < kSweepEveryNs) return;
    crowd.swept_ns = now_ns;
    std::erase_if(crowd.keys, [this](const Key& key) {
      const auto found = connections_.find(key);
      if (found == connections_.end()) return true;
      if (IsOpen(found->second)) return false;
      connections_.erase(found);
      return true;
    });
  }
  void Forget() {
    std::erase_if(connections_, [](const auto& each) { return !IsOpen(each.second); });
    for (auto crowd = crowds_.begin(); crowd != crowds_.end();) {
      std::erase_if(crowd->second.keys, [this](const Key& key) { return !connections_.contains(key); });
      crowd = crowd->second.keys.empty() ? crowds_.erase(crowd) : std::next(crowd);
    }
    forget_above_ = std::max(kForgetAbove, 2 * connections_.size());
  }

  void Await(uint64_t delay_ns) {
    ctl_.After(delay_ns, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr) self->CloseUnclaimed();
    });
  }
  // **Thread:** ctl, which alone accepts: between the look and the end the number becomes no other caller's.
  void CloseUnclaimed() {
    const std::lock_guard lock(mutex_);
    const uint64_t now_ns = base::MonotonicNs();
    for (; !unclaimed_.empty() && unclaimed_.front().until_ns <= now_ns; unclaimed_.pop_front()) {
      const auto found = connections_.find(unclaimed_.front().key);
      if (found == connections_.end() || found->second.inode != unclaimed_.front().inode) continue;
      if (found->second.is_claimed) continue;
      if (IsOpen(found->second)) {
        ::shutdown(found->second.fd, SHUT_RDWR);
        Say(now_ns);
      }
      connections_.erase(found);
    }
    if (!unclaimed_.empty()) Await(unclaimed_.front().until_ns - now_ns);
  }
  void Say(uint64_t now_ns) {
    if (said_ns_ != 0 && now_ns - said_ns_ < kSayEveryNs) return;
    said_ns_ = now_ns;
    base::LogWarn("a connection over TCP is closed: it made no call, or its caller has enough others");
  }

  base::Executor& ctl_;
  const Options options_;
  std::mutex mutex_;  // all below
  std::unordered_map<Key, Connection> connections_;
  std::unordered_map<std::string, Crowd> crowds_;
  std::deque<Unclaimed> unclaimed_;  // by when; some are claimed by now
  size_t forget_above_ = kForgetAbove;
  uint64_t said_ns_ = 0;
};

Holders::Holders(base::Executor& ctl, Options options) : impl_(std::make_shared<Impl>(ctl, options)) {}
Holders::~Holders() = default;

void Holders::Add(int fd) { impl_->Add(fd); }
Status Holders::Claim(const std::string& peer, const std::string& holder, bool is_limited) {
  return impl_->Claim(peer, holder, is_limited);
}

}  // namespace profd::auth
