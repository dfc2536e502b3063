#include "sim/scenario/clock.h"

#include <algorithm>
#include <cmath>

namespace profd::sim {
namespace {

// Long enough that the ±10 ns of one pairing stay below half a kHz of a 3 GHz counter.
constexpr uint64_t kMeasureNs = 40'000'000;
constexpr int kPairTries = 64;
constexpr int64_t kPpb = 1'000'000'000;
__extension__ using Wide = __int128;

}  // namespace

DeviceClock::DeviceClock(int64_t offset_ns, double drift_ppm, uint32_t counter_khz)
    : offset_ns_(offset_ns), drift_ppb_(std::llround(drift_ppm * 1000)), counter_khz_(counter_khz) {}

uint64_t DeviceClock::DeviceNs(uint64_t host_raw_ns) const {
  return static_cast<uint64_t>(static_cast<Wide>(host_raw_ns) * (kPpb + drift_ppb_) / kPpb + offset_ns_);
}

uint64_t DeviceClock::HostNs(uint64_t device_ns) const {
  return static_cast<uint64_t>((static_cast<Wide>(device_ns) - offset_ns_) * kPpb / (kPpb + drift_ppb_));
}

uint64_t DeviceClock::Ticks(uint64_t device_ns) const {
  return static_cast<uint64_t>(static_cast<Wide>(device_ns) * counter_khz_ / 1'000'000);
}

uint64_t HostCounter::Read() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value)::"memory");
  return value;
#else
  return 0;
#endif
}

HostCounter::Pair HostCounter::ReadPair() {
  Pair best{};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < kPairTries; ++i) {
    const uint64_t before = Read();
    const uint64_t raw = RawNs();
    const uint64_t after = Read();
    if (after - before < best_width) {
      best_width = after - before;
      best = {.raw_ns = raw, .count = before + (after - before) / 2};
    }
  }
  return best;
}

HostCounter::HostCounter() : start_(ReadPair()) {}

double HostCounter::Measure() const {
#if defined(__aarch64__)
  uint64_t hz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return static_cast<double>(hz);
#else
  const uint64_t end = start_.raw_ns + kMeasureNs;
  if (const uint64_t now = RawNs(); now < end) {
    const timespec pause{.tv_sec = 0, .tv_nsec = static_cast<int64_t>(end - now)};
    ::nanosleep(&pause, nullptr);
  }
  const Pair last = ReadPair();
  return static_cast<double>(last.count - start_.count) * 1e9 /
         static_cast<double>(last.raw_ns - start_.raw_ns);
#endif
}

double HostCounter::Hz() const {
  std::call_once(measured_, [this] { hz_ = Measure(); });
  return hz_;
}

int64_t HostCounter::Khz() const { return std::llround(Hz() / 1000); }

uint64_t HostCounter::ValueAt(uint64_t host_raw_ns) const {
  const double hz = Hz();
  if (hz <= 0) return host_raw_ns;
  const double elapsed_ns = static_cast<double>(static_cast<int64_t>(host_raw_ns - start_.raw_ns));
  return start_.count + static_cast<uint64_t>(std::llround(elapsed_ns * hz / 1e9));
}

}  // namespace profd::sim
