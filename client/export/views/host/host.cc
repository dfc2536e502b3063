// What profd samples on the host.
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
#include "client/export/write/number_text.h"

namespace profd::client {

namespace {

using Entry = KeyedStats::Entry;

std::string_view UnitName(format::Unit unit) {
  switch (unit) {
    case format::Unit::kBytes:
      return "(B)";
    case format::Unit::kBytesPerSecond:
      return "(B/s)";
    case format::Unit::kPerSecond:
      return "(1/s)";
    case format::Unit::kHz:
      return "(Hz)";
    case format::Unit::kNs:
      return "(ns)";
    default:
      return "";
  }
}

// Peak, and what is enough in 98 % of the samples with 20 % in reserve.
void PeakAndRecommended(CsvFile* csv, const Stat& stat, Quantile& quantile, double scale, int digits) {
  const double values[] = {stat.max / scale, quantile.At(0.98) / scale / 0.8};
  for (const double value : values) digits < 0 ? csv->Shortest(value) : csv->Rounded(value, digits);
}

void WriteHostCpu(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      "host_cpu_usage", "Device_id,Total Cpu Numbers,Occupied Cpu Numbers,Recommend Cpu Numbers");
  if (csv == nullptr) return;
  int occupied = 0, used = 0;
  for (const Entry* entry : stats.Sorted()) {
    if (entry->keys[0] < 0) continue;
    ++occupied;
    used += entry->stats[0].max > 0;
  }
  csv->Device(-1);
  csv->Int(context.facts.host.cpu_nums);
  csv->Int(occupied);
  csv->Int(used);
  csv->End();
}

void WriteHostMem(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("host_mem_usage",
                                     "Device_id,Total Memory(KB),Peak Used Memory(KB),Recommend Memory(KB)");
  if (csv == nullptr) return;
  const auto entries = stats.Sorted();
  const double total = static_cast<double>(context.facts.host.memory_total_kb);
  csv->Device(-1);
  csv->Int(context.facts.host.memory_total_kb);
  // Through a percentage of six decimals.
  const auto kb = [&](double usage) { return Rounded(usage * 100, 6) * total / 100; };
  csv->Rounded(kb(entries.front()->stats[0].max));
  csv->Rounded(kb(context.quantiles->front().At(0.98)) / 0.8);
  csv->End();
}

void WriteHostDisk(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv =
      context.folder.Open("host_disk_usage",
                          "Device_id,Peak Disk Read(KB/s),Recommend Disk Read(KB/s),Peak Disk Write(KB/s),"
                          "Recommend Disk Write(KB/s)");
  if (csv == nullptr) return;
  const auto entries = stats.Sorted();
  csv->Device(-1);
  for (size_t i = 0; i < 2; ++i) {
    PeakAndRecommended(csv, entries.front()->stats[i], (*context.quantiles)[i], kBytesPerKb, -1);
  }
  csv->End();
}

void WriteHostPort(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      "host_port_usage", "Device_id,Port,Peak Rx(KB/s),Average Rx(KB/s),Peak Tx(KB/s),Average Tx(KB/s)");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(-1);
    csv->Text(entry->labels[0]);
    for (const Stat& rate : entry->stats) {
      csv->Rounded(rate.max / kBytesPerKb);
      csv->Rounded(rate.Mean() / kBytesPerKb);
    }
    csv->End();
  }
}

void WriteHostNetwork(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      "host_network_usage", "Device_id,Netcard Speed(KB/s),Peak Used Speed(KB/s),Recommend Speed(KB/s)");
  if (csv == nullptr) return;
  double speed = 0;
  for (const format::HostFacts::NetCard& card : context.facts.host.net_cards)
    speed += static_cast<double>(card.speed_mbps);
  csv->Device(-1);
  csv->Shortest(speed * 1e6 / 8 / kBytesPerKb);
  PeakAndRecommended(csv, stats.Sorted().front()->stats[stats.Column("speed")], context.quantiles->front(),
                     kBytesPerKb, -1);
  csv->End();
}

void WriteMeansAndPeaks(const KeyedStats& stats, const CsvContext& context) {
  const format::Series& series = stats.series();
  std::string header = "Device_id," + std::string(series.keys.front());
  for (const format::SeriesColumn& column : series.columns) {
    const std::string name = "," + std::string(column.name);
    const std::string unit(UnitName(column.unit));
    header += name + " mean" + unit;
    header += name + " peak" + unit;
  }
  CsvFile* csv = context.folder.Open(series.name, header);
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(entry->device);
    csv->Text(entry->labels[0]);
    for (const Stat& stat : entry->stats) {
      csv->Trimmed(stat.Mean());
      csv->Trimmed(stat.count == 0 ? format::kNoValue : stat.max);
    }
    csv->End();
  }
}

