// What every output of an export is: a place for rows and spans that becomes files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/export/read/profile.h"
#include "format/directory/side_facts.h"
#include "format/events/spans.h"
#include "format/series.h"

namespace profd::client {

// What outputs must know of a capture before its first row.
struct CaptureFacts {
  format::SideFacts host;  // as far as known
  std::vector<format::SideFacts> devices;
  uint64_t start_ns = 0, end_ns = 0;  // wall; end 0: unknown
  std::vector<std::string> kinds;     // of any device's files that the vendor reads and that are not empty
  bool tells_of_tasks = false;        // has rows that name the operator of a task
  bool knows_operators = false;       // the host tells of their states and shapes
  bool tasks_are_others = false;      // the program that was recorded could launch none
  std::map<std::string, std::set<int64_t>> groups;  // ranks by group of collectives
  bool has_all_ranks = false;                       // of the job
  std::map<uint32_t, uint32_t> logic_streams;  // streams that are one to the framework: its number of them
  std::vector<std::pair<std::string, std::string>> metadata;  // what the framework said of it: JSON by name

  // The number that a stream is drawn with.
  uint32_t LogicStream(uint32_t stream) const {
    const auto found = logic_streams.find(stream);
    return found != logic_streams.end() ? found->second : stream;
  }
  // nullptr: there is none; -1 is the host.
  const format::SideFacts* Device(int device) const {
    if (device < 0) return &host;
    for (const format::SideFacts& side : devices)
      if (side.device == device) return &side;
    return nullptr;
  }
};

struct OutputOptions {
  bool vendor_compatible = false;
  bool gzip = false;           // where the format has it
  bool for_analysers = false;  // tables that analysers join are there without rows, too
  std::string without = {};    // a table of values that is not made
  // Of a model, where it is exported alone: op_summary has names of models and this number.
  std::optional<uint64_t> iteration = {};
};

// **Thread:** one. Files appear under their names when Finish says ok, and only then.
class ExportOutput : public format::RowSink, public format::SpanSink, public ProfileSink {
 public:
  // The first error of writing; from then on everything is ignored.
  virtual base::Status status() const = 0;
  virtual base::Status Finish() = 0;
  virtual uint64_t bytes() const = 0;
  // Where it all went, once finished; none: where it was told to.
  virtual std::vector<std::string> files() const { return {}; }
  // Whether it shows when devices computed and communicated: spans of kOverlap.
  virtual bool shows_overlap() const { return true; }
  // Rows and spans it had no place for.
  virtual uint64_t left_out() const { return 0; }
};

base::Result<std::unique_ptr<ExportOutput>> MakeChromeOutput(const std::string& path,
                                                             const CaptureFacts& facts,
                                                             const OutputOptions& options);
base::Result<std::unique_ptr<ExportOutput>> MakePerfettoOutput(const std::string& path,
                                                               const CaptureFacts& facts,
                                                               const OutputOptions& options);
base::Result<std::unique_ptr<ExportOutput>> MakeDatabaseOutput(const std::string& path,
                                                               const CaptureFacts& facts,
                                                               const OutputOptions& options);
// Of the stacks of profiles only; those of waits go to a file of their own.
base::Result<std::unique_ptr<ExportOutput>> MakeCollapsedOutput(const std::string& path,
                                                                const std::string& waits_path);
base::Result<std::unique_ptr<ExportOutput>> MakePprofOutput(const std::string& path,
                                                            const std::string& waits_path);
// Timelines of `width_ns` each: <folder>/msprof_slice_<number>_<stamp>.json.
base::Result<std::unique_ptr<ExportOutput>> MakeSplitChromeOutput(const std::string& folder,
                                                                  const std::string& stamp, uint64_t width_ns,
                                                                  const CaptureFacts& facts,
                                                                  const OutputOptions& options);
// Many files: <folder>/<kind>_<stamp>.csv, or .json.
base::Result<std::unique_ptr<ExportOutput>> MakeTablesOutput(const std::string& folder,
                                                             const std::string& stamp, bool as_json,
                                                             const CaptureFacts& facts,
                                                             const OutputOptions& options);

}  // namespace profd::client
