// A process with an agent that means harm. Usage: hostile_agent WHAT …; says "ready" and obeys lines on
// stdin.
//   forge           when told "go": writes into its lanes that all of them are full, again and again, though
//                   nothing was ever written there
//   scribble        when told "go": writes anything into header and lane table, again and again
//   holes           when told "go": takes the pages of header and lane table away, again and again
//   flood THREADS   when told "go": records as fast as it can
//   steady RATE     no harm, the others' victim: when told "go N", records N events, RATE a second, then says
//                   "done"
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "libagent/abi/lane.h"
#include "profd/agent.h"

namespace {

using profd::abi::Lane;
using profd::abi::RegionHeader;

std::string Hear() {
  char line[256];
  if (std::fgets(line, sizeof(line), stdin) == nullptr) std::exit(0);
  return line;
}
void Say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

// Where the agent has mapped the region; nullptr: nowhere yet.
char* Region() {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  char line[512];
  unsigned long begin = 0;
  while (maps != nullptr && std::fgets(line, sizeof(line), maps) != nullptr) {
    if (std::strstr(line, "profd-lanes") != nullptr && std::sscanf(line, "%lx-", &begin) == 1) break;
  }
  if (maps != nullptr) std::fclose(maps);
  return reinterpret_cast<char*>(begin);
}

[[noreturn]] void Forge(char* region) {
  auto* header = reinterpret_cast<RegionHeader*>(region);
  for (;;) {
    for (uint32_t i = 0; i < header->lane_count; ++i) {
      auto* lane = reinterpret_cast<Lane*>(region + profd::abi::LaneOffset(i));
      const uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);
      __atomic_store_n(&lane->head, tail + header->lane_slots, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&header->names_used, header->names_bytes, __ATOMIC_RELEASE);
    ::usleep(1000);  // the pace of a hostile program
  }
}

// What profd itself has written into the header it has a copy of; the rest, and `tail`, is for a process to
// ruin.
[[noreturn]] void Scribble(char* region) {
  const uint32_t lanes = reinterpret_cast<RegionHeader*>(region)->lane_count;
  std::mt19937_64 random(static_cast<uint64_t>(::getpid()));
  const uint64_t kInteresting[] = {0, 1, 1 << 15, (1 << 15) + 1, UINT32_MAX, INT64_MAX, UINT64_MAX};
  for (uint64_t round = 0;; ++round) {
    const uint64_t value = random() % 2 == 0 ? kInteresting[random() % std::size(kInteresting)] : random();
    const uint64_t at = random() % 4 == 0 ? offsetof(RegionHeader, pid) + random() % 128 / 8 * 8
                                          : profd::abi::LaneOffset(static_cast<uint32_t>(random() % lanes)) +
                                                random() % sizeof(Lane) / 8 * 8;
    __atomic_store_n(reinterpret_cast<uint64_t*>(region + at), value, __ATOMIC_RELEASE);
    if (round % 64 == 0) ::usleep(100);  // the pace of a hostile program
  }
}

[[noreturn]] void Holes(char* region) {
  const uint32_t lanes = reinterpret_cast<RegionHeader*>(region)->lane_count;
  for (;;) {
    if (::madvise(region, profd::abi::RingsOffset(lanes), MADV_REMOVE) != 0) std::exit(2);
    ::usleep(100);  // the pace of a hostile program
  }
}

[[noreturn]] void Flood(int threads) {
  const profd_name name = profd_intern("flood");
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([name] {
      for (int64_t i = 0;; ++i) profd_counter(name, i);
    });
  }
  for (;;) ::pause();
}

void Steady(int64_t events, int64_t rate) {
  const profd_name name = profd_intern("steady");
  const auto begin = std::chrono::steady_clock::now();
  // In small portions, and as a job would that is kept from running for a while: it goes on where it was.
  constexpr int64_t kPortion = 100;
  auto due = begin;
  for (int64_t i = 0; i < events; ++i) {
    profd_counter(name, i);
    if (i % kPortion != kPortion - 1) continue;
    due += std::chrono::nanoseconds(1'000'000'000 / rate * kPortion);
    const auto now = std::chrono::steady_clock::now();
    if (now > due) due = now;
    std::this_thread::sleep_until(due);  // the rate of what comes, not a wait
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 1;
  profd_mark(profd_intern("begin"));
  Say("ready");
  for (;;) {
    const std::string order = Hear();
    char* const region = Region();
    if (region == nullptr) return 2;
    if (what == "forge") Forge(region);
    if (what == "scribble") Scribble(region);
    if (what == "holes") Holes(region);
    if (what == "flood") Flood(number);
    if (what == "steady") Steady(std::atoll(order.c_str() + 3), number);
    Say("done");
  }
}
