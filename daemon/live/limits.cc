#include "daemon/live/limits.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/memory/slack.h"
#include "daemon/host/process/stand_in.h"

namespace profd::live {

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr int kPatience = 3;       // seconds over a limit before a step down
constexpr int kBackPatience = 10;  // well below all of them before one up
constexpr double kWellBelow = 0.8;

// Of the processor, with what stand-ins have done.
uint64_t CpuNs() { return base::ReadClockNs(CLOCK_PROCESS_CPUTIME_ID) + host::StandIn::CpuNs(); }

uint64_t ResidentBytes() {
  const std::unique_ptr<FILE, int (*)(FILE*)> statm(std::fopen("/proc/self/statm", "re"), std::fclose);
  unsigned long pages = 0;
  if (statm == nullptr || std::fscanf(statm.get(), "%*u %lu", &pages) != 1) return 0;
  return uint64_t{pages} * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

const char* Without(int level) {
  constexpr const char* kWithout[] = {"nothing", "fast live values: they come every 10 s", "live values",
                                      "live values and three of four host samples",
                                      "live values and fifteen of sixteen host samples"};
  return kWithout[level];
}

}  // namespace

int Thrift::Judge(double cpu_percent, uint64_t rss_bytes) {
  const auto share = [](double value, double limit) { return limit > 0 ? value / limit : 0; };
  const double cpu = share(cpu_percent, static_cast<double>(limits_.cpu_percent));
  const double rss = share(static_cast<double>(rss_bytes), static_cast<double>(limits_.rss_mb) * 1e6);
  over_ = cpu > 1 || rss > 1 ? over_ + 1 : 0;
  under_ = cpu < kWellBelow && rss < kWellBelow ? under_ + 1 : 0;
  if (over_ >= kPatience && level_ < kMostLevel) {
    ++level_;
    over_ = 0;
  } else if (under_ >= kBackPatience && level_ > 0) {
    --level_;
    under_ = 0;
  }
  return level_;
}

Limits::Limits(base::Executor& ctl, const config::Config::Limits& limits, std::function<void(int)> on_level)
    : ctl_(ctl), limits_(limits), on_level_(std::move(on_level)), thrift_(limits) {
  if (limits_.cpu_percent == 0 && limits_.rss_mb == 0) return;
  cpu_ns_ = CpuNs();
  at_ns_ = base::MonotonicNs();
  timer_ = ctl_.After(kSecondNs, [this] { Measure(); });
}

void Limits::Measure() {
  timer_ = ctl_.After(kSecondNs, [this] { Measure(); });
  const uint64_t now_ns = base::MonotonicNs(), cpu_ns = CpuNs();
  const double percent = 100 * static_cast<double>(cpu_ns - cpu_ns_) /
                         static_cast<double>(std::max<uint64_t>(now_ns - at_ns_, 1));
  cpu_ns_ = cpu_ns;
  at_ns_ = now_ns;
  const uint64_t rss = limits_.rss_mb == 0 ? 0 : ResidentBytes();
  const int level = thrift_.Judge(percent, rss);
  if (level == level_) return;
  const bool down = level > level_;
  level_ = level;
  if (down) base::Slack::Comes();
  char took[96];
  std::snprintf(took, sizeof took, "%.1f %% of a core, %.1f MB", percent, static_cast<double>(rss) / 1e6);
  const std::string text = std::string("limits: profd takes ") + took + ": it does without " + Without(level);
  down ? base::LogWarn(text) : base::LogInfo(text);
  on_level_(level);
}

}  // namespace profd::live
