// Plain tables of a job, without judgement: `profctl analyze --report` (docs/analyze.md#reports).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "client/analyze/analysis.h"

namespace profd::analyze {

struct Report {
  std::string_view name, what;
  Table (*make)(const Analysis& analysis);
  bool needs_all = false;  // Request::keeps_all
};
// In the order in which they are listed.
std::span<const Report> Reports();
// nullptr: there is none of that name.
const Report* FindReport(std::string_view name);

std::string TableCsv(const Table& table);
// One object: by name of the report a list of rows, each an object by column.
std::string TablesJson(std::span<const Table> tables);

Table StepsTable(const Analysis& analysis);
Table SummaryTable(const Analysis& analysis);
Table StragglersTable(const Analysis& analysis);
Table OverlapTable(const Analysis& analysis);
Table KernelsTable(const Analysis& analysis);
Table KernelsByShapeTable(const Analysis& analysis);
Table ExpertsTable(const Analysis& analysis);
Table CollectivesTable(const Analysis& analysis);
Table CollectiveTopTable(const Analysis& analysis);
Table GroupsTable(const Analysis& analysis);
Table BandwidthTable(const Analysis& analysis);
Table MatrixTable(const Analysis& analysis);
Table PairsTable(const Analysis& analysis);
Table PipelineTable(const Analysis& analysis);
Table ModulesTable(const Analysis& analysis);
Table MfuTable(const Analysis& analysis);
Table ApiTable(const Analysis& analysis);
Table LaunchesTable(const Analysis& analysis);
Table GapsTable(const Analysis& analysis);
Table FrequencyTable(const Analysis& analysis);
Table GraphTable(const Analysis& analysis);
Table HostTable(const Analysis& analysis);
Table MemoryTable(const Analysis& analysis);

}  // namespace profd::analyze
