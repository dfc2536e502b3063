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

ControlQueue::Call DeviceCalls::WithinTime(bool ends, std::function<void()> work) const {
  if (!ends) return {.timeout_ns = options_.driver_timeout_ns, .work = std::move(work)};
  return {.timeout_ns = std::min(options_.stop_timeout_ns, options_.driver_timeout_ns),
          .patience_ns = std::min(kStopPatienceNs, options_.queue_patience_ns),
          .spares = kStopThreads,
          .work = std::move(work)};
}

void DeviceCalls::Submit(uint32_t device, uint32_t channel, bool ends, std::function<void()> work,
                         std::function<void(ControlQueue::Outcome)> done, std::function<void()> late) {
  ControlQueue::Call call = WithinTime(ends, std::move(work));
  call.lane = channel;
  call.must_run = ends;
  call.done = std::move(done);
  call.late = std::move(late);
  QueueOf(device).Submit(std::move(call));
}

void DeviceCalls::Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done,
                       bool ends) {
  ControlQueue::Call call = WithinTime(ends, std::move(work));
  call.done = [done = std::move(done)](ControlQueue::Outcome outcome) {
    done(outcome == ControlQueue::Outcome::kReturned);
  };
  QueueOf(device).Submit(std::move(call));
}

}  // namespace profd::device
