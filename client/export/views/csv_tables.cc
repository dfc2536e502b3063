#include "client/export/views/csv_tables.h"

#include <charconv>

#include "client/export/views/csv_writers.h"
#include "client/export/views/db_tables.h"
#include "format/decode/host_series.h"

namespace profd::client {

namespace {

const KeyedSeries kKeyed[] = {
    {.series = "hbm", .write = WriteHbm},
    {.series = "ddr", .write = WriteDdr},
    {.series = "llc", .write = WriteLlc},
    {.series = "llc_capacity", .write = WriteLlcCapacity},
    {.series = "llc_bandwidth", .write = WriteLlcBandwidth},
    {.series = "pcie", .write = WritePcie},
    {.series = "hccs", .write = WriteHccs},
    {.series = "nic", .write = WriteNic},
    {.series = "roce", .write = WriteRoce},
    {.series = "dvpp", .write = WriteDvpp},
    {.series = "cpu_usage", .weight = "ticks", .write = WriteCpuUsage},
    {.series = "process_cpu", .weight = "ticks", .write = WriteProcessCpu},
    {.series = "sys_mem", .write = WriteSysMem},
    {.series = "process_mem", .write = WriteProcessMem},
    {.series = "pmu_events", .write = WritePmuEvents},
    {.series = "pmu_functions", .write = WritePmuFunctions},
    {.series = "host_cpu", .write = WriteHostCpu},
    {.series = "host_mem", .quantiles = {"usage"}, .write = WriteHostMem},
    {.series = "host_disk", .quantiles = {"read", "write"}, .write = WriteHostDisk},
    {.series = "host_port", .write = WriteHostPort},
    {.series = "host_network", .quantiles = {"speed"}, .write = WriteHostNetwork},
    {.series = "host_cgroup", .write = WriteMeansAndPeaks<format::kHostCgroupSeries>},
    {.series = "host_net_device", .write = WriteMeansAndPeaks<format::kHostNetDeviceSeries>},
    {.series = "host_rdma_port", .write = WriteMeansAndPeaks<format::kHostRdmaPortSeries>},
    {.series = "host_port_pfc", .write = WriteMeansAndPeaks<format::kHostPortPfcSeries>},
    {.series = "host_numa", .write = WriteMeansAndPeaks<format::kHostNumaSeries>},
    {.series = "host_pcie_link", .write = WriteMeansAndPeaks<format::kHostPcieLinkSeries>},
    {.series = "core_sample", .write = WriteAllCores},
};

// Chips of the vendor's newer exporter print whole numbers as such.
void Kilobytes(CsvFile* csv, const CsvContext& context, int device, double bytes) {
  const format::SideFacts* side = context.facts.Device(device);
  const bool newer = side != nullptr && format::TraitsOf(side->chip).newer_exporter;
  newer ? csv->Trimmed(bytes / kBytesPerKb) : csv->Rounded(bytes / kBytesPerKb);
}

void WriteNpuMem(const format::RowBatch& batch, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("npu_mem", "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const double ddr = batch.values[2 * row], hbm = batch.values[2 * row + 1];
    csv->Device(batch.device);
    csv->Text(batch.keys[row] != 0 ? "Device" : "APP");
    for (const double bytes : {ddr, hbm, ddr + hbm}) Kilobytes(csv, context, batch.device, bytes);
    csv->Stamp(batch.wall_ns[row]);
    csv->End();
  }
}

std::string_view ModuleName(int64_t module) {
  for (const DbEnum& names : DbEnums()) {
    if (names.table != "ENUM_MODULE") continue;
    for (const auto& [number, name] : names.names) {
      if (number == module) return name;
    }
  }
  return {};
}

void WriteNpuModuleMem(const format::RowBatch& batch, const CsvContext& context) {
  CsvFile* csv =
      context.folder.Open("npu_module_mem", "Device_id,Component,Timestamp(us),Total Reserved(KB),Device");
  if (csv == nullptr) return;
  const std::string device = "NPU:" + std::to_string(batch.device);
  for (size_t row = 0; row < batch.rows(); ++row) {
    const std::string_view name = ModuleName(batch.keys[row]);
    csv->Device(batch.device);
    name.empty() ? csv->Int(batch.keys[row]) : csv->Text(name);
    csv->Stamp(batch.wall_ns[row]);
    Kilobytes(csv, context, batch.device, batch.values[row]);
    csv->Text(device);
    csv->End();
  }
}

void WriteUb(const format::RowBatch& batch, const CsvContext& context) {
  CsvFile* csv =
      context.folder.Open("ub", "Device_id,PortId,TimeStamp,UBRxPortBandWidth(MB/s),UBTxPortBandWidth(MB/s)");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    csv->Device(batch.device);
    csv->Int(batch.keys[row]);
    csv->Stamp(batch.wall_ns[row]);
    csv->Trimmed(batch.values[2 * row] / kBytesPerMb);
    csv->Trimmed(batch.values[2 * row + 1] / kBytesPerMb);
    csv->End();
  }
}

constexpr RowSeries kRows[] = {
    {"npu_mem", WriteNpuMem},
    {"npu_module_mem", WriteNpuModuleMem},
    {"ub", WriteUb},
    {"l2_cache", WriteL2Cache},
    {"soc_pmu", WriteSocPmu},
    {"soc_events", WriteSocEvents},
    {"ccu_mission", WriteCcuMissions},
    {"ccu_channel", WriteCcuChannels},
};

}  // namespace

std::string HexText(int64_t number) {
  char text[24] = "0x";
  return {text, std::to_chars(text + 2, text + sizeof text, number, 16).ptr};
}

std::span<const KeyedSeries> KeyedSeriesTables() { return kKeyed; }
std::span<const RowSeries> RowSeriesTables() { return kRows; }

}  // namespace profd::client
