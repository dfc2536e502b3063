// Programs that wait for the device where they need not.
#include <algorithm>
#include <cstdio>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {

void FindSyncs(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> all;  // by rank, the calls
  size_t launches = 0, count = 0;
  Table table{"calls that wait for the device within steps",
              {"rank", "call", "calls", "launches", "ms_per_step"},
              {}};
  std::vector<bool> is_hit(job.steps.size());
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    if (rank.level < Level::kLaunches) continue;
    const std::vector<uint32_t> steps = StepsOfCalls(context, rank);
    // At the end of a step a program reads its loss, and that is how it is. One that drives several devices
    // waits there for each of them.
    std::vector<uint32_t> last(job.steps.size(), kNone), last_launch(job.steps.size(), kNone), syncs;
    size_t own_launches = 0;
    for (uint32_t i = 0; i < rank.calls.size(); ++i) {
      if (steps[i] == kNone) continue;
      if (rank.calls[i].kind == CallKind::kLaunch) {
        ++own_launches;
        last_launch[steps[i]] = i;
      } else if (rank.calls[i].kind == CallKind::kSynchronise) {
        last[steps[i]] = i;
      }
    }
    Ns waited = 0;
    for (uint32_t i = 0; i < rank.calls.size(); ++i) {
      const uint32_t step = steps[i];
      if (step == kNone || rank.calls[i].kind != CallKind::kSynchronise || last[step] == i ||
          last_launch[step] == kNone || last_launch[step] < i)
        continue;
      syncs.push_back(i);
      waited += rank.calls[i].end - rank.calls[i].begin;
      is_hit[step] = true;
    }
    if (syncs.empty()) continue;
    launches += own_launches;
    count += syncs.size();
    if (table.rows.size() < 50)
      table.rows.push_back({rank.number, std::string(job.Text(rank.calls[syncs.front()].name)),
                            static_cast<int64_t>(syncs.size()), static_cast<int64_t>(own_launches),
                            static_cast<double>(waited) / 1e6 / static_cast<double>(context.steps())});
    all.emplace_back(r, std::move(syncs));
  }
  if (all.empty()) return;
  Finding finding;
  finding.id = "host.sync";
  finding.key = "host.sync";
  const double share = 100 * static_cast<double>(count) / static_cast<double>(std::max<size_t>(launches, 1));
  const std::string who =
      all.size() == 1 ? RankName(job.ranks[all.front().first]) : std::to_string(all.size()) + " ranks";
  const bool is_each = share >= context.Get("host.sync_share");
  char text[64];
  if (is_each) {
    std::snprintf(text, sizeof text, "behind %.0f %% of their launches", std::min(share, 100.0));
  } else {
    std::snprintf(text, sizeof text, "%.1f times within a step",
                  static_cast<double>(count) / static_cast<double>(all.size() * context.steps()));
  }
  finding.title = who + ": the host waits for the device " + text;
  for (const auto& [r, syncs] : all) finding.where.ranks.push_back(job.ranks[r].number);
  for (uint32_t step = 0; step < is_hit.size(); ++step) {
    if (is_hit[step]) finding.steps.push_back(step);
  }
  finding.evidence.push_back(std::move(table));
  finding.advice = {
      "remove what reads a result of the device within a step: .item(), print(), synchronize()"};
  if (is_each && VariableOf(context, "ASCEND_LAUNCH_BLOCKING") == "1") {
    finding.causes.push_back({"env.setting", 1});
    finding.advice.insert(finding.advice.begin(), "unset ASCEND_LAUNCH_BLOCKING: it makes every launch wait");
  }
  finding.factors = {{"record", 1, "every such call is recorded"}};
  finding.without = [all](const Replay& replay, Lengths& lengths) {
    for (const auto& [r, syncs] : all) {
      Lengths::OfRank& of = replay.Touch(lengths, r);
      of.no_call.resize(replay.job().ranks[r].calls.size());
      for (const uint32_t call : syncs) of.no_call[call] = true;
    }
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
