#include "client/analyze/rules/host/throttling.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

constexpr double kFinestLook = 25e6;  // ns: a cgroup that is looked at 50 times a second and more

std::string LimitText(const Job& job, TextId cgroup, double limit) {
  return "its cgroup " + std::string(job.Text(cgroup)).substr(0, 48) + " may use no more than " +
         (limit > 0 ? CpusText(limit) + " CPUs" : "its part of the CPUs");
}

}  // namespace

std::string CpusText(double cpus) {
  char text[32];
  std::snprintf(text, sizeof text, cpus < 1 ? "%.2g" : cpus < 10 ? "%.1f" : "%.0f", cpus);
  return text;
}

CgroupUse UseOf(const Rank& rank, TextId cgroup) {
  CgroupUse use;
  std::vector<double> cpus, throttled;
  for (const CgroupLook& look : rank.cgroups) {
    if (look.cgroup != cgroup) continue;
    if (!std::isnan(look.cpus)) cpus.push_back(look.cpus);
    if (!std::isnan(look.throttled)) throttled.push_back(look.throttled);
    if (!std::isnan(look.limit)) use.limit = look.limit;
  }
  use.cpus = Mean(cpus);
  use.throttled = Mean(throttled);
  return use;
}

Reason ThrottlingOf(const Context& context, std::span<const Piece> pieces, Ns queued, double least_share) {
  const Rank& rank = context.job.ranks[pieces.front().rank];
  Reason best;
  std::map<TextId, std::vector<const CgroupLook*>> groups;
  for (const CgroupLook& look : rank.cgroups) {
    if (!std::isnan(look.throttled)) groups[look.cgroup].push_back(&look);
  }
  Ns all = 0, shortest = INT64_MAX;
  for (const Piece& piece : pieces) {
    all += piece.length();
    shortest = std::min(shortest, piece.length());
  }
  for (const auto& [cgroup, looks] : groups) {
    // Throttled time is that of all threads together: of a stall no more than that is explained.
    Ns covered = 0, kept_ns = 0, total = 0;
    std::vector<double> widths;
    for (const CgroupLook* look : looks) {
      const auto width = static_cast<double>(look->to - look->from);
      widths.push_back(width);
      total += look->to - look->from;
      // The kernel counts what was kept from it when that ends, and it may have begun looks before.
      const auto kept = static_cast<Ns>(look->throttled * width);
      const Ns from = look->from - kept;
      Ns inside = 0;
      for (auto at = std::ranges::upper_bound(pieces, from, {}, &Piece::to);
           at != pieces.end() && at->from < look->to; ++at)
        inside += std::max<Ns>(0, std::min(at->to, look->to) - std::max(at->from, from));
      covered += std::min(inside, kept);
      kept_ns += kept;
    }
    const double share = std::min(1.0, static_cast<double>(covered) / static_cast<double>(all));
    if (share < least_share || share <= best.share) continue;
    // It must be rarer at other times, unless the thread is known to have been kept from its CPU: a program
    // whose limit is low is kept from it while its device computes, too. Of a recording that is nearly
    // nothing but stalls nobody can tell.
    const double other =
        static_cast<double>(kept_ns - covered) / static_cast<double>(std::max<Ns>(1, total - all));
    const bool needs_contrast = 2 * queued < all && 2 * all < total;
    if (needs_contrast && share < context.Get("host.contrast") * other) continue;
    const double width = Median(widths);
    const bool resolves = static_cast<double>(shortest) >= 2 * width;
    best.id = "host.throttled";
    best.text =
        (resolves ? "" : "in time with this: ") + LimitText(context.job, cgroup, UseOf(rank, cgroup).limit);
    best.share = share;
    best.covered = covered;
    best.cgroup = cgroup;
    best.how = resolves
                   ? Factor{"record", 0.9, "the cause itself is recorded"}
                   : Factor{"resolution", 0.6,
                            "the cgroup was looked at every " + Time(width) +
                                (width > kFinestLook ? ": record --collect host-cgroup=50Hz for more" : "")};
  }
  return best;
}

std::string PartText(const Job& job, const Rank& rank, const Reason& throttling) {
  return "; for " + PercentOf(throttling.share) + " of that " +
         LimitText(job, throttling.cgroup, UseOf(rank, throttling.cgroup).limit);
}

}  // namespace profd::analyze
