// Links of a device: to the host, to others, within the chip.
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

using Entry = KeyedStats::Entry;

void WritePcie(const KeyedStats& stats, const CsvContext& context) {
  constexpr std::string_view kModes[] = {"Tx_p_avg(MB/s)",     "Tx_np_avg(MB/s)", "Tx_cpl_avg(MB/s)",
                                         "Tx_latency_avg(us)", "Rx_p_avg(MB/s)",  "Rx_np_avg(MB/s)",
                                         "Rx_cpl_avg(MB/s)"};
  constexpr size_t kLatency = 3;
  CsvFile* csv = context.folder.Open("pcie", "Device_id,Mode,Min,Max,Avg");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    const format::SideFacts* side = context.facts.Device(entry->device);
    const bool last_only = context.vendor_compatible && side != nullptr && side->chip == format::Chip::k910B;
    for (size_t mode = 0; mode < std::size(kModes); ++mode) {
      csv->Device(entry->device);
      csv->Text(kModes[mode]);
      for (size_t i = 0; i < 3; ++i) {
        const Stat& stat = entry->stats[3 * mode + i];
        csv->Rounded((last_only ? stat.last : stat.Mean()) / (mode == kLatency ? 1000 : kBytesPerMb));
      }
      csv->End();
    }
  }
}

