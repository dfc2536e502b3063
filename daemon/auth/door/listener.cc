#include "daemon/auth/door/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <utility>

#include "daemon/auth/door/socket_claim.h"

namespace profd::auth {

using base::Status;
using base::UniqueFd;

namespace {

constexpr uint64_t kAcceptRetryNs = 100'000'000;  // out of descriptors: try again when some may be free
constexpr int kAtATime = 16;
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

}  // namespace

// What is posted holds it weakly: work that was queued when the listener closed finds nothing to do.
class Listener::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(base::Executor& ctl, Arrived arrived) : ctl_(ctl), arrived_(std::move(arrived)) {}

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
    Await(sockets_.emplace_back(std::move(socket)));
    return Status::Ok();
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
      if (!socket.ok()) {
        last = socket.status();
        continue;
      }
      Await(sockets_.emplace_back(std::move(socket).value()));
    }
    return sockets_.empty() ? last.In(base::ToText(on)) : Status::Ok();
  }

  uint16_t port() const {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (::getsockname(sockets_.front().fd.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
    return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                            : reinterpret_cast<const sockaddr_in&>(name).sin_port);
  }

  void Close() {
    for (Socket& socket : sockets_) {
      if (socket.watch != 0) ctl_.Unwatch(socket.watch);
      if (socket.retry != 0) ctl_.Cancel(socket.retry);
    }
    sockets_.clear();
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  struct Socket {
    explicit Socket(UniqueFd listening) : fd(std::move(listening)) {}
    UniqueFd fd;
    base::Executor::WatchId watch = 0;
    base::Executor::TimerId retry = 0;
  };

  // `work` on a socket, unless it is closed by then.
  template <typename Work>
  std::function<void()> WhileOpen(Socket& socket, Work work) {
    return [weak = weak_from_this(), &socket, work] {
      if (const auto self = weak.lock(); self != nullptr && !self->sockets_.empty()) work(*self, socket);
    };
  }

  void Await(Socket& socket) {
    socket.watch = ctl_.WatchReadable(socket.fd.get(), WhileOpen(socket, [](Impl& self, Socket& ready) {
                                        ready.watch = 0;
                                        self.Accept(ready);
                                      }));
  }

  void Accept(Socket& socket) {
    for (int i = 0; i < kAtATime;) {
      UniqueFd fd(::accept4(socket.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) {
        ++i;
        arrived_(std::move(fd));
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return Await(socket);
      socket.retry = ctl_.After(kAcceptRetryNs, WhileOpen(socket, [](Impl& self, Socket& again) {
                                  again.retry = 0;
                                  self.Await(again);
                                }));
      return;
    }
    // Behind what waits already.
    ctl_.Post(WhileOpen(socket, [](Impl& self, Socket& more) { self.Accept(more); }));
  }

  base::Executor& ctl_;
  const Arrived arrived_;
  std::string path_;            // empty until bound
  std::deque<Socket> sockets_;  // elements stay where they are; none when closed
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
