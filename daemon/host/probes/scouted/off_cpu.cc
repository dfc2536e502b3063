// host-off-cpu: where threads wait, and how long. Each time that one of the session's threads gives its CPU
// away the kernel says so, with the call chain, and when it goes on; what lies between is a wait, unless it
// had something to do all the while. The events are the threads' own: nobody else pays for them.
#include <memory>
#include <string>

#include "daemon/host/events/perf_ring.h"
#include "daemon/host/probes/scouted/scout_probe.h"
#include "daemon/host/scouts/profile_scout.h"
#include "format/decode/host/cpu_profile.h"
#include "format/directory/own_folder.h"

namespace profd::host {

base::Status CheckOffCpuEvents() { return OpenPerfEvent(OffCpuAttributes(), 0, -1).status(); }

std::unique_ptr<Probe> MakeOffCpuProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<ScoutProbe>(
      options, context,
      ScoutProbe::Files{.folder = std::string(format::kOwnFolder),
                        .samples = std::string(format::kOffCpuFile),
                        .names = std::string(format::kOffCpuNamesFile)},
      &OffCpuWork, ScoutOrder{}, ScoutProbe::Births::kHeardOf,
      "waits of " + std::to_string(format::kLeastWaitNs / 1000) + " us and more");
}

}  // namespace profd::host
