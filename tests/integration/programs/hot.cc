// A process whose busy functions are known, for tests of the CPU profile:
//   hot         main spends nine tenths of its time in PlantedHot()
//   hot late    and at the first byte of its standard input starts a thread and a child that are busy, too
//   hot kernel  main is busy in system calls
//   hot sort    the C library's qsort calls PlantedCompare(), which is busy
//   hot wait    main waits in WaitForLock() for a thread that sleeps 5 ms at a time in HoldLock()
//   hot calls   after each byte of its standard input makes N = its second argument system calls getppid,
//   half as many
//               openat that fail, N getuid in a new thread, N getgid in a new child, sleeps 20 ms, and
//               answers
//   hot count   for as many seconds of CPU time as its second argument says, then prints how often per second
//   it
//               was through, by the wall clock and by its CPU time
//   hot mixed   the same, a round being some µs of work and a system call
//   hot locks   the same, a round being some µs of work and a lock that is free
//   hot naps    the same, a round being some µs of work and a nap of 50 µs
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>

namespace {

volatile unsigned sink;

[[gnu::noinline]] void Spin(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) sink = sink * 31 + i;
}

}  // namespace

// Not local: their names stand in the table of symbols as they are here.
namespace planted {

[[gnu::noinline]] void PlantedHot() {
  for (unsigned i = 0; i < 900'000; ++i) sink = sink * 31 + i;
}
[[gnu::noinline]] void PlantedCold() {
  for (unsigned i = 0; i < 100'000; ++i) sink = sink * 31 + i;
}
[[gnu::noinline]] void LateThread() {
  for (unsigned i = 0;; ++i) sink = sink * 31 + i;
}
[[gnu::noinline]] void LateChild() {
  for (unsigned i = 0;; ++i) sink = sink * 31 + i + 1;
}
[[gnu::noinline]] void Mixed() {
  for (int i = 0; i < 1000; ++i) Spin(3000), ::syscall(SYS_getppid);
}
[[gnu::noinline]] int PlantedCompare(const void* one, const void* other) {
  Spin(2000);
  return *static_cast<const int*>(one) - *static_cast<const int*>(other);
}
[[gnu::noinline]] void Sort() {
  while (true) {
    int numbers[64];
    for (int i = 0; i < 64; ++i) numbers[i] = i * 37 % 64;
    std::qsort(numbers, 64, sizeof numbers[0], PlantedCompare);
    sink = sink + static_cast<unsigned>(numbers[0]);
  }
}
std::mutex lock;
[[gnu::noinline]] void HoldLock() {
  const std::lock_guard held(lock);
  const timespec pause{0, 5'000'000};
  ::nanosleep(&pause, nullptr);  // what is recorded of it: a wait of 5 ms
}
[[gnu::noinline]] void WaitForLock() {
  const std::lock_guard held(lock);
  sink = sink + 1;
}
[[gnu::noinline]] void Locks() {
  for (int i = 0; i < 1000; ++i) {
    Spin(3000);
    const std::lock_guard held(lock);
  }
}
[[gnu::noinline]] void Naps() {
  for (int i = 0; i < 200; ++i) {
    Spin(60'000);
    const timespec pause{0, 50'000};
    ::nanosleep(&pause, nullptr);  // what is recorded of it: a nap of 50 us
  }
}
[[gnu::noinline]] void InTheKernel() {
  const int status = ::open("/proc/self/status", O_RDONLY);
  char text[4096];
  while (::syscall(SYS_pread64, status, text, sizeof text, 0) > 0) sink = sink + 1;
}

}  // namespace planted

namespace {

double Seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void Wait() {
  std::thread([] {
    while (true) planted::HoldLock(), Spin(300'000);
  }).detach();
  while (true) planted::WaitForLock(), Spin(30'000);
}

int Calls(int count) {
  for (char byte; ::read(STDIN_FILENO, &byte, 1) == 1;) {
    for (int i = 0; i < count; ++i) ::syscall(SYS_getppid);
    for (int i = 0; i < count / 2; ++i) ::syscall(SYS_openat, AT_FDCWD, "/none/such", O_RDONLY);
    std::thread([count] {
      for (int i = 0; i < count; ++i) ::syscall(SYS_getuid);
    }).join();
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0; i < count; ++i) ::syscall(SYS_getgid);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    const timespec pause{0, 20'000'000};
    ::syscall(SYS_nanosleep, &pause, nullptr);  // the rate of what comes, not a wait
    if (::write(STDOUT_FILENO, "\n", 1) != 1) return 1;
  }
  return 0;
}

int Count(double seconds, void (*work)()) {
  const double wall = Seconds(CLOCK_MONOTONIC), cpu = Seconds(CLOCK_PROCESS_CPUTIME_ID);
  int rounds = 0;
  while (Seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu < seconds) work(), ++rounds;
  std::printf("%.3f %.3f\n", rounds / (Seconds(CLOCK_MONOTONIC) - wall),
              rounds / (Seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool late = argc > 1 && std::strcmp(argv[1], "late") == 0;
  if (argc > 1 && std::strcmp(argv[1], "kernel") == 0) planted::InTheKernel();
  if (argc > 1 && std::strcmp(argv[1], "wait") == 0) Wait();
  if (argc > 1 && std::strcmp(argv[1], "sort") == 0) planted::Sort();
  if (argc > 2 && std::strcmp(argv[1], "calls") == 0) return Calls(std::atoi(argv[2]));
  if (argc > 2 && std::strcmp(argv[1], "count") == 0) return Count(std::atof(argv[2]), planted::PlantedHot);
  if (argc > 2 && std::strcmp(argv[1], "mixed") == 0) return Count(std::atof(argv[2]), planted::Mixed);
  if (argc > 2 && std::strcmp(argv[1], "locks") == 0) return Count(std::atof(argv[2]), planted::Locks);
  if (argc > 2 && std::strcmp(argv[1], "naps") == 0) return Count(std::atof(argv[2]), planted::Naps);
  if (late) {
    std::thread([] {
      char byte;
      if (::read(STDIN_FILENO, &byte, 1) != 1) return;
      if (::fork() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        planted::LateChild();
      }
      std::thread([] {
        ::pthread_setname_np(::pthread_self(), "late-thread");
        planted::LateThread();
      }).join();
    }).detach();
  }
  while (true) {
    planted::PlantedHot();
    planted::PlantedCold();
  }
}
