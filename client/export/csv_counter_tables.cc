// Counters by task: L2 cache, address translation, and events that were asked for by their numbers.
#include "client/export/csv_writers.h"

namespace profd::client {

namespace {

// A row a task: two parts of its requests, and what it was.
void WriteParts(std::string_view file, std::string_view first, std::string_view second,
                const format::RowBatch& batch, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      file, "Device_id,Stream Id,Task Id," + std::string(first) + "," + std::string(second) + ",Op Name");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const auto stream = static_cast<uint32_t>(batch.keys[2 * row]);
    const auto task = static_cast<uint32_t>(batch.keys[2 * row + 1]);
    csv->Device(batch.device);
    csv->Int(stream);
    csv->Int(task);
    for (const double part : {batch.values[2 * row], batch.values[2 * row + 1]}) csv->Rounded(part, 6);
    const std::string_view name = context.op_name(batch.device, stream, task);
    name.empty() ? csv->Na() : csv->Text(name);
    csv->End();
  }
}

}  // namespace

void WriteL2Cache(const format::RowBatch& batch, const CsvContext& context) {
  WriteParts("l2_cache", "Hit Rate", "Victim Rate", batch, context);
}

void WriteSocPmu(const format::RowBatch& batch, const CsvContext& context) {
  WriteParts("soc_pmu", "TLB Miss Rate", "TLB Hit Rate", batch, context);
}

void WriteSocEvents(const format::RowBatch& batch, const CsvContext& context) {
  constexpr std::string_view kUnits[] = {"", "HA", "SMMU", "NOC"};
  CsvFile* csv =
      context.folder.Open("soc_pmu_events", "Device_id,Stream Id,Task Id,Unit,Event,Count,Op Name");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const int64_t* const keys = batch.keys.data() + 3 * row;
    const auto stream = static_cast<uint32_t>(keys[0]), task = static_cast<uint32_t>(keys[1]);
    csv->Device(batch.device);
    csv->Int(stream);
    csv->Int(task);
    csv->Text(kUnits[keys[2] >> 16 & 3]);
    csv->Text(HexText(keys[2] & 0xFFFF));
    csv->Int(static_cast<uint64_t>(batch.values[row]));
    const std::string_view name = context.op_name(batch.device, stream, task);
    name.empty() ? csv->Na() : csv->Text(name);
    csv->End();
  }
}

}  // namespace profd::client
