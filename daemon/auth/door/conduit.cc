#include "daemon/auth/door/conduit.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "daemon/auth/door/frame_scan.h"
#include "daemon/auth/door/hung_up.h"
#include "daemon/auth/door/message_scan.h"
#include "daemon/base/log.h"
#include "daemon/base/memory/slack.h"
#include "daemon/base/token_bucket.h"
#include "daemon/base/turns.h"

namespace profd::auth {

using base::Status;
using base::UniqueFd;

namespace {

constexpr size_t kInwardBytes = 4 << 10;  // requests are small, and a paced one is held
constexpr size_t kOutwardBytes = 16 << 10;
constexpr int kOutwardAtATime = 16;
constexpr uint64_t kPaceNs = 5'000'000;  // how often those are looked at that wait
constexpr int kEventsAtATime = 64;
constexpr uint32_t kHeaderBytesOfAToken = 256;  // a name and a value can be one byte of a HEADERS
constexpr double kSmallChange = 0.01;           // of which gRPC keeps nothing, and a fast reader says many
// Of what gRPC had for a flood the allocator gives back little by itself.
constexpr size_t kFewCalls = 8, kFewConnections = 64;
constexpr uint64_t kSayEveryNs = 60'000'000'000;

// In tokens.
double CostOf(const Frame& frame) {
  switch (frame.type) {
    case Frame::kWindowUpdate:
      return kSmallChange;
    case Frame::kSettings:
    case Frame::kPing:
      return (frame.flags & Frame::kAck) != 0 ? kSmallChange : 1;
    case Frame::kHeaders:
    case Frame::kContinuation:
      return 1 + std::floor(static_cast<double>(frame.length) / kHeaderBytesOfAToken);
    default:
      return 1;
  }
}

// gRPC tells of a call's connection the address of its other end, and nothing else.
constexpr std::string_view kNamePrefix = "profd-of-user-";

Status NameAfter(uid_t uid, int fd) {
  uint64_t unique = 0;  // nobody can have it already
  if (::getrandom(&unique, sizeof unique, 0) != sizeof unique)
    return Status::FromErrno("draw a name for a connection");
  const std::string name = std::string(kNamePrefix) + std::to_string(uid) + "-" + std::to_string(unique);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);  // abstract
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0)
    return Status::FromErrno("name a connection");
  return Status::Ok();
}

}  // namespace

class Conduit::Impl {
 public:
  explicit Impl(Options options) : options_(options) {}
  ~Impl() {
    stop_ = true;
    Ring();
    if (thread_.joinable()) thread_.join();
  }

