#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/export/write/csv_file.h"
#include "client/files/temporary_folder.h"
#include "client/lake/engine.h"
#include "client/lake/fetch.h"
#include "client/lake/files.h"
#include "client/lake/questions.h"
#include "client/lake/rows.h"
#include "client/lake/schema.h"
#include "client/show/screen/table.h"
#include "client/verbs/answers/wishes.h"
#include "client/verbs/lake_work.h"
#include "client/verbs/recordings.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;

struct SqlOptions {
  std::string query, question;
  std::vector<std::string> from;
  bool questions = false, csv = false, recursive = false;
};

std::string TextOf(const lake::Answer& answer) {
  std::vector<std::string> headings;
  headings.reserve(answer.columns.size());
  for (const auto& column : answer.columns)
    headings.push_back((column.is_number ? ">" : "") + OneLine(column.name));
  Table table(headings);
  for (const auto& row : answer.rows) {
    std::vector<Table::Cell> cells;
    cells.reserve(row.size());
    for (const auto& value : row) cells.emplace_back(value ? OneLine(*value) : "NULL");
    table.Add(std::move(cells));
  }
  return table.Text(OwnLook(true));
}

Status PrintCsv(const Context& context, const lake::Answer& answer) {
  CsvFile csv(OutputFile::Into([&context](std::string_view piece) { context.Print(std::string(piece)); }),
              "");
  // A script gets what there is. A terminal would obey it.
  const bool is_shown = ::isatty(STDOUT_FILENO) == 1;
  const auto put = [&csv, is_shown](const std::string& text) { csv.Text(is_shown ? OneLine(text) : text); };
  for (const auto& column : answer.columns) put(column.name);
  csv.End();
  for (const auto& row : answer.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      // No number is a formula, not even "-inf".
      answer.columns[i].is_number ? csv.Plain(row[i].value_or("")) : put(row[i].value_or(""));
    }
    csv.End();
  }
  return csv.file().Finish();
}

std::string JsonOf(const lake::Answer& answer) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : answer.rows) {
    auto object = nlohmann::ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      auto& value = object[answer.columns[i].name];
      if (!row[i]) continue;
      // A number in JSON, too, but not "inf" and "nan".
      if (answer.columns[i].is_number) value = nlohmann::ordered_json::parse(*row[i], nullptr, false);
      if (answer.columns[i].is_truth) value = *row[i] == "true";
      if (value.is_null() || value.is_discarded()) value = *row[i];
    }
    rows.push_back(std::move(object));
  }
  return rows.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

base::Result<std::string> QueryOf(const SqlOptions& options) {
  if (options.question.empty() == options.query.empty())
    return Status(Code::kInvalidArgument,
                  "sql: name one of the two: a query, \"SELECT …\", or --question NAME");
  if (options.question.empty()) return options.query;
  if (const lake::Question* question = lake::FindQuestion(options.question))
    return std::string(question->sql);
  return Status(Code::kInvalidArgument,
                "--question '" + Excerpt(options.question) +
                    "': there is no such question; profctl sql --questions shows them");
}

bool IsInBucket(const std::string& from) { return from.starts_with(lake::s3::kScheme); }

// The recordings, read; nullptr: what is asked are tables that somebody exported.
base::Result<std::unique_ptr<analyze::Analysis>> Read(const Context& context, const SqlOptions& options) {
  const auto lakes = std::ranges::count_if(
      options.from, [](const std::string& from) { return IsInBucket(from) || lake::IsLake(from); });
  if (lakes > 0 && static_cast<size_t>(lakes) < options.from.size())
    return Status(Code::kInvalidArgument,
                  "--from: some of these are recordings, some exported tables: name either");
  if (lakes > 0) return std::unique_ptr<analyze::Analysis>();
  analyze::Request request;
  request.recursive = options.recursive;
  PROFD_ASSIGN_OR_RETURN(request.jobs, ParseThreads(""));
  auto read = AnalyseForTables(
      context, options.from.empty() ? std::vector<std::string>{"last"} : options.from, std::move(request));
  std::error_code error;
  if (read.status().code() == Code::kNotFound && fs::is_directory(options.from.front(), error))
    return Status(Code::kNotFound,
                  read.status().message() + " It is no lake, either: that has hot/v1, or TABLE.parquet");
  return read;
}

