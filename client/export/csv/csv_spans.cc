#include "client/export/csv/csv_spans.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "client/export/write/number_text.h"
#include "format/comm_words.h"
#include "format/op_names.h"

namespace profd::client {

namespace {

using format::ArgType;
using format::Span;
using format::SpanBatch;
using format::SpanKind;
using format::TextId;

constexpr size_t kMaxGroups = 1 << 18;

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

// Most time first.
template <typename Groups>
auto ByTime(const Groups& groups) {
  std::vector<typename Groups::const_iterator> order;
  for (auto group = groups.begin(); group != groups.end(); ++group) order.push_back(group);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a->second.sum > b->second.sum; });
  return order;
}

template <typename Groups, typename Key>
bool Count(Groups& groups, const Key& key, uint64_t ns) {
  if (groups.size() >= kMaxGroups && !groups.contains(key)) return false;
  groups[key].Add(ns);
  return true;
}

// Of a task: what is in no table of operators. Parts of collectives are in theirs (op_summary_assembler.cpp).
bool IsNoOperator(std::string_view task_type) {
  constexpr std::string_view kNone[] = {"WRITE_BACK", "INVALID", "COMMUNICATION", "HCCL_AI_CPU"};
  return std::ranges::find(kNone, task_type) != std::end(kNone);
}

// Whose table each call of the host is in: the vendor's Python makes the table of calls anew for every
// device, its C++ of later chips (common_func/cpp_enable_scene.py) once, of the host.
std::vector<int> OlderDevices(const CaptureFacts& facts) {
  std::vector<int> devices;
  for (const format::SideFacts& side : facts.devices) {
    if (!format::TraitsOf(side.chip).newer_exporter) devices.push_back(side.device);
  }
  if (devices.empty()) devices.push_back(-1);
  return devices;
}

}  // namespace

void Durations::Add(uint64_t ns) {
  const double us = Microseconds(ns);
  if (count++ == 0) min = max = first = us;
  min = std::min(min, us);
  max = std::max(max, us);
  sum += us;
  const double off = us - first;
  shifted += off;
  squares += off * off;
}

double Durations::Variance() const {
  if (count == 0) return 0;
  const auto n = static_cast<double>(count);
  // Σ(x − a)² of x − first, a − first.
  const double average = Rounded(Average(), 3) - first;
  return std::max(0.0, (squares - 2 * average * shifted) / n + average * average);
}

void CsvSpans::Cell(CsvFile* csv, TextId text) {
  if (text == 0) return csv->Na();
  const std::string_view view = Get(text);
  if (text >= plain_.size()) {
    if (texts_ == nullptr || text >= texts_->size()) return csv->Text(view);
    for (TextId next = static_cast<TextId>(plain_.size()); next < texts_->size(); ++next)
      plain_.push_back(CsvFile::IsPlain(texts_->Get(next)));
  }
  plain_[text] ? csv->Plain(view) : csv->Text(view);
}

bool CsvSpans::IsStars(int device) const {
  const format::SideFacts* side = context_.facts.Device(device);
  // Devices that only programs have told of: MSPTI has no others.
  return side == nullptr || format::TraitsOf(side->chip).stars;
}

void CsvSpans::Add(const SpanBatch& batch) {
  if (texts_ != batch.texts) plain_.clear();
  texts_ = batch.texts;
  for (const Span& span : batch.spans) {
    switch (span.kind) {
      case SpanKind::kComm:
        // Of an operator: that one is in the tables.
        if (batch.texts->Get(span.category).ends_with(format::kOfOperator)) break;
        Task(batch, span);
        break;
      case SpanKind::kTask:
      case SpanKind::kKernel:
        Task(batch, span);
        break;
      case SpanKind::kApi:
        if (Durations* times = calls_.FindOrAdd(static_cast<uint64_t>(span.name) << 32 | span.category)) {
          times->Add(span.end_ns - span.begin_ns);
        } else {
          ++left_out_;
        }
        break;
      case SpanKind::kOsCall:
        left_out_ +=
            !Count(os_calls_, std::tuple(span.pid, span.tid, span.name), span.end_ns - span.begin_ns);
        break;
      case SpanKind::kRange:
      case SpanKind::kMark:
        Range(batch, span);
        break;
      case SpanKind::kStep:
      case SpanKind::kCounter:
      case SpanKind::kMemory:
        programs_.Add(batch, span);
        break;
      case SpanKind::kOpMemory:
        operator_records_.AddMemory(batch, span);
        break;
      case SpanKind::kFusedOp:
        operator_records_.AddFused(batch, span);
        break;
      case SpanKind::kTableRow:
        operator_records_.AddRow(batch, span);
        break;
      case SpanKind::kCommPart:
      case SpanKind::kOverlap:
      case SpanKind::kMission:
        break;  // of what the other tables have
    }
  }
}

