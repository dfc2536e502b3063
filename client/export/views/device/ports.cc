// Ports and media engines of a device.
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

// One row a port: of the whole time, out of the running totals.
void WritePorts(std::string_view kind, const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      kind,
      "Device_id,Timestamp(us),Bandwidth(MB/s),Rx Bandwidth efficiency(%),rxPacket/s,rxError rate(%),"
      "rxDropped rate(%),Tx Bandwidth efficiency(%),txPacket/s,txError rate(%),txDropped rate(%),funcId");
  if (csv == nullptr) return;
  const size_t speed_at = stats.Column("speed");
  for (const Entry* entry : stats.Sorted()) {
    const double speed = entry->stats[speed_at].last;  // bytes/s
    const uint64_t length_ns = entry->last_ns - entry->first_ns;
    const double seconds = static_cast<double>(length_ns) / 1e9;
    const format::SideFacts* side = context.facts.Device(entry->device);
    const bool vendor = context.vendor_compatible && side != nullptr;
    csv->Device(entry->device);
    // The vendor takes the length of the recording for a moment, and for seconds what are nanoseconds.
    csv->Stamp(vendor ? side->begin_wall_ns - std::min(side->begin_wall_ns, side->begin_raw_ns) + length_ns
                      : entry->first_ns);
    csv->Rounded(vendor ? speed * 8 / kBytesPerMb : speed / kBytesPerMb);
    const double time = vendor ? static_cast<double>(length_ns) : seconds;
    const double percent = vendor ? 1 : 100;
    for (const char* way : {"rx", "tx"}) {
      const auto moved = [&](const char* what) {
        const Stat& stat = entry->stats[stats.Column(std::string(way) + what)];
        return std::max(stat.last - stat.first, 0.0);
      };
      const double packets = moved("_packets");
      const auto of_packets = [&](const char* what) {
        return packets > 0 ? moved(what) / packets * percent : 0;
      };
      csv->Rounded(time > 0 && speed > 0 ? moved("_bytes") / time / speed * percent : 0);
      csv->Rounded(time > 0 ? packets / time : 0);
      csv->Rounded(of_packets("_errors"));
      csv->Rounded(of_packets("_dropped"));
    }
    csv->Int(entry->keys[0]);
    csv->End();
  }
}

void WriteNic(const KeyedStats& stats, const CsvContext& context) { WritePorts("nic", stats, context); }

void WriteRoce(const KeyedStats& stats, const CsvContext& context) { WritePorts("roce", stats, context); }

void WriteDvpp(const KeyedStats& stats, const CsvContext& context) {
  constexpr std::string_view kEngines[] = {"VDEC", "JPEGD", "PNGD", "JPEGE", "VPC", "VENC", "SCD"};
  CsvFile* csv = context.folder.Open(
      "dvpp", "Device_id,Dvpp Id,Engine Type,Engine ID,All Time(us),All Frame,All Utilization(%)");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    const auto type = static_cast<size_t>(entry->keys[1]);
    csv->Device(entry->device);
    csv->Int(entry->keys[0]);
    type < std::size(kEngines) ? csv->Text(kEngines[type]) : csv->Na();
    csv->Int(entry->keys[2]);
    csv->Rounded((entry->stats[0].max - entry->stats[0].min) / 1000);
    csv->Rounded(entry->stats[1].max - entry->stats[1].min);
    csv->Trimmed(entry->stats[2].last * 100);
    csv->End();
  }
}

std::vector<CounterEvent> PortEvents() {
  return {{"Port {port}/Rx",
           {{"Rx Bandwidth Efficiency", "rx_efficiency", 1, kRounded},
            {"Rx Packets", "rx_packet_rate"},
            {"Rx Error Rate", "rx_error_rate", 1, kRounded},
            {"Rx Dropped Rate", "rx_dropped_rate", 1, kRounded}}},
          {"Port {port}/Tx",
           {{"Tx Bandwidth Efficiency", "tx_efficiency", 1, kRounded},
            {"Tx Packets", "tx_packet_rate"},
            {"Tx Error Rate", "tx_error_rate", 1, kRounded},
            {"Tx Dropped Rate", "tx_dropped_rate", 1, kRounded}}}};
}

std::vector<DbColumn> PortColumns() {
  return {kDevice,
          kStamp,
          {"bandwidth", "INTEGER", "speed", 8, kWhole},
          {"rxPacketRate", "NUMERIC", "rx_packet_rate"},
          {"rxByteRate", "NUMERIC", "rx_byte_rate"},
          {"rxPackets", "INTEGER", "rx_packets", 1, kWhole},
          {"rxBytes", "INTEGER", "rx_bytes", 1, kWhole},
          {"rxErrors", "INTEGER", "rx_errors", 1, kWhole},
          {"rxDropped", "INTEGER", "rx_dropped", 1, kWhole},
          {"txPacketRate", "NUMERIC", "tx_packet_rate"},
          {"txByteRate", "NUMERIC", "tx_byte_rate"},
          {"txPackets", "INTEGER", "tx_packets", 1, kWhole},
          {"txBytes", "INTEGER", "tx_bytes", 1, kWhole},
          {"txErrors", "INTEGER", "tx_errors", 1, kWhole},
          {"txDropped", "INTEGER", "tx_dropped", 1, kWhole},
          {"funcId", "INTEGER", "@key:port"}};
}

