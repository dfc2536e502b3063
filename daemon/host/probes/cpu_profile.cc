// host-cpu-profile: the kernel interrupts each CPU so many times a second and says who ran, with the call
// chain. One event per CPU, not per thread: nothing is to be opened for new threads and children, and their
// number does not matter. What is not of the session's processes is dropped by the thread "profile", which
// makes lines of the rest; here they go to their files.
#include "format/cpu_profile.h"

#include <linux/perf_event.h>
#include <time.h>

#include <memory>
#include <string>
#include <utility>

#include "daemon/host/perf_ring.h"
#include "daemon/host/probes/profile_probe.h"
#include "daemon/host/stacks/unwinder.h"

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
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = UserRegisters::Mask();
  attr.sample_stack_user = hz <= kOftenHz ? kStackBytes : kStackBytesOften;
  attr.disabled = 1;
  attr.exclude_idle = 1;
  attr.exclude_hv = 1;
  attr.mmap = attr.mmap2 = 1;
  attr.comm = attr.comm_exec = 1;
  attr.task = 1;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC_RAW;
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
