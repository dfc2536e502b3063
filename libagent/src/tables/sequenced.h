// Words of the region that are read as a whole while somebody writes them (abi::LaneClock, abi::StepTotals).
#pragma once

#include <atomic>
#include <cstdint>

namespace profd::agent {

// `sequence` stands before them; it is odd while `write` runs. One writer at a time.
template <typename Write>
void WriteSequenced(uint32_t& sequence, Write write) {
  const std::atomic_ref<uint32_t> counter(sequence);
  const uint32_t before = counter.load(std::memory_order_relaxed);
  counter.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  write();
  counter.store(before + 2, std::memory_order_release);
}

}  // namespace profd::agent
