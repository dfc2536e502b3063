// Which series become which files of comma-separated values, and how.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/export/views/keyed_stats.h"
#include "client/export/write/csv_file.h"
#include "client/export/write/output.h"
#include "format/series.h"

namespace profd::client {

struct CsvContext {
  const CaptureFacts& facts;
  const bool vendor_compatible;
  CsvFolder& folder;
  const std::string without = {};                // a table that is not made
  const std::optional<uint64_t> iteration = {};  // of a model, where it is exported alone
  // The 98th percentile of what KeyedSeries::quantiles names, by column.
  std::vector<Quantile>* quantiles = nullptr;
  // What operator a task was that a table knows by its ids alone; "" where nobody knows.
  std::function<std::string_view(int device, uint32_t stream, uint32_t task)> op_name = {};
};

// A file of a few rows, made of a whole series.
struct KeyedSeries {
  std::string_view series;
  std::string_view weight = {};                  // column
  std::vector<std::string_view> quantiles = {};  // columns
  void (*write)(const KeyedStats& stats, const CsvContext& context);
};
std::span<const KeyedSeries> KeyedSeriesTables();

// A file with a row for every row.
struct RowSeries {
  std::string_view series;
  void (*write)(const format::RowBatch& batch, const CsvContext& context);
};
std::span<const RowSeries> RowSeriesTables();

// "CPU_CYCLES" of ARM's counter 0x11; "" of one that has no name.
std::string_view CpuEventName(int64_t event);

}  // namespace profd::client
