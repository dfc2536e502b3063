#include "client/verbs/data/cluster.h"

#include <algorithm>

#include "client/analyze/cluster/cluster_output.h"
#include "client/analyze/cluster/rank_databases.h"
#include "client/export/write/json_text.h"
#include "client/verbs/recordings.h"
#include "client/words/text.h"

namespace profd::client {

using base::Code;
using base::Status;

namespace {

// The files have steps only.
void NoteWindows(const Context& context, const analyze::Job& job) {
  if (job.has_steps) return;
  context.Note(
      "no steps are marked: what these files call steps are windows of a second, or all of a "
      "recording of less than three; mark the job's steps (docs/frameworks.md) to have its own");
}

}  // namespace

ExitCode ExportCluster(const Context& context, const std::vector<std::string>& given, const std::string& out,
                       unsigned jobs) {
  if (out.empty()) {
    return context.Fail(Status(Code::kInvalidArgument,
                               "--cluster-output: makes a folder for each rank; say where with --out"));
  }
  analyze::Request request;
  request.jobs = jobs;
  const auto analysis = AnalyseForTables(context, given, std::move(request));
  if (!analysis.ok()) return context.Fail(analysis.status());
  NoteWindows(context, (*analysis)->job());
  const auto files = analyze::WriteClusterOutput(**analysis, out);
  if (!files.ok()) return context.Fail(files.status());
  if (context.json) {
    std::string json = "{\"ranks\":" + std::to_string((*analysis)->job().ranks.size()) + ",\"files\":[";
    for (size_t i = 0; i < files->size(); ++i) {
      if (i > 0) json += ",";
      AppendJsonString(json, (*files)[i]);
    }
    context.Print(json + "]}\n");
  } else {
    for (const std::string& file : *files) context.Print(OneLine(file) + "\n");
  }
  return (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

ExitCode AnalyzeRanks(const Context& context, unsigned jobs, const std::string& out,
                      std::vector<ExportResult>& results) {
  analyze::Request request;
  request.jobs = jobs;
  request.judges = false;
  for (const ExportResult& result : results) {
    std::ranges::copy_if(result.files, std::back_inserter(request.paths),
                         [](const std::string& file) { return file.ends_with(".db"); });
  }
  if (request.paths.empty()) return ExitCode::kOk;
  const auto analysis = analyze::Analysis::Run(std::move(request));
  if (!analysis.ok()) {
    // Nothing that ran on a device is no fault of an export.
    return analysis.status().code() == Code::kNotFound ? ExitCode::kOk : context.Fail(analysis.status());
  }
  if (!out.empty()) NoteWindows(context, (*analysis)->job());
  const auto files =
      out.empty() ? analyze::WriteRankDatabases(**analysis) : analyze::WriteRankFolders(**analysis, out);
  if (!files.ok()) return context.Fail(files.status());
  // Those of one rank's folder stand with what was exported of it.
  for (ExportResult& result : results) {
    if (!out.empty()) result.files.clear();
  }
  for (const std::string& file : *files) {
    const auto its = std::ranges::find_if(results, [&file](const ExportResult& result) {
      return !result.files.empty() &&
             file.starts_with(result.files.front().substr(0, result.files.front().rfind('/') + 1));
    });
    (its != results.end() ? *its : results.front()).files.push_back(file);
  }
  return ExitCode::kOk;
}

}  // namespace profd::client
