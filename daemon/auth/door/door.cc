#include "daemon/auth/door/door.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files/passed.h"
#include "base/unique_fd.h"
#include "base/version.h"
#include "daemon/auth/door/listener.h"
#include "daemon/auth/door/programs.h"
#include "daemon/auth/door/room.h"
#include "libagent/abi/door.h"

namespace profd::auth {

using base::Status;
using base::UniqueFd;

namespace {

struct Peer {
  Caller caller;
  std::vector<gid_t> groups;
};

base::Result<Peer> Recognise(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return Status::FromErrno("ask the kernel who knocks");
  }
  Peer peer;
  peer.caller.uid = credentials.uid;
  peer.caller.gid = credentials.gid;
  peer.caller.pid = credentials.pid;
  // Answers ERANGE and the size that is needed.
  size = 0;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size) != 0 && errno == ERANGE) {
    peer.groups.resize(size / sizeof(gid_t));
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) != 0) peer.groups.clear();
  }
  return peer;
}

enum class Arrival : uint8_t { kMessage, kNothing, kClosed };

struct Message {
  Arrival arrival = Arrival::kClosed;
  bool whole = false;  // the size of a hello, nothing cut off
  abi::DoorHello hello{};
  std::vector<UniqueFd> descriptors;

  bool has_dir() const { return whole && (hello.flags & abi::kDoorOutputDir) != 0; }
};

Message Receive(int fd, size_t most_descriptors, int flags = 0) {
  Message message;
  std::array<std::byte, sizeof(abi::DoorHello) + 1> bytes;  // one more shows a message that is too long
  std::optional<base::Passed> passed = base::ReceivePassed(fd, bytes, most_descriptors, flags);
  if (!passed) {
    if (errno == EAGAIN || errno == EINTR) message.arrival = Arrival::kNothing;
    return message;
  }
  message.descriptors = std::move(passed->descriptors);
  if (passed->bytes == 0) return message;
  message.arrival = Arrival::kMessage;
  // A look brings no descriptors: that some are there says nothing yet.
  message.whole = passed->bytes == sizeof(abi::DoorHello) && (!passed->is_cut || (flags & MSG_PEEK) != 0);
  if (message.whole) std::memcpy(&message.hello, bytes.data(), sizeof(message.hello));
  return message;
}

struct Refusal {
  abi::DoorStatus status;
  std::string reason;
};

// Whether an untrusted hello deserves a ticket.
std::optional<Refusal> Examine(const Message& untrusted) {
  const abi::DoorHello& hello = untrusted.hello;
  if (!untrusted.whole || hello.magic != abi::kDoorMagic) {
    return Refusal{abi::DoorStatus::kMalformed, "not a door hello: is this profctl as old as profd?"};
  }
  if (hello.version != abi::kDoorVersion) {
    return Refusal{abi::DoorStatus::kVersion,
                   "profd's door speaks version " + std::to_string(abi::kDoorVersion) + ", the caller " +
                       std::to_string(hello.version) + ": install the same release on both sides"};
  }
  const bool is_client = hello.role == static_cast<uint8_t>(abi::DoorRole::kClient);
  const bool is_agent = hello.role == static_cast<uint8_t>(abi::DoorRole::kAgent);
  const bool has_dir = (hello.flags & abi::kDoorOutputDir) != 0;
  if ((!is_client && !is_agent) || (hello.flags & ~abi::kDoorOutputDir) != 0 || (is_agent && has_dir)) {
    return Refusal{abi::DoorStatus::kMalformed, "unknown role or flags in the door hello"};
  }
  return std::nullopt;
}

std::optional<Refusal> Examine(const base::Result<base::Comes>& comes) {
  if (!comes.ok()) return Refusal{abi::DoorStatus::kOutputDir, comes.status().message()};
  if (*comes == base::Comes::kDirectory) return std::nullopt;
  if (*comes == base::Comes::kFile)
    return Refusal{abi::DoorStatus::kOutputDir, "the output descriptor is not a directory"};
  return Refusal{abi::DoorStatus::kMalformed, "the door hello comes with the wrong number of descriptors"};
}

void CopyText(const std::string& text, char* field, size_t size) {
  text.copy(field, std::min(text.size(), size - 1));
}

}  // namespace

