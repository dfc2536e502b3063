// One side of a comparison: a recording as steps, classes of time and kinds of work, by names that mean the
// same on the other side.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/analyze/model/match/clocks.h"
#include "client/analyze/model/replay/replay.h"
#include "client/analyze/model/settings.h"
#include "client/analyze/rules/context.h"

namespace profd::analyze {

// Where the time of a step goes: the first of them is the sum of the others.
enum class Share : uint8_t { kStep, kCompute, kTransfer, kWaiting, kIdle };
inline constexpr size_t kParts = 5;
std::string_view ShareName(Share part);

// What one kind of work takes: of kernels a type and a shape, of collectives a type, a size and a number of
// ranks.
struct Amount {
  double ns = 0, count = 0;  // of a step
  double each() const { return count > 0 ? ns / count : 0; }
};
struct Kind {
  std::string type, shapes;
  Work work = Work::kCompute;
  auto operator<=>(const Kind&) const = default;
};

// Not to be moved: parts refer to each other. **Thread:** any, once made.
class Run {
 public:
  // kNotFound: there is nothing to compare.
  static base::Result<std::unique_ptr<Run>> Read(const std::vector<std::string>& paths,
                                                 const Settings& settings, unsigned jobs);

  const Job& job() const { return job_; }
  const Matches& matches() const { return matches_; }
  const Replay& replay() const { return replay_; }
  const Context& context() const { return context_; }

  // By step that is analysed, ms, mean over ranks.
  const std::vector<double>& Series(Share part) const { return parts_[static_cast<size_t>(part)]; }
  // Of each rank: the mean of a step.
  double OfRank(size_t rank, Share part) const { return of_rank_[rank][static_cast<size_t>(part)]; }

  // Kinds of kernels; a kernel's kind is KindOf() its class.
  const std::vector<Kind>& kinds() const { return kinds_; }
  uint32_t KindOf(uint32_t kernel_class) const { return kind_of_class_[kernel_class]; }
  // By rank and kind.
  const std::vector<Amount>& Kernels(size_t rank) const { return kernels_[rank]; }
  // By step, ns, mean over ranks.
  std::vector<double> KernelSeries(uint32_t kind) const;

  // Kinds of collectives; a match's kind is CollectiveKind(). Their data only, waiting is not in it.
  const std::vector<Kind>& collective_kinds() const { return collective_kinds_; }
  uint32_t CollectiveKind(size_t match) const { return kind_of_match_[match]; }
  // By rank and kind: of those that the rank takes part in.
  const std::vector<Amount>& TransfersOf(size_t rank) const { return transfers_of_[rank]; }
  // By step, ns, mean over ranks.
  std::vector<double> TransferSeries(uint32_t kind) const;

  // What is to be waited for before something happens: between and in calls of the host, where the host stops
  // between two of them, between a task and all that it waited for.
  enum class Before : uint8_t { kCall, kStop, kTask };
  Ns InFrontOf(Before what, size_t rank, uint32_t item) const;
  // Of a step that is analysed (the first is 0): its calls, or its tasks, in their order.
  const std::vector<uint32_t>& Items(Before what, size_t rank, size_t step) const {
    return (what == Before::kTask ? tasks_ : calls_)[rank][step];
  }

  // Where a rank stands in its groups, by their roles: ("dp", 1), ("tp", 0).
  using Place = std::vector<std::pair<std::string, int64_t>>;
  Place PlaceOf(size_t rank) const;
  // Ranks of the same work, in the order of their places.
  const std::vector<std::vector<uint32_t>>& roles() const { return roles_; }

 private:
  Run(Job job, const Settings& settings, unsigned jobs);
  void MeasureParts();
  void MeasureKernels();
  void MeasureTransfers();
  void FindItems();
  std::vector<double> SeriesOf(const std::vector<double>& sums, uint32_t kind) const;
  void FindRoles();

  const Settings settings_;
  Job job_;
  Matches matches_;
  Clocks clocks_;
  Replay replay_;
  Context context_;
  std::array<std::vector<double>, kParts> parts_;
  std::vector<std::array<double, kParts>> of_rank_;
  std::vector<Kind> kinds_, collective_kinds_;
  std::vector<uint32_t> kind_of_class_, kind_of_match_;
  std::vector<std::vector<Amount>> kernels_;
  std::vector<std::vector<Amount>> transfers_of_;
  std::vector<double> kernel_series_, transfer_series_;            // kind × steps, ns, sum over ranks
  std::vector<std::vector<std::vector<uint32_t>>> calls_, tasks_;  // by rank and step
  std::vector<std::vector<uint32_t>> roles_;
};

}  // namespace profd::analyze
