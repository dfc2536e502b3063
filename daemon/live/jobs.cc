#include "daemon/live/jobs.h"

#include <utility>
#include <vector>

#include "base/clock.h"

namespace profd::live {

Jobs::Jobs(Live& live, agent::Registry& agents, DeviceQuestions& questions)
    : live_(live),
      agents_(agents),
      questions_(questions),
      arrivals_(agents.WatchArrivals([this](const std::shared_ptr<agent::Peer>&) { Look(); })) {}

Jobs::~Jobs() {
  agents_.Unwatch(arrivals_);
  if (watch_) live_.Unwatch(*watch_);
}

void Jobs::Look() {
  if (watch_) return;
  // The newest values may be told before Watch() returns.
  watch_ = 0;
  watch_ = live_.Watch([this](const SnapshotPtr& snapshot) { OnSnapshot(*snapshot); });
}

void Jobs::OnSnapshot(const Snapshot& snapshot) {
  std::vector<JobFacts> running;
  for (const auto& peer : agents_.All()) {
    const agent::Identity& identity = peer->identity();
    const agent::Hello& hello = peer->hello();
    if (hello.devices.empty()) questions_.Ask(*peer);
    running.push_back({.pid = identity.pid,
                       .begin_wall_ns = peer->registered_wall_ns(),
                       .uid = identity.uid,
                       .user = identity.user,
                       .name = hello.executable.substr(hello.executable.rfind('/') + 1),
                       .labels = hello.labels,
                       .devices = hello.devices});
  }
  book_.Add(snapshot, running, base::RawNs());
  if (book_.IsIdle() && watch_) live_.Unwatch(*std::exchange(watch_, std::nullopt));
}

}  // namespace profd::live
