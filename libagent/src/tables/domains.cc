#include "libagent/src/tables/domains.h"

#include <string_view>

#include "libagent/src/tables/latch.h"
#include "libagent/src/tables/names.h"

namespace profd::agent {

constinit std::atomic<uint64_t> g_left_out[kMaxDomains / 64 + 1]{};

namespace {

constexpr std::string_view kDefaultDomain = "default";

// All zero until the first domain; kept by forked children.
Latch g_latch;  // of those who define and filter
std::atomic<uint32_t> g_names[kMaxDomains];
DomainFilter g_filter;

// Needs g_latch. What has no name is in no list.
bool IsNamed(std::string_view name) {
  for (uint32_t i = 0; i < g_filter.count; ++i) {
    if (name == NameText(g_filter.names[i])) return true;
  }
  return false;
}

// Needs g_latch.
void Decide(uint32_t domain, std::string_view name) {
  const bool left_out = g_filter.count != 0 && IsNamed(name) == g_filter.exclude;
  const uint64_t bit = uint64_t{1} << (domain % 64);
  std::atomic<uint64_t>& word = g_left_out[domain / 64];
  if (left_out) {
    word.fetch_or(bit, std::memory_order_relaxed);
  } else {
    word.fetch_and(~bit, std::memory_order_relaxed);
  }
}

std::string_view NameOf(uint32_t domain) {
  const uint32_t name = g_names[domain].load(std::memory_order_acquire);
  return name == 0 ? std::string_view() : NameText(TextOf(name));
}

}  // namespace

uint16_t DefineDomain(const char* name) {
  const uint32_t wanted = Intern(name);
  if (wanted == 0) return 0;
  uint16_t domain = 1;
  const auto find = [&domain, wanted] {
    for (; domain < kMaxDomains; ++domain) {
      const uint32_t taken = g_names[domain].load(std::memory_order_acquire);
      if (taken == wanted || taken == 0) return taken == wanted;
    }
    return false;
  };
  if (find()) return domain;
  {
    const Latched latched(g_latch);
    if (!latched) return 0;
    if (find()) return domain;
    if (domain == kMaxDomains) return 0;
    Decide(domain, NameText(name));  // before anybody can use it
    g_names[domain].store(wanted, std::memory_order_release);
  }
  Define(abi::kNameDomain, domain, 0, NameText(name));
  return domain;
}

void FilterDomains(const DomainFilter& filter) {
  const Latched latched(g_latch);
  if (!latched) return;
  g_filter = filter;
  Decide(0, kDefaultDomain);
  for (uint32_t domain = 1; domain < kMaxDomains; ++domain) Decide(domain, NameOf(domain));
  Decide(kMaxDomains, {});
}

void ResetDomainsAfterFork() { g_latch.Reset(); }

}  // namespace profd::agent
