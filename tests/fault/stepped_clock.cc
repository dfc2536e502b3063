// To be preloaded: the wall clock of a process is off by so many nanoseconds as the file says that
// PROFD_TEST_CLOCK names, from the moment on that it says so. All other clocks are as they are.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

const std::atomic<int64_t>* Open() {
  static const std::atomic<int64_t> none{0};
  const char* path = std::getenv("PROFD_TEST_CLOCK");
  const int fd = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return &none;
  void* at = ::mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  return at == MAP_FAILED ? &none : static_cast<const std::atomic<int64_t>*>(at);
}

int64_t StepNs() {
  static const std::atomic<int64_t>* const step = Open();
  return step->load(std::memory_order_relaxed);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (::syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return 0;
  const int64_t stepped = now->tv_sec * kSecondNs + now->tv_nsec + StepNs();
  *now = {.tv_sec = stepped / kSecondNs, .tv_nsec = stepped % kSecondNs};
  return 0;
}

extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec precise{};
  if (::clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  *now = {.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* now) noexcept {
  timespec precise{};
  ::clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}
