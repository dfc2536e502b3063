// The always-on summary (setting summary.folder): rows of what programs with an agent do, whether or not
// anybody records them. It looks into their regions once a second, and not at all while there are none.
#pragma once

#include <memory>

#include "base/status.h"
#include "daemon/agent/registry.h"
#include "daemon/base/timers.h"
#include "daemon/config/config.h"

namespace profd::summary {

// What cannot be, as far as the words tell.
base::Status CheckSettings(const config::Config::Summary& config);

// **Thread:** ctl. **Owns:** the thread "summary", which alone touches files.
class Summary {
 public:
  // `config.folder` is set.
  static base::Result<std::unique_ptr<Summary>> Start(const config::Config::Summary& config,
                                                      agent::Registry& agents, base::Timers& ctl);
  ~Summary();  // what it has is sealed
  Summary(const Summary&) = delete;
  Summary& operator=(const Summary&) = delete;

 private:
  class Impl;
  explicit Summary(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::summary