  Status Start() {
    epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
    bell_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll_ || !bell_) return Status::FromErrno("make what waits for clients");
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kBell}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, bell_.get(), &event) != 0) {
      return Status::FromErrno("wait for clients");
    }
    thread_ = base::StartFirstThread("conduit", [this] { Run(); });
    return Status::Ok();
  }

  base::Result<UniqueFd> Carry(UniqueFd client, uid_t uid) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) {
      return Status::FromErrno("make a pair of sockets for a client");
    }
    UniqueFd of_client(pair[0]);
    UniqueFd of_grpc(pair[1]);
    PROFD_RETURN_IF_ERROR(NameAfter(uid, of_client.get()));
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back({std::move(client), std::move(of_client), uid});
    }
    Ring();
    return of_grpc;
  }
  void Relieve(uid_t uid) {
    {
      const std::lock_guard lock(mutex_);
      to_relieve_.push_back(uid);
    }
    Ring();
  }

 private:
  static constexpr uint64_t kBell = 0;

  struct Arrival {
    UniqueFd client, server;
    uid_t uid;
  };
  struct User {
    base::TokenBucket frames;
    size_t connections = 0;
    size_t calls = 0;       // open
    size_t unfinished = 0;  // bytes in them, of messages that are not whole
  };
  struct End {
    UniqueFd fd;
    uint32_t awaited = 0;
  };
  // One direction. While something is held nothing more is read.
  struct Flow {
    FrameScan scan;
    std::string held = {};
    size_t may_pass = 0;  // of `held`
    bool ended = false;
  };
  struct Connection {
    uid_t uid = 0;
    User* user = nullptr;
    End client, server;
    Flow inward{FrameScan(FrameScan::kClientPreface)};
    Flow outward{FrameScan()};
    std::map<uint32_t, MessageScan> calls = {};  // open
    bool paced = false;                          // `inward` waits for tokens
    bool was_much = false;                       // it was paced, or had many calls open
    bool queued = false;                         // it waits for its turn
    bool over = false;
  };

  void Ring() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
  }

  void Run() {
    std::array<epoll_event, kEventsAtATime> events{};
    while (!stop_) {
      const int patience_ms = ready_.empty() ? PatienceMs() : 0;
      const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsAtATime, patience_ms);
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 == kBell) {
          TakeArrivals();
        } else {
          Queue(events[i].data.u64);
        }
      }
      // One of each user's, then whoever has come meanwhile.
      for (size_t left = ready_.users(); left > 0; --left) Serve(ready_.Next());
      const uint64_t now = base::MonotonicNs();
      if (paced_.empty() || now - tried_ns_ < kPaceNs) continue;
      tried_ns_ = now;
      for (const uint64_t id : std::exchange(paced_, {})) Queue(id);
    }
    TakeArrivals();
    for (auto& [id, connection] : connections_) {
      while (Move(connection, connection.outward)) {
      }
    }
  }

  int PatienceMs() const { return paced_.empty() ? -1 : int{kPaceNs / 1'000'000}; }

  void TakeArrivals() {
    uint64_t rings = 0;
    [[maybe_unused]] const ssize_t got = ::read(bell_.get(), &rings, sizeof rings);
    std::vector<Arrival> arrived;
    std::vector<uid_t> to_relieve;
    {
      const std::lock_guard lock(mutex_);
      arrived.swap(arrived_);
      to_relieve.swap(to_relieve_);
    }
    for (Arrival& arrival : arrived) {
      const uint64_t id = next_id_++;
      Connection& connection = connections_[id];
      connection.uid = arrival.uid;
      connection.user =
          &users_
               .try_emplace(arrival.uid,
                            User{.frames = base::TokenBucket(options_.frames_per_s, options_.frames_per_s)})
               .first->second;
      ++connection.user->connections;
      connection.client.fd = std::move(arrival.client);
      connection.server.fd = std::move(arrival.server);
      Await(id);
    }
    for (const uid_t uid : to_relieve) EndAnIdleOne(uid);
  }

  void EndAnIdleOne(uid_t uid) {
    auto youngest = connections_.end();
    for (auto one = connections_.begin(); one != connections_.end(); ++one) {
      const bool is_idle = one->second.uid == uid && one->second.calls.empty();
      if (is_idle && (youngest == connections_.end() || one->first > youngest->first)) youngest = one;
    }
    if (youngest == connections_.end()) return;
    Say(uid, "has most connections, and there is no room for others: idle ones are closed");
    Close(youngest);
  }

  void Queue(uint64_t id) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || std::exchange(found->second.queued, true)) return;
    ready_.Add(found->second.uid, id);
  }

  // Some of it: others have something to say, too.
  void Serve(uint64_t id) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    connection.queued = false;
    for (int i = 0; i < kOutwardAtATime && Move(connection, connection.outward); ++i) {
    }
    Move(connection, connection.inward);
    // Whoever says more than may pass and goes need not be heard to the end: it could be a minute's worth.
    if (connection.paced && HasHungUp(connection.client.fd.get())) connection.over = true;
    if (connection.paced) paced_.insert(id);
    Await(id);
  }

  // What one read brings. True when there may be more.
  bool Move(Connection& connection, Flow& flow) {
    const bool inward = &flow == &connection.inward;
    const int from = (inward ? connection.client : connection.server).fd.get();
    const int to = (inward ? connection.server : connection.client).fd.get();
    if (flow.ended || connection.over) return false;
    if (flow.held.empty() && !Read(connection, flow, from, inward ? kInwardBytes : kOutwardBytes))
      return false;
    if (inward) connection.paced = false;
    const auto unseen = std::string_view(flow.held).substr(flow.may_pass);
    flow.may_pass += flow.scan.Pass(
        unseen,
        [&](const Frame& frame) {
          return inward ? MayPass(connection, frame) : NoteAnswer(connection, frame);
        },
        [&](const Frame& frame, std::string_view piece) {
          if (inward && frame.type == Frame::kData) NoteData(connection, frame, piece);
        });
    if (connection.over || flow.may_pass == 0) return false;
    const ssize_t sent = ::send(to, flow.held.data(), flow.may_pass, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) GiveUp(connection, flow);
      return false;
    }
    flow.held.erase(0, static_cast<size_t>(sent));
    flow.may_pass -= static_cast<size_t>(sent);
    if (!flow.held.empty()) return false;
    flow.held.shrink_to_fit();  // there are many connections, and most are quiet
    return true;
  }

  bool Read(Connection& connection, Flow& flow, int from, size_t most) {
    std::array<char, kOutwardBytes> bytes;
    const ssize_t got = ::recv(from, bytes.data(), most, MSG_DONTWAIT);
    if (got > 0) {
      flow.held.assign(bytes.data(), static_cast<size_t>(got));
      return true;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    // gRPC closes both directions at once, and then nobody listens to the client any more.
    if (got < 0 || &flow == &connection.outward) {
      connection.over = true;
    } else {
      flow.ended = true;
      ::shutdown(connection.server.fd.get(), SHUT_WR);
    }
    return false;
  }

  // Nobody takes it any more. What gRPC said before it closed is still to be read.
  static void GiveUp(Connection& connection, Flow& flow) {
    connection.over = &flow == &connection.outward;
    flow.ended = true;
    flow.held.clear();
    flow.may_pass = 0;
  }

  bool MayPass(Connection& connection, const Frame& frame) {
    User& user = *connection.user;
    const bool opens = frame.type == Frame::kHeaders && !connection.calls.contains(frame.stream);
    if (opens && (connection.calls.size() >= options_.max_calls_per_connection ||
                  user.calls >= options_.max_calls_per_uid)) {
      Say(connection.uid, "has as many calls open as there may be: connections that begin more are closed");
      connection.over = true;
      return false;
    }
    // One that is larger than all there can be is gRPC's to refuse.
    if (!user.frames.Take(base::MonotonicNs(), std::min(CostOf(frame), options_.frames_per_s))) {
      connection.paced = connection.was_much = true;
      return false;
    }
    if (opens) {
      connection.calls.try_emplace(frame.stream);
      ++user.calls;
      connection.was_much |= connection.calls.size() > kFewCalls;
    }
    if (frame.type == Frame::kReset) EndCall(connection, frame.stream);
    return true;
  }

  bool NoteAnswer(Connection& connection, const Frame& frame) {
    const bool speaks = frame.type == Frame::kHeaders || frame.type == Frame::kData;
    if (frame.type == Frame::kReset || (speaks && (frame.flags & Frame::kEndStream) != 0)) {
      EndCall(connection, frame.stream);
    }
    return true;
  }

  void NoteData(Connection& connection, const Frame& frame, std::string_view piece) {
    const auto call = connection.calls.find(frame.stream);
    if (call == connection.calls.end()) return;  // gRPC keeps nothing of it
    User& user = *connection.user;
    user.unfinished -= call->second.kept();
    if ((frame.flags & Frame::kPadded) != 0) {
      call->second.AddPadded(piece.size());
    } else {
      call->second.Add(piece);
    }
    user.unfinished += call->second.kept();
    if (call->second.compressed()) {
      Say(connection.uid,
          "says compressed messages, which profd takes from nobody: such connections are closed");
      connection.over = true;
    }
    if (user.unfinished <= options_.max_unfinished_per_uid) return;
    Say(connection.uid,
        "has said as much as may be of messages that do not end, or of calls that have no answer yet: such "
        "connections are closed");
    connection.over = true;
  }

  static void EndCall(Connection& connection, uint32_t stream) {
    const auto call = connection.calls.find(stream);
    if (call == connection.calls.end()) return;
    connection.user->unfinished -= call->second.kept();
    connection.calls.erase(call);
    --connection.user->calls;
  }

  // Ends it when it is over.
  void Await(uint64_t id) {
    const auto found = connections_.find(id);
    Connection& connection = found->second;
    const Flow& inward = connection.inward;
    const Flow& outward = connection.outward;
    const auto both = [](bool readable, bool writable) {
      return (readable ? uint32_t{EPOLLIN} : 0U) | (writable ? uint32_t{EPOLLOUT} : 0U);
    };
    const bool waits =
        !connection.over &&
        Await(id, connection.client, both(inward.held.empty() && !inward.ended, !outward.held.empty())) &&
        Await(id, connection.server, both(outward.held.empty(), inward.may_pass > 0));
    if (!waits) Close(found);
  }

  // An end that nothing is wanted of is not in the set: of one that is closed there is always something to
  // hear.
  bool Await(uint64_t id, End& end, uint32_t what) {
    if (end.awaited == what) return true;
    epoll_event event{.events = what, .data = {.u64 = id}};
    const int change = what == 0 ? EPOLL_CTL_DEL : end.awaited == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    end.awaited = what;
    return ::epoll_ctl(epoll_.get(), change, end.fd.get(), &event) == 0;
  }

  void Close(std::unordered_map<uint64_t, Connection>::iterator found) {
    Connection& connection = found->second;
    User& user = *connection.user;
    if (++closed_ > kFewConnections || connection.was_much) {
      closed_ = 0;
      base::Slack::Comes();
    }
    while (!connection.calls.empty()) EndCall(connection, connection.calls.begin()->first);
    if (--user.connections == 0 && user.frames.IsFull(base::MonotonicNs())) users_.erase(connection.uid);
    connections_.erase(found);
  }

  void Say(uid_t uid, const char* what) {
    const uint64_t now = base::MonotonicNs();
    if (said_ns_ != 0 && now - said_ns_ < kSayEveryNs) return;
    said_ns_ = now;
    base::LogWarn("user " + std::to_string(uid) + ' ' + what);
  }

  const Options options_;
  UniqueFd epoll_, bell_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<Arrival> arrived_;  // under mutex_, as the next
  std::vector<uid_t> to_relieve_;

  // The thread's.
  std::unordered_map<uid_t, User> users_;  // elements stay where they are
  std::unordered_map<uint64_t, Connection> connections_;
  base::Turns<uint64_t> ready_;  // that have something to say, or room to hear
  std::unordered_set<uint64_t> paced_;
  uint64_t tried_ns_ = 0;  // when these were looked at
  size_t closed_ = 0;      // connections, since the allocator was last to give back memory
  uint64_t next_id_ = kBell + 1;
  uint64_t said_ns_ = 0;

  std::thread thread_;
};

Conduit::Conduit(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Conduit::~Conduit() = default;

base::Result<std::unique_ptr<Conduit>> Conduit::Start(Options options) {
  std::unique_ptr<Conduit> conduit(new Conduit(std::make_unique<Impl>(options)));
  PROFD_RETURN_IF_ERROR(conduit->impl_->Start());
  return conduit;
}

base::Result<UniqueFd> Conduit::Carry(UniqueFd client, uid_t uid) {
  return impl_->Carry(std::move(client), uid);
}

void Conduit::Relieve(uid_t uid) { impl_->Relieve(uid); }

std::optional<uid_t> Conduit::UserOf(std::string_view peer) {
  const size_t at = peer.find(kNamePrefix);
  if (!peer.starts_with("unix-abstract:") || at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = peer.substr(at + kNamePrefix.size());
  uid_t uid = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), uid).ec != std::errc()) return std::nullopt;
  return uid;
}

}  // namespace profd::auth
