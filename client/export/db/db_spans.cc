// Spans as rows of the vendor's tables of tasks, calls and marks.
#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <string>

#include "client/export/db/db.h"
#include "client/export/views/device/core_metrics.h"
#include "client/export/write/json_text.h"
#include "format/comm_words.h"
#include "format/op_names.h"

namespace profd::client {
namespace {

using format::Span;
using format::SpanKind;

constexpr std::string_view kOpState = "opState";
constexpr uint64_t kNoConnection = 4'000'000'000;  // the vendor's word for it in MSTX_EVENTS

// Data types that agents name otherwise than the vendor's table.
const std::map<std::string_view, std::string_view> kOfAgents = {{"BF16", "BFP16"},
                                                                {"HIFLOAT8", "HIF8"},
                                                                {"FP8_E4M3", "FP8E4M3"},
                                                                {"FP8_E5M2", "FP8E5M2"},
                                                                {"FP8_E8M0", "FP8E8M0"}};

// Number of a level of API calls in ENUM_API_TYPE.
int LevelNumber(std::string_view level) {
  for (const auto& [number, name] : DbEnums()[0].names)
    if (name == level) return number;
  return 0;
}

const format::SpanArg* FindArg(const format::SpanBatch& batch, const Span& span, std::string_view key) {
  for (const format::SpanArg& arg : batch.ArgsOf(span))
    if (batch.texts->Get(arg.key) == key) return &arg;
  return nullptr;
}

// The number that an argument is, 0 if it's none.
int64_t NumberArg(const format::SpanBatch& batch, const Span& span, std::string_view key) {
  const format::SpanArg* arg = FindArg(batch, span, key);
  return arg == nullptr || arg->type == format::ArgType::kText || arg->type == format::ArgType::kF64
             ? 0
             : static_cast<int64_t>(arg->bits);
}

format::TextId TextArg(const format::SpanBatch& batch, const Span& span, std::string_view key) {
  const format::SpanArg* arg = FindArg(batch, span, key);
  return arg != nullptr && arg->type == format::ArgType::kText ? static_cast<format::TextId>(arg->bits) : 0;
}

}  // namespace

DbConnection::Rows& DbOutput::RowsOf(SpanTable table) {
  DbConnection::Rows*& rows = span_rows_[static_cast<size_t>(table)];
  if (rows != nullptr) return *rows;
  if (table != SpanTable::kComputeTaskInfo || HasStates()) return *(rows = &Create(TableOf(table)));
  std::vector<DbColumn> stateless = ColumnsOf(TableOf(table), nullptr);
  std::erase_if(stateless, [](const DbColumn& column) { return column.name == kOpState; });
  return *(rows = db_->CreateTable(TableOf(table).name, stateless));
}

void DbOutput::Insert(SpanTable table, std::initializer_list<DbValue> values) {
  db_->Append(RowsOf(table), std::span(values.begin(), values.size()));
}

int64_t DbOutput::GlobalTid(const Span& span) const {
  const int64_t pid = span.pid != 0 ? span.pid : facts_.host.pid;
  return static_cast<int64_t>(static_cast<uint64_t>(pid) << 32 |
                              (static_cast<uint64_t>(span.tid) & 0xFFFFFFFF));
}

void DbOutput::WriteTask(const format::SpanBatch& batch, const Span& span) {
  const format::TaskDetail* task = batch.DetailOf(span);
  static const format::TaskDetail kUnknown;
  const format::TaskDetail& detail = task != nullptr ? *task : kUnknown;
  const int64_t id = next_task_++;
  if (span.kind == SpanKind::kTask) last_tasks_[span.device] = id;
  constexpr int64_t kNoLaunch = -1;  // DEFAULT_CONNECTION_ID of the vendor's ascend_task_association.cpp
  Insert(SpanTable::kTask, {span.begin_ns, span.end_ns, span.device,
                            span.connection != 0 ? static_cast<int64_t>(span.connection) : kNoLaunch, id,
                            span.pid != 0 ? span.pid : facts_.host.pid, IdOf(batch, span.category),
                            detail.context, span.stream, span.value, detail.model});
  if (const format::TaskCounters* counters = batch.CountersOf(detail))
    WriteCounters(id, span, *counters, detail.block_num);
  if (const format::TextId operation = TextArg(batch, span, "operation"); operation != 0) {
    Insert(SpanTable::kMemcpyInfo, {id, NumberArg(batch, span, "size(B)"),
                                    EnumNumber("ENUM_MEMCPY_OPERATION", batch.texts->Get(operation))});
  }
  if (!detail.has_op && span.kind == SpanKind::kTask) return;
  if (detail.carries_out) {
    return Insert(
        SpanTable::kCommunicationScheduleTaskInfo,
        {IdOf(batch, span.name), id, IdOrNone(batch, detail.op_task_type), IdOrNone(batch, detail.op_type)});
  }
  const auto text = [&](format::TextId name) { return IdOrNone(batch, name); };
  // Of a task that no call of the host is known for. Analysers take "N/A" for dynamic shapes and for a shape.
  const bool of_call =
      options_.vendor_compatible || (span.connection != 0 && !format::OfAgent(span.connection));
  const auto shape = [&](format::TextId name) { return name == 0 && !of_call ? IdOf("") : text(name); };
  row_ = {IdOf(batch, span.name),
          id,
          detail.block_num,
          detail.mix_block_num,
          text(detail.op_task_type),
          text(detail.op_type),
          text(detail.input_formats),
          text(detail.input_types),
          shape(detail.input_shapes),
          text(detail.output_formats),
          text(detail.output_types),
          shape(detail.output_shapes),
          detail.attributes != 0 ? IdOf(batch, detail.attributes) : IdOf("")};
  if (HasStates())
    row_.push_back(detail.op_state != 0 || of_call ? DbValue(text(detail.op_state)) : DbValue());
  for (const int64_t last : {text(detail.hf32), no_text_, no_text_}) row_.emplace_back(last);
  db_->Append(RowsOf(SpanTable::kComputeTaskInfo), row_);
}

void DbOutput::WriteCounters(int64_t task, const Span& span, const format::TaskCounters& counters,
                             uint32_t blocks) {
  const format::SideFacts* side = facts_.Device(span.device);
  if (side == nullptr) return;
  const bool apart = format::TraitsOf(side->chip).tells_cores_apart();
  for (const bool vector : {false, true}) {
    const format::TaskCounters::Core& core = counters.core[vector];
    if (!core.counted || (vector && !apart && counters.core[0].counted)) continue;
    const std::string of = !apart ? "" : vector ? "aiv_" : "aic_";
    Insert(SpanTable::kTaskPmuInfo, {task, IdOf(of + "total_cycles"), core.cycles});
    const auto known = core_metrics_.try_emplace({span.device, vector}).first;
    if (known->second.empty()) known->second = CoreMetricsOf(*side, vector, CoreMode::kByTask);
    const auto events = EventsOf(core);
    const double mhz = vector ? side->aiv_mhz : side->aic_mhz;
    const double busy_ns = CoreBusyUs(core, *side, vector, blocks) * 1e3;
    const auto add = [&](const std::string& name, double value) {
      if (!std::isnan(value)) Insert(SpanTable::kTaskPmuInfo, {task, IdOf(of + name), value});
    };
    add("total_time", busy_ns);
    for (const CoreMetric& metric : known->second) {
      const bool is_in_vendors = metric.what != CoreMetric::What::kBound;
      if (options_.vendor_compatible ? !is_in_vendors : !metric.is_of_core) continue;
      const double value = metric.Value({static_cast<double>(core.cycles), mhz, events});
      if (metric.is_pipe) add(metric.TimeName(), busy_ns * value);
      add(metric.name, value);
    }
  }
}

void DbOutput::WriteApi(const format::SpanBatch& batch, const Span& span) {
  const uint64_t connection = span.connection != 0 ? span.connection : next_connection_++;
  if (options_.for_analysers && span.flow == format::Flow::kBegins) {
    framework_.AddCall(GlobalTid(span), span.begin_ns, connection);
  }
  const int level = LevelNumber(batch.texts->Get(span.category));
  DbConnection::Rows& rows = RowsOf(SpanTable::kCannApi);
  const DbValue row[] = {span.begin_ns,   span.end_ns, level,
                         GlobalTid(span), connection,  IdOf(batch, span.name)};
  // The table's key is the number: those without one, which get the highest, are to hold up nobody.
  span.connection != 0 ? db_->Append(rows, row) : db_->AppendLate(rows, row);
}

// The number of a name in one of the vendor's tables of them.
int DbOutput::EnumNumber(std::string_view table, std::string_view name) {
  constexpr int kNone = 65534;
  for (const DbEnum& values : DbEnums()) {
    if (values.table != table) continue;
    for (const auto& [number, known] : values.names)
      if (known == name) return number;
  }
  return kNone;
}

void DbOutput::WriteComm(const format::SpanBatch& batch, const Span& span) {
  // Agents' names are small letters, the vendor's are not; and it calls one of them otherwise.
  std::string type(batch.texts->Get(TextArg(batch, span, "data_type")));
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::toupper(c); });
  if (const auto same = kOfAgents.find(type); same != kOfAgents.end()) type = same->second;
  // What an operator does of one nobody tells of, as in the vendor's database.
  const bool is_told =
      span.category == 0 || type != "N/A" || !batch.texts->Get(span.category).ends_with(format::kOfOperator);
  const auto says_yes = [&](std::string_view key) {
    return !is_told ? -1 : batch.texts->Get(TextArg(batch, span, key)) == "yes" ? 1 : 0;
  };
  const format::TextId of_vendor = TextArg(batch, span, "alg_type");
  const format::TextId algorithm = of_vendor != 0 ? of_vendor : TextArg(batch, span, "algorithm");
  Insert(SpanTable::kCommunicationOp,
         {IdOf(batch, span.name), span.begin_ns, span.end_ns, span.connection, IdOrNone(batch, span.category),
          CommOf(IdOf(batch, span.name), span.device), says_yes("relay"), says_yes("retry"),
          EnumNumber("ENUM_HCCL_DATA_TYPE", type), IdOrNone(batch, algorithm),
          is_told ? NumberArg(batch, span, "count") : -1,
          IdOf(format::CollectiveTypeOf(batch.texts->Get(span.name))), span.device, RankSizeOf(batch, span)});
}