void CsvSpans::Task(const SpanBatch& batch, const Span& span) {
  DeviceRows& device = tasks_[span.device];
  TaskRow& row = device.rows.New([&](const TaskRow& done) { WriteTask(device, done); });
  row.begin_ns = span.begin_ns;
  row.end_ns = span.end_ns;
  row.device = span.device;
  row.stream = span.stream;
  row.task = static_cast<uint32_t>(span.value);
  row.type = span.category;
  row.op_name = row.kernel = span.name;
  // The vendor's collector tells of every launch how many; MSPTI, and a log that nobody launched, of none.
  row.knows_blocks =
      context_.vendor_compatible || (span.connection != 0 && !format::OfAgent(span.connection));
  if (span.kind == SpanKind::kKernel) {
    row.kind = TaskRow::Kind::kOperator;
    row.op_task_type = span.category;
  } else if (span.kind == SpanKind::kComm) {
    row.kind = TaskRow::Kind::kCommunication;
    const std::string type = std::string(format::CollectiveTypeOf(batch.texts->Get(span.name)));
    left_out_ += !Count(collectives_, std::pair(span.device, type), span.end_ns - span.begin_ns);
  }
  if (const format::TaskDetail* detail = batch.DetailOf(span)) {
    row.context = detail->context;
    row.model = detail->model;
    row.model_name = detail->model_name;
    row.blocks = detail->block_num;
    row.mix_blocks = detail->mix_block_num;
    row.kernel = detail->kernel_name != 0 ? detail->kernel_name : detail->op_name;
    row.op_name = detail->op_name;
    row.op_type = detail->op_type;
    row.op_state = detail->op_state;
    row.op_task_type = detail->op_task_type;
    row.hf32 = detail->hf32;
    if (const format::TaskCounters* counters = batch.CountersOf(*detail)) {
      row.counters = std::make_unique<format::TaskCounters>(*counters);
      if (!context_.vendor_compatible) {
        // What runs on cores is an operator, whoever launched it, if the recording may be of them; and a
        // 310's counters say how many blocks.
        if (!context_.facts.tasks_are_others) row.kind = TaskRow::Kind::kOperator;
        if (row.blocks == 0) row.blocks = counters->core[0].blocks;
      }
    }
    const TextId shapes[] = {detail->input_shapes,  detail->input_types,  detail->input_formats,
                             detail->output_shapes, detail->output_types, detail->output_formats};
    std::copy(std::begin(shapes), std::end(shapes), row.shapes);
    if (detail->has_op) {
      row.kind = TaskRow::Kind::kOperator;
      TextId* name = context_.facts.tells_of_tasks
                         ? op_names_.FindOrAdd(TaskKey(span.device, span.stream, row.task))
                         : nullptr;
      if (name != nullptr) *name = row.op_name;
    }
    if (detail->has_op && detail->op_type != 0 && !IsNoOperator(Get(detail->op_task_type))) {
      left_out_ += !Count(operators_, std::tuple(span.device, detail->op_type, detail->op_task_type),
                          span.end_ns - span.begin_ns);
    }
  }
}

std::string_view CsvSpans::OpName(int device, uint32_t stream, uint32_t task) {
  const TextId* name = op_names_.Find(TaskKey(device, stream, task));
  return name == nullptr || *name == 0 ? std::string_view() : Get(*name);
}

void CsvSpans::WriteTask(DeviceRows& device, const TaskRow& row) {
  const bool sub_task = row.context != format::kNoId && row.context != 0;
  if (row.kind != TaskRow::Kind::kCommunication && !sub_task && context_.without != "task_time") {
    if (task_time_ == nullptr) {
      task_time_ = context_.folder.Open(
          "task_time",
          "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)");
    }
    CsvFile* csv = task_time_;
    if (csv == nullptr) return;
    csv->Device(row.device);
    Cell(csv, row.kernel);
    // One file has one name for what vector cores run: that of operators, not the log's.
    if (row.op_task_type == 0 && !context_.vendor_compatible && Get(row.type) == "AIV_SQE") {
      csv->Text("AI_VECTOR_CORE");
    } else {
      Cell(csv, row.op_task_type != 0 ? row.op_task_type : row.type);
    }
    csv->Int(row.stream);
    csv->Int(row.task);
    csv->Us(row.end_ns - row.begin_ns);
    csv->Stamp(row.begin_ns);
    csv->Stamp(row.end_ns);
    csv->End();
  }
  if (row.kind != TaskRow::Kind::kTask) WriteOperator(device, row);
}