const CounterTable kCounters[] = {
    {"host_cpu", Layer::kCpuUsage, {{"CPU {cpu!Avg}", {{"Usage(%)", "usage", kPercent}}}}},
    {"host_mem", Layer::kMemoryUsage, {{"Memory Usage", {{"Usage(%)", "usage", kPercent}}}}},
    {"host_disk", Layer::kDiskUsage, {{"Disk Usage", {{"Usage(%)", "io", kPercent}}}}},
    {"host_network", Layer::kNetworkUsage, {{"Network Usage", {{"Usage(%)", "usage", kPercent}}}}},
    // The vendor has no ports without a speed, so its decoding makes no rows of them.
    {"host_port", Layer::kNetworkUsage, {{"{port}", {{"Rx(MB/s)", "rx", kMb}, {"Tx(MB/s)", "tx", kMb}}}}},
    // Nor has it these, which are profd's own.
    {"host_cgroup",
     Layer::kCpuUsage,
     {{"Cgroup {cgroup} CPUs", {{"Used", "cpu"}, {"Limit", "cpu_limit"}, {"Throttled", "throttled_cpu"}}}}},
    {"host_cgroup",
     Layer::kMemoryUsage,
     {{"Cgroup {cgroup}",
       {{"KB", "memory", kKb},
        {"Limit(KB)", "memory_limit", kKb},
        {"Anonymous(KB)", "anonymous", kKb},
        {"File(KB)", "file", kKb}}},
      {"Cgroup {cgroup} major faults", {{"1/s", "major_faults"}}},
      {"Cgroup {cgroup} processes", {{"Number", "pids"}, {"Limit", "pids_limit"}}}}},
    {"host_cgroup",
     Layer::kDiskUsage,
     {{"Cgroup {cgroup}", {{"Read(MB/s)", "read", kMb}, {"Write(MB/s)", "write", kMb}}}}},
    {"host_net_device",
     Layer::kNetworkUsage,
     {{"Device {device}", {{"Rx(MB/s)", "rx", kMb}, {"Tx(MB/s)", "tx", kMb}}},
      {"Device {device} packets", {{"Rx(1/s)", "rx_packets"}, {"Tx(1/s)", "tx_packets"}}},
      {"Device {device} faults",
       {{"Rx errors(1/s)", "rx_errors"},
        {"Tx errors(1/s)", "tx_errors"},
        {"Rx dropped(1/s)", "rx_dropped"},
        {"Tx dropped(1/s)", "tx_dropped"}}}}},
    {"host_rdma_port",
     Layer::kNetworkUsage,
     {{"RDMA {port}", {{"Rx(MB/s)", "rx", kMb}, {"Tx(MB/s)", "tx", kMb}}},
      {"RDMA {port} congestion",
       {{"CNP sent(1/s)", "cnp_sent"}, {"CNP handled(1/s)", "cnp_handled"}, {"Waits(1/s)", "tx_wait"}}},
      {"RDMA {port} faults",
       {{"Rx errors(1/s)", "rx_errors"},
        {"Tx discards(1/s)", "tx_discards"},
        {"Out of sequence(1/s)", "out_of_sequence"},
        {"ACK timeouts(1/s)", "ack_timeouts"}}}}},
    {"host_port_pfc",
     Layer::kNetworkUsage,
     {{"Device {device} pauses",
       {{"Rx pause(1/s)", "rx_pause"},
        {"Tx pause(1/s)", "tx_pause"},
        {"Rx PFC 0(1/s)", "rx_pfc_0"},
        {"Tx PFC 0(1/s)", "tx_pfc_0"},
        {"Rx PFC 1(1/s)", "rx_pfc_1"},
        {"Tx PFC 1(1/s)", "tx_pfc_1"},
        {"Rx PFC 2(1/s)", "rx_pfc_2"},
        {"Tx PFC 2(1/s)", "tx_pfc_2"},
        {"Rx PFC 3(1/s)", "rx_pfc_3"},
        {"Tx PFC 3(1/s)", "tx_pfc_3"},
        {"Rx PFC 4(1/s)", "rx_pfc_4"},
        {"Tx PFC 4(1/s)", "tx_pfc_4"},
        {"Rx PFC 5(1/s)", "rx_pfc_5"},
        {"Tx PFC 5(1/s)", "tx_pfc_5"},
        {"Rx PFC 6(1/s)", "rx_pfc_6"},
        {"Tx PFC 6(1/s)", "tx_pfc_6"},
        {"Rx PFC 7(1/s)", "rx_pfc_7"},
        {"Tx PFC 7(1/s)", "tx_pfc_7"}}},
      {"Device {device} congestion",
       {{"Rx discards(1/s)", "rx_discards"},
        {"Rx without buffer(1/s)", "rx_no_buffer"},
        {"Rx ECN marked(1/s)", "rx_ecn_marked"}}}}},
    {"host_numa",
     Layer::kMemoryUsage,
     {{"NUMA {node}",
       {{"Local(pages/s)", "local"}, {"Other(pages/s)", "other"}, {"Missed(pages/s)", "miss"}}},
      {"NUMA {node} free", {{"KB", "free", kKb}}}}},
    {"host_pcie_link",
     Layer::kOther,
     {{"PCIe link {function}", {{"MT/s", "speed", kMhz}, {"Lanes", "width"}}}}},
};

