#include "client/analyze/analysis.h"

#include <algorithm>

#include "client/analyze/job.h"

namespace profd::analyze {

base::Result<std::unique_ptr<Analysis>> Analysis::Run(Request request) {
  PROFD_ASSIGN_OR_RETURN(Job job, ReadJob(request.paths, {.jobs = request.jobs,
                                                          .keeps_all = request.keeps_all,
                                                          .recursive = request.recursive,
                                                          .progress = request.progress}));
  return std::unique_ptr<Analysis>(new Analysis(std::move(request), std::move(job)));
}

namespace {

Clocks Mend(Job& job, const Matches& matches) {
  Clocks clocks = AlignClocks(job, matches);
  CutEnds(job, matches);
  return clocks;
}

}  // namespace

Analysis::Analysis(Request request, Job job)
    : request_(std::move(request)),
      job_(std::move(job)),
      matches_(MatchCollectives(job_)),
      clocks_(Mend(job_, matches_)),
      replay_(job_, matches_, request_.jobs),
      context_(MakeContext(job_, matches_, clocks_, replay_, request_.settings, request_.jobs)),
      verdict_(request_.judges ? Judge(context_, request_.rules, request_.jobs) : Verdict{}) {}

Level Analysis::level() const {
  Level least = Level::kFramework;
  for (const Rank& rank : job_.ranks) least = std::min(least, rank.level);
  return least;
}

bool Analysis::has_losses() const {
  return std::ranges::any_of(job_.ranks, [](const Rank& rank) { return !rank.lost.empty(); });
}

bool Analysis::is_whole() const { return std::ranges::none_of(job_.notes, &Note::lost); }

}  // namespace profd::analyze
