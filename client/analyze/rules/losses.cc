// Records that were lost while the job was recorded: what the other rules find in that time is less sure.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 50;

// Of a rank's steps, or of all that are analysed where `wanted` is null.
struct LostTime {
  Ns all = 0, lost = 0;
  double share() const { return all > 0 ? static_cast<double>(lost) / static_cast<double>(all) : 0; }
};
LostTime LostOf(const Context& context, const Rank& rank, const std::vector<uint32_t>* wanted,
                std::vector<bool>* hit = nullptr) {
  LostTime time;
  for (uint32_t i = 0; i < rank.steps.size(); ++i) {
    const uint32_t shared = context.StepOf(rank, i);
    if (shared == kNone || (wanted != nullptr && !std::ranges::binary_search(*wanted, shared))) continue;
    const Step& step = rank.steps[i];
    time.all += step.end - step.begin;
    Ns reached = step.begin;
    for (const Lost& lost : rank.lost) {
      const Ns from = std::max(lost.from, reached), to = std::min(lost.to, step.end);
      if (lost.from < step.end && lost.to >= step.begin && hit != nullptr) (*hit)[shared] = true;
      if (to <= from) continue;
      time.lost += to - from;
      reached = to;
    }
  }
  return time;
}

}  // namespace

void FindLosses(const Context& context, Found& found) {
  const Job& job = context.job;
  Table table{"records that were lost", {"rank", "file", "why", "records", "from_ns", "ms"}, {}};
  std::vector<uint32_t> ranks;
  std::vector<bool> hit(job.steps.size());
  uint64_t records = 0;
  double most = 0;
  std::map<TextId, uint64_t> reasons;
  std::set<std::tuple<std::string, TextId, uint64_t, Ns>> counted;  // of a program's all its ranks have
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    std::vector<bool> own(job.steps.size());
    const LostTime time = LostOf(context, rank, nullptr, &own);
    if (std::ranges::find(own, true) == own.end()) continue;
    ranks.push_back(r);
    most = std::max(most, time.share());
    for (size_t step = 0; step < own.size(); ++step) hit[step] = hit[step] || own[step];
    for (const Lost& lost : rank.lost) {
      if (counted.emplace(rank.source, lost.file, lost.records, lost.to - lost.from).second) {
        records += lost.records;
        reasons[lost.why] += lost.records;
      }
      if (table.rows.size() < kMostRows)
        table.rows.push_back({rank.number, std::string(job.Text(lost.file)), std::string(job.Text(lost.why)),
                              static_cast<int64_t>(lost.records), lost.from,
                              static_cast<double>(lost.to - lost.from) / 1e6});
    }
  }
  if (ranks.empty()) return;
  const TextId why =
      std::ranges::max_element(reasons, {}, [](const auto& entry) { return entry.second; })->first;
  Finding finding = Fact(job, "data.loss", Severity::kInfo, ranks, hit);
  finding.title = RanksName(job, ranks) + ": " + std::to_string(records) + " records were lost, in " +
                  PercentOf(most) + " of the time: " + std::string(job.Text(why));
  finding.evidence.push_back(std::move(table));
  finding.advice = {"record less at a time: fewer kinds, fewer steps; profctl status says which kind loses"};
  finding.factors = {{"record", 1, "every loss is counted where it happens"}};
  found.findings.push_back(std::move(finding));
}

void WeighLosses(const Context& context, Finding& finding) {
  double most = 0;
  for (const Rank& rank : context.job.ranks) {
    const std::vector<int64_t>& ranks = finding.where.ranks;
    if (!rank.lost.empty() && (ranks.empty() || std::ranges::find(ranks, rank.number) != ranks.end()))
      most = std::max(most, LostOf(context, rank, &finding.steps).share());
  }
  if (most > 0)
    finding.factors.push_back({"data", 1 - most, PercentOf(most) + " of the time of its steps has losses"});
}

}  // namespace profd::analyze
