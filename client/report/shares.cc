#include <algorithm>

#include "client/analyze/model/parallel.h"
#include "client/report/lanes.h"

namespace profd::report {
namespace {

constexpr size_t kRows = std::size(kShares);
constexpr size_t kMostBytes = 6u << 20;
constexpr size_t kMostBuckets = 1u << 15, kLeastBuckets = 1u << 9;
constexpr Ns kShortestBucket = 2'000;

// Time that is covered, by bucket; what overlaps counts once. Spans come by begin.
class Cover {
 public:
  Cover(Ns begin, Ns bucket, size_t buckets) : begin_(begin), bucket_(bucket), covered_(buckets) {}

  void Add(Ns from, Ns to) {
    from = std::max(from, done_);
    if (to <= from) return;
    done_ = to;
    from -= begin_;
    to -= begin_;
    for (size_t i = At(from); from < to && i < covered_.size(); ++i) {
      const Ns edge = std::min(to, static_cast<Ns>(i + 1) * bucket_);
      covered_[i] += edge - from;
      from = edge;
    }
  }
  void Write(uint8_t* to) const {
    for (size_t i = 0; i < covered_.size(); ++i)
      to[i] = static_cast<uint8_t>(std::min<Ns>(255, (covered_[i] * 255 + bucket_ / 2) / bucket_));
  }

 private:
  size_t At(Ns time) const { return static_cast<size_t>(std::max<Ns>(time, 0) / bucket_); }

  const Ns begin_, bucket_;
  std::vector<Ns> covered_;
  Ns done_ = INT64_MIN;
};

}  // namespace

Shares SharesOf(const View& view, unsigned jobs) {
  const size_t ranks = view.job.ranks.size();
  Shares shares;
  const Ns span = std::max<Ns>(view.end - view.begin, 1);
  size_t buckets = kMostBuckets;
  while (buckets > kLeastBuckets &&
         (buckets * kRows * ranks > kMostBytes || span / static_cast<Ns>(buckets) < kShortestBucket))
    buckets /= 2;
  shares.buckets = buckets;
  shares.bucket = span / static_cast<Ns>(buckets) + 1;
  shares.values.resize(ranks * kRows * buckets);
  const analyze::Replay& replay = view.analysis.context().replay;
  analyze::ForEach(ranks, jobs, [&](size_t r) {
    const analyze::Rank& rank = view.job.ranks[r];
    std::vector<Cover> covers(kRows, Cover(view.begin, shares.bucket, buckets));
    std::vector<std::pair<Ns, Ns>> waits, transfers;
    for (const analyze::Collective& collective : rank.collectives) {
      const Ns there = collective.match == analyze::kNone ? collective.begin
                                                          : std::clamp(replay.LastArrival(collective.match),
                                                                       collective.begin, collective.end);
      waits.emplace_back(collective.begin, there);
      transfers.emplace_back(there, collective.end);
    }
    std::ranges::sort(waits);
    std::ranges::sort(transfers);
    for (const auto& [from, to] : transfers) covers[1].Add(from, to);
    for (const auto& [from, to] : waits) covers[2].Add(from, to);
    for (const analyze::Task& task : rank.tasks) {
      if (task.work == analyze::Work::kCollective) continue;
      covers[task.work == analyze::Work::kCopy ? 3 : 0].Add(task.begin, task.end);
    }
    for (const analyze::Call& call : rank.calls) covers[4].Add(call.begin, call.end);
    for (size_t row = 0; row < kRows; ++row)
      covers[row].Write(shares.values.data() + (r * kRows + row) * buckets);
  });
  return shares;
}

}  // namespace profd::report
