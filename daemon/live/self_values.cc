#include "daemon/live/self_values.h"

#include <algorithm>
#include <utility>

#include "base/version.h"
#include "daemon/host/sampler.h"
#include "daemon/live/metrics.h"

namespace profd::live {

namespace {

constexpr const char* kSources[] = {"device", "host", "agent"};

double Number(uint64_t value) { return static_cast<double>(value); }

}  // namespace

SelfValues::Stored SelfValues::SumsOf(const session::SessionInfo& info) {
  Stored stored;
  for (const session::KindState& kind : info.kinds) {
    Source source = kHost;
    if (kind.unit.starts_with("device:")) source = kDevice;
    if (kind.kind.starts_with("agent-")) source = kAgent;
    stored.bytes[source] += kind.bytes;
    stored.lost[source] += kind.lost;
  }
  return stored;
}

void SelfValues::AddSessions(session::Manager& manager, std::vector<Sample>& samples) {
  std::map<std::string_view, uint64_t> states = {
      {"pending", 0}, {"armed", 0}, {"running", 0}, {"stopping", 0}};
  std::map<std::string, Stored> followed;
  for (const session::SessionInfo& info :
       manager.OpenAnd([this](const std::string& id) { return open_.contains(id); })) {
    const bool ended = info.state == session::State::kSealed || info.state == session::State::kFailed;
    const Stored sums = SumsOf(info);
    if (ended) {  // since the last beat: its last word
      for (size_t i = 0; i < sums.bytes.size(); ++i)
        ever_.bytes[i] += sums.bytes[i], ever_.lost[i] += sums.lost[i];
      continue;
    }
    followed.emplace(info.id, sums);
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
  open_ = std::move(followed);
  for (const auto& [state, count] : states) {
    samples.push_back({&kSessions, {{"state", std::string(state)}}, Number(count)});
  }
  for (size_t i = 0; i < std::size(kSources); ++i) {
    uint64_t bytes = ever_.bytes[i], lost = ever_.lost[i];
    for (const auto& [id, sums] : open_) bytes += sums.bytes[i], lost += sums.lost[i];
    samples.push_back({&kStored, {{"source", kSources[i]}}, Number(bytes)});
    samples.push_back({&kLost, {{"source", kSources[i]}}, Number(lost)});
  }
}

void SelfValues::Add(session::Manager& manager, const agent::Registry& agents, std::vector<Sample>& samples) {
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
