// Devices that did not work, or did not answer, while the job was recorded.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 50;

}  // namespace

void FindDeviceErrors(const Context& context, Found& found) {
  const Job& job = context.job;
  Table table{"what the driver said", {"rank", "device", "what", "from_ns", "ms"}, {}};
  std::vector<uint32_t> ranks;
  std::vector<bool> hit(job.steps.size());
  std::set<TextId> what;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    bool is_hit = false;
    for (const Trouble& trouble : rank.troubles) {
      bool is_in_a_step = false;
      for (uint32_t i = 0; i < rank.steps.size(); ++i) {
        const uint32_t shared = context.StepOf(rank, i);
        if (shared == kNone || rank.steps[i].begin >= trouble.to || rank.steps[i].end <= trouble.from)
          continue;
        hit[shared] = is_in_a_step = true;
      }
      if (!is_in_a_step) continue;
      is_hit = true;
      what.insert(trouble.what);
      const Ns end = std::min(trouble.to, rank.steps.back().end);
      if (table.rows.size() < kMostRows)
        table.rows.push_back({rank.number, int64_t{rank.device}, std::string(job.Text(trouble.what)),
                              trouble.from, static_cast<double>(end - trouble.from) / 1e6});
    }
    if (is_hit) ranks.push_back(r);
  }
  if (ranks.empty()) return;
  Finding finding = Fact(job, "device.errors", Severity::kMinor, ranks, hit);
  finding.title = RanksName(job, ranks) + ": " + std::string(job.Text(*what.begin()));
  if (what.size() > 1) finding.title += ", and " + std::to_string(what.size() - 1) + " more";
  finding.evidence.push_back(std::move(table));
  finding.advice = {
      "check the device with the vendor's tools before the next run; findings of its rank may follow from "
      "this"};
  finding.factors = {{"record", 1, "the driver said so, or did not answer"}};
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