// What is posted holds it weakly: work that was queued when the door closed finds nothing to do.
class Door::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(base::Executor& ctl, Tickets& tickets, Options options)
      : ctl_(ctl), tickets_(tickets), programs_(ctl), options_(std::move(options)) {}

  Status Listen(const std::string& path) {
    // It goes first, in Close().
    PROFD_ASSIGN_OR_RETURN(listener_, Listener::Start(path, SOCK_SEQPACKET, ctl_,
                                                      [this](UniqueFd fd) { Admit(std::move(fd)); }));
    return Status::Ok();
  }

  void Close() {
    listener_.reset();
    while (!connections_.empty()) Drop(connections_.begin()->first);
  }

  size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    UniqueFd fd;
    Peer peer;
    base::Executor::WatchId watch = 0;
    base::Executor::TimerId hello_timer = 0;
    std::string ticket;  // empty until welcomed
    uint64_t agent_seat = 0;
    bool is_client = false;
  };
  struct Count {
    size_t all = 0;
    size_t clients = 0;  // welcomed
  };

  // `work` on this, unless the door is closed by then.
  template <typename Work>
  std::function<void()> WhileOpen(Work work) {
    return [weak = weak_from_this(), work] {
      if (const auto self = weak.lock(); self != nullptr && self->listener_) work(*self);
    };
  }

  void Admit(UniqueFd fd) {
    base::Result<Peer> peer = Recognise(fd.get());
    if (!peer.ok()) return Refuse(fd.get(), {abi::DoorStatus::kFailed, peer.status().message()});
    const uid_t uid = peer->caller.uid;
    const Room room{.most = options_.max_connections + options_.max_agents,
                    .most_of_one = options_.max_connections_per_uid + options_.max_agents_per_uid};
    if (connections_.size() >= room.most) Relieve(uid);
    const auto known = per_uid_.find(uid);
    if (const auto full =
            RoomFor(uid, connections_.size(), known == per_uid_.end() ? 0 : known->second.all, room)) {
      return Refuse(fd.get(), *full);
    }
    const uint64_t patience_ns = options_.hello_timeout_ns / (connections_.size() > room.most / 2 ? 5 : 1);
    const uint64_t id = next_id_++;
    ++per_uid_[uid].all;
    Connection& connection = connections_[id];
    connection.fd = std::move(fd);
    connection.peer = std::move(peer).value();
    connection.hello_timer = ctl_.After(patience_ns, WhileOpen([id](Impl& self) {
                                          const auto it = self.connections_.find(id);
                                          if (it == self.connections_.end() || !it->second.ticket.empty())
                                            return;
                                          it->second.hello_timer = 0;
                                          self.Drop(id);
                                        }));
    programs_.Ask(uid, connection.peer.caller.pid, [weak = weak_from_this(), id](const std::string& program) {
      const auto self = weak.lock();
      if (self == nullptr || !self->listener_) return;
      const auto it = self->connections_.find(id);
      if (it == self->connections_.end()) return;
      it->second.peer.caller.program = program;
      self->AwaitMessage(id, it->second);
    });
  }

  // Whether there is none left for one more.
  static std::optional<Refusal> RoomFor(uid_t uid, size_t in_total, size_t of_user, const Room& room) {
    if (room.For(in_total, of_user, uid == 0)) return std::nullopt;
    const std::string has = "user " + std::to_string(uid) + " has " + std::to_string(of_user);
    if (of_user >= room.most_of_one) {
      return Refusal{abi::DoorStatus::kBusy, has + " connections, the most a user may: close some of them"};
    }
    return Refusal{abi::DoorStatus::kBusy, "profd has no room for more connections: there are " +
                                               std::to_string(in_total) + ", " + has +
                                               ": close some or try again later"};
  }

  // Whoever has most, if it is not the one who comes, loses the youngest of those that have not said a word.
  void Relieve(uid_t comes) {
    const auto most = std::max_element(
        per_uid_.begin(), per_uid_.end(),
        [](const auto& one, const auto& other) { return one.second.all < other.second.all; });
    if (most == per_uid_.end() || most->first == comes) return;
    auto youngest = connections_.end();
    for (auto one = connections_.begin(); one != connections_.end(); ++one) {
      const bool is_silent = one->second.peer.caller.uid == most->first && one->second.ticket.empty();
      if (is_silent && (youngest == connections_.end() || one->first > youngest->first)) youngest = one;
    }
    if (youngest == connections_.end()) return;
    Refuse(youngest->second.fd.get(),
           {abi::DoorStatus::kBusy, "profd has no room for more connections, and user " +
                                        std::to_string(most->first) + " has most: close some of them"});
    Drop(youngest->first);
  }

  void AwaitMessage(uint64_t id, Connection& connection) {
    connection.watch =
        ctl_.WatchReadable(connection.fd.get(), WhileOpen([id](Impl& self) { self.Hear(id); }));
  }

  void Hear(uint64_t id) {
    const auto it = connections_.find(id);
    if (it == connections_.end()) return;
    Connection& connection = it->second;
    connection.watch = 0;
    const uid_t uid = connection.peer.caller.uid;
    if (options_.is_stuck && options_.is_stuck(uid)) {
      Receive(connection.fd.get(), 0);  // who is left with something unheard hears no answer
      Refuse(connection.fd.get(),
             {abi::DoorStatus::kBusy,
              "files that user " + std::to_string(uid) + " has passed do not answer: see to their mounts"});
      return Drop(id);
    }
    const Message seen = Receive(connection.fd.get(), 0, MSG_PEEK);
    if (!seen.has_dir() || !connection.ticket.empty() || Examine(seen)) return Take(id, connection, 0);
    if (!options_.look) {
      Refuse(connection.fd.get(), {abi::DoorStatus::kFailed, "this profd takes no output directories"});
      return Drop(id);
    }
    ctl_.Cancel(std::exchange(connection.hello_timer, 0));
    options_.look(uid, UniqueFd(::fcntl(connection.fd.get(), F_DUPFD_CLOEXEC, 0)),
                  [weak = weak_from_this(), id](const base::Result<base::Comes>& comes) {
                    const auto self = weak.lock();
                    if (self == nullptr || !self->listener_) return;
                    const auto found = self->connections_.find(id);
                    if (found == self->connections_.end()) return;
                    const std::optional<Refusal> refusal = Examine(comes);
                    if (!refusal) return self->Take(id, found->second, 1);
                    if (!comes.ok()) Receive(found->second.fd.get(), 0);
                    self->Refuse(found->second.fd.get(), *refusal);
                    self->Drop(id);
                  });
  }

  void Take(uint64_t id, Connection& connection, size_t most_descriptors) {
    Message message = Receive(connection.fd.get(), most_descriptors);
    Answer(id, connection, message);  // takes what it keeps
  }

  void Answer(uint64_t id, Connection& connection, Message& message) {
    if (message.arrival == Arrival::kNothing) return AwaitMessage(id, connection);
    // After the welcome a peer has nothing to say but goodbye.
    if (message.arrival == Arrival::kClosed || !connection.ticket.empty()) return Drop(id);
    std::optional<Refusal> refusal = Examine(message);
    if (!refusal && message.descriptors.size() != (message.has_dir() ? 1U : 0U))
      refusal = Examine(base::Comes::kNotOne);
    if (refusal) {
      Refuse(connection.fd.get(), *refusal);
      return Drop(id);
    }
    std::vector<int> brought;
    if (message.hello.role == static_cast<uint8_t>(abi::DoorRole::kAgent)) {
      if (std::optional<Refusal> refusal = SeatAgent(connection, &brought)) {
        Refuse(connection.fd.get(), *refusal);
        return Drop(id);
      }
    } else {
      Count& count = per_uid_[connection.peer.caller.uid];
      if (const auto full =
              RoomFor(connection.peer.caller.uid, clients_, count.clients,
                      {.most = options_.max_connections, .most_of_one = options_.max_connections_per_uid})) {
        Refuse(connection.fd.get(), *full);
        return Drop(id);
      }
      connection.is_client = true;
      ++count.clients;
      ++clients_;
    }
    UniqueFd output_dir;
    if (!message.descriptors.empty()) output_dir = std::move(message.descriptors.front());
    Welcome(id, connection, std::move(output_dir), brought);
  }

  std::optional<Refusal> SeatAgent(Connection& connection, std::vector<int>* brought) {
    if (!options_.take_seat) return Refusal{abi::DoorStatus::kFailed, "this profd takes no agents"};
    base::Result<AgentSeat> seat = options_.take_seat(connection.peer.caller);
    if (!seat.ok()) {
      const bool is_full = seat.status().code() == base::Code::kResourceExhausted;
      return Refusal{is_full ? abi::DoorStatus::kBusy : abi::DoorStatus::kFailed, seat.status().message()};
    }
    connection.agent_seat = seat->number;
    *brought = {seat->memfd, seat->wake_fd};
    return std::nullopt;
  }

  void Welcome(uint64_t id, Connection& connection, UniqueFd output_dir, const std::vector<int>& brought) {
    base::Result<std::string> ticket = tickets_.Issue(
        {connection.peer.caller, connection.peer.groups, std::move(output_dir), connection.agent_seat});
    if (!ticket.ok()) {
      Refuse(connection.fd.get(), {abi::DoorStatus::kFailed, ticket.status().message()});
      return Drop(id);
    }
    connection.ticket = *ticket;
    ctl_.Cancel(std::exchange(connection.hello_timer, 0));
    abi::DoorWelcome welcome = WelcomeOf(abi::DoorStatus::kWelcome);
    ticket->copy(welcome.ticket, sizeof(welcome.ticket));
    if (!Send(connection.fd.get(), welcome, brought)) return Drop(id);
    AwaitMessage(id, connection);
  }

  void Refuse(int fd, const Refusal& refusal) {
    abi::DoorWelcome answer = WelcomeOf(refusal.status);
    CopyText(refusal.reason, answer.reason, sizeof(answer.reason));
    Send(fd, answer);
  }

  abi::DoorWelcome WelcomeOf(abi::DoorStatus status) const {
    abi::DoorWelcome answer{};
    answer.magic = abi::kDoorMagic;
    answer.version = abi::kDoorVersion;
    answer.status = static_cast<uint16_t>(status);
    CopyText(base::kVersion, answer.profd_version, sizeof(answer.profd_version));
    return answer;
  }

  // The first and only message to a peer always fits its socket buffer; one that it doesn't fit has gone.
  static bool Send(int fd, abi::DoorWelcome answer, const std::vector<int>& brought = {}) {
    iovec part{&answer, sizeof(answer)};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(abi::kAgentDescriptors * sizeof(int))] = {};
    if (!brought.empty()) {
      PROFD_CHECK(brought.size() == abi::kAgentDescriptors);
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* item = CMSG_FIRSTHDR(&message);
      item->cmsg_level = SOL_SOCKET;
      item->cmsg_type = SCM_RIGHTS;
      item->cmsg_len = CMSG_LEN(brought.size() * sizeof(int));
      std::memcpy(CMSG_DATA(item), brought.data(), brought.size() * sizeof(int));
    }
    return ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(answer));
  }

  void Drop(uint64_t id) {
    const auto it = connections_.find(id);
    if (it == connections_.end()) return;
    Connection& connection = it->second;
    if (connection.watch != 0) ctl_.Unwatch(connection.watch);
    if (connection.hello_timer != 0) ctl_.Cancel(connection.hello_timer);
    if (!connection.ticket.empty()) tickets_.Revoke(connection.ticket);
    const auto count = per_uid_.find(connection.peer.caller.uid);
    const uint64_t seat = connection.agent_seat;
    if (connection.is_client) {
      --count->second.clients;
      --clients_;
    }
    if (--count->second.all == 0) per_uid_.erase(count);
    connections_.erase(it);
    if (seat != 0) options_.leave_seat(seat);
  }

  base::Executor& ctl_;
  Tickets& tickets_;
  Programs programs_;
  const Options options_;
  std::unique_ptr<Listener> listener_;  // none: closed
  std::unordered_map<uint64_t, Connection> connections_;
  std::unordered_map<uid_t, Count> per_uid_;
  size_t clients_ = 0;  // welcomed
  uint64_t next_id_ = 1;
};

Door::Door(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Door::~Door() { impl_->Close(); }

base::Result<std::unique_ptr<Door>> Door::Start(const std::string& path, base::Executor& ctl,
                                                Tickets& tickets, Options options) {
  std::unique_ptr<Door> door(new Door(std::make_shared<Impl>(ctl, tickets, std::move(options))));
  PROFD_RETURN_IF_ERROR(door->impl_->Listen(path));
  return door;
}

size_t Door::connections() const { return impl_->connections(); }

}  // namespace profd::auth
