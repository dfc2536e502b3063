// Keeps the accounts of jobs (setting live.jobs): looks at the live values as long as a process with an agent
// runs.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/agent/registry.h"
#include "daemon/live/device_questions.h"
#include "daemon/live/job_book.h"
#include "daemon/live/live.h"

namespace profd::live {

// **Thread:** ctl.
class Jobs {
 public:
  Jobs(Live& live, agent::Registry& agents, DeviceQuestions& questions);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  const JobBook& book() const { return book_; }

 private:
  void Look();
  void OnSnapshot(const Snapshot& snapshot);

  Live& live_;
  agent::Registry& agents_;
  DeviceQuestions& questions_;
  const agent::Registry::WatchId arrivals_;
  std::optional<Live::WatchId> watch_;
  JobBook book_;
};

}  // namespace profd::live
