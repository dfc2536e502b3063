// Sorts out what a private copy of a lane's slots holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/events/agent_blocks.h"

namespace profd::agent {

// Gets the records of what CANN's modules report, which are not kept with the others.
class ReportTaker {
 public:
  virtual ~ReportTaker() = default;
  // A whole valid record.
  virtual void Take(std::span<const std::byte> slots) = 0;
};

struct SlotWalk {
  uint32_t first = 0;  // slots before it are left out
  uint32_t count = 0;  // of all slots in the copy
  bool last =
      true;  // nothing follows: a record that goes on behind the copy is damaged. Else it is left for later
  uint32_t tid = 0;                // who wrote the first slot; afterwards, who writes what follows
  ReportTaker* reports = nullptr;  // none: nobody asked for reports, so none are valid
};
struct WalkedSlots {
  uint32_t taken = 0;  // slots dealt with, from the copy's first on
  uint32_t kept =
      0;  // of them now at the beginning of `slots`: whole valid records. Their counts are in `header`
  uint32_t damaged = 0;
};
// Sets `tid`, the stamps and the counts of `header`.
WalkedSlots WalkSlots(std::byte* slots, SlotWalk& walk, format::BlockHeader& header);

// From `first` on, the first slot that may begin a record no older than `oldest_ticks`. Follows `tid`.
uint32_t SkipOld(const std::byte* slots, uint32_t first, uint32_t count, uint64_t oldest_ticks,
                 uint32_t& tid);
// From `first` on, the first slot that is no payload.
uint32_t SkipPayload(const std::byte* slots, uint32_t first, uint32_t count);

}  // namespace profd::agent
