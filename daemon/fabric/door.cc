#include "daemon/fabric/door.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "daemon/base/log.h"
#include "daemon/base/token_bucket.h"
#include "daemon/base/turns.h"
#include "daemon/fabric/holder.h"

namespace profd::fabric {

using base::Status;
using base::UniqueFd;

namespace {

constexpr int kAtATime = 64;
constexpr size_t kMostWaiting = 512;  // of a user's, until ctl takes them
// Of a user's. Eight ranks of MindSpore poll 1600 times a second until they are paced.
constexpr double kPerSecond = 2000, kAtOnce = 4000;
constexpr size_t kMostUsers = 1024;  // that are counted apart
constexpr uint64_t kTryAgainNs = 30'000'000'000;

struct Heard {
  Sender sender;
  Message message;
};

// Who sent it, as the kernel says; nullopt where it does not.
std::optional<Sender> SenderOf(const msghdr& header, const sockaddr_un& address) {
  std::optional<Sender> sender;
  for (const cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr;
       each = CMSG_NXTHDR(const_cast<msghdr*>(&header), const_cast<cmsghdr*>(each))) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_CREDENTIALS) continue;
    ucred told{};
    std::memcpy(&told, CMSG_DATA(each), sizeof told);
    if (told.pid > 0) sender = Sender{.pid = told.pid, .uid = told.uid, .gid = told.gid};
  }
  constexpr size_t kPathFrom = offsetof(sockaddr_un, sun_path);
  if (!sender || header.msg_namelen <= kPathFrom) return std::nullopt;
  sender->address.assign(address.sun_path, header.msg_namelen - kPathFrom);
  // A file's name ends at its zero; of an abstract one all zeros count.
  if (sender->address.front() != '\0') sender->address.resize(std::strlen(sender->address.c_str()));
  return sender;
}

}  // namespace

// What is posted holds it weakly.
class Door::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Sockets sockets, base::Executor& ctl, Clients& clients)
      : sockets_(std::move(sockets)), ctl_(ctl), clients_(clients) {}

  void Begin() {
    clients_.OnNew([weak = weak_from_this()](pid_t pid) {
      if (const auto self = weak.lock()) self->WatchProcess(pid);
    });
    thread_ = base::StartThread("fabric", [this] { Run(); });
  }

  void Close() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t rung = ::write(stop_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    clients_.OnNew(nullptr);
    for (auto& [pid, watch] : processes_) ctl_.Unwatch(watch.second);
    processes_.clear();
  }

  std::string names() const {
    std::string names;
    for (size_t i = 0; i < sockets_.size(); ++i) names += (i == 0 ? "" : ", ") + sockets_.name(i);
    return names;
  }
  std::array<uint64_t, kDrops> dropped() const {
    std::array<uint64_t, kDrops> counts{};
    for (size_t i = 0; i < kDrops; ++i) counts[i] = dropped_[i];
    return counts;
  }

 private:
  // -- the thread's

  void Run() {
    std::vector<pollfd> heard{{stop_.get(), POLLIN, 0}};
    for (size_t i = 0; i < sockets_.size(); ++i) heard.push_back({sockets_.fd(i), POLLIN, 0});
    while (true) {
      ::poll(heard.data(), heard.size(), -1);
      if (heard[0].revents != 0) return;
      for (size_t i = 0; i < sockets_.size(); ++i) {
        if (heard[i + 1].revents != 0) Drain(i);
      }
    }
  }

  void Drain(size_t socket) {
    for (int i = 0; i < kAtATime; ++i) {
      if (!Receive(socket)) return;
    }
  }

  bool Receive(size_t socket) {
    std::array<uint8_t, kMostBytes> bytes;
    // No room for descriptors: what comes along of them the kernel closes.
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    sockaddr_un address{};
    iovec part{bytes.data(), bytes.size()};
    msghdr header{};
    header.msg_name = &address;
    header.msg_namelen = sizeof address;
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(sockets_.fd(socket), &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (got < 0) return errno == EINTR;
    std::optional<Sender> sender = SenderOf(header, address);
    if (sender) sender->socket = socket;
    if (!sender || !sockets_.IsAnswered(*sender)) {
      Note(Drop::kSender);
    } else if (!MaySay(sender->uid)) {
      Note(Drop::kTooFast);
    } else if (static_cast<size_t>(got) > bytes.size()) {
      Note(Drop::kLength);
    } else {
      Message message = Read({bytes.data(), static_cast<size_t>(got)});
      if (const auto* drop = std::get_if<Drop>(&message)) {
        Note(*drop);
      } else {
        HandOver({std::move(*sender), std::move(message)});
      }
    }
    return true;
  }

  bool MaySay(uid_t user) {
    const uint64_t now_ns = base::RawNs();
    if (said_.size() >= kMostUsers && !said_.contains(user)) {
      for (auto each = said_.begin(); each != said_.end();)
        each = each->second.IsFull(now_ns) ? said_.erase(each) : std::next(each);
    }
    if (said_.size() >= kMostUsers && !said_.contains(user)) return false;
    return said_.try_emplace(user, kPerSecond, kAtOnce).first->second.Take(now_ns);
  }

  void Note(Drop drop) { ++dropped_[static_cast<size_t>(drop)]; }

  void HandOver(Heard heard) {
    const uid_t user = heard.sender.uid;
    const std::lock_guard lock(mutex_);
    if (waiting_.Of(user) >= kMostWaiting) return Note(Drop::kTooFast);
    waiting_.Add(user, std::move(heard));
    if (!std::exchange(answering_, true)) PostAnswer();
  }

  // -- ctl's

  void PostAnswer() {
    ctl_.Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->AnswerNext();
    });
  }

  // One, and the next behind whatever else ctl has to do.
  void AnswerNext() {
    std::optional<Heard> heard;
    {
      const std::lock_guard lock(mutex_);
      answering_ = !waiting_.empty();
      if (!answering_) return;
      heard = waiting_.Next();
    }
    Clients::Answer answer = clients_.Take(heard->sender, heard->message);
    if (answer.delay_ns == 0) {
      Send(heard->sender, answer.datagram);
    } else {
      ctl_.After(answer.delay_ns, [weak = weak_from_this(), to = heard->sender, datagram = answer.datagram] {
        if (const auto self = weak.lock()) self->Send(to, datagram);
      });
    }
    PostAnswer();
  }

  void Send(const Sender& to, const std::string& datagram) {
    if (datagram.empty()) return;
    const Status sent = sockets_.Send(to, datagram);
    // A client whose queue is full reads an earlier one first; one that is gone is no client.
    if (!sent.ok() && sent.error() != EAGAIN) clients_.ForgetAddress(to);
  }

  void WatchProcess(pid_t pid) {
    if (processes_.contains(pid)) return;
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd) return;  // gone already: it is forgotten when it has been silent for a minute
    const auto watch = ctl_.WatchReadable(fd.get(), [weak = weak_from_this(), pid] {
      const auto self = weak.lock();
      if (!self) return;
      self->processes_.erase(pid);
      self->clients_.Forget(pid);
    });
    processes_.try_emplace(pid, std::move(fd), watch);
  }

  const Sockets sockets_;
  base::Executor& ctl_;
  Clients& clients_;
  std::map<pid_t, std::pair<UniqueFd, base::Executor::WatchId>> processes_;
  const UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};
  std::array<std::atomic<uint64_t>, kDrops> dropped_{};
  std::map<uid_t, base::TokenBucket> said_;  // the thread's
  std::mutex mutex_;
  base::Turns<Heard> waiting_;  // under mutex_
  bool answering_ = false;      // under mutex_
  std::thread thread_;
};