// MSPTI does not tell it. Of one rank alone nobody knows whether the others are recorded, too.
DbValue DbOutput::RankSizeOf(const format::SpanBatch& batch, const Span& span) const {
  const int64_t told = NumberArg(batch, span, "rank_size");
  if (told != 0 || options_.vendor_compatible) return told;
  const auto group = facts_.groups.find(std::string(batch.texts->Get(span.category)));
  const bool is_known = facts_.has_all_ranks && group != facts_.groups.end() && group->second.size() > 1 &&
                        *group->second.begin() >= 0;
  return is_known ? DbValue(static_cast<int64_t>(group->second.size())) : DbValue();
}

// Parts come before what they are of, and tell it by its name.
int64_t DbOutput::CommOf(int64_t name, int device) {
  const auto found = comms_.find({name, device});
  if (found == comms_.end()) return next_comm_++;
  return comms_.extract(found).mapped();
}

// It comes right behind the task of the device's log that it is.
void DbOutput::WriteCommPart(const format::SpanBatch& batch, const Span& span) {
  const auto number_of = [&](std::string_view table, std::string_view key) {
    return EnumNumber(table, batch.texts->Get(TextArg(batch, span, key)));
  };
  const auto real = [&](std::string_view key) {
    const format::SpanArg* arg = FindArg(batch, span, key);
    return arg == nullptr ? 0 : std::bit_cast<double>(arg->bits);
  };
  const int64_t name = IdOf(batch, TextArg(batch, span, "collective"));
  const auto [op, fresh] = comms_.try_emplace({name, span.device}, next_comm_);
  if (fresh) ++next_comm_;
  constexpr double kBytesPerGb = 1e9;
  const std::string_view notify = batch.texts->Get(TextArg(batch, span, "notify_id"));
  int64_t notify_id = -1;
  std::from_chars(notify.data(), notify.data() + notify.size(), notify_id);
  Insert(SpanTable::kCommunicationTaskInfo,
         {name, last_tasks_[span.device], IdOf(batch, span.name), span.stream, IdOrNone(batch, span.category),
          notify_id, number_of("ENUM_HCCL_RDMA_TYPE", "rdma type"), NumberArg(batch, span, "src rank"),
          NumberArg(batch, span, "dst rank"), number_of("ENUM_HCCL_TRANSPORT_TYPE", "transport type"),
          NumberArg(batch, span, "size(Byte)"), number_of("ENUM_HCCL_DATA_TYPE", "data type"),
          number_of("ENUM_HCCL_LINK_TYPE", "link type"), op->second, NumberArg(batch, span, "is master"),
          real("bandwidth(GB/s)") * kBytesPerGb});
}