Status Fetch(const std::string& from, const std::string& query, const lake::Engine& engine,
             const std::string& folder) {
  auto address = lake::s3::AddressOf(from, [](const char* name) { return std::getenv(name); });
  if (!address.ok()) return address.status().In("--from");
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return lake::NotReadable(folder, error);
  lake::s3::Bucket bucket(std::move(*address));
  return lake::FetchTables(bucket, query, engine, folder);
}

base::Result<lake::Answer> Ask(lake::Engine& engine, const analyze::Analysis* analysis,
                               const SqlOptions& options, const std::string& query) {
  std::optional<TemporaryFolder> fetched;
  if (analysis == nullptr) {
    std::vector<std::string> folders;
    for (const std::string& from : options.from) {
      folders.push_back(from);
      if (!IsInBucket(from)) continue;
      if (!fetched) {
        auto made = TemporaryFolder::Make("lake");
        if (!made.ok()) return made.status();
        fetched.emplace(std::move(*made));
      }
      folders.back() = fetched->path() + "/" + std::to_string(folders.size());
      PROFD_RETURN_IF_ERROR(Fetch(from, query, engine, folders.back()));
    }
    PROFD_RETURN_IF_ERROR(lake::ViewsOf(engine, folders, query));
  } else {
    PROFD_RETURN_IF_ERROR(lake::FillFrom(engine, *analysis));
    PROFD_RETURN_IF_ERROR(engine.Lock({}));
  }
  auto answer = engine.Ask(query);
  if (!answer.ok() && answer.status().message().find("Table with name") != std::string::npos)
    return answer.status().In("tables are " + lake::TableNames());
  return answer;
}

ExitCode Run(const Context& context, const SqlOptions& options) {
  if (options.questions) {
    for (const lake::Question& question : lake::Questions())
      context.Print(std::string(question.name) + "  " + std::string(question.what) + "\n    " +
                    std::string(question.sql) + "\n");
    return ExitCode::kOk;
  }
  const auto query = QueryOf(options);
  if (!query.ok()) return context.Fail(query.status());
  // Before anything is read, which may take long.
  if (const auto library = lake::LoadLibrary(); !library.ok()) return context.Fail(library.status());
  LakeWork work;
  const auto analysis = Read(context, options);
  if (!analysis.ok()) return context.Fail(analysis.status());
  const auto engine = work.Open();
  if (!engine.ok()) return context.Fail(engine.status());
  const auto answer = Ask(**engine, analysis->get(), options, *query);
  if (!answer.ok()) return context.Fail(answer.status());
  const auto code = *analysis == nullptr || (*analysis)->is_whole() ? ExitCode::kOk : ExitCode::kPartialLoss;
  if (options.csv && !context.json) {
    const Status status = PrintCsv(context, *answer);
    return status.ok() ? code : context.Fail(status);
  }
  context.Print(context.json ? JsonOf(*answer) : TextOf(*answer));
  return code;
}

Action Define(cli::Arguments arguments) {
  const auto asked = std::make_shared<SqlOptions>();
  arguments.Text("QUERY", &asked->query,
                 "one SELECT over the tables " + lake::TableNames() + " (docs/lake.md)");
  arguments.Text("--question", &asked->question, "a ready query instead; --questions has all");
  arguments.Flag("--questions", &asked->questions, "ready queries");
  arguments
      .List(
          "--from", &asked->from,
          "a session, PROF directory, *_ascend_pt folder, database, folder of these, or a lake: what export "
          "--format parquet or ship wrote, s3://BUCKET/FOLDER too; may come again; without it the session "
          "last")
      .OneEach();
  arguments.Flag("--csv", &asked->csv, "the answer as CSV");
  arguments.Flag("--recursive", &asked->recursive, "recordings of one job lie anywhere below --from");
  return {.run = [asked](const Context& context) { return Run(context, *asked); }};
}

}  // namespace

namespace verbs {
Verb Sql() {
  return {"sql", "answers SQL about steps, kernels and collectives of recordings", Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
