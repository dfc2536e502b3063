#include "daemon/live/device_questions.h"

#include "base/clock.h"

namespace profd::live {

namespace {

constexpr uint64_t kAgainNs = 30'000'000'000, kTimeoutNs = 2'000'000'000;

}  // namespace

void DeviceQuestions::Ask(agent::Peer& peer) {
  const uint64_t now_ns = base::RawNs();
  // What was asked longer ago counts no more, whoever it was.
  std::erase_if(asked_, [now_ns](const auto& asked) { return now_ns - asked.second >= kAgainNs; });
  if (!asked_.try_emplace(peer.identity().pid, now_ns).second) return;
  peer.Send(agent::Describe{}, kTimeoutNs, [](const agent::Ack&) {});
}

}  // namespace profd::live
