#include "daemon/device/device_calls.h"

#include <string>
#include <utility>

namespace profd::device {

ControlQueue& DeviceCalls::QueueOf(uint32_t device) {
  const ControlQueue::Options options{.patience_ns = options_.queue_patience_ns,
                                      .spares = options_.spare_threads};
  return queues_.try_emplace(device, "drv-" + std::to_string(device), options, timer_, post_).first->second;
}

void DeviceCalls::Submit(uint32_t device, uint32_t channel, bool must_run, std::function<void()> work,
                         std::function<void(ControlQueue::Outcome)> done, std::function<void()> late) {
  QueueOf(device).Submit({.lane = channel,
                          .timeout_ns = options_.driver_timeout_ns,
                          .must_run = must_run,
                          .work = std::move(work),
                          .done = std::move(done),
                          .late = std::move(late)});
}

void DeviceCalls::Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done) {
  QueueOf(device).Submit(
      {.timeout_ns = options_.driver_timeout_ns,
       .work = std::move(work),
       .done = [done = std::move(done)](
                   ControlQueue::Outcome outcome) { done(outcome == ControlQueue::Outcome::kReturned); },
       .late = {}});
}

}  // namespace profd::device
