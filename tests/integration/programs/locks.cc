// A process whose pthread calls are known:
//   locks N   after each byte of its standard input makes N pthread_rwlock_wrlock and unlock; waits 10 ms in
//             pthread_mutex_timedlock, in vain, and then in pthread_mutex_lock for a new thread that has the
//             mutex for 40 ms; makes a pthread_cond_timedwait and a pthread_mutex_trylock that fail; cancels
//             a thread that waits in pthread_cond_wait; leaves N / 10 calls of pthread_rwlock_rdlock to a
//             child that has lived for a while; and answers with how many cleanup handlers have run
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

pthread_rwlock_t busy = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
pthread_barrier_t both;

void Sleep(long ms) {
  const timespec pause{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&pause, nullptr);  // how long a lock is held, which is recorded
}

timespec SoonMs(long ms) {
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += ms * 1'000'000;
  if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
  return until;
}

void* Hold(void*) {
  ::pthread_mutex_lock(&held);
  ::pthread_barrier_wait(&both);
  Sleep(40);
  ::pthread_mutex_unlock(&held);
  return nullptr;
}

int cleaned = 0;

void CleanUp(void*) {
  ++cleaned;
  ::pthread_mutex_unlock(&held);
}

void* WaitForEver(void*) {
  ::pthread_mutex_lock(&held);
  pthread_cleanup_push(CleanUp, nullptr);
  ::pthread_barrier_wait(&both);
  ::pthread_cond_wait(&never, &held);
  pthread_cleanup_pop(0);
  return nullptr;
}

void Cancel() {
  pthread_t waits{};
  ::pthread_create(&waits, nullptr, WaitForEver, nullptr);
  ::pthread_barrier_wait(&both);
  ::pthread_mutex_lock(&held);  // it is in the call
  ::pthread_mutex_unlock(&held);
  ::pthread_cancel(waits);
  ::pthread_join(waits, nullptr);
}

void Round(int count) {
  for (int i = 0; i < count; ++i) {
    ::pthread_rwlock_wrlock(&busy);
    ::pthread_rwlock_unlock(&busy);
  }
  pthread_t holder{};
  ::pthread_create(&holder, nullptr, Hold, nullptr);
  ::pthread_barrier_wait(&both);
  timespec until = SoonMs(10);
  ::pthread_mutex_timedlock(&held, &until);
  ::pthread_mutex_lock(&held);
  until = SoonMs(1);
  ::pthread_cond_timedwait(&never, &held, &until);
  static_cast<void>(::pthread_mutex_trylock(&held));  // EBUSY
  ::pthread_mutex_unlock(&held);
  ::pthread_join(holder, nullptr);
  Cancel();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Sleep(1500);
    for (int i = 0; i < count / 10; ++i) {
      ::pthread_rwlock_rdlock(&busy);
      ::pthread_rwlock_unlock(&busy);
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int count = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 0;
  ::pthread_barrier_init(&both, nullptr, 2);
  for (char byte; ::read(STDIN_FILENO, &byte, 1) == 1;) {
    Round(count);
    std::printf("%d\n", cleaned);
    std::fflush(stdout);
  }
  return 0;
}
