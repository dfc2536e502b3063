#include "libagent/src/tables/spans.h"

#include <time.h>

#include <atomic>

namespace profd::agent {

namespace {

constexpr uint32_t kSpans = 64;
constexpr uint64_t kOpen = UINT64_MAX;
constexpr uint64_t kImplausibleNs = 3'000'000'000;

struct Span {
  std::atomic<uint64_t> begin_ns;
  std::atomic<uint64_t> end_ns;
};
Span g_spans[kSpans];
std::atomic<uint32_t> g_count;  // ever begun; the latest kSpans are known

uint64_t WallNs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Span& Latest(uint32_t count) { return g_spans[(count - 1) % kSpans]; }

}  // namespace

void SpanBegins() {
  SpanEnds();
  const uint32_t count = g_count.load(std::memory_order_relaxed) + 1;
  Latest(count).end_ns.store(kOpen, std::memory_order_relaxed);
  Latest(count).begin_ns.store(WallNs(), std::memory_order_relaxed);
  g_count.store(count, std::memory_order_release);
}

void SpanEnds() {
  const uint32_t count = g_count.load(std::memory_order_relaxed);
  if (count == 0 || Latest(count).end_ns.load(std::memory_order_relaxed) != kOpen) return;
  Latest(count).end_ns.store(WallNs(), std::memory_order_release);
}

bool WasRecording(uint64_t begin_ns, uint64_t end_ns) {
  const uint32_t count = g_count.load(std::memory_order_acquire);
  if (count == 0) return false;
  const uint64_t now = WallNs();
  const uint64_t away = now > end_ns ? now - end_ns : end_ns - now;
  if (away > kImplausibleNs) return Latest(count).end_ns.load(std::memory_order_relaxed) == kOpen;
  for (uint32_t back = 0; back < kSpans && back < count; ++back) {
    const Span& span = Latest(count - back);
    if (begin_ns <= span.end_ns.load(std::memory_order_relaxed) &&
        end_ns >= span.begin_ns.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

}  // namespace profd::agent