const CounterTable kCounters[] = {
    {"nic", Layer::kNic, PortEvents()},
    {"roce", Layer::kRoce, PortEvents()},
    {"netdev",
     Layer::kOther,
     {{"MAC", {{"Tx(MB/s)", "mac_tx_rate", kMb}, {"Rx(MB/s)", "mac_rx_rate", kMb}}},
      {"NIC", {{"Tx(MB/s)", "nic_tx_rate", kMb}, {"Rx(MB/s)", "nic_rx_rate", kMb}}},
      {"RoCE packets", {{"Tx", "roce_tx_packets"}, {"Rx", "roce_rx_packets"}}}},
     true},
    {"dvpp",
     Layer::kOther,
     {{"{type:VDEC|JPEGD|PNGD|JPEGE|VPC|VENC|SCD} {engine}",
       {{"Utilization(%)", "all_utilization", kPercent}}}},
     true},
};

const KeyedSeries kKeyed[] = {
    {.series = "nic", .write = WriteNic},
    {.series = "roce", .write = WriteRoce},
    {.series = "dvpp", .write = WriteDvpp},
};

const DbTable kDbTables[] = {
    {"NIC", "nic", PortColumns()},
    {"ROCE", "roce", PortColumns()},
    {"NETDEV_STATS",
     "netdev",
     {kDevice,
      kStamp,
      {"macTxPfcPkt", "INTEGER", "mac_tx_pfc", 1, kWhole},
      {"macRxPfcPkt", "INTEGER", "mac_rx_pfc", 1, kWhole},
      {"macTxByte", "INTEGER", "mac_tx_bytes", 1, kWhole},
      {"macTxBandwidth", "NUMERIC", "mac_tx_rate"},
      {"macRxByte", "INTEGER", "mac_rx_bytes", 1, kWhole},
      {"macRxBandwidth", "NUMERIC", "mac_rx_rate"},
      {"macTxBadByte", "INTEGER", "mac_tx_bad_bytes", 1, kWhole},
      {"macRxBadByte", "INTEGER", "mac_rx_bad_bytes", 1, kWhole},
      {"roceTxPkt", "INTEGER", "roce_tx_packets", 1, kWhole},
      {"roceRxPkt", "INTEGER", "roce_rx_packets", 1, kWhole},
      {"roceTxErrPkt", "INTEGER", "roce_tx_errors", 1, kWhole},
      {"roceRxErrPkt", "INTEGER", "roce_rx_errors", 1, kWhole},
      {"roceTxCnpPkt", "INTEGER", "roce_tx_cnp", 1, kWhole},
      {"roceRxCnpPkt", "INTEGER", "roce_rx_cnp", 1, kWhole},
      {"roceNewPktRty", "INTEGER", "roce_retries", 1, kWhole},
      {"nicTxByte", "INTEGER", "nic_tx_bytes", 1, kWhole},
      {"nicTxBandwidth", "NUMERIC", "nic_tx_rate"},
      {"nicRxByte", "INTEGER", "nic_rx_bytes", 1, kWhole},
      {"nicRxBandwidth", "NUMERIC", "nic_rx_rate"}}},
    {"DVPP",
     "dvpp",
     {kDevice,
      kStamp,
      {"dvppId", "INTEGER", "@key:dvpp_id"},
      {"engineType", "INTEGER", "@text:{type:VDEC|JPEGD|PNGD|JPEGE|VPC|VENC|SCD}"},
      {"engineId", "INTEGER", "@key:engine"},
      {"allTimeNs", "INTEGER", "all_time", 1, kWhole},
      {"allFrames", "INTEGER", "all_frames", 1, kWhole},
      {"allUtilization", "NUMERIC", "all_utilization", kPercent},
      {"procTimeNs", "INTEGER", "proc_time", 1, kWhole},
      {"procFrames", "INTEGER", "proc_frames", 1, kWhole},
      {"procUtilization", "NUMERIC", "proc_utilization", kPercent}},
     false},
};

constexpr About kAbout[] = {
    {"dvpp", "use of the media engines"},
    {"netdev_stats", "pause frames, congestion and retries of the devices' network ports"},
    {"nic", "traffic and errors of the devices' network ports"},
    {"roce", "traffic and errors of the devices' RoCE ports"},
};

}  // namespace

namespace views {
Views Ports() { return {.counters = kCounters, .keyed = kKeyed, .tables = kDbTables, .about = kAbout}; }
}  // namespace views

}  // namespace profd::client
