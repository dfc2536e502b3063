// What the verbs that analyse take alike, and how they end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/arguments.h"
#include "base/status.h"
#include "client/analyze/analysis.h"
#include "client/node/context.h"
#include "client/words/exit_code.h"

namespace profd::client {

// Options as given.
struct AnswerOptions {
  std::string settings, rules, top, fail_on, jobs;
  bool recursive = false;
};
// Of folders with recordings: --recursive.
void DefineRecursive(cli::Arguments& arguments, AnswerOptions* options);
// Which findings: --rules, --set, --jobs.
void DefineFindings(cli::Arguments& arguments, AnswerOptions* options);
// And how they are shown on a terminal: --top, --fail-on.
void DefineAnswer(cli::Arguments& arguments, AnswerOptions* options);

struct AnswerWishes {
  analyze::Request request;  // without paths
  size_t top = 0;
  std::optional<double> fail_on;  // percent of a step
};
base::Result<AnswerWishes> ParseAnswer(const AnswerOptions& options);

// "a,b" → a and b.
std::vector<std::string> Words(const std::string& list);
// Threads: as given, or one per core.
base::Result<unsigned> ParseThreads(const std::string& jobs);

// The findings as a screen has them.
std::string ScreenOf(const analyze::Analysis& analysis, const AnswerWishes& wishes);
// 10: a finding costs as much as --fail-on; 7: some data could not be used; else 0. A found cause is not
// hidden by a torn file.
ExitCode ResultOf(const analyze::Analysis& analysis, const AnswerWishes& wishes);

}  // namespace profd::client
