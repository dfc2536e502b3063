// Memory, caches, links, ports and media engines of a device.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "client/export/views/csv_writers.h"

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

}  // namespace

void WriteHbm(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("hbm", "Device_id,Metric,Read(MB/s),Write(MB/s)");
  if (csv == nullptr) return;
  EachDevice(stats.Sorted(), [&](int device, std::span<const Entry* const> entries) {
    std::map<int64_t, std::array<double, 2>> by_id;
    for (const Entry* entry : entries) {
      auto [row, is_new] = by_id.try_emplace(entry->keys[0], std::array{kNoNumber, kNoNumber});
      row->second[entry->keys[1] != 0] = entry->stats[0].Mean() / kBytesPerMb;
    }
    csv->Device(device);
    csv->Text("Average");
    for (size_t way = 0; way < 2; ++way) {
      double sum = 0;
      bool any = false;
      for (const auto& [id, rates] : by_id) {
        if (std::isnan(rates[way])) continue;
        any = true;
        sum += rates[way];
      }
      csv->Fixed(any ? sum / static_cast<double>(by_id.size()) : kNoNumber);
    }
    csv->End();
    for (const auto& [id, rates] : by_id) {
      csv->Device(device);
      csv->Int(id);
      csv->Rounded(rates[0]);
      csv->Rounded(rates[1]);
      csv->End();
    }
  });
}

void WriteDdr(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("ddr", "Device_id,Metric,Read(MB/s),Write(MB/s)");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(entry->device);
    csv->Text("Average");
    for (const Stat& way : entry->stats) csv->Rounded(way.Mean() / kBytesPerMb);
    csv->End();
  }
}

void WriteLlc(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("llc_read_write", "Device_id,Mode,Task,Hit Rate(%),Throughput(MB/s)");
  if (csv == nullptr) return;
  const double scale = context.vendor_compatible ? 64 / kBytesPerMb : 1 / kBytesPerMb;
  EachDevice(stats.Sorted(), [&](int device, std::span<const Entry* const> entries) {
    const char* mode = entries.front()->keys[1] != 0 ? "write" : "read";
    double hits = 0, rates = 0;
    for (const Entry* entry : entries) {
      hits += entry->stats[0].Mean() * 100;
      rates += entry->stats[1].Mean() * scale;
    }
    const auto row = [&](double hit_rate, double throughput) {
      csv->Rounded(hit_rate);
      csv->Rounded(throughput);
      csv->End();
    };
    const auto count = static_cast<double>(entries.size());
    csv->Device(device), csv->Text(mode), csv->Text("Average");
    row(hits / count, rates / count);
    for (const Entry* entry : entries) {
      csv->Device(device), csv->Text(mode), csv->Int(entry->keys[0]);
      row(entry->stats[0].Mean() * 100, entry->stats[1].Mean() * scale);
    }
  });
}

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

}  // namespace profd::client
