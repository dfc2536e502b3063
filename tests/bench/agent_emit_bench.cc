// What recording costs the program that records, as ratios to reading the cycle counter, all in one run.
//
// The agent is the shipped library, attached through a door and a gRPC stream as in a job. Loops alternate
// and are measured in CPU time of their own thread, medians of the repetitions. Usage: agent_emit_bench
// [--json] [--gate];
// --gate fails when a ratio is beyond what CI tolerates.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "profd/agent.h"
#include "tests/unit/libagent/fake_daemon.h"

namespace {

constexpr int kLoop = 1 << 21;
constexpr int kOffLoop = 20'000'000;
constexpr int kRepetitions = 9;
constexpr int kSlots = 1 << 17;  // 4 MiB

double ThreadNs() { return static_cast<double>(profd::base::ReadClockNs(CLOCK_THREAD_CPUTIME_ID)); }

// Keeps a loop from being optimised away.
inline void Barrier() { asm volatile("" ::: "memory"); }

profd_name g_name;

double NsPerTurn(int turns, const std::function<void(int)>& loop) {
  const double before = ThreadNs();
  loop(turns);
  return (ThreadNs() - before) / turns;
}

void Empty(int turns) {
  for (int i = 0; i < turns; ++i) Barrier();
}
void Counter(int turns) {
  for (int i = 0; i < turns; ++i) {
#if defined(__aarch64__)
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
#else
    [[maybe_unused]] const uint64_t ticks = profd::base::HostCounter();
#endif
    Barrier();
  }
}
void Event(int turns) {
  for (int i = 0; i < turns; ++i) {
    profd_counter(g_name, i);
    Barrier();
  }
}
void Range(int turns) {
  for (int i = 0; i < turns; ++i) {
    profd_range_push(g_name);
    profd_range_pop();
    Barrier();
  }
}
void Macro(int turns) {
  for (int i = 0; i < turns; ++i) {
    PROFD_MARK("off");
    Barrier();
  }
}
void Function(int turns) {
  for (int i = 0; i < turns; ++i) {
    profd_mark(g_name);
    Barrier();
  }
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Mean cost per event in each of `count` threads at once.
double InThreads(unsigned count) {
  std::atomic<unsigned> ready{0};
  std::vector<double> cost(count);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      Event(1000);  // its lane, and the pages of it
      ++ready;
      while (ready < count) std::this_thread::yield();
      cost[t] = NsPerTurn(kLoop, Event);
    });
  }
  double sum = 0;
  for (unsigned t = 0; t < count; ++t) {
    threads[t].join();
    sum += cost[t];
  }
  return sum / count;
}

void HandBack(profd::agent::testing::Region& region) {
  for (uint32_t lane = 0; lane < region.lanes(); ++lane) {
    std::atomic_ref(region.lane(lane)->tail).store(region.Head(lane), std::memory_order_release);
  }
}

// What LTTng-UST takes for the same event, by the program beside this one; 0 where it is not installed.
double LttngEventNs() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").replace_filename("lttng_emit");
  if (!std::filesystem::exists(program) || std::system("command -v lttng >/dev/null") != 0) return 0;
  std::FILE* pipe = ::popen(program.c_str(), "r");
  double ns = 0;
  if (pipe == nullptr) return 0;
  if (std::fscanf(pipe, "%lf", &ns) != 1) ns = 0;
  ::pclose(pipe);
  return ns;
}

struct Row {
  const char* name;
  double value;
  double goal;
  double gate;
  const char* unit;
};

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  bool gate = false;
  for (int i = 1; i < argc; ++i) {
    json = json || std::strcmp(argv[i], "--json") == 0;
    gate = gate || std::strcmp(argv[i], "--gate") == 0;
  }
  char folder[] = "/tmp/profd-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 2;
  const std::string socket = std::string(folder) + "/profd.sock";
  ::setenv("PROFD_ADDRESS", socket.c_str(), 1);
  std::vector<Row> rows;
  {
    const unsigned cores = std::max(2U, std::thread::hardware_concurrency());
    profd::agent::testing::FakeDaemon daemon(socket, {.lanes = cores + 2, .slots = kSlots});
    g_name = profd_intern("event");
    const auto peer = daemon.Accept();
    if (peer == nullptr) {
      std::fprintf(stderr, "the agent did not register\n");
      return 2;
    }
    std::vector<double> empty, off_empty, counter, macro, function, event, range, dropping, one, all;
    for (int i = 0; i < kRepetitions; ++i) {
      off_empty.push_back(NsPerTurn(kOffLoop, Empty));
      macro.push_back(NsPerTurn(kOffLoop, Macro));
      function.push_back(NsPerTurn(kOffLoop, Function));
      if (peer->Arm(true).code() != 0 || peer->Fire().code() != 0) return 2;
      Event(2 * kSlots);  // every page of the ring
      empty.push_back(NsPerTurn(kLoop, Empty));
      counter.push_back(NsPerTurn(kLoop, Counter));
      event.push_back(NsPerTurn(kLoop, Event));
      range.push_back(NsPerTurn(kLoop, Range));
      one.push_back(InThreads(1));
      all.push_back(InThreads(cores));
      peer->Stop();
      // Dropping mode: the reader hands the slots back before they run out.
      HandBack(peer->region());
      if (peer->Arm(false).code() != 0 || peer->Fire().code() != 0) return 2;
      double sum = 0;
      for (int turn = 0; turn < kLoop; turn += kSlots / 2) {
        sum += NsPerTurn(kSlots / 2, Event) * (kSlots / 2);
        HandBack(peer->region());
      }
      dropping.push_back(sum / kLoop);
      peer->Stop();
    }
    if (peer->region().Lost() != 0) {
      std::fprintf(stderr, "%lu records were lost: the figures mean nothing\n", peer->region().Lost());
      return 2;
    }
    const double floor = Median(counter) - Median(empty);
    rows = {
        {"counter_read", floor, 0, 0, "ns"},
        {"event", Median(event) - Median(empty), 0, 0, "ns"},
        {"event_over_counter", (Median(event) - Median(empty)) / floor, 1.5, 2.5, "x"},
        {"event_dropping_over_counter", (Median(dropping) - Median(empty)) / floor, 1.5, 2.5, "x"},
        {"range_over_counter", (Median(range) - Median(empty)) / floor, 3, 5, "x"},
        {"macro_off", Median(macro) - Median(off_empty), 0.3, 1, "ns"},
        {"function_off", Median(function) - Median(off_empty), 0, 0, "ns"},
        {"all_threads_over_one", Median(all) / Median(one), 1.1, 1.3, "x"},
    };
    if (const double lttng = LttngEventNs(); lttng > 0) {
      rows.push_back({"lttng_event", lttng, 0, 0, "ns"});
      rows.push_back({"event_over_lttng", (Median(event) - Median(empty)) / lttng, 0.25, 0.5, "x"});
    }
  }
  std::filesystem::remove_all(folder);
  bool failed = false;
  for (const Row& row : rows) {
    const bool bad = row.gate != 0 && row.value > row.gate;
    failed = failed || bad;
    if (json) {
      std::printf("{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", \"goal\": %.2f}\n", row.name,
                  row.value, row.unit, row.goal);
    } else if (row.goal != 0) {
      std::printf("%-32s %8.2f %s  (goal %.2f%s)\n", row.name, row.value, row.unit, row.goal,
                  row.value <= row.goal ? "" : ", missed");
    } else {
      std::printf("%-32s %8.2f %s\n", row.name, row.value, row.unit);
    }
  }
  return gate && failed ? 1 : 0;
}
