// host-cpu-profile: the kernel interrupts each CPU so many times a second and says who ran, with the call
// chain. One event per CPU, not per thread: nothing is to be opened for new threads and children, and their
// number does not matter. What the kernel tells of births may get lost behind what others make it tell, so
// scouts are told of them, too. What is not of the session's processes is dropped by the scout, which makes
// lines of the rest; here they go to their files.
#include "format/decode/host/cpu_profile.h"

#include <memory>
#include <string>

#include "daemon/host/events/perf_ring.h"
#include "daemon/host/probes/scouted/scout_probe.h"
#include "daemon/host/scouts/profile_scout.h"
#include "format/directory/own_folder.h"

namespace profd::host {

base::Status CheckCpuProfileEvents() {
  return OpenPerfEvent(OnCpuAttributes(99, false), -1, OnlineCpus().front()).status();
}

std::unique_ptr<Probe> MakeCpuProfileProbe(const ProbeOptions& options, const ProbeContext& context) {
  const bool hardware = OpenPerfEvent(OnCpuAttributes(options.hz, true), -1, OnlineCpus().front()).ok();
  return std::make_unique<ScoutProbe>(options, context,
                                      ScoutProbe::Files{.folder = std::string(format::kOwnFolder),
                                                        .samples = std::string(format::kCpuProfileFile),
                                                        .names = std::string(format::kCpuProfileNamesFile)},
                                      &OnCpuWork, ScoutOrder{.hz = options.hz, .hardware = hardware},
                                      ScoutProbe::Births::kToldOf,
                                      hardware ? "CPU cycles" : "software clock: no hardware counters here");
}

}  // namespace profd::host
