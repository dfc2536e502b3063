#include "client/report/lanes.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "client/report/text.h"

namespace profd::report {
namespace {

using analyze::kNone;
using analyze::Rank;
using analyze::Work;

constexpr size_t kMostLanes = 4;  // of a kind; what is on others is left out of the detail, not of the shares
constexpr size_t kMostNested = 4;   // ranges in ranges
constexpr size_t kMostRanks = 256;  // with events

struct Event {
  Ns begin, end;
  uint32_t name;
  uint64_t more;
};

size_t CountOf(const Rank& rank) { return rank.tasks.size() + rank.calls.size() + rank.ranges.size(); }

// Which times of a rank are to be told event by event.
struct Windows {
  bool all = false;
  std::vector<std::pair<Ns, Ns>> times;  // ascending, apart

  bool Has(Ns begin, Ns end) const {
    if (all) return true;
    const auto at = std::ranges::upper_bound(times, end, {}, &std::pair<Ns, Ns>::first);
    return at != times.begin() && std::prev(at)->second >= begin;
  }
};

// Steps of ranks, the most telling first, until there are enough events.
class Chooser {
 public:
  Chooser(const View& view, size_t most) : view_(view), left_(most), steps_(view.job.ranks.size()) {}

  std::vector<Windows> Choose() {
    const auto& findings = view_.analysis.verdict().findings;
    for (size_t f = 0; f < findings.size(); ++f) {
      for (const Place& place : view_.places[f]) TakeTime(place);
    }
    // A usual step and the worst of each finding's ranks, then of all, then whatever there is room for.
    std::vector<uint32_t> by_length;
    for (size_t i = view_.analysis.context().first; i < view_.steps.size(); ++i)
      by_length.push_back(static_cast<uint32_t>(i));
    std::ranges::stable_sort(
        by_length, {}, [this](uint32_t step) { return view_.steps[step].end - view_.steps[step].begin; });
    std::vector<uint32_t> telling;
    if (!by_length.empty()) telling = {by_length[by_length.size() / 2], by_length.back()};
    std::vector<size_t> named;
    for (const auto& places : view_.places) {
      for (const Place& place : places)
        named.push_back(place.rank), named.push_back(view_.reference[place.rank]);
    }
    for (const size_t rank : named) {
      for (const uint32_t step : telling) Take(rank, step);
    }
    for (const uint32_t step : telling) {
      for (size_t rank = 0; rank < view_.job.ranks.size(); ++rank) Take(rank, step);
    }
    for (const size_t rank : named) {
      for (uint32_t step = 0; step < view_.steps.size(); ++step) Take(rank, step);
    }
    return Windowed();
  }

 private:
  void TakeTime(const Place& place) {
    for (uint32_t step = 0; step < view_.steps.size(); ++step) {
      const StepTime& time = view_.steps[step];
      if (time.end < place.from || time.begin > place.to) continue;
      Take(place.rank, step);
      Take(view_.reference[place.rank], step);
    }
  }
  size_t Cost(size_t r) {
    return CountOf(view_.job.ranks[r]) / std::max<size_t>(view_.job.ranks[r].steps.size(), 1) + 1;
  }
  void Take(size_t rank, uint32_t step) {
    if (steps_[rank].contains(step)) return;
    if (steps_[rank].empty() && ranks_ >= kMostRanks) return;
    const size_t cost = Cost(rank);
    if (cost > left_) return;
    left_ -= cost;
    ranks_ += steps_[rank].empty();
    steps_[rank].insert(step);
  }
  std::vector<Windows> Windowed() const {
    std::vector<Windows> windows(steps_.size());
    for (size_t r = 0; r < steps_.size(); ++r) {
      for (const uint32_t step : steps_[r]) {
        const StepTime& time = view_.steps[step];
        auto& times = windows[r].times;
        // Steps that follow each other are one window.
        if (!times.empty() && time.begin <= times.back().second + (time.end - time.begin) / 8) {
          times.back().second = std::max(times.back().second, time.end);
        } else {
          times.emplace_back(time.begin, time.end);
        }
      }
    }
    return windows;
  }

  const View& view_;
  size_t left_, ranks_ = 0;
  std::vector<std::set<uint32_t>> steps_;
};

class LaneWriter {
 public:
  LaneWriter(const View& view, size_t rank, const Windows& windows, Names& names)
      : view_(view), rank_(view.job.ranks[rank]), windows_(windows), names_(names) {}

