// The columns of op_summary that tell what the cores counted while a task ran.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/export/views/device/core_metrics.h"
#include "client/export/write/csv_file.h"
#include "client/export/write/output.h"
#include "format/directory/side_facts.h"

namespace profd::client {

class CsvCores {
 public:
  // Of the first device that counted by task; others fit if they counted the same.
  void Find(const CaptureFacts& facts, bool vendor_compatible);
  // ",aicore_time(us),…"; "" where nothing was counted.
  std::string Header() const;
  // As many cells. `side` and `counters` may be nullptr; `blocks` of the task, which took `us`, and whether
  // its operator is known.
  void Write(CsvFile* csv, const format::SideFacts* side, const format::TaskCounters* counters,
             uint32_t blocks, bool knows_operator, double us) const;

 private:
  void WriteOne(CsvFile* csv, const format::SideFacts* side, const format::TaskCounters* counters,
                uint32_t blocks, bool knows_operator, double us) const;
  // What a core of that kind counted; nullptr: nothing that fits into the columns.
  const format::TaskCounters::Core* Counted(const format::SideFacts* side,
                                            const format::TaskCounters* counters, bool vector) const;
  bool IsShown(const CoreMetric& metric) const;

  bool any_ = false, vendor_compatible_ = false;
  bool apart_ = false;        // AI cores and vector cores have columns of their own
  bool has_both_ = false;     // … and else there may be both all the same
  bool knows_cubes_ = false;  // of AI cores
  std::vector<uint32_t> events_[2];
  std::vector<CoreMetric> metrics_[2];
};

}  // namespace profd::client
