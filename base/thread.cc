#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace profd::base {

std::thread StartThread(std::string name, std::function<void()> body, unsigned long slack_ns) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread([name = std::move(name), body = std::move(body), slack_ns] {
    ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
    if (slack_ns != 0) ::prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
    body();
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

void PreferShortSlices(uint64_t slice_ns) {
  struct {
    uint32_t size = 48, policy = SCHED_OTHER;
    uint64_t flags = 1;  // SCHED_FLAG_RESET_ON_FORK
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
  } attributes;
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.runtime_ns = slice_ns;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace profd::base
