#include "client/report/report.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "client/analyze/analysis.h"
#include "client/export/write/json_text.h"
#include "client/export/write/output_file.h"
#include "client/report/compared.h"
#include "client/verbs/answers/wishes.h"
#include "client/verbs/directories.h"
#include "client/verbs/recordings.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

using base::Code;
using base::Result;
using base::Status;

struct ReportOptions {
  std::vector<std::string> directories;
  std::vector<std::string> base;
  AnswerOptions answer;
  std::string output, title, most;
};

constexpr size_t kLeastMegabytes = 1, kMostMegabytes = 500;

// "20M" or "20MB" → bytes.
Result<size_t> ParseSize(std::string_view text) {
  std::string_view number = text;
  for (const std::string_view end : {"B", "M"}) {
    if (number.ends_with(end)) number.remove_suffix(1);
  }
  size_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.size() == text.size() || error != std::errc() || end != number.data() + number.size() ||
      value < kLeastMegabytes || value > kMostMegabytes)
    return Status(Code::kInvalidArgument, "--max-size '" + Excerpt(text) + "': expected 1M to 500M");
  return value * 1'000'000;
}

// What would only fail after an analysis of minutes; leaves nothing behind.
Status CheckFile(const std::string& path) {
  std::error_code error;
  if (path.ends_with('/') || std::filesystem::is_directory(path, error))
    return {Code::kInvalidArgument, "-o " + Excerpt(path) + " is a directory: name a file in it"};
  return OutputFile::CreateNamed(path).status();
}

ExitCode Run(const Context& context, const ReportOptions& options) {
  if (options.directories.empty()) {
    return context.Fail(
        Status(Code::kInvalidArgument, "report: name at least one directory, database or session"));
  }
  if (options.output.empty())
    return context.Fail(Status(Code::kInvalidArgument, "report: name the file to write: -o report.html"));
  auto wishes = ParseAnswer(options.answer);
  if (!wishes.ok()) return context.Fail(wishes.status());
  auto paths = WithSessions(context, options.directories);
  if (!paths.ok()) return context.Fail(paths.status());
  wishes->request.paths = *std::move(paths);
  report::Options page;
  page.title = options.title;
  if (!options.most.empty()) {
    const auto most = ParseSize(options.most);
    if (!most.ok()) return context.Fail(most.status());
    page.most_bytes = *most;
  }
  if (const Status writable = CheckFile(options.output); !writable.ok()) return context.Fail(writable);
  const auto analysis = Analyse(wishes->request);
  if (!analysis.ok()) return context.Fail(analysis.status());
  if (!options.base.empty()) {
    std::vector<std::vector<std::string>> before;
    for (const std::string& path : options.base) {
      auto found = WithSessions(context, {path});
      if (!found.ok()) return context.Fail(found.status());
      before.push_back(*std::move(found));
    }
    const auto compared = report::ComparedPart(before, wishes->request);
    if (!compared.ok()) return context.Fail(compared.status());
    page.compared = *compared;
  }
  const std::string html = report::Page(**analysis, page);
  auto file = OutputFile::CreateNamed(options.output);
  if (!file.ok()) return context.Fail(file.status());
  (*file)->Append(html);
  if (const Status written = (*file)->Finish(); !written.ok()) return context.Fail(written);
  const size_t findings = (*analysis)->verdict().findings.size();
  if (context.json) {
    std::string json = "{\"file\":";
    AppendJsonString(json, options.output);
    context.Print(json + ",\"bytes\":" + std::to_string(html.size()) +
                  ",\"findings\":" + std::to_string(findings) + "}\n");
  } else {
    context.Print(OneLine(options.output) + ": " + FormatBytes(static_cast<double>(html.size())) + ", " +
                  std::to_string(findings) + (findings == 1 ? " finding\n" : " findings\n"));
  }
  return (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

Action Define(cli::Arguments arguments) {
  const auto asked = std::make_shared<ReportOptions>();
  arguments.List("DIR", &asked->directories,
                 "recordings of all ranks: PROF directories, *_ascend_pt folders, databases, folders of "
                 "these, sessions");
  arguments.Text("-o,--output", &asked->output, "the file to write; an existing one is replaced");
  arguments.List(
      "--base", &asked->base,
      "an earlier recording, given as DIR: the page says what differs; give several for several runs");
  arguments.Text("--title", &asked->title, "its title; default the directory's name");
  arguments.Text("--max-size", &asked->most,
                 "how large it may be, 1M to 500M; default 20M. Single events are left out to fit");
  DefineRecursive(arguments, &asked->answer);
  DefineFindings(arguments, &asked->answer);
  return {.run = [asked](const Context& context) { return Run(context, *asked); }};
}

}  // namespace

namespace verbs {
Verb Report() {
  return {"report", "what analyze finds, as a web page: one file, no network", Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
