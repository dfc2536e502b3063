#include "daemon/summary/step_follower.h"

#include <algorithm>

namespace profd::summary {

namespace {

constexpr uint64_t kMostOfStepNs = 30ULL * 86'400 * 1'000'000'000;  // what takes longer is no step
constexpr uint64_t kMostLost = 1'000'000;  // between two looks: more is no count, it is a lie
// A program's clock that is further from ours than a look may be late is another one (a time namespace).
constexpr uint64_t kSameClockNs = 60'000'000'000;

// When it began by the wall clock. It ended at most a look ago, or runs.
uint64_t WallOf(uint64_t begin_ns, uint64_t took_ns, uint64_t raw_ns, uint64_t wall_ns) {
  const uint64_t since_ns = begin_ns <= raw_ns ? raw_ns - begin_ns : 0;
  const bool same_clock = since_ns >= took_ns && since_ns - took_ns <= kSameClockNs;
  return wall_ns - std::min(wall_ns, same_clock ? since_ns : took_ns);
}

}  // namespace

StepFollower::Look StepFollower::Take(const agent::StepLog& log, uint64_t raw_ns, uint64_t wall_ns,
                                      Numbers& numbers) {
  Look look;
  if (!begun_) ended_ = log.ended_before;
  begun_ = true;
  for (const abi::LoggedStep& step : log.ended) {
    if (step.ended <= ended_) continue;
    const uint64_t missing = step.ended - ended_ - 1;
    if (missing <= kMostLost) look.lost += missing;
    ended_ = step.ended;
    if (step.took_ns > kMostOfStepNs) {
      ++look.lost;
      continue;
    }
    const bool closes = running_.told && running_.begin_ns == step.begin_ns;
    look.rows.push_back({closes ? running_.number : numbers.Next(), step.step, false,
                         WallOf(step.begin_ns, step.took_ns, raw_ns, wall_ns), step.took_ns});
    if (running_.begin_ns == step.begin_ns) running_ = {};
  }
  TakeRunning(log, raw_ns);
  if (running_.begin_ns != 0 && !running_.told && raw_ns - running_.since_ns >= kOpenAfterNs)
    look.rows.push_back(RowOfRunning(raw_ns, wall_ns, numbers));
  return look;
}

StepFollower::Look StepFollower::End(uint64_t raw_ns, uint64_t wall_ns, Numbers& numbers) {
  Look look;
  if (running_.begin_ns != 0 && !running_.told) look.rows.push_back(RowOfRunning(raw_ns, wall_ns, numbers));
  running_ = {};
  return look;
}

void StepFollower::TakeRunning(const agent::StepLog& log, uint64_t raw_ns) {
  if (log.begin_ns == running_.begin_ns) return;
  running_ = {.begin_ns = log.begin_ns, .step = log.step, .since_ns = raw_ns};
}

StepRow StepFollower::RowOfRunning(uint64_t raw_ns, uint64_t wall_ns, Numbers& numbers) {
  const uint64_t seen_ns = raw_ns - running_.since_ns;
  const uint64_t said_ns = running_.begin_ns <= raw_ns ? raw_ns - running_.begin_ns : 0;
  const uint64_t took_ns = said_ns >= seen_ns && said_ns - seen_ns <= kSameClockNs ? said_ns : seen_ns;
  running_.told = true;
  running_.number = numbers.Next();
  return {running_.number, running_.step, true, wall_ns - std::min(wall_ns, took_ns), took_ns};
}

}  // namespace profd::summary
