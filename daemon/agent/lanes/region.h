// The memory that one process writes its records into (libagent/abi/lane.h): made and sealed here, mapped by
// the process. Everything the process may write is untrusted; the geometry that counts is the copy kept here.
//
// Whoever touches a page first has it on its account (memory cgroup), and a process can have pages taken away
// under us (a hole). So only the words that both sides share in place are mapped here, `RingsOffset` bytes at
// most (68 KiB with 256 lanes), and everything else is read(2), which makes no page: of a hole it gives
// zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "libagent/abi/lane.h"

namespace profd::agent {

struct Geometry {
  uint32_t lanes = 256;
  uint32_t lane_slots = 1u << 15;  // 32 bytes each
  uint32_t names_bytes = 1u << 20;
};

// What a process says of its training loop (abi::StepTotals): its word, for what it is worth.
struct StepTotals {
  uint64_t begun = 0, ended = 0;  // steps
  uint64_t step = 0;              // the number of the one that began last
  uint64_t ended_ns = 0;          // how long those that ended took, together
  uint64_t last_ns = 0;           // how long the last one took
};

// The same of its last steps one by one (abi::StepLog): what was logged and not overwritten, the oldest
// first.
struct StepLog {
  uint64_t ended_before = 0;  // steps that had ended when it began to log
  uint64_t begin_ns = 0;      // of the step that runs, its CLOCK_MONOTONIC_RAW; 0: none does
  uint64_t step = 0;          // and its number
  std::vector<abi::LoggedStep> ended;
};

// **Thread:** immutable after Make(), so any. **Owns:** the memfd, the mapping, the eventfd. It outlives the
// process: what was published before a kill is still here.
class Region {
 public:
  static base::Result<std::shared_ptr<Region>> Make(const Geometry& geometry);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const Geometry& geometry() const { return geometry_; }
  abi::RegionHeader* untrusted_header() const { return reinterpret_cast<abi::RegionHeader*>(shared_); }
  abi::Lane* untrusted_lane(uint32_t lane) const {
    return reinterpret_cast<abi::Lane*>(shared_ + abi::LaneOffset(lane));
  }
  // A copy of what lies at `offset` now, rings and names.
  void CopyForeign(uint64_t offset, std::byte* to, size_t bytes) const;
  int memfd() const { return memfd_.get(); }   // goes through the door
  int wake_fd() const { return wake_.get(); }  // eventfd; the process rings it when a lane passes half full

  // Whether the process said that it ends of its own accord, with exit status 0. Its word, for what it is
  // worth.
  bool ended_well() const;
  // nullopt: none has begun, or they change all the time.
  std::optional<StepTotals> steps() const;
  // nullopt: it changes all the time.
  std::optional<StepLog> step_log() const;

  // Gives the pages of all rings back to the kernel. Only while nobody records.
  void ReleaseRings();

 private:
  Region() = default;

  Geometry geometry_;
  std::byte* shared_ = nullptr;  // header and lanes
  base::UniqueFd memfd_;
  base::UniqueFd wake_;
};

}  // namespace profd::agent
