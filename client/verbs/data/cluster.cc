#include "client/verbs/data/cluster.h"

#include "client/analyze/cluster/cluster_output.h"
#include "client/export/write/json_text.h"
#include "client/verbs/directories.h"
#include "client/words/text.h"

namespace profd::client {

using base::Code;
using base::Status;

ExitCode ExportCluster(const Context& context, const std::vector<std::string>& given, const std::string& out,
                       unsigned jobs) {
  if (out.empty()) {
    return context.Fail(Status(Code::kInvalidArgument,
                               "--cluster-output: makes a folder for each rank; say where with --out"));
  }
  analyze::Request request;
  request.paths = WithSessions(context, given);
  request.jobs = jobs;
  request.judges = false;
  const auto analysis = analyze::Analysis::Run(std::move(request));
  if (!analysis.ok()) return context.Fail(analysis.status());
  for (const analyze::Note& note : (*analysis)->job().notes)
    context.Note((note.where.empty() ? "" : note.where + ": ") + note.text);
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

}  // namespace profd::client
