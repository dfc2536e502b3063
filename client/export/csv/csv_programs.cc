#include "client/export/csv/csv_programs.h"

#include <bit>
#include <cmath>
#include <string>

namespace profd::client {

using format::Span;
using format::SpanKind;

namespace {

constexpr double kExactIntegers = 1LL << 53;  // up to here a double is one integer

}  // namespace

void CsvPrograms::Add(const format::SpanBatch& batch, const Span& span) {
  texts_ = batch.texts;
  Row& row = rows_.New([this](const Row& done) { Write(done); });
  row.begin_ns = span.begin_ns;
  row.end_ns = span.end_ns;
  row.value = span.value;
  row.pid = span.pid;
  row.tid = span.tid;
  row.device = span.device;
  row.name = span.name;
  row.category = span.category;
  row.kind = span.kind;
  const format::TaskDetail* detail = batch.DetailOf(span);
  row.model = detail != nullptr ? detail->model : format::kNoId;
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    const std::string_view key = batch.texts->Get(arg.key);
    if (arg.type == format::ArgType::kText) {
      if (key == "edge") row.edge = static_cast<format::TextId>(arg.bits);
      if (key == "copy") row.category = static_cast<format::TextId>(arg.bits);  // from where to where
    }
    if (arg.type != format::ArgType::kU64) continue;
    if (key == "bytes") row.bytes = arg.bits;
    if (key == format::kUnfinished) row.unfinished = true;
    if (key == "FP Start(ns)") row.forward_ns = arg.bits;
    if (key == "BP End(ns)") row.backward_ns = arg.bits;
    if (key == "previous end(ns)") row.before_ns = arg.bits;
  }
}

void CsvPrograms::Finish() {
  rows_.Drain(0, [this](const Row& row) { Write(row); });
}

void CsvPrograms::Write(const Row& row) {
  switch (row.kind) {
    case SpanKind::kStep:
      return row.device < 0 ? WriteStep(row) : WriteIteration(row);
    case SpanKind::kCounter:
      return WriteCounter(row);
    default:
      return WriteMemory(row);
  }
}

CsvFile* CsvPrograms::Open(std::string_view kind, std::string_view columns, const Row& row) {
  CsvFile* csv = context_.folder.Open(kind, "Device_id,pid,tid," + std::string(columns));
  if (csv == nullptr) return nullptr;
  csv->Device(row.device);
  csv->Int(row.pid);
  csv->Int(row.tid);
  return csv;
}

void CsvPrograms::WriteStep(const Row& row) {
  CsvFile* csv = Open("agent_step", "Step,Name,Start Time(us),End Time(us),Duration(us),Edge", row);
  if (csv == nullptr) return;
  csv->Int(row.value);
  csv->Text(texts_->Get(row.name));
  csv->Stamp(row.begin_ns);
  if (row.unfinished) {
    csv->Na();
    csv->Na();
  } else {
    csv->Stamp(row.end_ns);
    csv->Us(row.end_ns - row.begin_ns);
  }
  csv->Text(row.unfinished ? format::kUnfinished : row.edge != 0 ? texts_->Get(row.edge) : "");
  csv->End();
}

void CsvPrograms::WriteIteration(const Row& row) {
  CsvFile* csv = context_.folder.Open(
      "step_trace",
      "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us),"
      "Iteration Refresh(us),Data Aug Bound(us),Model ID");
  if (csv == nullptr) return;
  const auto stamp = [csv](uint64_t ns) { ns == 0 ? csv->Na() : csv->Stamp(ns); };
  const auto between = [csv](uint64_t from_ns, uint64_t to_ns) {
    from_ns == 0 || to_ns < from_ns ? csv->Na() : csv->Us(to_ns - from_ns);
  };
  csv->Device(row.device);
  csv->Int(row.value);
  stamp(row.forward_ns);
  stamp(row.backward_ns);
  stamp(row.end_ns);
  csv->Us(row.end_ns - row.begin_ns);
  between(row.forward_ns, row.backward_ns);
  between(row.backward_ns, row.end_ns);
  between(row.before_ns, row.forward_ns);
  row.model == format::kNoId ? csv->Na() : csv->Int(row.model);
  csv->End();
}

void CsvPrograms::WriteCounter(const Row& row) {
  CsvFile* csv = Open("agent_counter", "Domain,Name,Timestamp(us),Value", row);
  if (csv == nullptr) return;
  csv->Text(row.category == 0 ? std::string_view("default") : texts_->Get(row.category));
  csv->Text(texts_->Get(row.name));
  csv->Stamp(row.begin_ns);
  const auto value = std::bit_cast<double>(row.value);
  if (std::abs(value) < kExactIntegers && value == std::trunc(value)) {
    csv->Int(static_cast<int64_t>(value));
  } else {
    csv->Shortest(value);
  }
  csv->End();
}

void CsvPrograms::WriteMemory(const Row& row) {
  CsvFile* csv = Open("agent_memory", "Operation,Type,Start Time(us),Duration(us),Size(B)", row);
  if (csv == nullptr) return;
  csv->Text(texts_->Get(row.name));
  csv->Text(texts_->Get(row.category));
  csv->Stamp(row.begin_ns);
  csv->Us(row.end_ns - row.begin_ns);
  csv->Int(row.bytes);
  csv->End();
}

}  // namespace profd::client
