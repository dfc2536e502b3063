// Step windows: recording that follows the steps of the training loop.
#pragma once

#include <cstdint>

#include "libagent/src/process.h"

namespace profd::agent {

// The usual schedule: from the loop's own step `from_step`, after `skip_first` steps, cycles of `wait` +
// `warmup` steps unrecorded and `active` recorded.
struct StepSchedule {
  uint64_t skip_first = 0;
  uint64_t wait = 0;
  uint64_t warmup = 0;
  uint64_t active = 0;  // 0: there is no schedule
  uint64_t repeat = 0;  // cycles; 0 = without end
  uint64_t from_step = 0;
  bool skip_first_wait = false;  // the first cycle does not wait
  uint64_t round_up = 0;         // the first step is a multiple of it; 0, 1: any
};

// Whether the `index`-th step from the start of the schedule is recorded, and in which cycle.
bool StepIsActive(const StepSchedule& schedule, uint64_t index, uint64_t* cycle);

// What the training loop did to the recording.
struct StepEvent {
  uint64_t cycle;
  uint64_t step;   // the loop's own number
  uint64_t ticks;  // when
  bool opened;     // else closed
  bool last;       // no cycle follows
};

// The next steps follow the schedule. **Thread:** the attach thread.
void FollowSteps(const StepSchedule& schedule, const Armed& armed);
void ForgetSteps();
// The oldest event not taken yet. **Thread:** the attach thread.
bool TakeStepEvent(StepEvent* event);

// **Thread:** the training loop.
void StepBegins(uint64_t step);
void StepEnds(uint64_t step);

void ResetStepsAfterFork();

}  // namespace profd::agent
