#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client/analyze/analysis.h"
#include "client/analyze/report/json.h"
#include "client/analyze/report/text.h"
#include "client/analyze/tables/tables.h"
#include "client/export/write/output_file.h"
#include "client/show/screen/table.h"
#include "client/verbs/answers/wishes.h"
#include "client/verbs/directories.h"
#include "client/verbs/recordings.h"
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
  std::string reports;  // tables without judgement
  std::string csv;      // where to write them
};

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Tables that somebody asked for, without findings.
ExitCode Report(const Context& context, const AnalyzeOptions& options, AnswerWishes wishes) {
  std::vector<const analyze::Report*> reports;
  for (const std::string& name : Words(options.reports)) {
    const analyze::Report* report = analyze::FindReport(name);
    if (report == nullptr)
      return context.Fail(Status(Code::kInvalidArgument, "--report '" + Excerpt(name) +
                                                             "': there is no such report; profctl analyze "
                                                             "--list shows them"));
    reports.push_back(report);
    wishes.request.keeps_all = wishes.request.keeps_all || report->needs_all;
  }
  wishes.request.judges = false;
  const auto analysis = Analyse(wishes.request);
  if (!analysis.ok()) return context.Fail(analysis.status());
  std::vector<analyze::Table> tables;
  tables.reserve(reports.size());
  for (const analyze::Report* report : reports) tables.push_back(report->make(**analysis));
  for (const analyze::Note& note : (*analysis)->job().notes) context.Note(note.Line());
  if (!options.csv.empty()) {
    for (const analyze::Table& table : tables) {
      const std::string path = options.csv + "/" + table.name + ".csv";
      auto file = OutputFile::CreateNamed(path);
      if (!file.ok()) return context.Fail(file.status());
      (*file)->Append(analyze::TableCsv(table));
      if (const Status status = (*file)->Finish(); !status.ok()) return context.Fail(status);
      context.Print(path + "\n");
    }
  } else if (context.json) {
    context.Print(analyze::TablesJson(tables));
  } else {
    for (const analyze::Table& table : tables) context.Print(analyze::TableText(table, ""));
  }
  return (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

ExitCode Run(const Context& context, const AnalyzeOptions& options) {
  if (options.list) {
    context.Print(Fitted(analyze::ListRules(), OwnLook().columns));
    context.Print("\nReports (--report NAME,…):\n");
    for (const analyze::Report& report : analyze::Reports())
      context.Print("  " + std::string(report.name) + "  " + std::string(report.what) + "\n");
    return ExitCode::kOk;
  }
  if (!options.csv.empty() && options.reports.empty())
    return context.Fail(
        Status(Code::kInvalidArgument, "--csv writes the tables of --report: add --report steps,kernels"));
  const bool explains_rule = !options.explain.empty() && !IsNumber(options.explain);
  if (explains_rule) {
    const std::string text = analyze::ExplainRule(options.explain);
    if (text.empty()) {
      return context.Fail(
          Status(Code::kInvalidArgument,
                 "--explain '" + Excerpt(options.explain) +
                     "': expected the number of a finding, or a rule that profctl analyze --list shows"));
    }
    context.Print(Fitted(text, OwnLook().columns));
    return ExitCode::kOk;
  }
  if (options.directories.empty()) {
    return context.Fail(
        Status(Code::kInvalidArgument, "analyze: name at least one directory, database or session"));
  }
  auto wishes = ParseAnswer(options.answer);
  if (!wishes.ok()) return context.Fail(wishes.status());
  auto paths = WithSessions(context, options.directories);
  if (!paths.ok()) return context.Fail(paths.status());
  wishes->request.paths = *std::move(paths);
  if (!options.reports.empty()) return Report(context, options, *std::move(wishes));
  const auto analysis = Analyse(wishes->request);
  if (!analysis.ok()) return context.Fail(analysis.status());
  if (!options.explain.empty()) {
    const auto text =
        analyze::ExplainFinding(**analysis, std::strtoull(options.explain.c_str(), nullptr, 10));
    if (!text.ok()) return context.Fail(text.status());
    context.Print(Fitted(*text, OwnLook().columns));
  } else if (context.json) {
    context.Print(analyze::FindingsJson(**analysis));
  } else {
    context.Print(ScreenOf(**analysis, *wishes));
    if (!(*analysis)->verdict().findings.empty()) context.Print(" evidence of a finding: --explain N\n");
  }
  return ResultOf(**analysis, *wishes);
}

Action Define(cli::Arguments arguments) {
  const auto asked = std::make_shared<AnalyzeOptions>();
  arguments.List("DIR", &asked->directories,
                 "recordings of all ranks: PROF directories, *_ascend_pt folders, databases, folders of "
                 "these, sessions");
  arguments.Text("--explain", &asked->explain, "evidence of finding N, or what a rule looks for");
  arguments.Flag("--list", &asked->list, "rules and settings");
  arguments
      .Text("--report", &asked->reports, "plain tables instead of findings: steps,kernels; --list has all")
      .Joined();
  arguments.Text("--csv", &asked->csv, "a directory: write the tables of --report there, NAME.csv each");
  DefineRecursive(arguments, &asked->answer);
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
