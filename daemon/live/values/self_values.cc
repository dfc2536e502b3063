#include "daemon/live/values/self_values.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "base/version.h"
#include "daemon/host/sampler.h"
#include "daemon/live/values/metrics.h"

namespace profd::live {

namespace {

constexpr const char* kSources[] = {"device", "host", "agent"};  // as session::Totals::Source

double Number(uint64_t value) { return static_cast<double>(value); }

void AddSessions(const session::Manager& manager, std::vector<Sample>& samples) {
  std::map<std::string_view, uint64_t> states = {
      {"pending", 0}, {"armed", 0}, {"running", 0}, {"stopping", 0}};
  for (const session::SessionInfo& info : manager.Open()) {
    ++states[session::StateName(info.state)];
    const std::vector<Label> labels = {{"session", info.id}, {"user", info.user}};
    const auto add = [&](const Metric& metric, double value) {
      samples.push_back({&metric, labels, value, auth::Action::kSeeSession, {.owner = info.uid}});
    };
    add(kSessionBytes, Number(info.bytes));
    add(kSessionLost, Number(info.lost));
    add(kSessionElapsed, Number(info.elapsed_ns) / 1e9);
    add(kSessionKinds, Number(static_cast<uint64_t>(std::ranges::count_if(info.kinds, [](const auto& kind) {
          return kind.verdict == session::Verdict::kStarted;
        }))));
  }
  for (const auto& [state, count] : states) {
    samples.push_back({&kSessions, {{"state", std::string(state)}}, Number(count)});
  }
  const session::Totals totals = manager.totals();
  for (size_t i = 0; i < std::size(kSources); ++i) {
    samples.push_back({&kStored, {{"source", kSources[i]}}, Number(totals.bytes[i])});
    samples.push_back({&kLost, {{"source", kSources[i]}}, Number(totals.lost[i])});
  }
}

}  // namespace

void AddSelfValues(session::Manager& manager, const agent::Registry& agents, std::vector<Sample>& samples) {
  samples.push_back({&kBuildInfo, {{"version", base::kVersion}}, 1});
  AddSessions(manager, samples);
  const agent::Registry::Counts counts = agents.Count();
  samples.push_back({&kAgents, {}, Number(counts.seats)});
  samples.push_back({&kAgentsTurnedAway, {}, Number(counts.turned_away)});
  for (const session::QueueLoad& queue : manager.QueueLoads()) {
    const std::vector<Label> labels = {{"source", queue.source}};
    samples.push_back({&kQueued, labels, Number(queue.chunks)});
    samples.push_back({&kQueueRoom, labels, Number(queue.room)});
    samples.push_back({&kQueueBytes, labels, Number(queue.bytes)});
  }
  samples.push_back({&kMissedTicks, {}, Number(manager.sampler().stats().missed_ticks)});
}

}  // namespace profd::live
