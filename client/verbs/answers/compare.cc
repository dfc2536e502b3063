// profctl compare: two recordings of a job, what has become slower and where it comes from.
#include "client/analyze/compare/compare.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/analyze/model/parallel.h"
#include "client/analyze/report/comparison.h"
#include "client/show/screen/table.h"
#include "client/verbs/answers/wishes.h"
#include "client/verbs/directories.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"

namespace profd::client {
namespace {

using base::Result;

constexpr size_t kMostRows = 50;
constexpr size_t kUsualRows = 10;

struct CompareOptions {
  std::string base, now;
  std::vector<std::string> more_base, more_new;
  std::string min_change, fail_on, top, jobs;
};

ExitCode Run(const Context& context, const CompareOptions& options) {
  analyze::CompareSettings settings;
  size_t top = kUsualRows;
  std::optional<double> fail_on;
  const auto jobs = ParseThreads(options.jobs);
  if (!jobs.ok()) return context.Fail(jobs.status());
  settings.jobs = *jobs;
  if (!options.min_change.empty()) {
    const auto percent = ParsePercent("--min-change", options.min_change);
    if (!percent.ok()) return context.Fail(percent.status());
    settings.min_change_percent = *percent;
  }
  if (!options.fail_on.empty()) {
    const auto percent = ParsePercent("--fail-on", options.fail_on);
    if (!percent.ok()) return context.Fail(percent.status());
    fail_on = *percent;
  }
  if (!options.top.empty()) {
    const auto count = ParseCount("--top", options.top, kMostRows);
    if (!count.ok()) return context.Fail(count.status());
    top = *count;
  }
  std::vector<std::string> paths{options.base, options.now};
  std::ranges::copy(options.more_base, std::back_inserter(paths));
  std::ranges::copy(options.more_new, std::back_inserter(paths));
  std::vector<std::optional<Result<std::unique_ptr<analyze::Run>>>> read(paths.size());
  // Sides beside each other; what is left of the threads goes to the ranks of each.
  const unsigned each = std::max<unsigned>(1, *jobs / static_cast<unsigned>(paths.size()));
  analyze::ForEach(paths.size(), *jobs, [&](size_t i) {
    const auto found = WithSessions(context, {paths[i]});
    if (found.ok()) {
      read[i].emplace(analyze::Run::Read(*found, analyze::Settings(), each));
    } else {
      read[i].emplace(found.status());
    }
  });
  analyze::Runs base, now;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!read[i]->ok()) return context.Fail(read[i]->status());
    (i == 0 || (i >= 2 && i < 2 + options.more_base.size()) ? base : now)
        .push_back(std::move(*read[i]).value());
  }
  const analyze::Comparison comparison = analyze::Compare(base, now, settings);
  const size_t columns = OwnLook().columns;
  context.Print(context.json ? analyze::ComparisonJson(comparison, base, now)
                             : Fitted(analyze::ComparisonText(comparison, base, now, top, columns), columns));
  const analyze::Difference& step = comparison.parts.front();
  if (fail_on && !comparison.has_verdict) {
    context.Note("--fail-on: no verdict: each side needs six steps, or three runs (--base, --new)");
    return ExitCode::kPartialLoss;
  }
  if (fail_on && step.judgement == analyze::Judgement::kSlower && step.percent() >= *fail_on)
    return ExitCode::kFindings;
  const auto is_torn = [](const auto& run) {
    return std::ranges::any_of(run->job().notes, &analyze::Note::lost);
  };
  return std::ranges::any_of(base, is_torn) || std::ranges::any_of(now, is_torn) ? ExitCode::kPartialLoss
                                                                                 : ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto asked = std::make_shared<CompareOptions>();
  arguments.Text("BASE", &asked->base, "the earlier recording, given as for analyze").Required();
  arguments.Text("NEW", &asked->now, "the recording to compare with it").Required();
  arguments.List("--base", &asked->more_base,
                 "more runs like BASE; with three on each side, runs are compared, not steps");
  arguments.List("--new", &asked->more_new, "more runs like NEW");
  arguments.Text("--min-change", &asked->min_change, "a smaller change is noise; default 3%");
  arguments.Text("--fail-on", &asked->fail_on, "exit 10 when a step takes this much longer, e.g. 5%");
  arguments.Text("--top", &asked->top, "how many kernels, collectives and ranks to show; default 10");
  arguments.Text("--jobs", &asked->jobs, "number of threads, 1 to 64; default one per core");
  return {.run = [asked](const Context& context) { return Run(context, *asked); }};
}

}  // namespace

namespace verbs {
Verb Compare() {
  return {"compare", "two recordings of a job: what got slower, and where it comes from", Reach::kHere,
          Define};
}
}  // namespace verbs

}  // namespace profd::client
