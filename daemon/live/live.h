// The always-on values: reads devices, host and profd itself on a slow beat and keeps the newest of each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/config/config.h"
#include "daemon/live/history.h"
#include "daemon/live/values/metric.h"

namespace profd::agent {
class Registry;
}
namespace profd::base {
class Executor;
}
namespace profd::session {
class Manager;
}

namespace profd::live {

class DeviceQuestions;
class JobBook;
class Jobs;

// Kinds and channels of the settings that do not exist: one line, else ok.
base::Status CheckSettings(const config::Config& config);

// Without anybody to look at the values (watchers, metrics.listen, metrics.otlp) there is no beat.
// **Thread:** ctl only; callbacks run on ctl.
class Live {
 public:
  Live(base::Executor& ctl, const config::Config& config, session::Manager& manager, agent::Registry& agents);
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  // kFailedPrecondition where the settings have it off.
  base::Status Usable() const;
  // How often a watch gets them that does not say, and the most that one may ask for; where they are usable.
  uint64_t period_ns() const;
  uint32_t max_hz() const;
  // nullptr before the first beat.
  SnapshotPtr newest() const;
  // `each` gets every snapshot from now on, the newest at once if there is one. They are made every
  // period_ns(), or as often as the watch with the shortest period wants (0: none of its own).
  using WatchId = uint64_t;
  WatchId Watch(std::function<void(const SnapshotPtr&)> each, uint64_t period_ns = 0);
  void Unwatch(WatchId id);
  // What was published since `wall_ns` and is not the newest; the oldest first.
  std::vector<History::Later> Since(uint64_t wall_ns) const;
  // The accounts of jobs; nullptr where the settings have none.
  const JobBook* jobs() const;
  // Values of somebody else's, asked for on every beat.
  void AddSource(std::function<void(std::vector<Sample>&)> add);
  // What profd has to do without to keep within its limits; see Metric kBudget.
  void SetLevel(int level);
  // No beat any more; `done` when no channel is held any more.
  void Shutdown(std::function<void()> done);

 private:
  class Impl;
  const std::unique_ptr<DeviceQuestions> questions_;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<Jobs> jobs_;
};

// Those of `snapshot` that `caller` may see and that are of one of `kinds` (none: of any).
std::vector<const Sample*> Visible(const Snapshot& snapshot, const auth::Caller& caller,
                                   const std::vector<std::string>& kinds);

}  // namespace profd::live
