// Keeps profd within what the settings allow it: measures itself once a second, goes without step by step
// while it takes more, and back again. It never ends of it.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/base/executor.h"
#include "daemon/config/config.h"

namespace profd::live {

// When to go one step down or up; no clock, no process in here. **Thread:** one.
class Thrift {
 public:
  static constexpr int kMostLevel = 4;
  explicit Thrift(const config::Config::Limits& limits) : limits_(limits) {}

  // What profd took in the last second; returns the level from now on (Metric kBudget).
  int Judge(double cpu_percent, uint64_t rss_bytes);

 private:
  const config::Config::Limits limits_;
  int level_ = 0;
  int over_ = 0, under_ = 0;  // seconds in a row
};

// **Thread:** ctl.
class Limits {
 public:
  // `on_level` is told of every change.
  Limits(base::Executor& ctl, const config::Config::Limits& limits, std::function<void(int)> on_level);
  ~Limits() { ctl_.Cancel(timer_); }
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;

 private:
  void Measure();

  base::Executor& ctl_;
  const config::Config::Limits limits_;
  const std::function<void(int)> on_level_;
  Thrift thrift_;
  int level_ = 0;
  uint64_t cpu_ns_ = 0, at_ns_ = 0;
  base::Executor::TimerId timer_ = 0;
};

}  // namespace profd::live