void CsvSpans::WriteOperator(DeviceRows& device, const TaskRow& row) {
  const std::string_view type = Get(row.op_task_type);
  if (IsNoOperator(type)) return;
  const bool stars = IsStars(row.device);
  if (op_summary_ == nullptr) {
    const bool of_model = context_.iteration.has_value();
    std::string header = of_model
                             ? "Device_id,Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,"
                             : "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,";
    has_infos_ = context_.vendor_compatible || context_.facts.knows_operators;
    if (has_infos_) header += "OP State,";
    header += "Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Num,";
    if (stars) header += "Mix Block Num,";
    header +=
        "HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output "
        "Formats";
    if (stars) header += ",Context ID";
    cores_.Find(context_.facts, context_.vendor_compatible);
    header += cores_.Header();
    op_summary_ = context_.folder.Open("op_summary", header);
  }
  CsvFile* csv = op_summary_;
  if (csv == nullptr) return;
  const bool communication = row.kind == TaskRow::Kind::kCommunication;
  const auto infer_id = [&] {
    if (context_.iteration) csv->Int(*context_.iteration);
  };
  csv->Device(row.device);
  if (context_.iteration) Cell(csv, row.model_name);
  csv->Int(row.model);
  if (communication) {
    csv->Na();
    csv->Na();
    infer_id();
    csv->Text(Get(row.op_name));
    csv->Text(format::CollectiveTypeOf(Get(row.op_name)));
    if (has_infos_) csv->Na();
    csv->Text("COMMUNICATION");
  } else {
    csv->Int(row.task);
    csv->Int(row.stream);
    infer_id();
    Cell(csv, row.op_name);
    Cell(csv, row.op_type);
    if (has_infos_) Cell(csv, row.op_state);
    Cell(csv, row.op_task_type);
  }
  csv->Stamp(row.begin_ns);
  csv->Us(row.end_ns - row.begin_ns);
  // How long the device had nothing to do in front of it.
  if (!device.any) {
    csv->Int(0);
  } else {
    csv->Us(row.begin_ns > device.last_end_ns ? row.begin_ns - device.last_end_ns : 0, "000");
  }
  device.any = true;
  device.last_end_ns = row.end_ns;
  const auto blocks = [&](uint32_t number) {
    number != 0 || row.knows_blocks ? csv->Int(number) : csv->Na();
  };
  blocks(row.blocks);
  if (stars) communication ? csv->Na() : blocks(row.mix_blocks);
  Cell(csv, row.hf32);
  for (const TextId shape : row.shapes) {
    shape == 0 && !has_infos_ ? csv->Text("") : Cell(csv, shape);  // analysers take N/A for a shape
  }
  if (stars) row.context == format::kNoId ? csv->Na() : csv->Int(row.context);
  cores_.Write(csv, context_.facts.Device(row.device), row.counters.get(), row.blocks, row.op_task_type != 0,
               Microseconds(row.end_ns - row.begin_ns));
  csv->End();
}

void CsvSpans::Range(const SpanBatch& batch, const Span& span) {
  if (span.device >= 0) {
    constexpr size_t kMost = 1 << 17;
    if (ran_.size() == kMost) ran_.erase(ran_.begin());
    ran_[span.connection] = {span.begin_ns, span.end_ns};
    return;
  }
  RangeRow& row = ranges_.New([this](const RangeRow& done) { WriteRange(done); });
  row.begin_ns = span.begin_ns;
  row.end_ns = span.end_ns;
  row.value = span.value;
  row.pid = span.pid;
  row.tid = span.tid;
  row.name = span.name;
  row.domain = span.category;
  row.mark = span.kind == SpanKind::kMark;
  row.connection = span.connection;
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    const std::string_view key = batch.texts->Get(arg.key);
    if (key == "category") row.category = static_cast<TextId>(arg.bits);
    if (key != "payload") continue;
    row.payload_type = arg.type;
    row.payload = arg.bits;
    row.has_payload = true;
  }
}

void CsvSpans::WriteRange(const RangeRow& row) {
  if (msprof_tx_ == nullptr) {
    msprof_tx_ = context_.folder.Open(
        "msprof_tx",
        "Device_id,pid,tid,category,event_type,payload_type,payload_value,Start_time(us),"
        "End_time(us),message_type,message,domain,Device Start_time(us),Device End_time(us)");
  }
  CsvFile* csv = msprof_tx_;
  if (csv == nullptr) return;
  csv->Device(-1);
  csv->Int(row.pid);
  csv->Int(row.tid);
  Cell(csv, row.category);
  csv->Text(row.mark ? "marker" : row.value != 0 ? "start/end" : "push/pop");
  if (!row.has_payload) {
    csv->Na();
    csv->Na();
  } else if (row.payload_type == ArgType::kF64) {
    csv->Text("double");
    csv->Shortest(std::bit_cast<double>(row.payload));
  } else if (row.payload_type == ArgType::kText) {
    csv->Text("string");
    csv->Text(Get(static_cast<TextId>(row.payload)));
  } else if (row.payload_type == ArgType::kI64) {
    csv->Text("int64");
    csv->Int(static_cast<int64_t>(row.payload));
  } else {
    csv->Text("uint64");
    csv->Int(row.payload);
  }
  csv->Stamp(row.begin_ns);
  csv->Stamp(row.end_ns);
  csv->Text("string");
  csv->Text(Get(row.name));
  csv->Text(row.domain == 0 ? std::string_view("default") : Get(row.domain));
  const auto ran = row.connection == 0 ? ran_.end() : ran_.find(row.connection);
  if (ran == ran_.end()) {
    csv->Na();
    csv->Na();
  } else {
    csv->Stamp(ran->second.first);
    csv->Stamp(ran->second.second);
  }
  csv->End();
}

