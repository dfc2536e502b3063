// trace_view.perfetto-trace: calls of the framework in the timeline of the PROF directory, with arrows from
// each operator to what it launched.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/export/exporter.h"
#include "client/export/framework/database/launches.h"
#include "client/export/framework/input/calls.h"
#include "client/export/write/output.h"

namespace profd::client::framework {

// **Thread:** one.
class PerfettoView final : public Companion {
 public:
  // Its texts become more.
  explicit PerfettoView(Calls& calls) : calls_(calls) {}

  void Spans(const format::SpanBatch& batch) override;
  void Give(format::SpanSink& timeline) override;

 private:
  Calls& calls_;
  std::vector<CannCall> launches_;
};

// Of a folder without a PROF directory that can be read.
base::Status WritePerfettoAlone(Calls& calls, const std::string& path);

}  // namespace profd::client::framework
