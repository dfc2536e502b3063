#include "daemon/live/values/step_values.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/live/values/metrics.h"

namespace profd::live {

namespace {

// A loop that is between two steps for longer than this has ended, or does something else.
constexpr double kLongestPauseS = 60;

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

StepValues::Loop StepValues::Follow(const Loop* before, const agent::StepTotals& totals, uint64_t raw_ns) {
  // A program that registers again, or lies, begins anew.
  const bool goes_on = before != nullptr && totals.begun >= before->totals.begun &&
                       totals.ended >= before->totals.ended && totals.ended_ns >= before->totals.ended_ns;
  if (!goes_on) return {totals, raw_ns, Seconds(totals.last_ns)};
  Loop now = *before;
  if (totals.begun == now.totals.begun && totals.ended == now.totals.ended) return now;
  const uint64_t ended = totals.ended - now.totals.ended;
  if (ended > 0) now.seconds = Seconds(totals.ended_ns - now.totals.ended_ns) / static_cast<double>(ended);
  now.totals = totals;
  now.changed_ns = raw_ns;
  return now;
}

void StepValues::Add(const std::vector<SteppingProcess>& processes, uint64_t raw_ns,
                     std::vector<Sample>& samples) {
  std::map<pid_t, Loop> loops;
  std::map<uint32_t, double> slowest;  // by device
  for (const SteppingProcess& process : processes) {
    const auto before = loops_.find(process.pid);
    const Loop loop = Follow(before != loops_.end() ? &before->second : nullptr, process.totals, raw_ns);
    loops.insert_or_assign(process.pid, loop);
    const auto add = [&](const Metric& metric, double value) {
      samples.push_back(
          {&metric, process.labels.labels, value, auth::Action::kSeeProcess, {.owner = process.labels.uid}});
    };
    add(kProcessSteps, static_cast<double>(loop.totals.ended));
    const double since_s = Seconds(raw_ns - loop.changed_ns);
    const bool runs = loop.totals.begun > loop.totals.ended;
    if (!runs && since_s > std::max(kLongestPauseS, loop.seconds)) continue;
    const double seconds = runs ? std::max(loop.seconds, since_s) : loop.seconds;
    add(kProcessStepSeconds, seconds);
    for (const uint32_t device : process.devices) {
      const auto [found, fresh] = slowest.try_emplace(device, seconds);
      if (!fresh) found->second = std::max(found->second, seconds);
    }
  }
  loops_ = std::move(loops);
  for (const auto& [device, seconds] : slowest) {
    samples.push_back({&kStepSeconds,
                       {{"device", std::to_string(device)}},
                       seconds,
                       auth::Action::kSeeDevice,
                       {.device = device}});
  }
}

}  // namespace profd::live
