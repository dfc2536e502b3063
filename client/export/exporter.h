// profctl export: captures into files.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/export/read/filter.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"
#include "client/export/read/sources/iterations.h"
#include "format/events/spans.h"

namespace profd::client {

enum class ExportFormat : uint8_t { kChrome, kPerfetto, kCsv, kJson, kDatabase, kCollapsed, kPprof };
inline constexpr size_t kExportFormats = 7;
std::string_view FormatName(ExportFormat format);  // as --format has it

// --from, --to: on the wall clock, or behind the collection's begin.
struct TimePoint {
  bool behind_begin = false;
  uint64_t ns = 0;
};

// Who looks on at an export: sees all spans of the directory, and may then add some to Perfetto's timeline.
// **Thread:** one.
class Companion : public format::SpanSink {
 public:
  virtual void Give(format::SpanSink&) {}
};

struct ExportOptions {
  std::vector<ExportFormat> formats = {ExportFormat::kChrome, ExportFormat::kCsv, ExportFormat::kDatabase};
  std::string out;  // "" = into the directory itself
  std::optional<TimePoint> from, to;
  std::optional<IterationAsked> iteration;  // what lies within it
  std::optional<std::set<int64_t>> devices;
  std::optional<std::set<std::string, std::less<>>> kinds;
  unsigned jobs = 1;
  bool vendor_compatible = false;
  bool gzip = false;
  uint64_t split_ns = 0;  // how long each file of a timeline is; 0 = as long as it all
  std::string without;    // a table that is not made
  bool resume = false;    // leaves outputs alone that an earlier export finished
  // `out` is made a PROF directory of its own, of the one device in `devices`, as analysers of many ranks
  // want it (per_device.h).
  bool per_device = false;
  std::vector<Companion*> companions;
};

struct ExportResult {
  std::string directory;
  std::vector<std::string> files;
  Report report;
  uint64_t input_bytes = 0, output_bytes = 0, left_out = 0, duration_ns = 0;
  bool is_repaired = false;  // what could not be used is no fault of this export
  bool is_unsealed = false;  // profd records still, or was killed
  // Nothing in there is of the time, devices and kinds that were asked for: why. No file was made then.
  std::string nothing;
};

// kInvalidArgument: `from` isn't before `to`. Those of which one is behind the begin and the other a moment
// can only be compared once a capture is open.
base::Status CheckRange(const ExportOptions& options);

// One PROF directory; without formats it is only read, for companions. What is wrong with its data is in the
// report; an error means that nothing came out.
base::Result<ExportResult> Export(const std::string& directory, const ExportOptions& options,
                                  Progress& progress);

// What an export of the directory would write: files, and the folder of many.
base::Result<std::vector<std::string>> Outputs(const std::string& directory, const ExportOptions& options);

// How often an export reads its input: once per thread.
unsigned Passes(const ExportOptions& options);
// Bytes that exports of this many bytes have, roughly.
uint64_t EstimateBytes(uint64_t input_bytes, const std::vector<ExportFormat>& formats);

}  // namespace profd::client
