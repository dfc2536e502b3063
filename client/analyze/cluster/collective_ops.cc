#include "client/analyze/cluster/collective_ops.h"

#include <algorithm>
#include <map>

#include "client/analyze/cluster/cluster_output.h"
#include "client/analyze/cluster/rank_folder.h"
#include "format/op_names.h"

namespace profd::analyze {
namespace {

std::string StepName(const Job& job, uint32_t step) { return "step" + std::to_string(job.steps[step]); }

}  // namespace

double Ratio(double part, double rest) { return part + rest > 0 ? part / (part + rest) : 0; }

std::vector<Op> OpsOf(const Analysis& analysis, size_t r) {
  const Job& job = analysis.job();
  const Rank& rank = job.ranks[r];
  std::vector<Op> ops;
  std::map<TextId, std::string> own_of;  // of groups
  for (const Collective& collective : rank.collectives) {
    const uint32_t step = collective.step == kNone ? kNone : rank.job_step[collective.step];
    if (step == kNone) continue;
    Op op;
    op.name = std::string(job.Text(collective.name));
    op.group = GroupHash(job.Text(collective.group));
    op.step = StepName(job, step);
    op.type = "hcom_" + std::string(job.Text(collective.type));
    op.is_pair = IsSend(job.Text(collective.type)) || IsReceive(job.Text(collective.type));
    op.begin = collective.begin;
    op.elapsed = collective.end - collective.begin;
    // Without the others nobody knows how long it waited for them.
    op.transit = collective.match == kNone
                     ? op.elapsed
                     : std::min(op.elapsed, analysis.context().replay.Transfer(collective.match));
    op.wait = op.elapsed - op.transit;
    op.bytes = collective.bytes;
    const GroupOf& group = analysis.context().groups.at(collective.group);
    if (group.nodes > 1) op.transport = "RDMA";
    std::string& own = own_of[collective.group];
    if (own.empty()) own = OwnLink(analysis, r, collective.group);
    op.own = own;
    if (op.is_pair && group.ranks.size() == 2)
      op.link = (group.ranks[0] == r) == IsSend(job.Text(collective.type)) ? "0-1" : "1-0";
    ops.push_back(std::move(op));
  }
  return ops;
}

std::string OwnLink(const Analysis& analysis, size_t r, TextId id) {
  const auto group = analysis.context().groups.find(id);
  if (group == analysis.context().groups.end()) return "0-0";
  const std::vector<int64_t> ranks =
      RanksOf(analysis.job(), group->second, std::string(analysis.job().Text(id)));
  const std::string own =
      std::to_string(std::ranges::find(ranks, analysis.job().ranks[r].number) - ranks.begin());
  return own + "-" + own;
}

std::string GroupHash(std::string_view group) { return std::to_string(format::CannHash(group)); }

}  // namespace profd::analyze
