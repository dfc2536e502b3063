// What CANN recorded of a program: what an export of its PROF directory, profd's or the vendor's, has left in
// mindstudio_profiler_output and analyze.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "client/export/framework/input/calls.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"

namespace profd::client::framework {

// Where the files are.
struct CannFiles {
  base::UniqueFd tables;   // mindstudio_profiler_output
  base::UniqueFd analyze;  // none: nobody made it
  std::string shown;       // PROF_…/mindstudio_profiler_output
  std::string stamp;       // of the export of which the files are

  bool is_there() const { return static_cast<bool>(tables); }
  // Names of the tables or timelines `stem`_[slice_…_]<stamp>`ending`, sorted.
  std::vector<std::string> Of(std::string_view stem, std::string_view ending = ".csv") const;
};
// `stamp`: "" is the newest. What is of others is noted.
CannFiles FindCannFiles(const base::UniqueFd& prof, const std::string& name, const std::string& stamp,
                        Report& report);

// Something that ran on a device, as the timeline has it.
struct Kernel {
  Ref place = 0;  // in DeviceSide::places
  int64_t ns = 0;
  double us = 0;
  bool is_core = false;  // it ran on AI cores

  int64_t end_ns() const { return ns + static_cast<int64_t>(us * 1000); }
};
// A call of CANN and the kernel that it launched.
struct Launch {
  int64_t ns = 0;
  uint64_t tid = 0;
  Ref kernel = 0;
};
// A piece of Overlap Analysis, or a receive.
struct Piece {
  enum class Of : uint8_t { kComputing, kCommunication, kNotOverlapped, kFree, kReceive };
  Of of = Of::kComputing;
  int device = 0;  // -1: the timeline has no number
  int64_t ns = 0;
  double us = 0;
};

struct DeviceSide {
  struct TracePlace {
    std::string pid, tid;  // as JSON
  };
  std::vector<TracePlace> places;
  std::vector<Kernel> kernels;
  std::vector<Launch> launches;  // as they are first mentioned
  std::vector<Piece> pieces;     // as they come
};
// `as_vendor`: AI_CORE alone counts as a core.
DeviceSide ReadTimelines(const CannFiles& files, bool as_vendor, Report& report, Progress& progress);

}  // namespace profd::client::framework
