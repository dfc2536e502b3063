#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client/analyze/analysis.h"
#include "client/analyze/report/json.h"
#include "client/analyze/report/text.h"
#include "client/verbs/answers/wishes.h"
#include "client/verbs/directories.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

using base::Code;
using base::Status;

struct AnalyzeOptions {
  std::vector<std::string> directories;
  AnswerOptions answer;
  std::string explain;  // number of a finding, or a rule
  bool list = false;    // of rules and settings
};

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
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
  if (options.directories.empty()) {
    return context.Fail(
        Status(Code::kInvalidArgument, "analyze: name at least one directory, database or session"));
  }
  auto wishes = ParseAnswer(options.answer);
  if (!wishes.ok()) return context.Fail(wishes.status());
  wishes->request.paths = WithSessions(context, options.directories);
  const auto analysis = analyze::Analysis::Run(wishes->request);
  if (!analysis.ok()) return context.Fail(analysis.status());
  if (!options.explain.empty()) {
    const auto text =
        analyze::ExplainFinding(**analysis, static_cast<size_t>(std::atoll(options.explain.c_str())));
    if (!text.ok()) return context.Fail(text.status());
    context.Print(*text);
  } else {
    context.Print(context.json ? analyze::FindingsJson(**analysis) : ScreenOf(**analysis, *wishes));
  }
  return ResultOf(**analysis, *wishes);
}

Action Define(cli::Arguments arguments) {
  const auto asked = std::make_shared<AnalyzeOptions>();
  arguments.List("DIR", &asked->directories,
                 "of all ranks: PROF directories, *_ascend_pt folders, databases, folders of such; sessions");
  arguments.Text("--explain", &asked->explain, "evidence of finding N, or what a rule looks for");
  arguments.Flag("--list", &asked->list, "rules and settings");
  DefineAnswer(arguments, &asked->answer);
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
