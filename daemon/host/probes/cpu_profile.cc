// host-cpu-profile: the kernel interrupts each CPU so many times a second and says who ran, with the call
// chain. One event per CPU, not per thread: nothing is to be opened for new threads and children, and their
// number does not matter. What is not of the session's processes is dropped by the thread "profile", which
// makes lines of the rest; here they go to their files.
#include "format/cpu_profile.h"

#include <linux/perf_event.h>

#include <memory>
#include <string>
#include <utility>

#include "daemon/host/perf_ring.h"
#include "daemon/host/probes/profile_probe.h"

namespace profd::host {

namespace {

// Of the stack goes along with each sample; the rings are as large at every rate.
constexpr uint32_t kStackBytes = 8192, kOftenHz = 125, kStackBytesOften = 2048;

perf_event_attr Attributes(uint32_t hz, bool hardware) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attr.config = hardware ? uint64_t{PERF_COUNT_HW_CPU_CYCLES} : uint64_t{PERF_COUNT_SW_CPU_CLOCK};
  attr.freq = 1;
  attr.sample_freq = hz;
  attr.exclude_idle = 1;
  attr.exclude_hv = 1;
  AskForStacks(attr, hz <= kOftenHz ? kStackBytes : kStackBytesOften);
  return attr;
}

}  // namespace

base::Status CheckCpuProfileEvents() {
  return OpenPerfEvent(Attributes(kOftenHz, false), -1, OnlineCpus().front()).status();
}

std::unique_ptr<Probe> MakeCpuProfileProbe(const ProbeOptions& options, const ProbeContext& context) {
  const bool hardware = OpenPerfEvent(Attributes(options.hz, true), -1, OnlineCpus().front()).ok();
  if (options.outcome) {
    options.outcome->note =
        std::string(hardware ? "CPU cycles" : "software clock: no hardware counters here") + "; " +
        FramesNote(*context.family);
  }
  return std::make_unique<ProfileProbe>(options, context, format::kCpuProfileFile,
                                        format::kCpuProfileNamesFile, [&](std::vector<NamedPid> members) {
                                          return ProfileThread::OnCpu(Attributes(options.hz, hardware),
                                                                      std::move(members));
                                        });
}

}  // namespace profd::host
