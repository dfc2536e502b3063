// Reads what a process writes as a whole into its region (abi::LaneClock, abi::StepTotals).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace profd::agent {

constexpr int kTries = 100;  // a process that died in between leaves it odd for ever

// The copy is the process's word. False: it is torn, as of a process that died while it wrote.
template <typename Words>
bool CopySequenced(Words& untrusted, Words* copy, int tries = kTries) {
  static_assert(std::is_trivially_copyable_v<Words> && sizeof(Words) % sizeof(uint64_t) == 0);
  constexpr size_t kWords = sizeof(Words) / sizeof(uint64_t);
  const std::atomic_ref<uint32_t> sequence(untrusted.sequence);
  auto* untrusted_words = reinterpret_cast<uint64_t*>(&untrusted);
  uint64_t words[kWords] = {};
  bool is_whole = false;
  for (int i = 0; i < tries && !is_whole; ++i) {
    const uint32_t before = sequence.load(std::memory_order_acquire);
    for (size_t word = 0; word < kWords; ++word)
      words[word] = std::atomic_ref(untrusted_words[word]).load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    is_whole = before % 2 == 0 && sequence.load(std::memory_order_relaxed) == before;
  }
  std::memcpy(copy, words, sizeof words);
  return is_whole;
}

}  // namespace profd::agent
