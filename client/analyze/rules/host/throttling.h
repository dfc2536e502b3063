// Cgroups that are kept from their CPUs, in time with stalls.
#pragma once

#include <span>
#include <string>

#include "client/analyze/rules/host/stall_cause.h"

namespace profd::analyze {

// Means over the looks that know of it, in CPUs; the latest limit. 0: nobody knows.
struct CgroupUse {
  double cpus = 0, throttled = 0, limit = 0;
};
CgroupUse UseOf(const Rank& rank, TextId cgroup);
// "0.15", "2.5", "12": of CPUs.
std::string CpusText(double cpus);

// Of stalls of one rank that have no other reason, or wait for a CPU: its cgroup may use no more.
// `pieces` by time; `queued`: how much of them the thread is known to have waited for a CPU. The id is empty
// where it covers less than `least_share` of them.
Reason ThrottlingOf(const Context& context, std::span<const Piece> pieces, Ns queued, double least_share);
// Of stalls that are throttling in part: words for the title, behind those of their reason.
std::string PartText(const Job& job, const Rank& rank, const Reason& throttling);

}  // namespace profd::analyze
