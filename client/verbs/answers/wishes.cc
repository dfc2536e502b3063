#include "client/verbs/answers/wishes.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "client/analyze/report/text.h"
#include "client/show/screen/table.h"
#include "client/words/args.h"
#include "client/words/jobs.h"
#include "client/words/text.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr size_t kMostJobs = 64;
constexpr size_t kMostFindings = 1000;
constexpr size_t kUsualFindings = 5;
constexpr size_t kIndent = 7;  // of lines that go on

Status CheckRules(const std::vector<std::string>& wanted) {
  for (const std::string& word : wanted) {
    const std::string_view name = std::string_view(word).substr(word.starts_with('-') ? 1 : 0);
    const auto is_named = [name](const analyze::Rule& rule) {
      return rule.id == name || (rule.id.starts_with(name) && rule.id.substr(name.size()).starts_with('.'));
    };
    if (name != "all" && std::ranges::none_of(analyze::Rules(), is_named))
      return {Code::kInvalidArgument,
              "--rules " + Excerpt(word) + ": there is no such rule; profctl analyze --list shows them"};
  }
  return {};
}

// A finding that is worth an alarm: of those that cost part of every or some steps, and of what ends a job.
bool Fails(const analyze::Finding& finding, double percent) {
  if (finding.is_fact) return finding.severity == analyze::Severity::kCritical;
  return finding.cost.pattern != analyze::Pattern::kOnce && finding.cost.percent >= percent;
}

}  // namespace

std::vector<std::string> Words(const std::string& list) {
  std::vector<std::string> words;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (end > at) words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

void DefineFindings(cli::Arguments& arguments, AnswerOptions* options) {
  arguments
      .Text("--rules", &options->rules,
            "only findings of these rules: rank.late,comm; or all but these: -host.stall")
      .Joined();
  arguments.Text("--set", &options->settings, "change thresholds: rank.absent_percent=2,comm.min_ops=10")
      .Joined();
  arguments.Text("--jobs", &options->jobs, "number of threads, 1 to 64; default one per core");
}

void DefineAnswer(cli::Arguments& arguments, AnswerOptions* options) {
  arguments.Text("--top", &options->top, "how many findings to show; default 5");
  arguments.Text("--fail-on", &options->fail_on, "exit 10 when a finding costs this much of a step, e.g. 5%");
  DefineFindings(arguments, options);
}

Result<unsigned> ParseThreads(const std::string& jobs) {
  if (jobs.empty()) return std::min<unsigned>(OwnJobs(), kMostJobs);
  PROFD_ASSIGN_OR_RETURN(const size_t count, ParseCount("--jobs", jobs, kMostJobs));
  return static_cast<unsigned>(count);
}

Result<AnswerWishes> ParseAnswer(const AnswerOptions& options) {
  AnswerWishes wishes;
  wishes.request.rules = Words(options.rules);
  PROFD_RETURN_IF_ERROR(CheckRules(wishes.request.rules));
  for (const std::string& setting : Words(options.settings))
    PROFD_RETURN_IF_ERROR(wishes.request.settings.Set(setting));
  PROFD_ASSIGN_OR_RETURN(wishes.request.jobs, ParseThreads(options.jobs));
  wishes.request.recursive = options.recursive;
  wishes.top = kUsualFindings;
  if (!options.top.empty()) {
    PROFD_ASSIGN_OR_RETURN(wishes.top, ParseCount("--top", options.top, kMostFindings));
  }
  if (!options.fail_on.empty()) {
    PROFD_ASSIGN_OR_RETURN(wishes.fail_on, ParsePercent("--fail-on", options.fail_on));
  }
  return wishes;
}

void DefineRecursive(cli::Arguments& arguments, AnswerOptions* options) {
  arguments.Flag("--recursive", &options->recursive,
                 "take all recordings below DIR for those of one job, however deep they lie");
}

std::string ScreenOf(const analyze::Analysis& analysis, const AnswerWishes& wishes) {
  const bool coloured = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  const std::string text = analyze::Screen(analysis, wishes.top, coloured);
  const size_t columns = OwnLook().columns;
  std::string fitted;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    fitted += Wrapped(std::string_view(text).substr(at, end - at), columns, kIndent) + "\n";
    at = end == text.npos ? text.size() : end + 1;
  }
  return fitted;
}

ExitCode ResultOf(const analyze::Analysis& analysis, const AnswerWishes& wishes) {
  const bool fails =
      wishes.fail_on && std::ranges::any_of(analysis.verdict().findings, [&](const auto& finding) {
        return Fails(finding, *wishes.fail_on);
      });
  if (fails) return ExitCode::kFindings;
  return analysis.is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

}  // namespace profd::client
