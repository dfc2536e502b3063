// The driver calls of one device that may block: start, stop, list, status. One thread works them off; calls
// that wait too long behind one that hangs get spare threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/device/channel_hub.h"
#include "daemon/device/timer.h"

namespace profd::device {

// **Thread:** ctl; `done` and `late` run on ctl, none after the destructor. Owns its threads, but those that
// hang.
class ControlQueue {
 public:
  struct Options {
    uint64_t patience_ns = 1'000'000'000;  // a call that waits longer gets a spare thread
    uint32_t spares = 4;
    uint64_t idle_ns = 10'000'000'000;  // a thread with nothing to do ends
  };
  enum class Outcome : uint8_t {
    kReturned,
    kTimedOut,  // still running, or still to run: `late` follows when it has returned
    kNeverRan,  // withdrawn at its time-out
  };
  static constexpr uint32_t kNoLane = UINT32_MAX;

  struct Call {
    uint32_t lane =
        kNoLane;  // calls of one lane run one after the other, in order; other calls have no order
    uint64_t timeout_ns = 0;   // since it was submitted, or a call of the device before it returned soon
    uint64_t patience_ns = 0;  // of its own, and how many spares it may have; 0: as the Options say
    uint32_t spares = 0;
    bool must_run = false;            // is not withdrawn at its time-out
    std::function<void()> work = {};  // owns what it touches: it may outlive the queue
    std::function<void(Outcome)> done = {};
    std::function<void()> late = {};  // may be empty
  };

  ControlQueue(std::string name, Options options, Timer& timer, Post post);
  ~ControlQueue();
  ControlQueue(const ControlQueue&) = delete;
  ControlQueue& operator=(const ControlQueue&) = delete;

  void Submit(Call call);

 private:
  struct Job;
  struct State;

  const std::shared_ptr<State> state_;
};

}  // namespace profd::device
