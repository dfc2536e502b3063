#include "daemon/device/reading.h"

#include <unistd.h>

#include <utility>

#include "base/threads/thread.h"

namespace profd::device {

namespace {

constexpr uint64_t kSpinsNs = 50'000'000;  // of the processor, by a call that is late already

}  // namespace

void Reading::Begin(const ReadCall& call, uint64_t now_ns) {
  call_ = call;
  if (thread_.load(std::memory_order_relaxed) == 0) thread_.store(::gettid(), std::memory_order_relaxed);
  began_ns_.store(now_ns, std::memory_order_relaxed);
  state_.store(state_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool Reading::End(int got) {
  uint64_t under_way = state_.load(std::memory_order_relaxed);
  if (under_way != kGivenUp &&
      state_.compare_exchange_strong(under_way, under_way + 1, std::memory_order_acq_rel))
    return true;
  const std::lock_guard lock(mutex_);
  got_ = got;
  has_returned_ = true;
  if (returned_) std::exchange(returned_, nullptr)();
  return false;
}

std::optional<ReadCall> Reading::GiveUp(uint64_t before_ns) {
  uint64_t under_way = state_.load(std::memory_order_acquire);
  if (under_way == kGivenUp || under_way % 2 == 0) return std::nullopt;
  if (began_ns_.load(std::memory_order_relaxed) >= before_ns) return std::nullopt;
  if (WaitsForProcessor(under_way)) return std::nullopt;
  if (!state_.compare_exchange_strong(under_way, kGivenUp, std::memory_order_acq_rel)) return std::nullopt;
  return call_;
}

bool Reading::WaitsForProcessor(uint64_t under_way) {
  const base::ThreadState now = base::StateOf(thread_.load(std::memory_order_relaxed));
  if (!now.runs) return false;
  if (std::exchange(late_, under_way) != under_way) {
    late_cpu_ns_ = now.cpu_ns;
    return true;
  }
  return now.cpu_ns - late_cpu_ns_ < kSpinsNs;
}

void Reading::Keep(std::shared_ptr<const base::MappedRegion> memory, std::function<void()> returned) {
  const std::lock_guard lock(mutex_);
  memory_ = std::move(memory);
  if (has_returned_) {
    returned();
  } else {
    returned_ = std::move(returned);
  }
}

void Reading::Forget() {
  const std::lock_guard lock(mutex_);
  returned_ = nullptr;
}

}  // namespace profd::device
