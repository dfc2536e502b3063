#include "libagent/src/tables/spans.h"

#include <time.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace profd::agent {

namespace {

constexpr uint32_t kSpans = 64;
constexpr uint64_t kOpen = UINT64_MAX;
constexpr uint64_t kImplausibleNs = 3'000'000'000;

struct Span {
  std::atomic<uint64_t> begin_wall_ns;
  std::atomic<uint64_t> begin_raw_ns;
  std::atomic<uint64_t> end_wall_ns;
  std::atomic<uint64_t> end_raw_ns;  // kOpen: runs; written after the other
};
Span g_spans[kSpans];
std::atomic<uint32_t> g_count;  // ever begun; the latest kSpans are known

Span& Latest(uint32_t count) { return g_spans[(count - 1) % kSpans]; }

bool Overlap(uint64_t begin, uint64_t end, uint64_t other_begin, uint64_t other_end) {
  return begin <= other_end && end >= other_begin;
}

// Of one that runs the end is yet to come.
Moment EndOf(const Span& span, const Moment& now) {
  const uint64_t raw_ns = span.end_raw_ns.load(std::memory_order_acquire);
  if (raw_ns == kOpen) return {now.wall_ns + kImplausibleNs, now.raw_ns + kImplausibleNs};
  return {span.end_wall_ns.load(std::memory_order_relaxed), raw_ns};
}

// As the wall clock went, or as it would have gone if it had stepped after the span or before it.
bool IsIn(const Span& span, uint64_t begin_ns, uint64_t end_ns, const Moment& now) {
  const Moment end = EndOf(span, now);
  const uint64_t begin_wall_ns = span.begin_wall_ns.load(std::memory_order_relaxed);
  const uint64_t length_ns = end.raw_ns - span.begin_raw_ns.load(std::memory_order_relaxed);
  return Overlap(begin_ns, end_ns, begin_wall_ns, end.wall_ns) ||
         Overlap(begin_ns, end_ns, begin_wall_ns, begin_wall_ns + length_ns) ||
         Overlap(begin_ns, end_ns, end.wall_ns - length_ns, end.wall_ns);
}

}  // namespace

Moment Now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return {static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec),
          base::RawNs()};
}

void SpanBegins(const Moment& now) {
  SpanEnds(now);
  const uint32_t count = g_count.load(std::memory_order_relaxed) + 1;
  Span& span = Latest(count);
  span.end_raw_ns.store(kOpen, std::memory_order_relaxed);
  span.begin_wall_ns.store(now.wall_ns, std::memory_order_relaxed);
  span.begin_raw_ns.store(now.raw_ns, std::memory_order_relaxed);
  g_count.store(count, std::memory_order_release);
}

void SpanEnds(const Moment& now) {
  const uint32_t count = g_count.load(std::memory_order_relaxed);
  if (count == 0 || Latest(count).end_raw_ns.load(std::memory_order_relaxed) != kOpen) return;
  Latest(count).end_wall_ns.store(now.wall_ns, std::memory_order_relaxed);
  Latest(count).end_raw_ns.store(now.raw_ns, std::memory_order_release);
}

bool WasRecording(uint64_t begin_ns, uint64_t end_ns, const Filled& filled) {
  const auto [first_ns, last_ns] = std::minmax(filled.from.wall_ns, filled.to.wall_ns);
  const bool plausible = begin_ns <= last_ns + kImplausibleNs && end_ns + kImplausibleNs >= first_ns;
  const uint32_t count = g_count.load(std::memory_order_acquire);
  for (uint32_t back = 0; back < kSpans && back < count; ++back) {
    const Span& span = Latest(count - back);
    if (IsIn(span, begin_ns, end_ns, filled.to)) return true;
    if (!plausible &&
        Overlap(filled.from.raw_ns, filled.to.raw_ns, span.begin_raw_ns.load(std::memory_order_relaxed),
                EndOf(span, filled.to).raw_ns)) {
      return true;
    }
  }
  return false;
}

}  // namespace profd::agent
