// The small languages of profctl export's command line. Every error is one line: what was given, what is
// expected.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/export/exporter.h"

namespace profd::client {

// "chrome,csv": each once.
base::Result<std::vector<ExportFormat>> ParseFormats(std::string_view text);
// "2026-11-22 05:10:20.5" (local), "@1700000000.25" (seconds since 1970), "+1.5s" (behind the collection's
// begin).
base::Result<TimePoint> ParseTimePoint(std::string_view option, std::string_view text);
// "60s", "500ms", "5m": ns, at least a millisecond.
base::Result<uint64_t> ParseSplit(std::string_view text);
// "hbm,pcie": kinds that exist.
base::Result<std::set<std::string, std::less<>>> ParseKinds(std::string_view text);
// "1" to "64".
base::Result<unsigned> ParseJobs(std::string_view text);

// The numbers of a model and of one of its iterations; "" = not given.
base::Result<IterationAsked> ParseIteration(std::string_view model, std::string_view iteration);

// All that --kinds takes, sorted.
std::vector<std::string> ExportKinds();

}  // namespace profd::client
