#include "client/show/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <csignal>
#include <utility>

#include "base/status.h"
#include "base/threads/thread.h"

namespace profd::client {

namespace {

sigset_t Interrupts() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

sigset_t HoldInterrupts() {
  const sigset_t set = Interrupts();
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  return before;
}

InterruptWatch::InterruptWatch(std::function<void(int)> on_interrupt) {
  HoldInterrupts();
  const sigset_t set = Interrupts();
  signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC));
  end_.Reset(::eventfd(0, EFD_CLOEXEC));
  PROFD_CHECK(signals_ && end_);
  thread_ = base::StartThread("interrupt", [this, on_interrupt = std::move(on_interrupt)] {
    pollfd fds[] = {{signals_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
    for (int count = 0;;) {
      if (::poll(fds, 2, -1) < 0) continue;  // EINTR
      if (fds[1].revents != 0) return;
      signalfd_siginfo signal{};
      if (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) on_interrupt(++count);
    }
  });
}

InterruptWatch::~InterruptWatch() {
  const uint64_t one = 1;
  PROFD_CHECK(::write(end_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

}  // namespace profd::client