// The task that it's of is found by its ids: the vendor numbers tasks by them, we as they come. Its arguments
// are a list of names and values in turn (db_assembler.cpp, SaveCCUData).
void DbOutput::WriteMission(const format::SpanBatch& batch, const Span& span) {
  std::string args =
      "[\"Physic Stream Id\"," + std::to_string(span.stream) + ",\"Task Id\"," + std::to_string(span.value);
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    args += ',';
    AppendJsonString(args, batch.texts->Get(arg.key));
    args += ',' + std::to_string(arg.bits);
  }
  args += ']';
  const int64_t id = next_id_++;  // no two are the same
  const DbValue text[] = {id, std::string_view(args)};
  db_->Append(*strings_, text);
  Insert(SpanTable::kCcu, {span.device, DbValue(), IdOf(batch, span.name), span.begin_ns, span.end_ns, id});
}

void DbOutput::WriteMemory(const format::SpanBatch& batch, const Span& span) {
  Insert(SpanTable::kMemory,
         {IdOf(batch, span.name), span.begin_ns, span.end_ns, GlobalTid(span), span.device,
          IdOrNone(batch, TextArg(batch, span, "copy")), NumberArg(batch, span, "bytes"),
          NumberArg(batch, span, "address"), span.connection});
}

void DbOutput::WriteOpMemory(const format::SpanBatch& batch, const Span& span) {
  const int64_t size = NumberArg(batch, span, "size");
  const uint64_t bytes = size < 0 ? -static_cast<uint64_t>(size) : static_cast<uint64_t>(size);
  Insert(SpanTable::kNpuOpMem,
         {IdOf(batch, span.name), NumberArg(batch, span, "address"), IdOf(size < 0 ? "release" : "allocate"),
          bytes, span.begin_ns, GlobalTid(span), NumberArg(batch, span, "total allocated"),
          NumberArg(batch, span, "total reserved"), IdOf(batch, span.category), span.device});
}

