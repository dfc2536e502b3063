// Sends the newest values to an OpenTelemetry collector by gRPC. No gRPC in this header.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "daemon/base/executor.h"
#include "daemon/config/config.h"
#include "daemon/live/live.h"

namespace profd::rpc {

// One call at a time: a collector that is slow or away costs a try every so often, and no memory.
// **Thread:** ctl.
class OtlpExporter {
 public:
  // Of `metrics.otlp`, which is set.
  static base::Status Check(const config::Config::Metrics& metrics);
  static std::unique_ptr<OtlpExporter> Start(const config::Config::Metrics& metrics, live::Live& live,
                                             base::Executor& ctl);
  ~OtlpExporter();
  OtlpExporter(const OtlpExporter&) = delete;
  OtlpExporter& operator=(const OtlpExporter&) = delete;

 private:
  class Impl;
  explicit OtlpExporter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::rpc
