#include "daemon/device/device_calls.h"

#include <algorithm>
#include <string>
#include <utility>

namespace profd::device {

namespace {
// Each stop may take the driver a second, in which it waits for the channel to be read empty.
constexpr uint64_t kStopPatienceNs = 200'000'000;
constexpr uint32_t kStopThreads = 16;  // per device, for as long as stops wait
}  // namespace

ControlQueue& DeviceCalls::QueueOf(uint32_t device) {
  const ControlQueue::Options options{.patience_ns = options_.queue_patience_ns,
                                      .spares = options_.spare_threads};
  return queues_.try_emplace(device, "drv-" + std::to_string(device), options, timer_, post_).first->second;
}

uint64_t DeviceCalls::TimeoutNs(bool ends) const {
  return ends ? std::min(options_.stop_timeout_ns, options_.driver_timeout_ns) : options_.driver_timeout_ns;
}

uint64_t DeviceCalls::PatienceNs(bool ends) const {
  return ends ? std::min(kStopPatienceNs, options_.queue_patience_ns) : options_.queue_patience_ns;
}

void DeviceCalls::Submit(uint32_t device, uint32_t channel, bool ends, std::function<void()> work,
                         std::function<void(ControlQueue::Outcome)> done, std::function<void()> late) {
  QueueOf(device).Submit({.lane = channel,
                          .timeout_ns = TimeoutNs(ends),
                          .patience_ns = PatienceNs(ends),
                          .spares = ends ? kStopThreads : 0,
                          .must_run = ends,
                          .work = std::move(work),
                          .done = std::move(done),
                          .late = std::move(late)});
}

void DeviceCalls::Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done,
                       bool ends) {
  QueueOf(device).Submit(
      {.timeout_ns = TimeoutNs(ends),
       .patience_ns = PatienceNs(ends),
       .spares = ends ? kStopThreads : 0,
       .work = std::move(work),
       .done = [done = std::move(done)](
                   ControlQueue::Outcome outcome) { done(outcome == ControlQueue::Outcome::kReturned); },
       .late = {}});
}

}  // namespace profd::device