// Analysers read ranges of starts and ends only, and each has a number there. Of marks on a stream they want
// that of a framework's call, too, and end in an error without it.
void DbOutput::WriteMark(const format::SpanBatch& batch, const Span& span) {
  constexpr int kMarker = 0, kPushPop = 1, kStartEnd = 2, kMarkerOnStream = 3;
  const bool of_range = span.kind == SpanKind::kRange, numbered = span.value != 0;
  if (span.device >= 0) {  // what the device did for it
    Insert(SpanTable::kTask,
           {span.begin_ns, span.end_ns, span.device, span.connection, next_task_++, span.pid, IdOf("MsTx"),
            format::kNoId, span.stream, format::kNoId, format::kNoId});
    return;
  }
  if (options_.for_analysers && of_range && FrameworkCalls::IsOperator(batch.texts->Get(span.name))) {
    framework_.AddRange({span.begin_ns, span.end_ns, GlobalTid(span), IdOf(batch, span.name)});
  }
  const bool on_stream = span.connection != 0 && options_.vendor_compatible;
  const int type = !of_range                                 ? (on_stream ? kMarkerOnStream : kMarker)
                   : numbered || !options_.vendor_compatible ? kStartEnd
                                                             : kPushPop;
  uint64_t range = format::kNoId;
  if (type == kStartEnd) range = numbered ? span.value : next_range_++;
  // That nothing ran on a device for it analysers are to be told in their own word: of 4000000000 they look
  // for a task.
  const uint64_t none = type == kStartEnd && !options_.vendor_compatible ? format::kNoId : kNoConnection;
  Insert(SpanTable::kMstxEvents,
         {span.begin_ns, span.end_ns, type, range, format::kNoId, IdOf(batch, span.name), GlobalTid(span),
          GlobalTid(span), IdOf(batch, span.category), span.connection != 0 ? span.connection : none});
}

