#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client/analyze/analysis.h"
#include "client/analyze/report/json.h"
#include "client/analyze/report/text.h"
#include "client/verbs/analyze_request.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

struct AnalyzeOptions {
  std::vector<std::string> directories;
  std::string settings, rules, top, fail_on, jobs;
  std::string explain;  // number of a finding, or a rule
  bool list = false;    // of rules and settings
};

using base::Code;
using base::Result;
using base::Status;

constexpr size_t kMostFindings = 1000;
constexpr size_t kUsualFindings = 5;

// "5%" → 5.
Result<double> ParsePercent(std::string_view option, std::string_view text) {
  const std::string_view number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() || !(value >= 0) ||
      value > 100)
    return Status(Code::kInvalidArgument,
                  std::string(option) + " '" + Excerpt(text) + "': expected a part of a step, e.g. 5%");
  return value;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// A finding that is worth an alarm: of those that cost part of every or some steps, and of what ends a job.
bool Fails(const analyze::Finding& finding, double percent) {
  if (finding.is_fact) return finding.severity == analyze::Severity::kCritical;
  return finding.cost.pattern != analyze::Pattern::kOnce && finding.cost.percent >= percent;
}

ExitCode Run(const Context& context, const AnalyzeOptions& options) {
  if (options.list) {
    context.Print(analyze::ListRules());
    return ExitCode::kOk;
  }
  const bool explains_rule = !options.explain.empty() && !IsNumber(options.explain);
  if (explains_rule) {
    const std::string text = analyze::ExplainRule(options.explain);
    if (text.empty()) {
      return context.Fail(
          Status(Code::kInvalidArgument,
                 "--explain '" + Excerpt(options.explain) +
                     "': expected the number of a finding, or a rule that profctl analyze --list shows"));
    }
    context.Print(text);
    return ExitCode::kOk;
  }
  auto request =
      AnalyzeRequest("analyze", options.directories, options.rules, options.settings, options.jobs);
  if (!request.ok()) return context.Fail(request.status());
  size_t top = kUsualFindings;
  double fail_on = 0;
  if (!options.top.empty()) {
    const auto count = ParseCount("--top", options.top, kMostFindings);
    if (!count.ok()) return context.Fail(count.status());
    top = *count;
  }
  if (!options.fail_on.empty()) {
    const auto percent = ParsePercent("--fail-on", options.fail_on);
    if (!percent.ok()) return context.Fail(percent.status());
    fail_on = *percent;
  }
  const auto analysis = analyze::Analysis::Run(std::move(request).value());
  if (!analysis.ok()) return context.Fail(analysis.status());
  if (!options.explain.empty()) {
    const auto text =
        analyze::ExplainFinding(**analysis, static_cast<size_t>(std::atoll(options.explain.c_str())));
    if (!text.ok()) return context.Fail(text.status());
    context.Print(*text);
  } else if (context.json) {
    context.Print(analyze::FindingsJson(**analysis));
  } else {
    const bool coloured = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    context.Print(analyze::Screen(**analysis, top, coloured));
  }
  const auto& findings = (*analysis)->verdict().findings;
  const bool fails =
      !options.fail_on.empty() &&
      std::ranges::any_of(findings, [&](const analyze::Finding& finding) { return Fails(finding, fail_on); });
  // A found cause is not hidden by a torn file.
  if (fails) return ExitCode::kFindings;
  return (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

Action Define(cli::Arguments arguments) {
  const auto asked = std::make_shared<AnalyzeOptions>();
  arguments.List("DIR", &asked->directories,
                 "PROF directories, *_ascend_pt folders, databases, or folders of such: of all ranks");
  arguments.Text("--top", &asked->top, "show so many findings; default 5");
  arguments.Text("--explain", &asked->explain, "evidence of finding N, or what a rule looks for");
  arguments.Flag("--list", &asked->list, "rules and settings");
  arguments.Text("--rules", &asked->rules, "only these: rank.late,comm; or all but: -host.stall").Joined();
  arguments.Text("--set", &asked->settings, "thresholds: rank.absent_percent=2,comm.min_ops=10").Joined();
  arguments.Text("--fail-on", &asked->fail_on, "exit 10 when a finding costs so much of a step, e.g. 5%");
  arguments.Text("--jobs", &asked->jobs, "threads, 1 to 64; default one per core");
  return {.run = [asked](const Context& context) { return Run(context, *asked); }};
}

}  // namespace

namespace verbs {
Verb Analyze() {
  return {"analyze", "what makes a job slow, what each cause costs, and what to do about it", Reach::kHere,
          Define};
}
}  // namespace verbs

}  // namespace profd::client
