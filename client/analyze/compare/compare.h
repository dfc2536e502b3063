// Two recordings of a job beside each other: what takes more and what less, whether that is more than noise,
// and where the difference of the steps comes from. Schema profd.compare/1 (docs/analyze.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/analyze/compare/run.h"

namespace profd::analyze {

enum class Judgement : uint8_t { kNoise, kSlower, kFaster, kTooFew };
std::string_view JudgementName(Judgement judgement);

// Of a part of a step, ms.
struct Difference {
  double base = 0, now = 0;
  double low = 0, high = 0;  // interval of now − base, 95 % for all rows of its table together
  Judgement judgement = Judgement::kNoise;
  double change() const { return now - base; }
  double percent() const { return base > 0 ? 100 * change() / base : 0; }
};
struct KindRow {
  Kind kind;
  Difference difference;                 // ms of a step, mean over ranks
  double base_count = 0, new_count = 0;  // of a step and rank
  double base_us = 0, new_us = 0;        // of one
};
struct RankRow {
  int64_t base = 0, now = 0;  // numbers of ranks with the same place
  double base_compute = 0, new_compute = 0, base_waiting = 0, new_waiting = 0;  // ms of a step
};
// Where the difference of the steps comes from: adds up to it.
struct Fall {
  std::string what;
  double ms = 0;
};

struct Comparison {
  size_t base_runs = 1, new_runs = 1;
  bool runs_are_units = false;    // three and more on both sides: else steps are
  std::vector<Difference> parts;  // by Share
  std::vector<KindRow> kernels;   // by how much they differ
  std::vector<KindRow> collectives;
  std::vector<RankRow> ranks;  // by how much they differ; empty: other numbers of ranks
  std::vector<Fall> waterfall;
  double without_partner = 0;  // percent of the kernels' time that the other side has no like of
  std::vector<std::string> remarks;
  bool exact = true;  // of the replays
};

struct CompareSettings {
  double min_change_percent = 3;
  unsigned jobs = 1;
};
// `base` and `now` hold a run each, at least. The result does not depend on `jobs`.
Comparison Compare(const std::vector<std::unique_ptr<Run>>& base,
                   const std::vector<std::unique_ptr<Run>>& now, const CompareSettings& settings);

// Which ranks of `now` do what rank `r` of `base` does: one, or all of its role. By rank of `base`.
std::vector<std::vector<uint32_t>> Partners(const Run& base, const Run& now);

// Steps of `base` with what `now` takes, one kind of thing after the other; and back.
std::vector<Fall> Waterfall(const Run& base, const Run& now, unsigned jobs, bool* exact);

}  // namespace profd::analyze
