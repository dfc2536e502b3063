// What became of a session's processes and of their records: for the manifest of a trace and the state of its
// kinds.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/join.h"
#include "daemon/session/life/recordings/recordings.h"
#include "format/directory/silent.h"

namespace profd::session {

using base::Status;

namespace {

uint64_t Sum(const agent::RecordingStats& stats, std::atomic<uint64_t> agent::RecordingStats::Lane::*count) {
  uint64_t sum = 0;
  for (const auto& lane : stats.lanes) sum += (lane.*count).load(std::memory_order_relaxed);
  return sum;
}

// MSPTI that goes on without a word: kernels are launched by calls, which it also tells of.
uint64_t SilentSeconds(const agent::RecordingStats& stats) {
  constexpr uint64_t kSecondNs = 1'000'000'000, kLeastNs = 5 * kSecondNs;
  const auto& calls = stats.kinds[static_cast<size_t>(format::AgentKind::kApi)];
  const auto& kernels = stats.kinds[static_cast<size_t>(format::AgentKind::kKernel)];
  const uint64_t since_ns = std::max(kernels.last_ns.load(std::memory_order_relaxed),
                                     calls.first_ns.load(std::memory_order_relaxed));
  const uint64_t until_ns = calls.last_ns.load(std::memory_order_relaxed);
  return since_ns == 0 || until_ns < since_ns + kLeastNs ? 0 : (until_ns - since_ns) / kSecondNs;
}

struct Losses {
  uint64_t no_room = 0, no_lane = 0, unwritten = 0;
};

void AddReasons(std::string& reason, const Losses& losses) {
  const auto add = [&reason](uint64_t records, std::string_view why) {
    if (records > 0) base::AddTo(reason, std::to_string(records) + " lost because " + std::string(why), "; ");
  };
  add(losses.no_room, "the process made them faster than its lanes were emptied (agent.lane_kib)");
  add(losses.no_lane, "the process has more threads than lanes (agent.lanes)");
  add(losses.unwritten, "they could not be written");
}

}  // namespace

std::vector<format::ManifestAgent> Recordings::Agents(uint32_t trace) const {
  std::vector<format::ManifestAgent> agents;
  for (const auto& part : parts_) {
    if (part->trace != trace) continue;
    format::ManifestAgent agent = part->manifest;
    const agent::RecordingStats& stats = *part->stats;
    agent.lost_without_lane = stats.lost_without_lane.load(std::memory_order_relaxed);
    agent.names_lost = stats.names_lost.load(std::memory_order_relaxed);
    agent.names_damaged = stats.names_damaged.load(std::memory_order_relaxed);
    for (size_t i = 0; i < stats.lanes.size(); ++i) {
      const auto& lane = stats.lanes[i];
      const format::ManifestLane entry{static_cast<uint32_t>(i),
                                       lane.stored_records.load(std::memory_order_relaxed),
                                       lane.lost_records.load(std::memory_order_relaxed),
                                       lane.write_lost_records.load(std::memory_order_relaxed),
                                       lane.damaged_slots.load(std::memory_order_relaxed)};
      if (entry.records + entry.lost + entry.write_lost + entry.damaged_slots != 0)
        agent.lanes.push_back(entry);
    }
    agents.push_back(std::move(agent));
  }
  return agents;
}

void Recordings::AddCounts(uint32_t trace, std::vector<KindState>& kinds) const {
  using Lane = agent::RecordingStats::Lane;
  std::map<size_t, Losses> losses;  // by kind: a process may have several parts
  for (const auto& part : parts_) {
    if (part->trace != trace) continue;
    const agent::RecordingStats& stats = *part->stats;
    // The kinds of a process share its lanes: what found no room there is told of the first of them.
    Losses shared{.no_room = Sum(stats, &Lane::lost_records),
                  .no_lane = stats.lost_without_lane.load(std::memory_order_relaxed)};
    for (size_t i = 0; i < format::kAgentKinds; ++i) {
      const size_t index = setup_.starts[part->start].kind_index[i];
      if (index == kNoKind) continue;
      const auto& count = stats.kinds[i];
      kinds[index].records += count.stored_records.load(std::memory_order_relaxed) +
                              count.reported_records.load(std::memory_order_relaxed);
      kinds[index].bytes += count.stored_bytes.load(std::memory_order_relaxed) +
                            count.reported_bytes.load(std::memory_order_relaxed);
      const Losses own = std::exchange(shared, {});
      const uint64_t unwritten = count.write_lost_records.load(std::memory_order_relaxed);
      kinds[index].lost += own.no_room + own.no_lane + unwritten;
      Losses& of = losses[index];
      of.no_room += own.no_room;
      of.no_lane += own.no_lane;
      of.unwritten += unwritten;
    }
    const size_t kernels =
        setup_.starts[part->start].kind_index[static_cast<size_t>(format::AgentKind::kKernel)];
    const uint64_t silent = kernels == kNoKind ? 0 : SilentSeconds(stats);
    if (silent == 0 || kinds[kernels].verdict != Verdict::kStarted) continue;
    base::AddTo(kinds[kernels].reason,
                "no kernel for " + std::to_string(silent) + " s while calls went on: MSPTI of process " +
                    std::to_string(part->manifest.pid) + " " + std::string(format::kFellSilent),
                "; ");
  }
  for (const auto& [index, of] : losses) AddReasons(kinds[index].reason, of);
}

AgentVerdict Recordings::VerdictOf(pid_t target, format::Kind kind) const {
  for (size_t i = 0; i < setup_.starts.size(); ++i) {
    if (setup_.starts[i].pid == target) return JudgeKind(kind, outcomes_[i]);
  }
  return {Verdict::kFailed, "process " + std::to_string(target) + " does not belong to the session"};
}

std::vector<Status> Recordings::Refusals() const {
  std::vector<Status> refusals;
  for (const AgentOutcomes& outcomes : outcomes_) {
    for (const auto& outcome : outcomes) {
      if (!outcome->status.ok() && outcome->awaited.empty() && !outcome->ended)
        refusals.push_back(outcome->status);
    }
  }
  return refusals;
}

std::vector<std::string> Recordings::UnseenDomains() const {
  std::vector<std::string> names;
  if (parts_.empty()) return names;  // no process was recorded
  for (const std::string& name : setup_.domains.names) {
    if (name != agent::kDefaultDomain && !seen_domains_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace profd::session
