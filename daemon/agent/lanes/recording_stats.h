// What became of the records of one process, counted by who handles them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/events/agent_blocks.h"

namespace profd::agent {

// Live counts of one recording. The drain counts what it read and what was lost before it, the writer
// (through Written()) what it stored. Once a recording is sealed: emitted = stored + lost, per lane and in
// sum.
// **Thread:** each count has one writer, drain or write; any may read.
struct RecordingStats {
  struct Kind {
    std::atomic<uint64_t> stored_records{0};
    std::atomic<uint64_t> stored_bytes{0};  // slots × 32
    std::atomic<uint64_t> write_lost_records{0};
    std::atomic<uint64_t> reported_records{0};      // drain: of CANN's modules, handed to the writer …
    std::atomic<uint64_t> reported_bytes{0};        // … in files of their own (ReportFiles)
    std::atomic<uint64_t> first_ns{0}, last_ns{0};  // host raw, when they were stored; 0: never
  };
  struct Lane {
    std::atomic<uint64_t> read_records{0};        // drain: whole records copied (the agent's own not counted)
    std::atomic<uint64_t> lost_records{0};        // drain: dropped by the agent, for want of room in the lane
    std::atomic<uint64_t> damaged_slots{0};       // drain: slots that hold no valid record (skipped)
    std::atomic<uint64_t> stored_records{0};      // writer
    std::atomic<uint64_t> write_lost_records{0};  // writer
  };
  explicit RecordingStats(uint32_t lane_count) : lanes(lane_count) {}

  std::array<Kind, format::kAgentKinds> kinds;
  std::vector<Lane> lanes;
  std::atomic<uint64_t> lost_without_lane{0};  // drain
  std::atomic<uint64_t> names_lost{0};         // drain: names of the process, ever, that found no room
  std::atomic<bool> names_damaged{false};      // drain: names are kept up to the damage

  // **Thread:** the writer's. `blocks` is the payload of one chunk of this recording, whole blocks.
  void Written(const std::byte* blocks, size_t bytes, bool stored);
};

}  // namespace profd::agent
