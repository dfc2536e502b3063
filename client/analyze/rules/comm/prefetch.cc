// Parts of a model that ranks gather from each other only when they are needed: nothing is computed
// meanwhile.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/comm/transfers.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20;

bool IsGather(std::string_view type) { return type == "allGather" || type == "AllGather"; }
bool IsScatter(std::string_view type) { return type == "reduceScatter" || type == "ReduceScatter"; }

// What groups of such a role gather are results of the kernels before, which cannot be fetched ahead; those
// of data parallelism gather parameters.
bool GathersResults(std::string_view role) {
  constexpr std::array<std::string_view, 10> kRoles = {"tp", "sp",     "cp",  "ep",      "pp",
                                                       "mp", "tensor", "seq", "context", "expert"};
  if (role.find("dp") != role.npos || role.find("data") != role.npos) return false;
  return std::ranges::any_of(kRoles, [role](std::string_view of) { return role.find(of) != role.npos; });
}

// The gathers of one rank in one group, in the order of time, and how often it scatters there.
struct Gathers {
  std::vector<const Collective*> all;
  size_t scatters = 0;
};

}  // namespace

void FindLateGathers(const Context& context, Found& found) {
  const Job& job = context.job;
  constexpr size_t kFewest = 4;     // of a step: layer by layer
  constexpr double kMostly = 0.75;  // of their time
  constexpr double kManyMore =
      1.5;  // gathers than scatters: parameters are gathered twice, forward and backward
  LessOfMatches less;
  std::set<TextId> which;
  Table table{"gathers that nothing is computed beside",
              {"group", "per_step", "ms_per_step", "could_be_hidden_ms_per_step"},
              {}};
  double waited = 0;
  size_t count = 0;
  for (const auto& [id, group] : context.groups) {
    if (GathersResults(group.role) || context.matches.absent.contains(id)) continue;
    const uint32_t r = group.ranks.front();  // all of them gather at once
    const Rank& rank = job.ranks[r];
    Gathers of;
    for (const Collective& collective : rank.collectives) {
      if (collective.group != id || context.StepOf(rank, collective.step) == kNone) continue;
      const std::string_view type = job.Text(collective.type);
      of.scatters += IsScatter(type) ? 1 : 0;
      if (IsGather(type) && collective.match != kNone) of.all.push_back(&collective);
    }
    if (of.all.size() < kFewest * context.steps() ||
        static_cast<double>(of.all.size()) < kManyMore * static_cast<double>(of.scatters))
      continue;
    double all = 0, exposed = 0, could = 0;
    size_t exposed_count = 0;
    LessOfMatches own;
    const Collective* before = nullptr;
    for (const Collective* gather : of.all) {
      const Way way = WayOf(context, gather->match);
      const Ns hidden = ComputedIn(rank, way.from, way.to);
      all += static_cast<double>(way.length());
      if (10 * hidden < way.length()) {
        exposed += static_cast<double>(way.length());
        ++exposed_count;
        // It could have gone beside the kernels since the one before.
        const bool is_first = before == nullptr || before->step != gather->step;
        const Ns room = is_first ? 0 : ComputedIn(rank, before->end, gather->begin);
        if (const Ns saved = std::min(room, way.length()); saved > 0) {
          own.emplace_back(gather->match, saved);
          could += static_cast<double>(saved);
        }
      }
      before = gather;
    }
    if (own.empty() || exposed < kMostly * all) continue;
    const auto steps = static_cast<double>(context.steps());
    if (table.rows.size() < kMostRows)
      table.rows.push_back({GroupName(context, id), static_cast<int64_t>(exposed_count / context.steps()),
                            exposed / steps / 1e6, could / steps / 1e6});
    // Groups of one role do it alike, each on its own ranks: what one rank waits for counts once.
    if (exposed / steps > waited) waited = exposed / steps, count = exposed_count / context.steps();
    less.insert(less.end(), own.begin(), own.end());
    which.insert(id);
  }
  if (less.empty() || waited < context.Get("comm.exposed_percent") / 100 * context.step_ns) return;
  Finding finding;
  finding.id = finding.key = "comm.prefetch";
  finding.title =
      "kernels wait " + Time(waited) + " of a step for what " + std::to_string(count) +
      " allGathers bring: none is fetched while those before are computed: " + GroupName(context, which);
  finding.where = WhereOfGroups(context, which);
  finding.steps = StepsOf(context, less);
  finding.evidence.push_back(std::move(table));
  finding.advice = {
      "fetch ahead: forward_prefetch and backward_prefetch of FSDP, or another order of its streams"};
  finding.cost.method = Method::kHeuristic;
  finding.factors = {{"method", 0.6, "an upper bound: as if each had gone beside the kernels before it"},
                     Occurrences(finding.steps.size())};
  finding.without = Without(std::move(less));
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