Door::Door(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Door::~Door() { impl_->Close(); }

std::unique_ptr<Door> Door::Open(Sockets sockets, base::Executor& ctl, Clients& clients) {
  std::unique_ptr<Door> door(new Door(std::make_shared<Impl>(std::move(sockets), ctl, clients)));
  door->impl_->Begin();
  return door;
}

std::string Door::names() const { return impl_->names(); }
std::array<uint64_t, kDrops> Door::dropped() const { return impl_->dropped(); }

// Of everybody's jobs, which an ordinary user's profd has no business with.
Service::Service(const std::string& mode, base::Executor& ctl)
    : mode_(mode == "auto" && ::geteuid() != 0 ? "off" : mode),
      ctl_(ctl),
      clients_(ctl),
      made_(Status(base::Code::kUnavailable, "doors.dynolog is off")) {
  if (mode == "auto" && mode_ == "off") {
    trouble_ =
        "this profd does not run as root and leaves the dynolog fabric to others; doors.dynolog: force takes "
        "it";
  } else if (mode_ == "off") {
    trouble_ = "doors.dynolog is off";
  } else {
    made_ = MakeHostSocket();
  }
}

Status Service::Bind() {
  if (!made_.ok()) return made_.status();
  Sockets sockets;
  PROFD_RETURN_IF_ERROR(sockets.BindAbstract(&*made_));
  const char* folder = ::getenv("KINETO_IPC_SOCKET_DIR");
  if (folder != nullptr && *folder != '\0') {
    if (Status bound = sockets.BindFile(folder); !bound.ok()) {
      if (mode_ == "force") return bound;
      base::LogWarn("dynolog fabric: " + bound.message());
    }
  }
  door_ = Door::Open(std::move(sockets), ctl_, clients_);
  trouble_.clear();
  base::LogInfo("dynolog fabric: serves " + door_->names());
  return Status::Ok();
}

Status Service::Start() {
  if (mode_ == "off") return Status::Ok();
  Status bound = Bind();
  if (bound.ok()) return bound;
  if (bound.code() == base::Code::kAlreadyExists) {
    if (const std::string holder = HolderOfAbstract(); !holder.empty())
      bound = Status(bound.code(), "the socket @dynolog is held by " + holder);
  }
  if (mode_ == "force") return bound.In("doors.dynolog: force");
  trouble_ = bound.message();
  base::LogInfo("dynolog fabric: " + trouble_ +
                ", which is left alone; its clients cannot be driven from here");
  TryAgain();
  return Status::Ok();
}

void Service::TryAgain() {
  if (!made_.ok()) return;
  ctl_.After(kTryAgainNs, [this] {
    if (!Bind().ok()) TryAgain();
  });
}

std::string Service::Describe() {
  if (door_ == nullptr) return trouble_;
  std::string text = "serves " + door_->names();
  const size_t clients = clients_.All().size();
  text += ", " + std::to_string(clients) + (clients == 1 ? " client" : " clients");
  std::string dropped;
  const auto counts = door_->dropped();
  for (size_t i = 0; i < kDrops; ++i) {
    if (counts[i] == 0) continue;
    dropped += std::string(dropped.empty() ? "" : ", ") + std::to_string(counts[i]) + " for their " +
               DropName(static_cast<Drop>(i));
  }
  return dropped.empty() ? text : text + "; datagrams dropped: " + dropped;
}

}  // namespace profd::fabric
