// Transfers whose size is no multiple of what the links carry at once.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/comm/transfers.h"

namespace profd::analyze {
namespace {

constexpr uint64_t kAlignment = 512;  // bytes
constexpr double kNear = 0.25;        // of a size: others of about that size
constexpr size_t kMostRows = 20;

struct Split {
  std::vector<uint32_t> odd,
      even;  // matches: those that are not aligned, and those about their size that are
};
Split SplitOf(const Context& context, const std::vector<uint32_t>& matches) {
  Split split;
  std::vector<double> sizes;
  for (const uint32_t match : matches) {
    const uint64_t bytes = context.matches.all[match].bytes;
    if (bytes == 0 || bytes % kAlignment == 0) continue;
    split.odd.push_back(match);
    sizes.push_back(static_cast<double>(bytes));
  }
  if (sizes.empty()) return split;
  const double middle = Median(sizes);
  const auto is_near = [&](uint32_t match) {
    return std::abs(static_cast<double>(context.matches.all[match].bytes) - middle) <= kNear * middle;
  };
  std::erase_if(split.odd, [&](uint32_t match) { return !is_near(match); });
  for (const uint32_t match : matches) {
    if (context.matches.all[match].bytes % kAlignment == 0 && is_near(match)) split.even.push_back(match);
  }
  return split;
}

// ns per byte.
std::vector<double> PacesOf(const Context& context, const std::vector<uint32_t>& matches) {
  std::vector<double> paces;
  paces.reserve(matches.size());
  for (const uint32_t match : matches)
    paces.push_back(static_cast<double>(context.replay.Transfer(match)) /
                    static_cast<double>(context.matches.all[match].bytes));
  return paces;
}

}  // namespace

void FindUnaligned(const Context& context, Found& found) {
  const auto min_samples = static_cast<size_t>(context.Get("comm.min_samples"));
  const double least = 1 / context.Get("comm.align_ratio");
  LessOfMatches less;
  std::set<TextId> which;
  double worst = 1, sure = 1;
  Table table{"transfers by alignment",
              {"group", "type", "bytes", "unaligned", "gb_per_s", "aligned", "gb_per_s", "ratio"},
              {}};
  for (const auto& [key, groups] : TransfersByClass(context)) {
    if (key.bits <= 0) continue;
    for (const auto& [group, matches] : groups) {
      const Split split = SplitOf(context, matches);
      if (split.odd.size() < min_samples || split.even.size() < min_samples) continue;
      const std::vector<double> odd = PacesOf(context, split.odd), even = PacesOf(context, split.even);
      const double own = Median(odd), usual = Median(even);
      if (usual <= 0) continue;
      const double ratio = own / usual, error = std::hypot(MedianError(odd), MedianError(even)) / usual;
      if (ratio < least || ratio - 1 < context.Get("general.effect_se") * error) continue;
      std::vector<double> sizes;
      for (const uint32_t match : split.odd) {
        sizes.push_back(static_cast<double>(context.matches.all[match].bytes));
        less.emplace_back(
            match, std::llround(static_cast<double>(context.replay.Transfer(match)) * (1 - 1 / ratio)));
      }
      which.insert(group);
      if (ratio > worst) worst = ratio, sure = std::min(1.0, (ratio - 1) / std::max(5 * error, 1e-9));
      if (table.rows.size() < kMostRows)
        table.rows.push_back({GroupName(context, group), std::string(context.job.Text(key.type)),
                              std::llround(Median(sizes)), static_cast<int64_t>(odd.size()), 1 / own,
                              static_cast<int64_t>(even.size()), 1 / usual, ratio});
    }
  }
  if (less.empty()) return;
  Finding finding;
  finding.id = "comm.align";
  finding.key = "comm.align";
  finding.title = GroupName(context, which) + ": data whose size is not a multiple of " +
                  std::to_string(kAlignment) + " bytes take " + Times(worst) +
                  " as long as others of that size";
  finding.where = WhereOfGroups(context, which);
  finding.steps = StepsOf(context, less);
  finding.evidence.push_back(std::move(table));
  finding.advice = {"pad buffers to a multiple of " + std::to_string(kAlignment) + " bytes"};
  finding.factors = {Occurrences(finding.steps.size()),
                     {"effect", sure, Times(worst) + " as long as aligned ones"},
                     {"cause", 0.8, "the recording shows that they coincide, not that one causes the other"}};
  finding.without = Without(std::move(less));
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
