#include "daemon/host/probes/scouted/scout_probe.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "daemon/host/process/process.h"

namespace profd::host {

using base::Status;

namespace {

constexpr uint64_t kMillisecondNs = 1'000'000;
// So long a start waits to say what came of it, on a node where a process has to wait for a CPU, too; and an
// end for the last lines.
constexpr uint64_t kBeginLimitNs = 3000 * kMillisecondNs, kEndLimitNs = 4000 * kMillisecondNs;
// A scout that has filled its channel may go on at once, while a look lasts no longer.
constexpr size_t kMuchBytes = 64 << 10;
constexpr uint64_t kLookLimitNs = 4 * kMillisecondNs;
constexpr size_t kMostWaitingBytes = 8 << 20;  // that found no room
constexpr uint32_t kNumbersOfOne = 1 << 20;
// A scout that was killed is started anew after a second, then after twice as long each time: whoever kills
// them one after the other, as a kernel that is short of memory, keeps nobody busy.
constexpr unsigned kMostTimesAnew = 8;
constexpr uint64_t kAnewAfterNs = 1000 * kMillisecondNs;
constexpr size_t kNone = SIZE_MAX;  // of the scouts

// Takes off the lines that were taken; false: not all were.
template <typename Take>
bool EachLine(std::string& lines, Take take) {
  size_t taken = 0;
  while (taken < lines.size()) {
    const size_t end = std::min(lines.find('\n', taken), lines.size() - 1) + 1;
    if (!take(std::string_view(lines).substr(taken, end - taken))) break;
    taken = end;
  }
  lines.erase(0, taken);
  return lines.empty();
}

uint64_t CountLines(std::string_view lines) { return static_cast<uint64_t>(std::ranges::count(lines, '\n')); }

}  // namespace

ScoutProbe::ScoutProbe(const ProbeOptions& options, const ProbeContext& context, const Files& files,
                       StandIn::Work work, const ScoutOrder& order, Births births, std::string note)
    : kind_(options.kind),
      outcome_(options.outcome),
      trouble_(options.trouble),
      work_(work),
      order_(order),
      births_(births),
      note_(std::move(note)),
      family_(*context.family),
      samples_(context.output.AddStream(files.folder, files.samples, options.stats)),
      names_(files.names.empty() ? nullptr
                                 : &context.output.AddStream(files.folder, files.names, options.stats)),
      begin_by_ns_(base::MonotonicNs() + kBeginLimitNs) {
  TakeInNew();
}

// Who has a parent in the session is looked at by the parent's scout, which hears of his birth sooner.
void ScoutProbe::TakeInNew() {
  std::map<uid_t, std::vector<NamedPid>> by_user;
  std::map<size_t, std::vector<NamedPid>> to_known;
  for (const auto& process : family_.members()) {
    if (party_of_.contains(process->pid())) continue;
    const NamedPid member(process->pid(), process->comm());
    if (const auto parent = party_of_.find(process->parent_pid()); parent != party_of_.end()) {
      party_of_[process->pid()] = parent->second;
      if (parent->second != kNone) parties_[parent->second].post.TakeIn({member});
    } else {
      by_user[OwnerOf(process->pid())].push_back(member);
    }
  }
  for (const auto& [user, members] : by_user) TakeIn(user, members);
  // Numbers of those that have gone long ago.
  if (party_of_.size() > 2 * family_.members().size() + 64) {
    std::map<pid_t, size_t> still;
    for (const auto& process : family_.members()) {
      if (const auto found = party_of_.find(process->pid()); found != party_of_.end()) still.insert(*found);
    }
    party_of_ = std::move(still);
  }
}

void ScoutProbe::TakeIn(uid_t user, const std::vector<NamedPid>& members) {
  const auto [known, is_new] = party_of_user_.try_emplace(user, parties_.size());
  if (is_new) {
    ScoutOrder order = order_;
    order.user = user;
    order.first_number = static_cast<uint32_t>(parties_.size()) * kNumbersOfOne;
    auto post = ScoutPost::Start(user, work_, order, members);
    if (post.ok()) {
      parties_.push_back({.user = user, .post = std::move(post).value(), .lines = {}});
    } else {
      refusal_ = post.status();
      known->second = kNone;
    }
  } else if (known->second != kNone) {
    parties_[known->second].post.TakeIn(members);
  }
  for (const auto& [pid, name] : members) party_of_[pid] = known->second;
}

bool ScoutProbe::MayBegin(const Tick& tick) {
  Hear(tick);
  const bool late = base::MonotonicNs() >= begin_by_ns_;
  bool some = false;
  std::string note;
  for (const Party& party : parties_) {
    if (note.empty()) note = party.post.note();
    if (!party.post.begun() && !late) return false;
    if (!party.post.begun() || party.post.begun()->ok()) some = true;
    if (party.post.begun() && !party.post.begun()->ok()) refusal_ = *party.post.begun();
  }
  if (!outcome_) return true;
  outcome_->status = some ? Status::Ok() : refusal_;
  outcome_->note = note_ + (note.empty() || note_.empty() ? "" : "; ") + note;
  if (some && !refusal_.ok()) outcome_->note += "; some processes are left out: " + refusal_.message();
  return true;
}

void ScoutProbe::Sample(const Tick& tick) {
  if (std::exchange(first_, false) || births_ == Births::kToldOf) TakeInNew();
  Hear(tick);
  StartAnew(tick);
}

// Processes of a user without a scout are as new ones.
void ScoutProbe::StartAnew(const Tick& tick) {
  const uint64_t now_ns = base::MonotonicNs();
  for (auto& [user, orphaned] : orphaned_) {
    if (orphaned.again_ns != 0 && now_ns >= orphaned.again_ns) {
      orphaned.again_ns = 0;
      std::erase_if(party_of_, [of = party_of_user_[user]](const auto& known) { return known.second == of; });
      party_of_user_.erase(user);
      TakeInNew();
      const auto anew = party_of_user_.find(user);
      if (anew != party_of_user_.end() && anew->second == kNone && ++orphaned.times <= kMostTimesAnew)
        orphaned.again_ns = now_ns + (kAnewAfterNs << (orphaned.times - 1));
    }
    const auto scout = party_of_user_.find(user);
    if (scout == party_of_user_.end() || scout->second == kNone) continue;
    const ScoutPost& post = parties_[scout->second].post;
    if (!post.ended() && post.begun()) EndGap(orphaned, tick);
  }
}

// Nobody knows how much there was to come.
void ScoutProbe::EndGap(Orphaned& orphaned, const Tick& tick) {
  if (orphaned.since_raw_ns == 0) return;
  samples_.Lose(format::Loss::Where::kSampler, std::exchange(orphaned.since_raw_ns, 0), tick.raw_ns, 1);
}

// Whether all have ended.
bool ScoutProbe::Hear(const Tick& tick) {
  const uint64_t limit_ns = base::MonotonicNs() + kLookLimitNs;
  for (Party& party : parties_) {
    for (size_t heard = 0;;) {
      auto lines = party.lines.samples.size() + party.lines.names.size() < kMostWaitingBytes
                       ? party.post.Next()
                       : std::nullopt;
      if (lines) {
        heard += lines->samples.size();
        party.lines.names += lines->names;
        party.lines.samples += lines->samples;
        party.lines.Lose(lines->lost, lines->lost_from_ns, lines->lost_to_ns);
        Write(party, tick);
      } else if (const uint64_t now_ns = base::MonotonicNs(); heard >= kMuchBytes && now_ns < limit_ns) {
        heard = 0;
        pollfd more{party.post.fd(), POLLIN, 0};
        ::poll(&more, 1, 1);
      } else {
        break;
      }
    }
    if (!party.lines.empty()) Write(party, tick);
    if (!party.post.outcome().ok() && !std::exchange(party.told, true)) Tell(party, tick);
  }
  return std::ranges::all_of(parties_, [](const Party& party) { return party.post.ended(); });
}

// That a scout is no more.
void ScoutProbe::Tell(Party& party, const Tick& tick) {
  std::string what = kind_ + " of " + party.post.outcome().message();
  Orphaned gap{.since_raw_ns = party.post.heard_raw_ns()};
  if (end_by_ns_ == 0 && party.post.killed() &&
      (party.post.begun()->ok() || orphaned_.contains(party.user))) {
    Orphaned& orphaned = orphaned_[party.user];
    EndGap(orphaned, tick);
    if (++orphaned.times <= kMostTimesAnew) {
      orphaned.again_ns = base::MonotonicNs() + (kAnewAfterNs << (orphaned.times - 1));
      std::swap(orphaned.since_raw_ns, gap.since_raw_ns);
      what += " Another is started";
    } else {
      what += " It is the last: so many were killed";
    }
  }
  EndGap(gap, tick);
  if (trouble_) trouble_(what);
}

// Names first. What finds no room waits, and what comes after it.
void ScoutProbe::Write(Party& party, const Tick& tick) {
  ScoutLines& lines = party.lines;
  if (lines.lost > 0)
    samples_.Lose(format::Loss::Where::kSampler, lines.lost_from_ns, lines.lost_to_ns,
                  std::exchange(lines.lost, 0));
  if (names_ != nullptr &&
      !EachLine(lines.names, [&](std::string_view line) { return names_->Append(tick, line, 0); }))
    return;
  EachLine(lines.samples, [&](std::string_view line) { return samples_.Append(tick, line), true; });
}

bool ScoutProbe::MayFinish() {
  const uint64_t now_ns = base::MonotonicNs();
  if (end_by_ns_ == 0) {
    end_by_ns_ = now_ns + kEndLimitNs;
    if (std::exchange(first_, false)) TakeInNew();
    for (Party& party : parties_) party.post.End();
  }
  const Tick tick{.number = 0, .raw_ns = base::RawNs(), .mono_ns = now_ns};
  if (Hear(tick)) return true;
  if (now_ns < end_by_ns_) return false;
  for (Party& party : parties_) party.post.GiveUp();
  Hear(tick);
  return true;
}

void ScoutProbe::Finish(const Tick& tick) {
  for (Party& party : parties_) {  // for which there was no room
    if (const uint64_t left = CountLines(party.lines.samples); left > 0)
      samples_.Lose(format::Loss::Where::kPool, tick.raw_ns, tick.raw_ns, left, party.lines.samples.size());
  }
  for (auto& [user, orphaned] : orphaned_) EndGap(orphaned, tick);
  parties_.clear();
}

}  // namespace profd::host
