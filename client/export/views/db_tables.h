// The tables of the vendor's msprof_*.db, and ours for what it leaves out. Data only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "format/series.h"

namespace profd::client {

// `source`: a column of the series (× scale), "@device", "@stamp", "@key:name", "@text:NAME", where NAME is
// filled in as those of counter_tables.h and kept in STRING_IDS.
struct DbColumn {
  std::string_view name;
  std::string_view type;  // of SQL
  std::string_view source = {};
  double scale = 1;
  bool whole = false;          // the vendor's column holds whole numbers
  double vendor_scale = 0;     // the vendor's factor, where it's a fault; 0 = the same
  std::string_view unit = {};  // of a table of spans; a column of a series has the series' (UnitOf)
};

// What the numbers of a column are in: "B/s", "%"; "" where its name says it, or where they are in nothing.
std::string_view UnitOf(const DbColumn& column, const format::Series* series);

struct DbTable {
  std::string_view name;
  std::string_view series;  // "" = filled with spans
  std::vector<DbColumn> columns;
  bool of_vendor = true;
  std::string_view unless_negative = {};  // a key; the table has no rows where it is negative
  uint8_t vendor_copies = 1;              // how often the vendor has each row
  uint8_t vendor_ends = 0;                // and how often more the first and the last
};

std::span<const DbTable> DbTables();

// Tables filled with spans, and with what is left of a series at the end.
enum class SpanTable : uint8_t {
  kTask,
  kComputeTaskInfo,
  kCommunicationScheduleTaskInfo,
  kCannApi,
  kOsrtApi,
  kMstxEvents,
  kCommunicationOp,
  kCommunicationTaskInfo,
  kOverlapAnalysis,
  kStepTime,
  kMemory,
  kCounter,
  kTaskPmuInfo,
  kSamplePmuSummary,
  kPytorchApi,
  kConnectionIds,
  kCcu,
  kNpuOpMem,
  kMemcpyInfo,
};
inline constexpr size_t kSpanTables = 19;
const DbTable& TableOf(SpanTable table);

// For people: made where all of its tables are.
struct DbView {
  std::string_view name;
  std::vector<std::string_view> tables;
  std::string_view select;
};
std::span<const DbView> DbViews();

struct DbEnum {
  std::string_view table;
  std::vector<std::pair<int, std::string_view>> names;
};
std::span<const DbEnum> DbEnums();

}  // namespace profd::client
