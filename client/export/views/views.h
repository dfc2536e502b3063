// How the series of a family of kinds are shown: counters of timelines, files of comma-separated values,
// tables of the database, words about them. A file each; all.cc lists them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/export/views/counter_tables.h"
#include "client/export/views/csv_tables.h"
#include "client/export/views/db_tables.h"

namespace profd::client {

// What a file is, for who finds it in a folder.
struct About {
  std::string_view kind;  // what its name begins with
  std::string_view text;
};

struct Views {
  std::span<const CounterTable> counters = {};
  std::span<const KeyedSeries> keyed = {};
  std::span<const RowSeries> rows = {};
  std::span<const DbTable> tables = {};
  std::span<const About> about = {};
};
std::span<const Views> AllViews();

// Factors of base units in tables and timelines.
inline constexpr double kMb = 1.0 / (1 << 20), kKb = 1.0 / (1 << 10);  // of bytes
inline constexpr double kPercent = 100, kUs = 1e-3, kMhz = 1e-6;       // of ratios, ns, Hz
inline constexpr auto kInteger = CounterArg::Form::kInteger, kRounded = CounterArg::Form::kRounded;
inline constexpr bool kWhole = true;
inline constexpr DbColumn kDevice = {"deviceId", "INTEGER", "@device"};
inline constexpr DbColumn kStamp = {"timestampNs", "INTEGER", "@stamp"};
inline constexpr DbColumn kStampNumeric = {"timestampNs", "NUMERIC", "@stamp"};

inline constexpr double kBytesPerMb = 1 << 20, kBytesPerKb = 1 << 10;

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

}  // namespace profd::client
