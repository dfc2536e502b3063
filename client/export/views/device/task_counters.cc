// What devices count and measure by task: caches, address translation, collective units, AI CPUs.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string>

#include "client/export/views/views.h"

namespace profd::client {

namespace {

// The vendor's table of chips with such a log has no hit rates (viewer/get_l2_cache_data.py,
// process_hit_rate).
bool IsStars(const CsvContext& context, int device) {
  const format::SideFacts* side = context.facts.Device(device);
  return side != nullptr && format::TraitsOf(side->chip).stars;
}

// A row a task: two parts of its requests, and what it was.
void WriteParts(std::string_view file, std::string_view columns, bool has_first,
                const format::RowBatch& batch, const CsvContext& context) {
  CsvFile* csv =
      context.folder.Open(file, "Device_id,Stream Id,Task Id," + std::string(columns) + ",Op Name");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const auto stream = static_cast<uint32_t>(batch.keys[2 * row]);
    const auto task = static_cast<uint32_t>(batch.keys[2 * row + 1]);
    csv->Device(batch.device);
    csv->Int(stream);
    csv->Int(task);
    has_first ? csv->Rounded(batch.values[2 * row], 6) : csv->Na();
    csv->Rounded(batch.values[2 * row + 1], 6);
    const std::string_view name = context.op_name(batch.device, stream, task);
    name.empty() ? csv->Na() : csv->Text(name);
    csv->End();
  }
}

void WriteL2Cache(const format::RowBatch& batch, const CsvContext& context) {
  const bool has_hits = !(context.vendor_compatible && IsStars(context, batch.device));
  WriteParts("l2_cache", "Hit Rate,Victim Rate", has_hits, batch, context);
}

void WriteSocPmu(const format::RowBatch& batch, const CsvContext& context) {
  WriteParts("soc_pmu", "TLB Hit Rate,TLB Miss Rate", true, batch, context);
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

// The vendor's columns have no place for the die, and the ranks are known to the host's records alone.
void WriteCcuMissions(const format::RowBatch& batch, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      "ccu_mission",
      "Device_id,Stream ID,Task Id,Instruction ID,Instruction Start Time(us),Instruction Duration(us),Notify "
      "Instruction ID,Notify Rank ID,Notify Duration(us)");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const int64_t* keys = &batch.keys[3 * row];
    const double* values = &batch.values[3 * row];
    const auto us = [csv](double ns) { std::isnan(ns) ? csv->Na() : csv->Trimmed(ns / 1000); };
    csv->Device(batch.device);
    csv->Int(keys[1] & 0xFFFF);
    csv->Int(keys[1]);
    csv->Int(keys[2]);
    csv->Stamp(batch.wall_ns[row]);
    us(values[0]);
    std::isnan(values[1]) ? csv->Na() : csv->Int(static_cast<int64_t>(values[1]));
    csv->Na();
    us(values[2]);
    csv->End();
  }
}

// Channels of the second die are numbered on.
void WriteCcuChannels(const format::RowBatch& batch, const CsvContext& context) {
  constexpr int64_t kChannels = 128;
  CsvFile* csv = context.folder.Open(
      "ccu_channel",
      "Device_id,Channel Id,Timestamp(us),Max Bandwidth(MB/s),Min Bandwidth(MB/s),Avg Bandwidth(MB/s)");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    csv->Device(batch.device);
    csv->Int(context.vendor_compatible ? batch.keys[2 * row + 1]
                                       : batch.keys[2 * row] * kChannels + batch.keys[2 * row + 1]);
    csv->Stamp(batch.wall_ns[row]);
    for (size_t i = 0; i < 3; ++i) csv->Trimmed(batch.values[3 * row + i] / kBytesPerMb);
    csv->End();
  }
}

void WriteAiCpu(const format::RowBatch& batch, const CsvContext& context) {
  constexpr size_t kColumns = 5;
  CsvFile* csv =
      context.folder.Open("aicpu",
                          "Device_id,Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),"
                          "Dispatch_time(us),Total_time(us),Stream ID,Task ID");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const auto stream = static_cast<uint32_t>(batch.keys[2 * row]);
    const auto task = static_cast<uint32_t>(batch.keys[2 * row + 1]);
    csv->Device(batch.device);
    csv->Stamp(batch.wall_ns[row]);
    const std::string_view name = context.op_name(batch.device, stream, task);
    name.empty() ? csv->Na() : csv->Text(name);
    for (size_t i = 0; i < kColumns; ++i) {
      const double ns = batch.values[kColumns * row + i];
      std::isnan(ns) ? csv->Na() : csv->Rounded(ns / 1000);
    }
    csv->Int(stream);
    csv->Int(task);
    csv->End();
  }
}

const DbTable kDbTables[] = {
    {"AICPU_KERNEL",
     "aicpu_kernel",
     {kDevice,
      kStamp,
      {"streamId", "INTEGER", "@key:stream"},
      {"taskId", "INTEGER", "@key:task"},
      {"computeNs", "NUMERIC", "compute", 1, kWhole},
      {"copyNs", "NUMERIC", "copy", 1, kWhole},
      {"runNs", "NUMERIC", "run", 1, kWhole},
      {"dispatchNs", "NUMERIC", "dispatch", 1, kWhole},
      {"totalNs", "NUMERIC", "total", 1, kWhole}},
     false},
};

constexpr RowSeries kRows[] = {
    {"l2_cache", WriteL2Cache},        {"soc_pmu", WriteSocPmu},          {"soc_events", WriteSocEvents},
    {"ccu_mission", WriteCcuMissions}, {"ccu_channel", WriteCcuChannels}, {"aicpu_kernel", WriteAiCpu},
};

constexpr About kAbout[] = {
    {"aicpu", "kernels on the AI CPUs: what each spent its time with"},
    {"ccu_channel", "delays of the collective units' channels"},
    {"ccu_mission", "missions of the collective units"},
    {"l2_cache", "hits of the L2 cache, by task"},
    {"soc_pmu", "hits of cache and address translation, by task"},
    {"soc_pmu_events", "events of the chip, by task"},
};

}  // namespace

namespace views {
Views TaskCounters() { return {.rows = kRows, .tables = kDbTables, .about = kAbout}; }
}  // namespace views

}  // namespace profd::client
