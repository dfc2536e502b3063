#include "client/analyze/reading/damage/strays.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <queue>
#include <unordered_map>

#include "client/analyze/model/statistics.h"

namespace profd::analyze {

void Crowd::Settle() {
  constexpr Ns kFar = 4;  // pieces: from here on it is another crowd
  constexpr uint64_t kFew = 16;
  struct Run {
    std::map<Ns, uint64_t>::iterator begin, end;
    uint64_t rows = 0;
  };
  std::vector<Run> runs;
  for (auto at = counts_.begin(); at != counts_.end(); ++at) {
    if (runs.empty() || at->first - std::prev(at)->first > kFar) runs.push_back({at, at, 0});
    runs.back().end = std::next(at);
    runs.back().rows += at->second;
  }
  uint64_t most = 0;
  for (const Run& run : runs) most = std::max(most, run.rows);
  for (const Run& run : runs) {
    if (run.rows < kFew && run.rows * 100 < most) counts_.erase(run.begin, run.end);
  }
  last_ = nullptr;
}

std::vector<uint32_t> Covering(const std::vector<LaneRow>& rows, double much) {
  std::vector<LaneRow> found;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    if (rows[i].end > rows[i + 1].end) found.push_back(rows[i]);
  }
  if (!AreFew(found.size(), rows.size())) return {};
  std::unordered_map<uint32_t, std::vector<Ns>> lengths;
  for (const LaneRow& row : found) lengths.try_emplace(row.sort);
  for (const LaneRow& row : rows) {
    if (const auto of = lengths.find(row.sort); of != lengths.end())
      of->second.push_back(row.end - row.begin);
  }
  std::vector<uint32_t> covering;
  for (const LaneRow& row : found) {
    if (static_cast<double>(row.end - row.begin) > much * Median(lengths[row.sort]))
      covering.push_back(row.index);
  }
  return covering;
}

double CrossedOf(const Rank& rank, size_t lanes) {
  constexpr Ns kSlack = 1'000;
  std::vector<Ns> reached(rank.lanes, INT64_MIN);
  size_t kernels = 0, crossed = 0;
  for (const Task& task : rank.tasks) {
    if (task.work == Work::kCollective || task.lane >= lanes) continue;
    ++kernels;
    crossed += task.begin + kSlack < reached[task.lane] ? 1 : 0;
    reached[task.lane] = std::max(reached[task.lane], task.end);
  }
  return kernels == 0 ? 0 : static_cast<double>(crossed) / static_cast<double>(kernels);
}

double PiledOf(const Rank& rank, size_t lanes) {
  constexpr Ns kSlack = 1'000;
  constexpr size_t kMany = 64;        // parts of one operator may run beside each other, on each core one
  constexpr double kMuchLonger = 20;  // than is usual of its class
  constexpr size_t kFew = 8;          // of a class tell what is usual
  std::unordered_map<uint32_t, std::vector<Ns>> lengths;
  for (const Task& task : rank.tasks) {
    if (task.work != Work::kCollective) lengths[task.kind].push_back(task.end - task.begin);
  }
  std::unordered_map<uint32_t, double> longest;
  for (auto& [kind, of] : lengths)
    longest[kind] =
        of.size() < kFew ? std::numeric_limits<double>::infinity() : kMuchLonger * Median(std::move(of));
  struct Lane {
    std::priority_queue<Ns, std::vector<Ns>, std::greater<>> ends;  // of what has not ended
    Ns too_long = INT64_MIN;                                        // until then one runs that is
  };
  std::vector<Lane> all(rank.lanes);
  size_t kernels = 0, piled = 0;
  for (const Task& task : rank.tasks) {
    if (task.work == Work::kCollective || task.lane >= lanes) continue;
    Lane& lane = all[task.lane];
    while (!lane.ends.empty() && lane.ends.top() <= task.begin + kSlack) lane.ends.pop();
    ++kernels;
    piled += lane.ends.size() >= kMany || lane.too_long > task.begin + kSlack ? 1 : 0;
    lane.ends.push(task.end);
    if (static_cast<double>(task.end - task.begin) > longest[task.kind])
      lane.too_long = std::max(lane.too_long, task.end);
  }
  return kernels == 0 ? 0 : static_cast<double>(piled) / static_cast<double>(kernels);
}

bool AreApart(const Rank& rank) {
  constexpr Ns kNever = -1'000'000, kLongAfter = 10'000'000'000;
  constexpr size_t kEnough = 4;
  std::vector<Ns> waited, begins;
  for (const Task& task : rank.tasks) {
    if (task.launch == kNone) continue;
    waited.push_back(task.begin - rank.calls[task.launch].begin);
    begins.push_back(task.begin);
  }
  if (waited.size() < kEnough) return false;
  if (Median(std::move(waited)) < kNever) return true;
  // A queue is not so long that most of it runs when the program has been through for as long as it ran.
  const Ns end = rank.calls.back().end;
  const Ns most = std::max(kLongAfter, end - rank.calls.front().begin);
  return Median(std::move(begins)) > static_cast<double>(end + most);
}

}  // namespace profd::analyze
