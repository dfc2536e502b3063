#include "client/export/csv/csv_operators.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace profd::client {

using format::Span;

namespace {

constexpr double kBytesPerKb = 1024;
constexpr double kNsPerUs = 1000;

std::string DeviceName(int device) { return "NPU:" + std::to_string(device); }

}  // namespace

void CsvOperators::AddMemory(const format::SpanBatch& batch, const Span& span) {
  texts_ = batch.texts;
  Held what{span.device, span.name, 0};
  Moment at{span.begin_ns, 0, 0, 0};
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    const std::string_view key = texts_->Get(arg.key);
    if (key == "size") at.size = static_cast<int64_t>(arg.bits);
    if (key == "address") what.address = arg.bits;
    if (key == "total allocated") at.allocated = arg.bits;
    if (key == "total reserved") at.reserved = arg.bits;
  }
  WriteRecord(texts_->Get(span.category), span.device, at);
  const auto found = held_.find(what);
  if (at.size > 0) {
    if (found != held_.end()) {
      found->second = at;  // that it was given back is not recorded
    } else if (held_.size() < kMostHeld) {
      held_.emplace(what, at);
    } else {
      ++left_out_;
    }
  } else if (at.size < 0 && found != held_.end()) {
    WriteHeld(what, found->second, &at);
    held_.erase(found);
  }
}

void CsvOperators::WriteRecord(std::string_view component, int device, const Moment& at) {
  CsvFile* csv = context_.folder.Open(
      "memory_record", "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device");
  if (csv == nullptr) return;
  csv->Device(device);
  csv->Text(component);
  csv->Stamp(at.wall_ns);
  csv->Rounded(static_cast<double>(at.allocated) / kBytesPerKb);
  csv->Rounded(static_cast<double>(at.reserved) / kBytesPerKb);
  csv->Text(DeviceName(device));
  csv->End();
}

void CsvOperators::WriteHeld(const Held& what, const Moment& taken, const Moment* given_back) {
  CsvFile* csv = context_.folder.Open(
      "operator_memory",
      "Device_id,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),"
      "Allocation Total Reserved(KB),Release Total Allocated(KB),Release Total Reserved(KB),Device");
  if (csv == nullptr) return;
  const Moment none, &end = given_back != nullptr ? *given_back : none;  // zeros, as the vendor prints it
  const uint64_t ns = end.wall_ns > taken.wall_ns ? end.wall_ns - taken.wall_ns : 0;
  csv->Device(what.device);
  csv->Text(texts_->Get(what.name));
  csv->Rounded(static_cast<double>(taken.size) / kBytesPerKb);
  csv->Stamp(taken.wall_ns);
  csv->Rounded(static_cast<double>(ns) / kNsPerUs);
  for (const uint64_t bytes : {taken.allocated, taken.reserved, end.allocated, end.reserved})
    csv->Rounded(static_cast<double>(bytes) / kBytesPerKb);
  csv->Text(DeviceName(what.device));
  csv->End();
}

void CsvOperators::AddFused(const format::SpanBatch& batch, const Span& span) {
  CsvFile* csv = context_.folder.Open(
      "fusion_op",
      "Device_id,Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB),Memory Output(KB),Memory "
      "Weight(KB),Memory Workspace(KB),Memory Total(KB)");
  if (csv == nullptr) return;
  csv->Device(-1);
  span.category == 0 ? csv->Na() : csv->Text(batch.texts->Get(span.category));
  csv->Int(span.value);
  csv->Text(batch.texts->Get(span.name));
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {  // in the order of the columns
    if (arg.type == format::ArgType::kText) {
      csv->Text(batch.texts->Get(static_cast<format::TextId>(arg.bits)));
    } else {
      csv->Shortest(static_cast<double>(arg.bits) / kBytesPerKb);
    }
  }
  csv->End();
}

void CsvOperators::AddRow(const format::SpanBatch& batch, const Span& span) {
  struct Table {
    std::string_view name, header;
    bool has_stamp;
  };
  static constexpr Table kTables[] = {
      {"static_op_mem", "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)",
       false},
      {"dp", "Device_id,Timestamp(us),Action,Source,Cached Buffer Size", true},
      {"aicpu_mi", "Device_id,Node Name,Start Time(us),End Time(us),Queue Size", false}};
  const Table* const table = std::ranges::find(kTables, batch.texts->Get(span.category), &Table::name);
  CsvFile* csv =
      table != std::end(kTables) ? context_.folder.Open(std::string(table->name), table->header) : nullptr;
  if (csv == nullptr) return;
  csv->Device(span.device);
  if (table->has_stamp) csv->Stamp(span.begin_ns);
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    if (arg.type == format::ArgType::kText) {
      arg.bits == 0 ? csv->Na() : csv->Text(batch.texts->Get(static_cast<format::TextId>(arg.bits)));
    } else if (arg.type == format::ArgType::kF64) {
      csv->Shortest(std::bit_cast<double>(arg.bits) / kBytesPerKb);
    } else {
      csv->Int(arg.bits);
    }
  }
  csv->End();
}

void CsvOperators::Finish() {
  std::vector<std::pair<Held, Moment>> rest(held_.begin(), held_.end());
  std::ranges::stable_sort(rest, {}, [](const auto& held) { return held.second.wall_ns; });
  for (const auto& [what, taken] : rest) WriteHeld(what, taken, nullptr);
  held_.clear();
}

}  // namespace profd::client
