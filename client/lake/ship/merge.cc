#include "client/lake/ship/merge.h"

#include "client/lake/files.h"

namespace profd::lake {
namespace {

// What is asked together lies together.
std::string OrderOf(const TableSchema& table) {
  std::string order = "job, rank, t, node, instance, seq";
  for (const Column& column : table.columns) {
    if (column.name == "step") order = "job, step, rank, t, node, instance, seq";
  }
  return order;
}

}  // namespace

base::Result<std::vector<Hour>> Merged(Engine& engine, const TableSchema& table,
                                       const std::vector<std::string>& files) {
  const std::string name(table.name);
  PROFD_RETURN_IF_ERROR(engine.Do(
      "CREATE OR REPLACE TABLE merging.rows_of_files AS SELECT DISTINCT ON (node, instance, seq) * EXCLUDE "
      "(filename) FROM (" +
      RowsOf(table, files) + ") ORDER BY node, instance, seq, ver DESC"));
  PROFD_ASSIGN_OR_RETURN(
      const Answer answer,
      engine.Ask("SELECT strftime(t::TIMESTAMP, 'day=%Y-%m-%d/hour=%H') AS folder, count(*), "
                 "min(date_trunc('hour', t::TIMESTAMP))::VARCHAR FROM merging.rows_of_files "
                 "WHERE t IS NOT NULL GROUP BY folder ORDER BY folder"));
  std::vector<Hour> hours;
  for (const Row& row : answer.rows) {
    const std::string begin = Quoted(row[2].value_or(""));
    hours.push_back(
        {.folder = "cold/v1/" + name + "/" + row[0].value_or(""),
         .rows = "(SELECT * FROM merging.rows_of_files WHERE date_trunc('hour', t::TIMESTAMP) = " + begin +
                 "::TIMESTAMP ORDER BY " + OrderOf(table) + ")",
         .count = std::stoull(row[1].value_or("0"))});
  }
  return hours;
}

}  // namespace profd::lake
