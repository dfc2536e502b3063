#include "base/thread.h"

#include <pthread.h>
#include <sys/prctl.h>

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

}  // namespace profd::base