void CsvSpans::WriteOpStatistic() {
  std::map<int, double> totals;
  for (const auto& [key, times] : operators_) totals[std::get<0>(key)] += times.sum;
  for (const auto& group : ByTime(operators_)) {
    const auto& [device, type, core] = group->first;
    const Durations& times = group->second;
    CsvFile* csv =
        context_.folder.Open("op_statistic",
                             "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),"
                             "Max Time(us),Ratio(%)");
    if (csv == nullptr) return;
    csv->Device(device);
    Cell(csv, type);
    Cell(csv, core);
    csv->Int(times.count);
    for (const double us : {times.sum, times.min, times.Average(), times.max}) csv->Trimmed(us);
    csv->Trimmed(100 * times.sum / totals[device]);
    csv->End();
  }
}

void CsvSpans::WriteApiStatistic() {
  std::vector<std::tuple<std::string_view, std::string_view, const Durations*>> rows;
  calls_.ForEach([&](uint64_t key, const Durations& times) {
    rows.emplace_back(Get(static_cast<TextId>(key >> 32)), Get(static_cast<TextId>(key)), &times);
  });
  std::sort(rows.begin(), rows.end());
  const std::vector<int> devices =
      context_.vendor_compatible ? OlderDevices(context_.facts) : std::vector{-1};
  for (const auto& [name, level, times] : rows) {
    CsvFile* csv = context_.folder.Open(
        "api_statistic", "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance");
    if (csv == nullptr) return;
    for (const int device : devices) {
      csv->Device(device);
      csv->Text(level);
      csv->Text(name);
      csv->Trimmed(times->sum);
      csv->Int(times->count);
      for (const double us : {times->Average(), times->min, times->max, times->Variance()}) csv->Trimmed(us);
      csv->End();
    }
  }
}

void CsvSpans::WriteOsStatistic() {
  double total = 0;
  for (const auto& [key, times] : os_calls_) total += times.sum;
  for (const auto& group : ByTime(os_calls_)) {
    const auto& [pid, tid, name] = group->first;
    const Durations& times = group->second;
    CsvFile* csv = context_.folder.Open(
        "os_runtime_statistic",
        "Device_id,Process ID,Thread ID,Name,Time(%),Time(us),Count,Avg(us),Max(us),Min(us)");
    if (csv == nullptr) return;
    csv->Device(-1);
    csv->Int(pid);
    csv->Int(tid);
    Cell(csv, name);
    // The vendor's percentage is a fraction.
    csv->Shortest(total > 0 ? times.sum / total * (context_.vendor_compatible ? 1 : 100) : 0);
    csv->Shortest(times.sum);
    csv->Int(times.count);
    for (const double us : {times.Average(), times.max, times.min}) csv->Shortest(us);
    csv->End();
  }
}

void CsvSpans::WriteCommStatistic() {
  std::map<int, double> totals;
  for (const auto& [key, times] : collectives_) totals[key.first] += times.sum;
  for (const auto& group : ByTime(collectives_)) {
    const auto& [device, type] = group->first;
    const Durations& times = group->second;
    CsvFile* csv = context_.folder.Open(
        "communication_statistic",
        "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)");
    if (csv == nullptr) return;
    csv->Device(device);
    csv->Text(type);
    csv->Int(times.count);
    for (const double us : {times.sum, times.min, times.Average(), times.max}) csv->Trimmed(us);
    csv->Trimmed(100 * times.sum / totals[device]);
    csv->End();
  }
}

void CsvSpans::Finish() {
  for (auto& [number, device] : tasks_) {
    device.rows.Drain(0, [&, &of = device](const TaskRow& row) { WriteTask(of, row); });
  }
  programs_.Finish();
  operator_records_.Finish();
  ranges_.Drain(0, [this](const RangeRow& row) { WriteRange(row); });
  WriteOpStatistic();
  WriteApiStatistic();
  WriteOsStatistic();
  WriteCommStatistic();
}

}  // namespace profd::client
