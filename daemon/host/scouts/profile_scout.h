// The scout of host-cpu-profile and host-off-cpu: empties the rings of their events, and makes lines of what
// they hold, for which it looks into files and memory of the processes.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/host/events/perf_records.h"
#include "daemon/host/events/python_probe.h"
#include "daemon/host/events/thread_events.h"
#include "daemon/host/process/stand_in.h"
#include "daemon/host/scouts/profile_book.h"
#include "daemon/host/scouts/scout.h"

namespace profd::host {

// What runs: an event on each CPU. What waits: the threads' own.
perf_event_attr OnCpuAttributes(uint32_t hz, bool hardware);
perf_event_attr OffCpuAttributes();

void OnCpuWork(TextChannel& channel, StandIn::Duty);
void OffCpuWork(TextChannel& channel, StandIn::Duty);

class ProfileScout final : public Scout {
 public:
  explicit ProfileScout(ProfileBook::What what) : what_(what) {}

  base::Status Begin(const ScoutOrder& order, const std::vector<NamedPid>& members) override;
  std::string note() const override { return note_; }
  void TakeIn(const std::vector<NamedPid>& members) override;
  void Look() override;
  uint64_t PeriodNs() const override;
  void End() override;

 private:
  base::Status Open(const ScoutOrder& order, const std::vector<NamedPid>& members);
  void Enable(bool enable);
  void EmptyRings();
  void EmptyCpu(PerfRing& ring);
  void HavePythonNoted();
  void TakeNoted();
  void Keep(PerfRecord record);
  void Relearn();
  void Take(uint64_t until_ns);
  void GovernCost();
  void GovernSwitches();
  void Resume();
  void HandOver();

  const ProfileBook::What what_;
  std::string note_;
  std::vector<PerfRing> cpus_, news_;    // on-CPU
  std::optional<ThreadEvents> threads_;  // off-CPU
  std::optional<PythonProbe> probe_;     // on-CPU, where the kernel runs it
  PerfRecords records_;                  // those whose turn it is not yet
  std::optional<ProfileBook> book_;
  std::future<std::shared_ptr<const KernelNames>> names_;
  std::shared_ptr<const KernelNames> kernel_;  // nullptr: they are still to come
  uint64_t drained_at_ns_ = 0;
  double lost_share_ = 0;   // of samples that the members have lost; below 0: counted before
  bool news_lost_ = false;  // since the members' code was read
  uint64_t relearned_at_ns_ = 0;
  uint64_t cost_begin_ns_ = 0, cost_cpu_ns_ = 0, cost_samples_ = 0, cost_switches_ = 0;  // of this second
  uint64_t second_begin_ns_ = 0, second_switches_ = 0;
  uint64_t resting_since_ns_ = 0, counted_before_ = 0;  // 0: the events do not rest
};

}  // namespace profd::host
