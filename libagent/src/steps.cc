#include "libagent/src/steps.h"

#include <algorithm>
#include <atomic>

#include "libagent/src/tables/clock.h"
#include "libagent/src/tables/latch.h"

namespace profd::agent {

namespace {

constexpr uint32_t kMaxEvents = 64;

std::atomic<bool> g_following;
Latch g_latch;  // guards the rest
StepSchedule g_schedule;
Armed g_armed;
uint64_t g_index;  // of the next step that begins
bool g_begins;     // g_first_step is known: the loop has told where it is
uint64_t g_first_step;
bool g_open;
StepEvent g_events[kMaxEvents];
uint32_t g_first_event;
uint32_t g_event_count;

// Needs the latch. An attach thread that is 64 events behind misses the newest.
void Tell(const StepEvent& event) {
  if (g_event_count == kMaxEvents) return;
  g_events[(g_first_event + g_event_count++) % kMaxEvents] = event;
  WakeAttachThread();
}

// The loop may count in strides that meet no multiple: the first step from there on, then.
uint64_t FirstStep(uint64_t step) {
  const uint64_t from = std::max(step, g_schedule.from_step);
  const uint64_t beyond = g_schedule.round_up > 1 ? from % g_schedule.round_up : 0;
  return beyond == 0 ? from : from - beyond + g_schedule.round_up;
}

bool IsLast(uint64_t cycle) { return g_schedule.repeat != 0 && cycle + 1 >= g_schedule.repeat; }

}  // namespace

bool StepIsActive(const StepSchedule& schedule, uint64_t index, uint64_t* cycle) {
  if (schedule.active == 0 || index < schedule.skip_first) return false;
  const uint64_t length = schedule.wait + schedule.warmup + schedule.active;
  const uint64_t place = index - schedule.skip_first + (schedule.skip_first_wait ? schedule.wait : 0);
  *cycle = place / length;
  if (schedule.repeat != 0 && *cycle >= schedule.repeat) return false;
  return place % length >= schedule.wait + schedule.warmup;
}

void FollowSteps(const StepSchedule& schedule, const Armed& armed) {
  const Latched latched(g_latch);
  if (!latched) return;
  g_schedule = schedule;
  g_armed = armed;
  g_index = 0;
  g_begins = false;
  g_open = false;
  g_event_count = 0;
  g_following.store(schedule.active != 0, std::memory_order_release);
}

void ForgetSteps() { FollowSteps({}, {}); }

bool TakeStepEvent(StepEvent* event) {
  const Latched latched(g_latch);
  if (!latched || g_event_count == 0) return false;
  *event = g_events[g_first_event];
  g_first_event = (g_first_event + 1) % kMaxEvents;
  --g_event_count;
  return true;
}

void StepBegins(uint64_t step) {
  if (!g_following.load(std::memory_order_acquire)) return;
  const Latched latched(g_latch);
  if (!latched || !g_following.load(std::memory_order_relaxed)) return;
  if (!g_begins) {
    g_begins = true;
    g_first_step = FirstStep(step);
  }
  if (g_index == 0 && step < g_first_step) return;
  uint64_t cycle = 0;
  if (StepIsActive(g_schedule, g_index++, &cycle) && !g_open) {
    const uint64_t ticks = Arm(g_armed);
    g_open = ticks != 0;
    if (g_open) Tell({cycle, step, ticks, true, IsLast(cycle)});
  }
}

void StepEnds(uint64_t step) {
  if (!g_following.load(std::memory_order_acquire)) return;
  const Latched latched(g_latch);
  uint64_t cycle = 0;
  if (!latched || !g_open || StepIsActive(g_schedule, g_index, &cycle)) return;
  Pause();
  g_open = false;
  StepIsActive(g_schedule, g_index - 1, &cycle);
  if (IsLast(cycle)) g_following.store(false, std::memory_order_relaxed);
  Tell({cycle, step, NowTicks(), false, IsLast(cycle)});
}

void ResetStepsAfterFork() {
  g_latch.Reset();
  g_following.store(false, std::memory_order_relaxed);
}

}  // namespace profd::agent