// A framework's profiler numbers the connections of each of its calls; what else it tells of a call nobody
// here knows.
void DbOutput::WriteFramework() {
  int64_t next = 0;
  framework_.ForEach([&](const FrameworkCalls::Range& range, const std::vector<uint64_t>& connections) {
    DbValue id;
    if (!connections.empty()) id = next;
    for (const uint64_t connection : connections) Insert(SpanTable::kConnectionIds, {next, connection});
    next += connections.empty() ? 0 : 1;
    Insert(SpanTable::kPytorchApi, {range.begin_ns, range.end_ns, range.thread, id, range.name, DbValue(),
                                    DbValue(), DbValue(), DbValue(), DbValue(), kFrameworkCall});
  });
  left_out_ += framework_.left_out();
}

void DbOutput::WriteSpan(const format::SpanBatch& batch, const Span& span) {
  switch (span.kind) {
    case SpanKind::kTask:
    case SpanKind::kKernel:
      return WriteTask(batch, span);
    case SpanKind::kApi:
      return WriteApi(batch, span);
    case SpanKind::kComm:
      return WriteComm(batch, span);
    case SpanKind::kCommPart:
      return WriteCommPart(batch, span);
    case SpanKind::kMemory:
      return WriteMemory(batch, span);
    case SpanKind::kRange:
    case SpanKind::kMark:
      return WriteMark(batch, span);
    case SpanKind::kOsCall:
      return Insert(SpanTable::kOsrtApi,
                    {IdOf(batch, span.name), GlobalTid(span), span.begin_ns, span.end_ns});
    case SpanKind::kStep:
      return Insert(SpanTable::kStepTime,
                    {span.value, span.begin_ns, span.end_ns, GlobalTid(span), span.device,
                     IdOf(batch.IsUnfinished(span) ? format::kUnfinished
                                                   : batch.texts->Get(TextArg(batch, span, "edge")))});
    case SpanKind::kMission:
      return WriteMission(batch, span);
    case SpanKind::kOpMemory:
      return WriteOpMemory(batch, span);
    case SpanKind::kFusedOp:
    case SpanKind::kTableRow:
      return;  // in tables only
    case SpanKind::kOverlap:
      return Insert(SpanTable::kOverlapAnalysis,
                    {next_overlap_++, span.device, span.begin_ns, span.end_ns, span.value});
    case SpanKind::kCounter:
      return Insert(SpanTable::kCounter, {IdOf(batch, span.name), span.begin_ns, span.CounterValue(),
                                          GlobalTid(span), IdOf(batch, span.category)});
  }
}

void DbOutput::Spans(const format::SpanBatch& batch) {
  for (const Span& span : batch.spans) WriteSpan(batch, span);
}

}  // namespace profd::client
