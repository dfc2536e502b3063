// The vendor's control files of a trace, from a plan and its clock pairs. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/session/plan/plan.h"
#include "daemon/store/trace_writer.h"
#include "format/clock_map.h"
#include "format/directory/prof_dir.h"

namespace profd::session {

struct ControlInput {
  const Plan& plan;
  const format::HostFacts& host;
  const std::vector<driver::DeviceFacts>& devices;
  uint32_t api_version = 0;
  format::Target target;
  std::string result_dir;
  std::string job_id;
  uint64_t storage_limit_bytes = 0;
  uint64_t duration_ns = 0;
};

// Agents record what CANN reports: the launches of the host, unless none comes.
bool TakesReports(const Plan& plan);
// What stands in for these launches (format/events/stand_in.h).
std::vector<store::ControlFile> StandInFiles(const ControlInput& input, const format::ClockPair& host);
// info.json, sample.json, start_info and the start logs of the host and every device; without reports, what
// stands in for them.
std::vector<store::ControlFile> StartControlFiles(const ControlInput& input, const format::ClockPair& host,
                                                  const std::map<uint32_t, format::ClockPair>& devices);
// end_info of the host and every device of `opened`.
std::vector<store::ControlFile> EndControlFiles(const std::vector<uint32_t>& opened,
                                                const format::ClockPair& host,
                                                const std::map<uint32_t, format::ClockPair>& devices);

}  // namespace profd::session
