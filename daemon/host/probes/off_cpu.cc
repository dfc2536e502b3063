// host-off-cpu: where threads wait, and how long. Each time that one of the session's threads gives its CPU
// away the kernel says so, with the call chain, and when it goes on; what lies between is a wait, unless it
// had something to do all the while. The events are the threads' own: nobody else pays for them.
#include <linux/perf_event.h>

#include <memory>
#include <utility>

#include "daemon/host/perf_ring.h"
#include "daemon/host/probes/profile_probe.h"
#include "daemon/host/thread_events.h"
#include "format/cpu_profile.h"

namespace profd::host {

namespace {

constexpr size_t kRingBytes = 512 << 10;
constexpr uint32_t kStackBytes = 2048;

perf_event_attr Counter() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
  attr.inherit = 1;
  return attr;
}

perf_event_attr Attributes() {
  perf_event_attr attr = Counter();
  attr.sample_period = 1;
  attr.context_switch = 1;
  AskForStacks(attr, kStackBytes);
  return attr;
}

}  // namespace

base::Status CheckOffCpuEvents() { return OpenPerfEvent(Attributes(), 0, -1).status(); }

std::unique_ptr<Probe> MakeOffCpuProbe(const ProbeOptions& options, const ProbeContext& context) {
  if (options.outcome) {
    options.outcome->note = "waits of " + std::to_string(format::kLeastWaitNs / 1000) + " us and more; " +
                            FramesNote(*context.family);
  }
  return std::make_unique<ProfileProbe>(
      options, context, format::kOffCpuFile, format::kOffCpuNamesFile,
      [&](std::vector<NamedPid> members) -> base::Result<ProfileThread> {
        const perf_event_attr attrs[] = {Attributes()};
        PROFD_ASSIGN_OR_RETURN(ThreadEvents events,
                               ThreadEvents::Open(*context.family, attrs, Counter(), kRingBytes));
        return ProfileThread::OffCpu(std::move(events), std::move(members));
      });
}

}  // namespace profd::host
