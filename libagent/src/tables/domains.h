// The process's domains, and which of them are recorded.
#pragma once

#include <atomic>
#include <cstdint>

namespace profd::agent {

inline constexpr uint32_t kMaxDomains = 256;  // with the default domain, number 0

// Domain of that name; 0 for no text and when all are taken. **Thread:** any.
uint16_t DefineDomain(const char* name);

// Marks and ranges of these domains are recorded, or those of all others; "default" is the domain without a
// name. Nothing named: all are.
struct DomainFilter {
  static constexpr uint32_t kMaxNames = 32;
  static constexpr uint32_t kNameBytes = 128;
  uint32_t count;
  bool exclude;
  char names[kMaxNames][kNameBytes];
};
// While nothing is recorded. **Thread:** the attach thread (or a test).
void FilterDomains(const DomainFilter& filter);

// A bit for every domain, and one for numbers that are none.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is constinit
extern constinit std::atomic<uint64_t> g_left_out[kMaxDomains / 64 + 1];

inline bool IsRecorded(uint32_t domain) {
  const uint32_t bit = domain < kMaxDomains ? domain : kMaxDomains;
  return (g_left_out[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1) == 0;
}

// In a forked child, where the thread that was defining a domain is gone.
void ResetDomainsAfterFork();

}  // namespace profd::agent