const KeyedSeries kKeyed[] = {
    {.series = "host_cpu", .write = WriteHostCpu},
    {.series = "host_mem", .quantiles = {"usage"}, .write = WriteHostMem},
    {.series = "host_disk", .quantiles = {"read", "write"}, .write = WriteHostDisk},
    {.series = "host_port", .write = WriteHostPort},
    {.series = "host_network", .quantiles = {"speed"}, .write = WriteHostNetwork},
    {.series = "host_cgroup", .write = WriteMeansAndPeaks},
    {.series = "host_net_device", .write = WriteMeansAndPeaks},
    {.series = "host_rdma_port", .write = WriteMeansAndPeaks},
    {.series = "host_port_pfc", .write = WriteMeansAndPeaks},
    {.series = "host_numa", .write = WriteMeansAndPeaks},
    {.series = "host_pcie_link", .write = WriteMeansAndPeaks},
};

const DbTable kDbTables[] = {
    {.name = "CPU_USAGE",
     .series = "host_cpu",
     .columns = {kStampNumeric, {"cpuId", "NUMERIC", "@key:cpu"}, {"usage", "NUMERIC", "usage", kPercent}},
     .unless_negative = "cpu"},
    {"HOST_MEM_USAGE", "host_mem", {kStampNumeric, {"usage", "NUMERIC", "usage", kPercent}}},
    {"HOST_DISK_USAGE",
     "host_disk",
     {kStampNumeric,
      {"readRate", "NUMERIC", "read"},
      {"writeRate", "NUMERIC", "write"},
      {"usage", "NUMERIC", "io", kPercent}}},
    {"HOST_NETWORK_USAGE",
     "host_network",
     {kStampNumeric, {"usage", "NUMERIC", "usage", kPercent}, {"speed", "NUMERIC", "speed"}}},
    {"HOST_PORT",
     "host_port",
     {kStamp, {"name", "INTEGER", "@text:{port}"}, {"rx", "NUMERIC", "rx"}, {"tx", "NUMERIC", "tx"}},
     false},
    {"HOST_CGROUP",
     "host_cgroup",
     {kStamp,
      {"name", "INTEGER", "@text:{cgroup}"},
      {"cpus", "NUMERIC", "cpu"},
      {"cpuLimit", "NUMERIC", "cpu_limit"},
      {"periodRate", "NUMERIC", "periods"},
      {"throttledRate", "NUMERIC", "throttled"},
      {"throttledCpus", "NUMERIC", "throttled_cpu"},
      {"memory", "INTEGER", "memory", 1, kWhole},
      {"memoryLimit", "INTEGER", "memory_limit", 1, kWhole},
      {"anonymous", "INTEGER", "anonymous", 1, kWhole},
      {"file", "INTEGER", "file", 1, kWhole},
      {"majorFaultRate", "NUMERIC", "major_faults"},
      {"read", "NUMERIC", "read"},
      {"write", "NUMERIC", "write"},
      {"readRate", "NUMERIC", "reads"},
      {"writeRate", "NUMERIC", "writes"},
      {"pids", "INTEGER", "pids", 1, kWhole},
      {"pidsLimit", "INTEGER", "pids_limit", 1, kWhole}},
     false},
    {"HOST_NET_DEVICE",
     "host_net_device",
     {kStamp,
      {"name", "INTEGER", "@text:{device}"},
      {"rx", "NUMERIC", "rx"},
      {"tx", "NUMERIC", "tx"},
      {"rxPacketRate", "NUMERIC", "rx_packets"},
      {"txPacketRate", "NUMERIC", "tx_packets"},
      {"rxErrorRate", "NUMERIC", "rx_errors"},
      {"txErrorRate", "NUMERIC", "tx_errors"},
      {"rxDroppedRate", "NUMERIC", "rx_dropped"},
      {"txDroppedRate", "NUMERIC", "tx_dropped"},
      {"rxCrcErrorRate", "NUMERIC", "rx_crc_errors"},
      {"rxMissedRate", "NUMERIC", "rx_missed"},
      {"carrierChanges", "INTEGER", "carrier_changes", 1, kWhole},
      {"speed", "INTEGER", "speed", 1, kWhole}},
     false},
    {"HOST_RDMA_PORT",
     "host_rdma_port",
     {kStamp,
      {"name", "INTEGER", "@text:{port}"},
      {"rx", "NUMERIC", "rx"},
      {"tx", "NUMERIC", "tx"},
      {"rxPacketRate", "NUMERIC", "rx_packets"},
      {"txPacketRate", "NUMERIC", "tx_packets"},
      {"txWaitRate", "NUMERIC", "tx_wait"},
      {"rxErrorRate", "NUMERIC", "rx_errors"},
      {"txDiscardRate", "NUMERIC", "tx_discards"},
      {"symbolErrorRate", "NUMERIC", "symbol_errors"},
      {"cnpSentRate", "NUMERIC", "cnp_sent"},
      {"cnpHandledRate", "NUMERIC", "cnp_handled"},
      {"outOfSequenceRate", "NUMERIC", "out_of_sequence"},
      {"sequenceErrorRate", "NUMERIC", "sequence_errors"},
      {"ackTimeoutRate", "NUMERIC", "ack_timeouts"},
      {"rnrRetryRate", "NUMERIC", "rnr_retries"}},
     false},
    {"HOST_PORT_PFC",
     "host_port_pfc",
     {kStamp,
      {"name", "INTEGER", "@text:{device}"},
      {"rxPauseRate", "NUMERIC", "rx_pause"},
      {"txPauseRate", "NUMERIC", "tx_pause"},
      {"rxPfc0Rate", "NUMERIC", "rx_pfc_0"},
      {"rxPfc1Rate", "NUMERIC", "rx_pfc_1"},
      {"rxPfc2Rate", "NUMERIC", "rx_pfc_2"},
      {"rxPfc3Rate", "NUMERIC", "rx_pfc_3"},
      {"rxPfc4Rate", "NUMERIC", "rx_pfc_4"},
      {"rxPfc5Rate", "NUMERIC", "rx_pfc_5"},
      {"rxPfc6Rate", "NUMERIC", "rx_pfc_6"},
      {"rxPfc7Rate", "NUMERIC", "rx_pfc_7"},
      {"txPfc0Rate", "NUMERIC", "tx_pfc_0"},
      {"txPfc1Rate", "NUMERIC", "tx_pfc_1"},
      {"txPfc2Rate", "NUMERIC", "tx_pfc_2"},
      {"txPfc3Rate", "NUMERIC", "tx_pfc_3"},
      {"txPfc4Rate", "NUMERIC", "tx_pfc_4"},
      {"txPfc5Rate", "NUMERIC", "tx_pfc_5"},
      {"txPfc6Rate", "NUMERIC", "tx_pfc_6"},
      {"txPfc7Rate", "NUMERIC", "tx_pfc_7"},
      {"rxDiscardsRate", "NUMERIC", "rx_discards"},
      {"rxNoBufferRate", "NUMERIC", "rx_no_buffer"},
      {"rxEcnMarkedRate", "NUMERIC", "rx_ecn_marked"}},
     false},
    {"HOST_NUMA",
     "host_numa",
     {kStamp,
      {"name", "INTEGER", "@text:{node}"},
      {"hitRate", "NUMERIC", "hit"},
      {"missRate", "NUMERIC", "miss"},
      {"foreignRate", "NUMERIC", "foreign"},
      {"interleaveHitRate", "NUMERIC", "interleave_hit"},
      {"localRate", "NUMERIC", "local"},
      {"otherRate", "NUMERIC", "other"},
      {"free", "INTEGER", "free", 1, kWhole}},
     false},
    {"HOST_PCIE_LINK",
     "host_pcie_link",
     {kStamp,
      {"name", "INTEGER", "@text:{function}"},
      {"speed", "INTEGER", "speed", 1, kWhole},
      {"width", "INTEGER", "width", 1, kWhole},
      {"maxSpeed", "INTEGER", "max_speed", 1, kWhole},
      {"maxWidth", "INTEGER", "max_width", 1, kWhole}},
     false},
};

constexpr About kAbout[] = {
    {"host_cpu_usage", "CPUs that the process used, and how many it needs"},
    {"host_disk_usage", "what the process read from disks and wrote to them"},
    {"host_mem_usage", "memory of the process"},
    {"host_network_usage", "traffic of the host's network ports, against their speed"},
    {"host_port_usage", "traffic of ports with unknown speed"},
};

}  // namespace

namespace views {
Views Host() { return {.counters = kCounters, .keyed = kKeyed, .tables = kDbTables, .about = kAbout}; }
}  // namespace views

}  // namespace profd::client
