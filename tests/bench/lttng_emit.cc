// Prints what an event costs the thread that records it with LTTng-UST, in ns: a counter's name and value
// into the ring of its core, overwriting the oldest. Root, since it starts a session daemon where none runs.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "base/clock.h"
#include "tests/bench/lttng_events.h"

namespace {

constexpr int kLoop = 1 << 21;
constexpr int kRepetitions = 9;
constexpr const char* kAgain = "PROFD_BENCH_UNDER_LTTNG";

double ThreadNs() { return static_cast<double>(profd::base::ReadClockNs(CLOCK_THREAD_CPUTIME_ID)); }

bool Do(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

int Measure() {
  if (!lttng_ust_tracepoint_enabled(profd_bench, event)) return 3;
  std::vector<double> costs;
  for (int turn = 0; turn < kRepetitions; ++turn) {
    double before = ThreadNs();
    for (int i = 0; i < kLoop; ++i) asm volatile("" ::: "memory");
    const double empty = ThreadNs() - before;
    before = ThreadNs();
    for (int i = 0; i < kLoop; ++i) {
      lttng_ust_tracepoint(profd_bench, event, 1, i);
      asm volatile("" ::: "memory");
    }
    costs.push_back((ThreadNs() - before - empty) / kLoop);
  }
  std::nth_element(costs.begin(), costs.begin() + kRepetitions / 2, costs.end());
  std::printf("%.3f\n", costs[kRepetitions / 2]);
  return 0;
}

}  // namespace

int main(int, char** argv) {
  if (std::getenv(kAgain) != nullptr) return Measure();
  const bool ours = !Do("pgrep -x lttng-sessiond") && Do("lttng-sessiond --daemonize");
  const std::string session = "profd-bench-" + std::to_string(::getpid());
  const std::string folder = "/tmp/" + session;
  const bool stands =
      Do("lttng create " + session + " --output=" + folder) &&
      Do("lttng enable-channel -u -s " + session + " --overwrite --subbuf-size=1M --num-subbuf=4 c") &&
      Do("lttng enable-event -u -s " + session + " -c c profd_bench:event") && Do("lttng start " + session);
  int result = 2;
  if (stands) {
    ::setenv(kAgain, "1", 1);
    const int status = std::system(argv[0]);
    result = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
  } else {
    std::fprintf(stderr, "LTTng's session daemon gives no session\n");
  }
  Do("lttng destroy " + session);
  if (ours) Do("pkill -x lttng-sessiond");
  Do("rm -rf " + folder);
  return result;
}
