#include "daemon/auth/listener.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "daemon/auth/socket_claim.h"

namespace profd::auth {

using base::Status;
using base::UniqueFd;

namespace {

constexpr uint64_t kAcceptRetryNs = 100'000'000;  // out of descriptors: try again when some may be free
constexpr int kAtATime = 16;
constexpr int kBacklog = 512;

}  // namespace

// What is posted holds it weakly: work that was queued when the listener closed finds nothing to do.
class Listener::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(base::Executor& ctl, std::function<void(UniqueFd)> arrived)
      : ctl_(ctl), arrived_(std::move(arrived)) {}

  Status Listen(const std::string& path, int type) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    socket_.Reset(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return Status::FromErrno("make the socket " + path);
    const SocketUmask everybody_may_knock;
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return Status::FromErrno("bind the socket " + path);
    }
    path_ = path;
    if (::listen(socket_.get(), kBacklog) != 0) return Status::FromErrno("listen on " + path);
    Await();
    return Status::Ok();
  }

  void Close() {
    if (watch_ != 0) ctl_.Unwatch(std::exchange(watch_, 0));
    if (retry_ != 0) ctl_.Cancel(std::exchange(retry_, 0));
    socket_.Reset();
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  // `work` on this, unless it is closed by then.
  template <typename Work>
  std::function<void()> WhileOpen(Work work) {
    return [weak = weak_from_this(), work] {
      if (const auto self = weak.lock(); self != nullptr && self->socket_) work(*self);
    };
  }

  void Await() {
    watch_ = ctl_.WatchReadable(socket_.get(), WhileOpen([](Impl& self) {
                                  self.watch_ = 0;
                                  self.Accept();
                                }));
  }

  void Accept() {
    for (int i = 0; i < kAtATime;) {
      UniqueFd fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) {
        ++i;
        arrived_(std::move(fd));
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return Await();
      retry_ = ctl_.After(kAcceptRetryNs, WhileOpen([](Impl& self) {
                            self.retry_ = 0;
                            self.Await();
                          }));
      return;
    }
    ctl_.Post(WhileOpen([](Impl& self) { self.Accept(); }));  // behind what waits already
  }

  base::Executor& ctl_;
  const std::function<void(UniqueFd)> arrived_;
  std::string path_;  // empty until bound
  UniqueFd socket_;
  base::Executor::WatchId watch_ = 0;
  base::Executor::TimerId retry_ = 0;
};

Listener::Listener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() { impl_->Close(); }

base::Result<std::unique_ptr<Listener>> Listener::Start(const std::string& path, int type,
                                                        base::Executor& ctl,
                                                        std::function<void(UniqueFd)> arrived) {
  std::unique_ptr<Listener> listener(new Listener(std::make_shared<Impl>(ctl, std::move(arrived))));
  PROFD_RETURN_IF_ERROR(listener->impl_->Listen(path, type));
  return listener;
}

}  // namespace profd::auth
