#include "client/verbs/data/parquet.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "client/analyze/analysis.h"
#include "client/export/write/output_file.h"
#include "client/files/temporary_folder.h"
#include "client/lake/engine.h"
#include "client/lake/rows.h"
#include "client/lake/schema.h"
#include "client/verbs/directories.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

using base::Code;
using base::Status;

Status Check(const ExportArguments& arguments) {
  const std::pair<const char*, bool> options[] = {{"--from", !arguments.from.empty()},
                                                  {"--to", !arguments.to.empty()},
                                                  {"--devices", !arguments.devices.empty()},
                                                  {"--kinds", !arguments.kinds.empty()},
                                                  {"--iteration", !arguments.iteration.empty()},
                                                  {"--model", !arguments.model.empty()},
                                                  {"--split", !arguments.split.empty()},
                                                  {"--gzip", arguments.gzip},
                                                  {"--resume", arguments.resume},
                                                  {"--repair", arguments.repair},
                                                  {"--per-device", arguments.per_device},
                                                  {"--dry-run", arguments.dry_run},
                                                  {"--vendor-compatible", arguments.vendor_compatible}};
  for (const auto& [option, is_given] : options) {
    if (is_given)
      return {Code::kInvalidArgument,
              std::string("--format parquet writes all of a job: leave ") + option + " out"};
  }
  if (!arguments.out.empty()) return {};
  return {Code::kInvalidArgument,
          "--format parquet makes one set of tables of all DIR: say where with --out"};
}

// The engine writes where nobody else can; only a whole file gets its name, and no link is followed to it.
Status Take(const std::string& made, const std::string& path) {
  PROFD_ASSIGN_OR_RETURN(const auto file, OutputFile::CreateNamed(path));
  std::ifstream from(made, std::ios::binary);
  std::vector<char> piece(OutputFile::kMaxReserve);
  while (from.read(piece.data(), static_cast<std::streamsize>(piece.size())), from.gcount() > 0)
    file->Append({piece.data(), static_cast<size_t>(from.gcount())});
  if (from.bad() || !from.eof()) return {Code::kInternal, path + ": what the engine wrote cannot be read"};
  return file->Finish();
}

}  // namespace

ExitCode ExportParquet(const Context& context, const ExportArguments& arguments, unsigned jobs) {
  if (const Status status = Check(arguments); !status.ok()) return context.Fail(status);
  auto engine = lake::Engine::Open();
  if (!engine.ok()) return context.Fail(engine.status());
  auto paths = WithSessions(context, arguments.directories);
  if (!paths.ok()) return context.Fail(paths.status());
  analyze::Request request;
  request.paths = *std::move(paths);
  request.judges = false;
  request.recursive = arguments.recursive;
  request.jobs = jobs;
  const auto analysis = analyze::Analysis::Run(request);
  if (!analysis.ok()) return context.Fail(analysis.status());
  for (const analyze::Note& note : (*analysis)->job().notes) context.Note(note.Line());
  auto folder = TemporaryFolder::Make("parquet");
  if (!folder.ok()) return context.Fail(folder.status());
  Status status = lake::FillFrom(**engine, (*analysis)->job());
  for (const lake::TableSchema& table : lake::Tables()) {
    const std::string name = std::string(table.name), file = name + ".parquet";
    const std::string made = folder->path() + "/" + file;
    if (status.ok())
      status = (*engine)->Do("COPY (SELECT * FROM " + name + " ORDER BY rank, t) TO " + lake::Quoted(made) +
                             " (FORMAT parquet, COMPRESSION zstd)");
    if (status.ok()) status = Take(made, arguments.out + "/" + file);
    if (!status.ok()) return context.Fail(status);
    if (!context.json) context.Print(OneLine(arguments.out + "/" + file) + "\n");
  }
  return (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

}  // namespace profd::client
