// The tables that are filled with spans, and those of the vendor's numbers.
#include <algorithm>
#include <iterator>

#include "client/export/views/db_tables.h"
#include "format/comm_words.h"

namespace profd::client {
namespace {

// Filled with spans; in the order of SpanTable.
const DbTable kSpanTableList[kSpanTables] = {
    {"TASK",
     "",
     {{"startNs", "INTEGER"},
      {"endNs", "INTEGER"},
      {"deviceId", "INTEGER"},
      {"connectionId", "INTEGER"},
      {"globalTaskId", "INTEGER"},
      {"globalPid", "INTEGER"},
      {"taskType", "INTEGER"},
      {"contextId", "INTEGER"},
      {"streamId", "INTEGER"},
      {"taskId", "INTEGER"},
      {"modelId", "INTEGER"}}},
    {"COMPUTE_TASK_INFO",
     "",
     {{"name", "INTEGER"},
      {"globalTaskId", "INTEGER PRIMARY KEY"},
      {"blockNum", "INTEGER"},
      {"mixBlockNum", "INTEGER"},
      {"taskType", "INTEGER"},
      {"opType", "INTEGER"},
      {"inputFormats", "INTEGER"},
      {"inputDataTypes", "INTEGER"},
      {"inputShapes", "INTEGER"},
      {"outputFormats", "INTEGER"},
      {"outputDataTypes", "INTEGER"},
      {"outputShapes", "INTEGER"},
      {"attrInfo", "INTEGER"},
      {"opState", "INTEGER"},
      {"hf32Eligible", "INTEGER"},
      {"gridDim", "INTEGER"},
      {"blockDim", "INTEGER"}}},
    {"COMMUNICATION_SCHEDULE_TASK_INFO",
     "",
     {{"name", "INTEGER"},
      {"globalTaskId", "INTEGER PRIMARY KEY"},
      {"taskType", "INTEGER"},
      {"opType", "INTEGER"}}},
    {"CANN_API",
     "",
     {{"startNs", "INTEGER"},
      {"endNs", "INTEGER"},
      {"type", "INTEGER"},
      {"globalTid", "INTEGER"},
      {"connectionId", "INTEGER PRIMARY KEY"},
      {"name", "INTEGER"}}},
    {"OSRT_API",
     "",
     {{"name", "NUMERIC"}, {"globalTid", "NUMERIC"}, {"startNs", "NUMERIC"}, {"endNs", "NUMERIC"}}},
    {"MSTX_EVENTS",
     "",
     {{"startNs", "INTEGER"},
      {"endNs", "INTEGER"},
      {"eventType", "INTEGER"},
      {"rangeId", "INTEGER"},
      {"category", "INTEGER"},
      {"message", "INTEGER"},
      {"globalTid", "INTEGER"},
      {"endGlobalTid", "INTEGER"},
      {"domainId", "INTEGER"},
      {"connectionId", "INTEGER"}}},
    {"COMMUNICATION_OP",
     "",
     {{"opName", "INTEGER"},
      {"startNs", "INTEGER"},
      {"endNs", "INTEGER"},
      {"connectionId", "INTEGER"},
      {"groupName", "INTEGER"},
      {"opId", "INTEGER PRIMARY KEY"},
      {"relay", "INTEGER"},
      {"retry", "INTEGER"},
      {"dataType", "INTEGER"},
      {"algType", "INTEGER"},
      {"count", "NUMERIC"},
      {"opType", "INTEGER"},
      {"deviceId", "INTEGER"},
      {"rankSize", "INTEGER"}}},
    {"COMMUNICATION_TASK_INFO",
     "",
     {{"name", "INTEGER"},
      {"globalTaskId", "INTEGER"},
      {"taskType", "INTEGER"},
      {"planeId", "INTEGER"},
      {"groupName", "INTEGER"},
      {"notifyId", "INTEGER"},
      {"rdmaType", "INTEGER"},
      {"srcRank", "INTEGER"},
      {"dstRank", "INTEGER"},
      {"transportType", "INTEGER"},
      {.name = "size", .type = "INTEGER", .unit = "B"},
      {"dataType", "INTEGER"},
      {"linkType", "INTEGER"},
      {"opId", "INTEGER"},
      {"isMaster", "INTEGER"},
      {.name = "bandwidth", .type = "NUMERIC", .unit = "B/s"}}},
    {"OVERLAP_ANALYSIS",
     "",
     {{"id", "INTEGER PRIMARY KEY"},
      {"deviceId", "INTEGER"},
      {"startNs", "NUMERIC"},
      {"endNs", "NUMERIC"},
      {"type", "INTEGER"}}},
    {"STEP_TIME",
     "",
     {{"id", "INTEGER"},
      {"startNs", "INTEGER"},
      {"endNs", "INTEGER"},
      {"globalTid", "INTEGER"},
      {"deviceId", "INTEGER"},
      {"edge", "INTEGER"}},
     false},
    {"PROFD_MEMORY",
     "",
     {{"name", "INTEGER"},
      {"startNs", "INTEGER"},
      {"endNs", "INTEGER"},
      {"globalTid", "INTEGER"},
      {"deviceId", "INTEGER"},
      {"type", "INTEGER"},
      {"bytes", "INTEGER"},
      {"address", "INTEGER"},
      {"connectionId", "INTEGER"}},
     false},
    {"PROFD_COUNTER",
     "",
     {{"name", "INTEGER"},
      {"timestampNs", "INTEGER"},
      {"value", "NUMERIC"},
      {"globalTid", "INTEGER"},
      {"domainId", "INTEGER"}},
     false},
    {"TASK_PMU_INFO", "", {{"globalTaskId", "INTEGER"}, {"name", "INTEGER"}, {"value", "NUMERIC"}}},
    {"SAMPLE_PMU_SUMMARY",
     "",
     {{"deviceId", "INTEGER"},
      {"metric", "INTEGER"},
      {"value", "NUMERIC"},
      {"coreId", "INTEGER"},
      {"coreType", "INTEGER"}}},
    // Calls of frameworks, and which calls of CANN are below them.
    {"PYTORCH_API",
     "",
     {{"startNs", "TEXT"},
      {"endNs", "TEXT"},
      {"globalTid", "INTEGER"},
      {"connectionId", "INTEGER"},
      {"name", "INTEGER"},
      {"sequenceNumber", "INTEGER"},
      {"fwdThreadId", "INTEGER"},
      {"inputDtypes", "INTEGER"},
      {"inputShapes", "INTEGER"},
      {"callchainId", "INTEGER"},
      {"type", "INTEGER"}}},
    {"CONNECTION_IDS", "", {{"id", "INTEGER"}, {"connectionId", "INTEGER"}}},
    {"CCU",
     "",
     {{"deviceId", "NUMERIC"},
      {"globalTaskId", "NUMERIC"},
      {"name", "NUMERIC"},
      {"startNs", "NUMERIC"},
      {"endNs", "NUMERIC"},
      {"args", "NUMERIC"}}},
    {"NPU_OP_MEM",
     "",
     {{"operatorName", "INTEGER"},
      {"addr", "INTEGER"},
      {"type", "INTEGER"},
      {.name = "size", .type = "INTEGER", .unit = "B"},
      {"timestampNs", "INTEGER"},
      {"globalTid", "INTEGER"},
      {.name = "totalAllocate", .type = "NUMERIC", .unit = "B"},
      {.name = "totalReserve", .type = "NUMERIC", .unit = "B"},
      {"component", "INTEGER"},
      {"deviceId", "INTEGER"}}},
    {"MEMCPY_INFO",
     "",
     {{"globalTaskId", "NUMERIC"},
      {.name = "size", .type = "NUMERIC", .unit = "B"},
      {"memcpyOperation", "NUMERIC"}}},
};

// With those that the vendor's tables of collectives all have.
std::vector<std::pair<int, std::string_view>> Words(std::span<const format::CommWord> words) {
  std::vector<std::pair<int, std::string_view>> names;
  for (const format::CommWord& word : words) names.emplace_back(word.number, word.name);
  names.emplace_back(65534, "N/A");
  names.emplace_back(65535, format::kNoCommWord);
  return names;
}

std::vector<std::pair<int, std::string_view>> CopyOperations() {
  std::vector<std::pair<int, std::string_view>> names;
  for (const format::CommWord& word : format::kCopyOperations) names.emplace_back(word.number, word.name);
  names.emplace_back(format::kOtherCopy.number, format::kOtherCopy.name);
  return names;
}

const DbEnum kEnums[] = {
    {"ENUM_API_TYPE",
     {{20000, "acl"}, {15000, "model"}, {10000, "node"}, {5500, "communication"}, {5000, "runtime"}}},
    {"ENUM_MODULE", {{0, "SLOG"},        {1, "IDEDD"},     {2, "SCC"},
                     {3, "HCCL"},        {4, "FMK"},       {5, "CCU"},
                     {6, "DVPP"},        {7, "RUNTIME"},   {8, "CCE"},
                     {9, "HDC"},         {10, "DRV"},      {11, "NET"},
                     {22, "DEVMM"},      {23, "KERNEL"},   {24, "LIBMEDIA"},
                     {25, "CCECPU"},     {27, "ROS"},      {28, "HCCP"},
                     {29, "ROCE"},       {30, "TEFUSION"}, {31, "PROFILING"},
                     {32, "DP"},         {33, "APP"},      {34, "TS"},
                     {35, "TSDUMP"},     {36, "AICPU"},    {37, "LP"},
                     {38, "TDT"},        {39, "FE"},       {40, "MD"},
                     {41, "MB"},         {42, "ME"},       {43, "IMU"},
                     {44, "IMP"},        {45, "GE"},       {47, "CAMERA"},
                     {48, "ASCENDCL"},   {49, "TEEOS"},    {50, "ISP"},
                     {51, "SIS"},        {52, "HSM"},      {53, "DSS"},
                     {54, "PROCMGR"},    {55, "BBOX"},     {56, "AIVECTOR"},
                     {57, "TBE"},        {58, "FV"},       {60, "TUNE"},
                     {61, "HSS"},        {62, "FFTS"},     {63, "OP"},
                     {64, "UDF"},        {65, "HICAID"},   {66, "TSYNC"},
                     {67, "AUDIO"},      {68, "TPRT"},     {69, "ASCENDCKERNEL"},
                     {70, "ASYS"},       {71, "ATRACE"},   {72, "RTC"},
                     {73, "SYSMONITOR"}, {74, "AMP"},      {75, "ADETECT"},
                     {76, "MBUFF"},      {77, "CUSTOM"}}},
    {"ENUM_HCCL_DATA_TYPE", Words(format::kCommDataTypes)},
    {"ENUM_HCCL_LINK_TYPE", Words(format::kCommLinks)},
    {"ENUM_HCCL_TRANSPORT_TYPE", Words(format::kCommTransports)},
    {"ENUM_HCCL_RDMA_TYPE", Words(format::kCommRdma)},
    {"ENUM_MSTX_EVENT_TYPE", {{0, "marker"}, {1, "push/pop"}, {2, "start/end"}, {3, "marker_ex"}}},
    {"ENUM_MEMCPY_OPERATION", CopyOperations()},
    {"ENUM_OVERLAP_ANALYSIS_TYPE",
     {{0, "COMPUTE"}, {1, "COMMUNICATION"}, {2, "COMM_NOT_OVERLAP_COMP"}, {3, "FREE"}, {65535, "RESERVE"}}},
};

}  // namespace

std::string_view UnitOf(const DbColumn& column, const format::Series* series) {
  if (series == nullptr) return column.unit;
  const auto found = std::ranges::find(series->columns, column.source, &format::SeriesColumn::name);
  if (found == series->columns.end()) return "";
  struct Named {
    format::Unit unit;
    double scale;
    std::string_view text;
  };
  using enum format::Unit;
  constexpr Named kNamed[] = {{kBytes, 1, "B"},
                              {kBytesPerSecond, 1, "B/s"},
                              {kBytesPerSecond, 8, "bit/s"},
                              {kBytesPerSecond, 1.0 / (1 << 20), "MiB/s"},
                              {kRatio, 1, "1 = 100 %"},
                              {kRatio, 100, "%"},
                              {kNs, 1, "ns"},
                              {kHz, 1, "Hz"},
                              {kHz, 1e-6, "MHz"},
                              {kPerSecond, 1, "1/s"}};
  const auto named = std::ranges::find_if(
      kNamed, [&](const Named& one) { return one.unit == found->unit && one.scale == column.scale; });
  return named == std::end(kNamed) ? "" : named->text;
}

const DbTable& TableOf(SpanTable table) { return kSpanTableList[static_cast<size_t>(table)]; }
std::span<const DbEnum> DbEnums() { return kEnums; }

}  // namespace profd::client