  std::vector<Lane> Write() {
    WriteRanges();
    WriteCalls();
    WriteKernels();
    WriteCollectives();
    return std::move(lanes_);
  }

 private:
  // Of the keys with the most events, in the order of the keys.
  template <typename Key>
  void Emit(std::map<Key, std::vector<Event>>& rows, Lane::Kind kind, auto title) {
    std::vector<std::pair<size_t, Key>> by_count;
    for (const auto& [key, events] : rows) by_count.emplace_back(events.size(), key);
    std::ranges::stable_sort(by_count, std::greater<>(), &std::pair<size_t, Key>::first);
    std::set<Key> kept;
    for (const auto& [count, key] : by_count) {
      if (kept.size() < kMostLanes) kept.insert(key);
    }
    for (auto& [key, events] : rows) {
      if (kept.contains(key)) Append(kind, title(key, kept.size()), events);
    }
  }
  void Append(Lane::Kind kind, std::string title, std::vector<Event>& events) {
    if (events.empty()) return;
    std::ranges::stable_sort(events, {}, &Event::begin);
    Lane lane{kind, std::move(title), events.size(), {}};
    Ns before = view_.begin;
    for (const Event& event : events) {
      AppendVarint(lane.events, static_cast<uint64_t>(std::max<Ns>(event.begin - before, 0)));
      AppendVarint(lane.events, static_cast<uint64_t>(std::max<Ns>(event.end - event.begin, 0)));
      AppendVarint(lane.events, event.name);
      AppendVarint(lane.events, event.more);
      before = std::max(before, event.begin);
    }
    lanes_.push_back(std::move(lane));
  }

  void WriteKernels() {
    std::map<uint16_t, std::vector<Event>> streams;
    std::vector<Event> copies;
    for (const analyze::Task& task : rank_.tasks) {
      if (task.work == Work::kCollective || !windows_.Has(task.begin, task.end)) continue;
      uint64_t since_launch = 0;
      if (task.launch != kNone && rank_.calls[task.launch].begin <= task.begin)
        since_launch = static_cast<uint64_t>(task.begin - rank_.calls[task.launch].begin) + 1;
      const Event event{task.begin, task.end, KernelName(task), since_launch};
      if (task.work == Work::kCopy) {
        copies.push_back(event);
      } else {
        streams[task.lane].push_back(event);
      }
    }
    Emit(streams, Lane::Kind::kKernels,
         [](uint16_t, size_t of) { return of == 1 ? "kernels" : "kernels, a stream"; });
    Append(Lane::Kind::kCopies, "copies", copies);
  }
  uint32_t KernelName(const analyze::Task& task) {
    if (task.kind == kNone) return names_.Of(view_.job.Text(task.name));
    if (task.kind >= class_names_.size()) class_names_.resize(view_.job.classes.size(), kNone);
    uint32_t& name = class_names_[task.kind];
    if (name == kNone) {
      const analyze::KernelClass& one = view_.job.classes[task.kind];
      std::string text(view_.job.Text(one.type));
      if (one.shapes != 0) text += " [" + std::string(view_.job.Text(one.shapes)) + "]";
      if (task.work == Work::kAiCpu) text += " on the AI CPU";
      name = names_.Of(text);
    }
    return name;
  }

  void WriteCollectives() {
    const analyze::Replay& replay = view_.analysis.context().replay;
    std::map<analyze::TextId, std::vector<Event>> groups;
    for (const analyze::Collective& collective : rank_.collectives) {
      if (!windows_.Has(collective.begin, collective.end)) continue;
      Ns wait = 0;
      if (collective.match != kNone) {
        wait = std::clamp(replay.LastArrival(collective.match), collective.begin, collective.end) -
               collective.begin;
      }
      std::string name(view_.job.Text(collective.type));
      if (collective.bytes >= 1u << 20) {
        name += ", " + std::to_string(collective.bytes >> 20) + " MiB";
      } else if (collective.bytes > 0) {
        name += ", " + std::to_string((collective.bytes + 1023) >> 10) + " KiB";
      }
      groups[collective.group].push_back(
          {collective.begin, collective.end, names_.Of(name), static_cast<uint64_t>(wait)});
    }
    Emit(groups, Lane::Kind::kCollectives,
         [this](analyze::TextId group, size_t) { return GroupName(view_, group, rank_); });
  }

