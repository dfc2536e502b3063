// The writers of the tables of csv_tables.h, by file: csv_device_tables.cc, csv_core_tables.cc,
// csv_host_tables.cc, csv_counter_tables.cc.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "client/export/views/csv_tables.h"

namespace profd::client {

inline constexpr double kBytesPerMb = 1 << 20, kBytesPerKb = 1 << 10;
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// Neighbours of one device.
template <typename Visit>
void EachDevice(const std::vector<const KeyedStats::Entry*>& entries, Visit visit) {
  for (size_t begin = 0, end; begin < entries.size(); begin = end) {
    for (end = begin; end < entries.size() && entries[end]->device == entries[begin]->device;) ++end;
    visit(entries[begin]->device, std::span(entries).subspan(begin, end - begin));
  }
}

// "0x1b"
std::string HexText(int64_t number);

using WriteKeyed = void(const KeyedStats& stats, const CsvContext& context);
WriteKeyed WriteHbm, WriteDdr, WriteLlc, WriteLlcCapacity, WriteLlcBandwidth, WritePcie, WriteHccs, WriteNic,
    WriteRoce, WriteDvpp, WriteCpuUsage, WriteProcessCpu, WriteSysMem, WriteProcessMem, WritePmuEvents,
    WritePmuFunctions, WriteHostCpu, WriteHostMem, WriteHostDisk, WriteHostNetwork, WriteHostPort,
    WriteAllCores;

using WriteRows = void(const format::RowBatch& batch, const CsvContext& context);
WriteRows WriteL2Cache, WriteSocPmu, WriteSocEvents, WriteCcuMissions, WriteCcuChannels;

// A row of each thing of a series with one key: mean and peak of every column, in base units.
void WriteMeansAndPeaks(const format::Series& series, const KeyedStats& stats, const CsvContext& context);
template <const format::Series& kSeries>
void WriteMeansAndPeaks(const KeyedStats& stats, const CsvContext& context) {
  WriteMeansAndPeaks(kSeries, stats, context);
}

}  // namespace profd::client
