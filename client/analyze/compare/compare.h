// Two recordings of a job beside each other: what takes more and what less, whether that is more than noise,
// and where the difference of the steps comes from. Schema profd.compare/1 (docs/compare.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/analyze/compare/noise.h"
#include "client/analyze/compare/run.h"

namespace profd::analyze {

struct KindRow {
  Kind kind;
  std::string new_shapes;                // of a kernel that runs as often with others
  Difference difference;                 // ms of a step, mean over ranks
  double base_count = 0, new_count = 0;  // of a step and rank
  double base_us = 0, new_us = 0;        // of one
};
struct RankRow {
  int64_t base = 0, now = 0;  // numbers of ranks with the same place
  double base_compute = 0, new_compute = 0, base_waiting = 0, new_waiting = 0;  // ms of a step
};
// Where the difference of the steps comes from.
struct Fall {
  std::string what;
  double ms = 0;
};
struct Waterfall {
  double base_ms = 0, new_ms = 0;  // a step
  std::vector<Fall> falls;         // add up to the difference; the last one is what the others leave
  bool exact = true;               // of the replays
};

using Runs = std::vector<std::unique_ptr<Run>>;

struct Comparison {
  // Of several runs of a side: the one whose step is in the middle. Waterfall and ranks are theirs.
  size_t base = 0, now = 0;
  bool runs_are_units = false;    // three and more on both sides: else steps are
  bool has_verdict = false;       // of the step: there are steps, and enough of them
  std::vector<Difference> parts;  // by Share
  std::vector<KindRow> kernels;   // by how much they differ
  std::vector<KindRow> collectives;
  std::vector<RankRow> ranks;  // by how much they differ; empty: no rank has one at its place
  Waterfall waterfall;
  double without_partner = 0;  // percent of the kernels' time that the other side has no like of
  std::vector<std::string> remarks;
};

struct CompareSettings {
  double min_change_percent = 3;
  unsigned jobs = 1;
};
// `base` and `now` hold a run each, at least. The result does not depend on `jobs`.
Comparison Compare(const Runs& base, const Runs& now, const CompareSettings& settings);

// Which ranks of `now` do what rank `r` of `base` does: one, or all of its role. By rank of `base`.
std::vector<std::vector<uint32_t>> Partners(const Run& base, const Run& now);

// Steps of `base` with what `now` takes, one kind of thing after the other; and back.
Waterfall FallFrom(const Run& base, const Run& now, unsigned jobs);

}  // namespace profd::analyze
