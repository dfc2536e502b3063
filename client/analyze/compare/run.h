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
#include "client/analyze/model/match.h"
#include "client/analyze/model/replay.h"
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
  std::vector<double> KindSeries(uint32_t kind) const;

  // Kinds of collectives, by matches; what they transfer.
  const std::vector<Kind>& collective_kinds() const { return collective_kinds_; }
  uint32_t CollectiveKind(size_t match) const { return kind_of_match_[match]; }
  const std::vector<Amount>& Transfers() const { return transfers_; }
  // Of those that a rank takes part in, by kind.
  const std::vector<Amount>& TransfersOf(size_t rank) const { return transfers_of_[rank]; }

  // What the host of a rank takes between and in calls, how long it stops, and what lies between tasks and
  // all they waited for; of a step, ns.
  double HostNs(size_t rank) const { return host_[rank]; }
  double StopNs(size_t rank) const { return stops_[rank]; }
  double GapNs(size_t rank) const { return gaps_[rank]; }
  // How much of that is in front of a call, and in front of a task.
  Ns HostOf(size_t rank, size_t call) const;
  Ns StopOf(size_t rank, size_t call) const;
  Ns GapOf(size_t rank, size_t task) const;

  // Ranks of the same work, ranks of a role in the order of their places in groups.
  const std::vector<std::vector<uint32_t>>& roles() const { return roles_; }

 private:
  Run(Job job, const Settings& settings, unsigned jobs);
  void MeasureParts();
  void MeasureKernels();
  void MeasureTransfers();
  void MeasureHosts();
  void FindRoles();
  Ns Between(size_t rank, size_t call) const;

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
  std::vector<float> by_step_;  // kind × steps, ns, sum over ranks
  std::vector<Amount> transfers_;
  std::vector<std::vector<Amount>> transfers_of_;
  std::vector<double> host_, stops_, gaps_;
  std::vector<std::vector<uint32_t>> roles_;
};

}  // namespace profd::analyze
