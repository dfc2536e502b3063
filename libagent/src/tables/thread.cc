#include "libagent/src/tables/thread.h"

#include <errno.h>
#include <signal.h>

#include <initializer_list>

#include "libagent/src/tables/libc.h"

namespace profd::agent {

bool StartQuietThread(void* (*run)(void*), size_t stack_bytes) {
  if (pthread_create == nullptr) return false;  // an old glibc in a program without threads
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  int failed = EINVAL;
  // A small stack may be too small for this program's thread-local storage.
  for (const size_t bytes : {stack_bytes, size_t{0}}) {
    if (failed != EINVAL) break;
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (bytes != 0) ::pthread_attr_setstacksize(&attributes, bytes);
    pthread_t thread;
    failed = ::pthread_create(&thread, &attributes, run, nullptr);
    ::pthread_attr_destroy(&attributes);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return failed == 0;
}

}  // namespace profd::agent
