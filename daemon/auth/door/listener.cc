#include "daemon/auth/door/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads/thread.h"
#include "daemon/auth/door/hung_up.h"
#include "daemon/auth/door/socket_claim.h"
#include "daemon/base/turns.h"

namespace profd::auth {

using base::Status;
using base::UniqueFd;

namespace {

constexpr int kAcceptRetryMs = 100;  // out of descriptors: try again when some may be free
constexpr int kAtATime = 64;
constexpr size_t kMostWaiting = 512;  // of a user's
constexpr int kBacklog =
    4096;  // as the kernel has it: who finds it full gets an error that gRPC does not understand

base::Result<UniqueFd> BindTcp(const addrinfo& address) {
  UniqueFd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return Status::FromErrno("listen");
  }
  return socket;
}

// Of a network nobody.
uid_t UserOf(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.uid : static_cast<uid_t>(-1);
}

}  // namespace

// What is posted holds it weakly: work that was queued when the listener closed finds nothing to do.
class Listener::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(base::Executor& ctl, Arrived arrived) : ctl_(ctl), arrived_(std::move(arrived)) {}
  ~Impl() { Close(); }

  Status Listen(const std::string& path, int type) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return Status::FromErrno("make the socket " + path);
    const SocketUmask everybody_may_knock;
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return Status::FromErrno("bind the socket " + path);
    }
    path_ = path;
    if (::listen(socket.get(), kBacklog) != 0) return Status::FromErrno("listen on " + path);
    sockets_.push_back(std::move(socket));
    return Begin();
  }

  Status ListenTcp(const base::HostPort& on) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(on.host.c_str(), std::to_string(on.port).c_str(), &hints, &found);
    if (error != 0) {
      return {base::Code::kInvalidArgument, "listen on " + base::ToText(on) + ": " + ::gai_strerror(error)};
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
    // An address that a name has, but this machine does not, is no hindrance.
    Status last;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      base::Result<UniqueFd> socket = BindTcp(*each);
      if (socket.ok()) {
        sockets_.push_back(std::move(socket).value());
      } else {
        last = socket.status();
      }
    }
    return sockets_.empty() ? last.In(base::ToText(on)) : Begin();
  }

  uint16_t port() const {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (::getsockname(sockets_.front().get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
    return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                            : reinterpret_cast<const sockaddr_in&>(name).sin_port);
  }

  void Close() {
    if (thread_.joinable()) {
      stop_ = true;
      for (const UniqueFd& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);  // wakes it
      thread_.join();
    }
    sockets_.clear();
    {
      const std::lock_guard lock(mutex_);
      waiting_ = {};
    }
    if (!path_.empty()) ::unlink(std::exchange(path_, "").c_str());
  }

 private:
  Status Begin() {
    thread_ = base::StartFirstThread("knocks", [this] { Run(); });
    return Status::Ok();
  }

  // -- the thread's

  void Run() {
    std::vector<pollfd> heard;
    for (const UniqueFd& socket : sockets_) heard.push_back({socket.get(), POLLIN, 0});
    while (!stop_) {
      ::poll(heard.data(), heard.size(), -1);
      bool room = true;
      for (const pollfd& each : heard) {
        if (each.revents != 0) room &= Accept(each.fd);
      }
      if (!room && !stop_) ::poll(nullptr, 0, kAcceptRetryMs);
    }
  }

  // Some of those that wait. False: there are no descriptors.
  bool Accept(int socket) {
    for (int i = 0; i < kAtATime; ++i) {
      UniqueFd fd(::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) {
        Take(std::move(fd));
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return errno == EAGAIN;
      }
    }
    return true;
  }

  void Take(UniqueFd fd) {
    if (HasHungUp(fd.get())) return;
    const uid_t user = UserOf(fd.get());
    const std::lock_guard lock(mutex_);
    if (waiting_.Of(user) >= kMostWaiting) return;
    waiting_.Add(user, std::move(fd));
    if (!std::exchange(letting_in_, true)) PostLetIn();
  }

  // -- ctl's

  void PostLetIn() {
    ctl_.Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->LetIn();
    });
  }

  // One, and the next behind whatever else ctl has to do.
  void LetIn() {
    UniqueFd fd;
    {
      const std::lock_guard lock(mutex_);
      letting_in_ = !waiting_.empty();
      if (!letting_in_) return;
      fd = waiting_.Next();
    }
    if (!HasHungUp(fd.get())) arrived_(std::move(fd));
    PostLetIn();
  }

  base::Executor& ctl_;
  const Arrived arrived_;
  std::string path_;  // empty until bound
  std::vector<UniqueFd> sockets_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  base::Turns<UniqueFd> waiting_;  // under mutex_
  bool letting_in_ = false;        // under mutex_
  std::thread thread_;
};

Listener::Listener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() { impl_->Close(); }

uint16_t Listener::port() const { return impl_->port(); }

base::Result<std::unique_ptr<Listener>> Listener::Start(const std::string& path, int type,
                                                        base::Executor& ctl, Arrived arrived) {
  std::unique_ptr<Listener> listener(new Listener(std::make_shared<Impl>(ctl, std::move(arrived))));
  PROFD_RETURN_IF_ERROR(listener->impl_->Listen(path, type));
  return listener;
}

base::Result<std::unique_ptr<Listener>> Listener::StartTcp(const base::HostPort& on, base::Executor& ctl,
                                                           Arrived arrived) {
  std::unique_ptr<Listener> listener(new Listener(std::make_shared<Impl>(ctl, std::move(arrived))));
  PROFD_RETURN_IF_ERROR(listener->impl_->ListenTcp(on));
  return listener;
}

}  // namespace profd::auth
