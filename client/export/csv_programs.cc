#include "client/export/csv_programs.h"

#include <bit>
#include <string>

namespace profd::client {

using format::Span;
using format::SpanKind;

void CsvPrograms::Add(const format::SpanBatch& batch, const Span& span) {
  texts_ = batch.texts;
  Row row{span.begin_ns, span.end_ns, span.value,    span.pid,  span.tid,
          span.device,   span.name,   span.category, span.kind, 0};
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    if (span.kind == SpanKind::kMemory && arg.type == format::ArgType::kU64 &&
        batch.texts->Get(arg.key) == "bytes")
      row.bytes = arg.bits;
  }
  rows_.Add(row, [this](const Row& done) { Write(done); });
}

void CsvPrograms::Finish() {
  rows_.Drain(0, [this](const Row& row) { Write(row); });
}

void CsvPrograms::Write(const Row& row) {
  switch (row.kind) {
    case SpanKind::kStep:
      return WriteStep(row);
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
  CsvFile* csv = Open("agent_step", "Step,Name,Start Time(us),End Time(us),Duration(us)", row);
  if (csv == nullptr) return;
  csv->Int(row.value);
  csv->Text(texts_->Get(row.name));
  csv->Stamp(row.begin_ns);
  csv->Stamp(row.end_ns);
  csv->Us(row.end_ns - row.begin_ns);
  csv->End();
}

void CsvPrograms::WriteCounter(const Row& row) {
  CsvFile* csv = Open("agent_counter", "Domain,Name,Timestamp(us),Value", row);
  if (csv == nullptr) return;
  csv->Text(row.category == 0 ? std::string_view("default") : texts_->Get(row.category));
  csv->Text(texts_->Get(row.name));
  csv->Stamp(row.begin_ns);
  csv->Shortest(std::bit_cast<double>(row.value));
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
