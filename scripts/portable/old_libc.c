/* What Debian 12's archives and headers ask of libc and what glibc 2.28 does not have. Linked into every
   portable program, and compiled with -fvisibility=hidden: the loader must find libc's own behind it.
   tests/integration/install/portable_test.py says when more is asked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif

/* 2.32. libstdc++ counts references without atomics where it is set: never, then. */
char __libc_single_threaded = 0;

/* 2.36: std::random_device. */
uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != sizeof value) abort();
  return value;
}

/* 2.30 */
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

/* 2.29 has new versions of these, which set no errno; the first ones are there to this day. */
#define AS_EVER(name, parameters, arguments)                    \
  __asm__(".symver first_" #name ", " #name "@" FIRST_VERSION); \
  double first_##name parameters;                               \
  double name parameters { return first_##name arguments; }
AS_EVER(exp, (double x), (x))
AS_EVER(exp2, (double x), (x))
AS_EVER(log, (double x), (x))
AS_EVER(log2, (double x), (x))
AS_EVER(pow, (double x, double y), (x, y))

/* 2.30: waits by a clock of the caller's, which libstdc++ takes for every wait of a length. An older libc
   waits by the system's clock, and a step of that makes a wait longer or shorter. */
static struct timespec BySystemClock(clockid_t clock, const struct timespec* until) {
  struct timespec now, result;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &result);
  result.tv_sec += until->tv_sec - now.tv_sec;
  result.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (result.tv_nsec < 0) {
    result.tv_nsec += 1000000000;
    --result.tv_sec;
  } else if (result.tv_nsec >= 1000000000) {
    result.tv_nsec -= 1000000000;
    ++result.tv_sec;
  }
  return result;
}

/* The libc's own, looked up once: `kept` is null as long as nobody has asked, and `none` where there is none.
 */
static char none;
static void* Own(void** kept, const char* name) {
  void* found = __atomic_load_n(kept, __ATOMIC_RELAXED);
  if (found == NULL) {
    found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL) found = &none;
    __atomic_store_n(kept, found, __ATOMIC_RELAXED);
  }
  return found == &none ? NULL : found;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  static void* kept;
  int (*own)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*) =
      Own(&kept, "pthread_cond_clockwait");
  if (own != NULL) return own(condition, mutex, clock, until);
  const struct timespec then = BySystemClock(clock, until);
  return pthread_cond_timedwait(condition, mutex, &then);
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  static void* kept;
  int (*own)(pthread_mutex_t*, clockid_t, const struct timespec*) = Own(&kept, "pthread_mutex_clocklock");
  if (own != NULL) return own(mutex, clock, until);
  const struct timespec then = BySystemClock(clock, until);
  return pthread_mutex_timedlock(mutex, &then);
}