  static std::string ThreadName(uint64_t thread) { return "thread " + std::to_string(thread & 0xFFFFFFFF); }

  void WriteCalls() {
    std::map<uint64_t, std::vector<Event>> threads;
    for (const analyze::Call& call : rank_.calls) {
      if (windows_.Has(call.begin, call.end))
        threads[rank_.ThreadOf(call)].push_back(
            {call.begin, call.end, names_.Of(view_.job.Text(call.name)), 0});
    }
    Emit(threads, Lane::Kind::kCalls,
         [](uint64_t thread, size_t of) { return of == 1 ? "calls" : "calls, " + ThreadName(thread); });
  }

  void WriteRanges() {
    // A row for each depth of each thread.
    std::map<uint64_t, std::vector<std::vector<Event>>> threads;
    std::vector<const analyze::Range*> sorted;
    for (const analyze::Range& range : rank_.ranges) {
      if (windows_.Has(range.begin, range.end)) sorted.push_back(&range);
    }
    std::ranges::stable_sort(
        sorted, {}, [](const analyze::Range* range) { return std::tuple(range->begin, -range->end); });
    for (const analyze::Range* range : sorted) {
      auto& rows = threads[range->thread];
      size_t depth = 0;
      while (depth < rows.size() && rows[depth].back().end > range->begin) ++depth;
      if (depth >= kMostNested) continue;
      if (depth == rows.size()) rows.emplace_back();
      rows[depth].push_back({range->begin, range->end, names_.Of(view_.job.Text(range->name)), 0});
    }
    size_t count = 0;
    for (auto& [thread, rows] : threads) {
      if (++count > kMostLanes) break;
      for (size_t depth = 0; depth < rows.size(); ++depth) {
        std::string title = depth > 0 ? "" : threads.size() == 1 ? "ranges" : "ranges, " + ThreadName(thread);
        Append(Lane::Kind::kRanges, std::move(title), rows[depth]);
      }
    }
  }

  const View& view_;
  const Rank& rank_;
  const Windows& windows_;
  Names& names_;
  std::vector<uint32_t> class_names_;
  std::vector<Lane> lanes_;
};

}  // namespace

uint32_t Names::Of(std::string_view text) {
  constexpr size_t kLongest = 120;
  if (text.size() > kLongest) text = text.substr(0, kLongest);
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  if (texts_.size() >= kMost) return 0;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(text, number);
  return number;
}

Detail DetailOf(const View& view, size_t most) {
  Detail detail;
  for (const Rank& rank : view.job.ranks) detail.of += CountOf(rank);
  std::vector<Windows> windows(view.job.ranks.size());
  const bool is_whole = detail.of <= most && view.job.ranks.size() <= kMostRanks;
  if (is_whole) {
    for (Windows& one : windows) one.all = true;
  } else {
    windows = Chooser(view, most).Choose();
  }
  for (size_t r = 0; r < windows.size(); ++r) {
    if (!windows[r].all && windows[r].times.empty()) continue;
    RankLanes lanes{r, windows[r].all, windows[r].times,
                    LaneWriter(view, r, windows[r], detail.names).Write()};
    for (const Lane& lane : lanes.lanes) detail.events += lane.count;
    detail.ranks.push_back(std::move(lanes));
  }
  return detail;
}

std::string GroupName(const View& view, analyze::TextId group, const Rank& rank) {
  const std::string name(view.job.Text(group));
  std::string role;
  std::vector<int64_t> ranks;
  if (const auto known = rank.groups.find(name); known != rank.groups.end()) {
    role = known->second.role;
    ranks = known->second.ranks;
  }
  // Of one that nobody says the ranks of: those that use it.
  const auto& groups = view.analysis.context().groups;
  if (const auto of = groups.find(group); ranks.empty() && of != groups.end()) {
    for (const uint32_t r : of->second.ranks) ranks.push_back(view.job.ranks[r].number);
  }
  if (ranks.empty()) return name.empty() ? "collectives" : name;
  std::ranges::sort(ranks);
  return (role.empty() ? "" : role + ", ") + "ranks " + Runs(ranks);
}

}  // namespace profd::report
