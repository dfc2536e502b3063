// What CANN's modules have reported to the agents of a trace's processes (abi::kReport), written as the
// vendor's collector writes it: host/data, a file for each type of report, and two with names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "daemon/agent/lanes/recording_stats.h"
#include "daemon/agent/lanes/slot_walk.h"
#include "daemon/chunk/pipe.h"

namespace profd::agent {

// Of one trace, for all its processes. **Thread:** made and destroyed on ctl, otherwise drain's.
class ReportFiles {
 public:
  // Names of streams: as many as there are files, from here on. `counter_mhz`: of the host's counter, which
  // stamps of the directory are of; 0: they are of CLOCK_MONOTONIC_RAW.
  ReportFiles(uint32_t trace, uint32_t first_stream, double counter_mhz)
      : trace_(trace), first_stream_(first_stream), counter_mhz_(counter_mhz) {}

  static constexpr size_t kFiles = 38;

  // Whole records, or lines.
  void Add(size_t file, std::span<const std::byte> bytes);
  // Hands what has been added to the writer; false: no chunk is free, so come again.
  bool Flush(chunk::Pipe& pipe, uint64_t now_ns);
  // So much has been added that it should go first.
  bool IsFull() const { return waiting_ >= kMostWaiting; }
  // A stamp of a report as the directory has them.
  uint64_t StampOf(uint64_t stamp, bool by_raw) const;

 private:
  static constexpr size_t kMostWaiting = 1 << 20;
  struct File {
    std::string bytes;
    uint64_t seq = 0;
    bool announced = false;
  };
  bool Announce(size_t file, chunk::Pipe& pipe);

  const uint32_t trace_, first_stream_;
  const double counter_mhz_;
  std::array<File, kFiles> files_;
  size_t waiting_ = 0;
};

// The reports of one process in one trace. **Thread:** as ReportFiles.
class ReportReader : public ReportTaker {
 public:
  ReportReader(std::shared_ptr<ReportFiles> files, std::shared_ptr<RecordingStats> stats)
      : files_(std::move(files)), stats_(std::move(stats)) {}

  // A checked record with its values.
  void Take(std::span<const std::byte> slots) override;
  // Whole name entries: what reports refer to goes into the files.
  void TakeNames(std::span<const std::byte> entries);
  ReportFiles& files() { return *files_; }

 private:
  // Types by level and number, as the process names them; at most so many.
  static constexpr size_t kMostTypes = 1 << 16;

  const std::shared_ptr<ReportFiles> files_;
  const std::shared_ptr<RecordingStats> stats_;
  std::map<std::pair<uint16_t, uint32_t>, uint8_t> types_;  // to the place of its name
};

}  // namespace profd::agent
