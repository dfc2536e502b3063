#include "client/verbs/data/parquet.h"

#include <string>
#include <utility>

#include "client/files/temporary_folder.h"
#include "client/lake/schema.h"
#include "client/verbs/data/table_file.h"
#include "client/verbs/lake_work.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

using base::Code;
using base::Status;

Status Check(const ExportArguments& arguments) {
  if (const char* const option = OptionOfOneDirectory(arguments, false)) {
    return {Code::kInvalidArgument,
            std::string("--format parquet writes all of a job: leave ") + option + " out"};
  }
  if (!arguments.out.empty()) return {};
  return {Code::kInvalidArgument,
          "--format parquet makes one set of tables of all DIR: say where with --out"};
}

}  // namespace

ExitCode ExportParquet(const Context& context, const ExportArguments& arguments, unsigned jobs) {
  if (const Status status = Check(arguments); !status.ok()) return context.Fail(status);
  LakeWork work;
  analyze::Request request;
  request.recursive = arguments.recursive;
  request.jobs = jobs;
  const auto analysis = work.Fill(context, arguments.directories, std::move(request));
  if (!analysis.ok()) return context.Fail(analysis.status());
  auto folder = TemporaryFolder::Make("parquet");
  if (!folder.ok()) return context.Fail(folder.status());
  for (const lake::TableSchema& table : lake::Tables()) {
    if (table.of_summary) continue;
    const std::string name = std::string(table.name), file = name + ".parquet";
    const Status status = WriteTable(work.engine(), name, *folder, arguments.out + "/" + file);
    if (!status.ok()) return context.Fail(status);
    if (!context.json) context.Print(OneLine(arguments.out + "/" + file) + "\n");
  }
  return (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
}

}  // namespace profd::client
