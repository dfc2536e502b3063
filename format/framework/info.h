// profiler_info[_<rank>].json of an *_ascend_pt folder, and the clock of the records beside it
// (Ascend/pytorch, torch_npu/profiler/analysis/_profiler_config.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace profd::format::framework {

struct ProfilerInfo {
  bool is_guessed = false;  // nobody said any of it
  int64_t rank = -1;        // -1: not of a distributed job
  std::string level = "Level0", torch_npu_version, cann_version;
  bool l2_cache = false, sys_io = false, sys_interconnection = false;
  bool wants_text = true, wants_database = false;  // what analyse() is to make of it
  // start_info. `counts`: stamps are those of the CPU's counter, else ns of CLOCK_MONOTONIC_RAW.
  bool counts = false;
  double counter_mhz = 100;
  int64_t start_count = 0, start_raw_ns = 0;
  // end_info; without it the job was killed.
  bool has_end = false;
  int64_t end_wall_ns = 0, end_raw_ns = 0;
};
base::Result<ProfilerInfo> ParseProfilerInfo(std::string_view json);

// From a stamp to the wall clock.
struct Clock {
  bool counts = false;
  double counter_mhz = 100;
  int64_t start_count = 0, start_raw_ns = 0, wall_behind_raw_ns = 0;

  // As the vendor's does it, in floating point, it is up to some ns beside it. Whatever the stamp: not before
  // 1970, nor behind the year 2200.
  int64_t WallNs(int64_t stamp, bool as_vendor) const;
};

}  // namespace profd::format::framework