void WriteHccs(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("hccs", "Device_id,Mode,Max,Min,Average");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    for (size_t way = 0; way < 2; ++way) {
      const Stat& stat = entry->stats[way];
      csv->Device(entry->device);
      csv->Text(way == 0 ? "Tx (MB/s)" : "Rx (MB/s)");
      csv->Rounded(stat.max / kBytesPerMb);
      csv->Rounded(stat.min / kBytesPerMb);
      csv->Rounded(stat.Mean() / kBytesPerMb);
      csv->End();
    }
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

// The eight counters of one die, each its own event.
std::vector<CounterEvent> SioEvents() {
  std::vector<CounterEvent> events;
  for (const std::string_view name :
       {"req_rx", "rsp_rx", "snp_rx", "dat_rx", "req_tx", "rsp_tx", "snp_tx", "dat_tx"})
    events.push_back({.name = name, .args = {{"{die}", name, kMb}}, .joined = true});
  return events;
}

// The units of one moment; the vendor shows the largest of them.
std::vector<CounterEvent> AccPmuEvents() {
  std::vector<CounterEvent> events;
  for (const std::string_view name : {"read_bandwidth", "read_ost", "write_bandwidth", "write_ost"}) {
    CounterArg arg{.name = "unit {unit}", .source = name, .form = kInteger};
    arg.vendor_name = "value";
    events.push_back({.name = name, .args = {arg}, .joined = true});
  }
  return events;
}

const CounterTable kCounters[] = {
    {"pcie",
     Layer::kPcie,
     {{"PCIe_post", {{"Tx", "tx_post_avg", kMb}, {"Rx", "rx_post_avg", kMb}}},
      {"PCIe_nonpost", {{"Tx", "tx_nonpost_avg", kMb}, {"Rx", "rx_nonpost_avg", kMb}}},
      {"PCIe_cpl", {{"Tx", "tx_cpl_avg", kMb}, {"Rx", "rx_cpl_avg", kMb}}},
      {"PCIe_nonpost_latency",
       {{"Tx", "tx_nonpost_latency_avg", kUs}, {"Rx", "tx_nonpost_latency_avg", 0}}}}},
    {"hccs", Layer::kHccs, {{"Rx", {{"Rx(MB/s)", "rx", kMb}}}, {"Tx", {{"Tx(MB/s)", "tx", kMb}}}}},
    {"sio", Layer::kSio, SioEvents()},
    {"acc_pmu", Layer::kAccPmu, AccPmuEvents()},
    {"pa_link",
     Layer::kChipTransfer,
     {{"PA Link Rx", {{"PA Link Rx", "rx", 1, kInteger}, {"PA Link ID", "@link", 1, kInteger}}, 111111},
      {"PA Link Tx", {{"PA Link Tx", "tx", 1, kInteger}, {"PA Link ID", "@link", 1, kInteger}}, 111111}}},
    {"pcie_link",
     Layer::kChipTransfer,
     {{"PCIE Read Bandwidth",
       {{"PCIE Read Bandwidth", "read", 1, kInteger}, {"PCIE ID", "@link", 1, kInteger}},
       100010},
      {"PCIE Write Bandwidth",
       {{"PCIE Write Bandwidth", "write", 1, kInteger}, {"PCIE ID", "@link", 1, kInteger}},
       100010}}},
    {"soc_info",
     Layer::kSocInfo,
     {{"L2 Buffer Bw Level", {{"L2 Buffer Bw Level", "l2_buffer", 1, kInteger}}},
      {"Mata Bw Level", {{"Mata Bw Level", "mata", 1, kInteger}}}}},
    {"ub",
     Layer::kUb,
     {{"UB Port{port%3}", {{"bandwidth_rx(MB/s)", "rx", kMb}, {"bandwidth_tx(MB/s)", "tx", kMb}}}}},
};

const KeyedSeries kKeyed[] = {
    {.series = "pcie", .write = WritePcie},
    {.series = "hccs", .write = WriteHccs},
};

constexpr RowSeries kRows[] = {
    {"ub", WriteUb},
};

const DbTable kDbTables[] = {
    {"PCIE",
     "pcie",
     {kDevice,
      kStamp,
      {"txPostMin", "NUMERIC", "tx_post_min", 1, kWhole},
      {"txPostMax", "NUMERIC", "tx_post_max", 1, kWhole},
      {"txPostAvg", "NUMERIC", "tx_post_avg", 1, kWhole},
      {"txNonpostMin", "NUMERIC", "tx_nonpost_min", 1, kWhole},
      {"txNonpostMax", "NUMERIC", "tx_nonpost_max", 1, kWhole},
      {"txNonpostAvg", "NUMERIC", "tx_nonpost_avg", 1, kWhole},
      {"txCplMin", "NUMERIC", "tx_cpl_min", 1, kWhole},
      {"txCplMax", "NUMERIC", "tx_cpl_max", 1, kWhole},
      {"txCplAvg", "NUMERIC", "tx_cpl_avg", 1, kWhole},
      {"txNonpostLatencyMin", "NUMERIC", "tx_nonpost_latency_min", 1, kWhole},
      {"txNonpostLatencyMax", "NUMERIC", "tx_nonpost_latency_max", 1, kWhole},
      {"txNonpostLatencyAvg", "NUMERIC", "tx_nonpost_latency_avg", 1, kWhole},
      {"rxPostMin", "NUMERIC", "rx_post_min", 1, kWhole},
      {"rxPostMax", "NUMERIC", "rx_post_max", 1, kWhole},
      {"rxPostAvg", "NUMERIC", "rx_post_avg", 1, kWhole},
      {"rxNonpostMin", "NUMERIC", "rx_nonpost_min", 1, kWhole},
      {"rxNonpostMax", "NUMERIC", "rx_nonpost_max", 1, kWhole},
      {"rxNonpostAvg", "NUMERIC", "rx_nonpost_avg", 1, kWhole},
      {"rxCplMin", "NUMERIC", "rx_cpl_min", 1, kWhole},
      {"rxCplMax", "NUMERIC", "rx_cpl_max", 1, kWhole},
      {"rxCplAvg", "NUMERIC", "rx_cpl_avg", 1, kWhole}}},
    {"HCCS",
     "hccs",
     {kDevice,
      kStamp,
      {"txThroughput", "NUMERIC", "tx", 1, kWhole},
      {"rxThroughput", "NUMERIC", "rx", 1, kWhole}}},
    {"SIO",
     "sio",
     {{"deviceId", "NUMERIC", "@device"},
      {"name", "NUMERIC", "@text:{die}"},
      kStampNumeric,
      {"rxReq", "NUMERIC", "req_rx"},
      {"rxRsp", "NUMERIC", "rsp_rx"},
      {"rxSnp", "NUMERIC", "snp_rx"},
      {"rxDat", "NUMERIC", "dat_rx"},
      {"txReq", "NUMERIC", "req_tx"},
      {"txRsp", "NUMERIC", "rsp_tx"},
      {"txSnp", "NUMERIC", "snp_tx"},
      {"txDat", "NUMERIC", "dat_tx"}}},
    {"ACC_PMU",
     "acc_pmu",
     {{"accId", "INTEGER", "@key:unit"},
      {"readBwLevel", "INTEGER", "read_bandwidth", 1, kWhole},
      {"writeBwLevel", "INTEGER", "write_bandwidth", 1, kWhole},
      {"readOstLevel", "INTEGER", "read_ost", 1, kWhole},
      {"writeOstLevel", "INTEGER", "write_ost", 1, kWhole},
      kStampNumeric,
      kDevice}},
    {"SOC_BANDWIDTH_LEVEL",
     "soc_info",
     {{"l2BufferBwLevel", "INTEGER", "l2_buffer", 1, kWhole},
      {"mataBwLevel", "INTEGER", "mata", 1, kWhole},
      kStampNumeric,
      kDevice}},
    {"UB",
     "ub",
     {{"deviceId", "NUMERIC", "@device"},
      {"portId", "NUMERIC", "@key:port"},
      kStampNumeric,
      {"rxUdmaBind", "NUMERIC", "rx", 1.0 / (1 << 20), kWhole},
      {"txUdmaBind", "NUMERIC", "tx", 1.0 / (1 << 20), kWhole}}},
    {"PA_LINK",
     "pa_link",
     {kDevice, kStamp, {"linkId", "INTEGER", "@key:link"}, {"rx", "NUMERIC", "rx"}, {"tx", "NUMERIC", "tx"}},
     false},
    {"PCIE_LINK",
     "pcie_link",
     {kDevice,
      kStamp,
      {"linkId", "INTEGER", "@key:link"},
      {"read", "NUMERIC", "read"},
      {"write", "NUMERIC", "write"}},
     false},
};

constexpr About kAbout[] = {
    {"hccs", "bandwidth of the links between devices: lowest, highest and mean"},
    {"pcie", "traffic of the PCIe links: lowest, highest and mean"},
    {"ub", "traffic of the UB ports"},
};

}  // namespace

namespace views {
Views Links() {
  return {.counters = kCounters, .keyed = kKeyed, .rows = kRows, .tables = kDbTables, .about = kAbout};
}
}  // namespace views

}  // namespace profd::client
