// The only code (with lane_clock.cc) that reads what a process wrote. Any bytes may be there, and change
// while they are read: everything is copied once, what counts is the copy, and the copy is checked before
// anybody else sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/agent/lanes/recording_stats.h"
#include "daemon/agent/lanes/region.h"
#include "daemon/agent/lanes/slot_walk.h"
#include "libagent/abi/lane.h"

namespace profd::agent {

enum class RingMode : uint8_t { kDropNewest, kOverwriteOldest };

// Reads the lanes and names of one region, in rounds: Mark() says how far a round goes, ReadNames() and
// ReadLane() fill chunks with sealed blocks (format/events/agent_blocks.h) until nothing is pending. Names
// before lanes: then every name that a record of the round refers to is there.
// **Thread:** one at a time. **Owns:** the word `tail` of every lane (drop mode), which follows what was
// copied.
class RingReader {
 public:
  // The least room ReadLane() and ReadNames() need to make progress: a header and one record or entry at its
  // longest.
  static constexpr size_t kMinRoom =
      sizeof(format::BlockHeader) + size_t{abi::kMaxRecordSlots} * abi::kRecordBytes;
  static constexpr uint64_t kMostDamagedSlots = 1 << 16;  // 2 MiB

  // Skips what is in the rings (drop mode: hands it back): reads what is published from now on.
  RingReader(std::shared_ptr<Region> region, RingMode mode);

  // Counts go here from now on; names and sequence numbers start anew.
  void Begin(std::shared_ptr<RecordingStats> stats);

  struct Found {
    uint64_t fullest_slots = 0;  // what waits in the fullest lane
    uint64_t waiting_slots = 0;  // in all of them
    uint64_t new_slots = 0;      // of those, since the mark before
    uint64_t lost_records = 0;   // dropped by the process since the mark before
  };
  // The round goes up to what is published now.
  Found Mark();
  // Overwrite mode: forgets what was read, so that all that is still in the rings is read again.
  void Rewind();
  // Overwrite mode: since its mark the writer of a lane has written over all that was to be read of it. The
  // next Mark() takes half as much, the newest: each half gives the copy twice the time.
  bool Overrun() const;
  // Overwrite mode: records older than `newest_ns` before the region's latest clock pair are left out; 0 =
  // none are.
  void KeepNewest(uint64_t newest_ns);

  bool NamesPending() const { return names_at_ < names_mark_; }
  bool LanePending(uint32_t lane) const { return lanes_[lane].next != lanes_[lane].mark; }
  uint32_t lanes() const { return static_cast<uint32_t>(lanes_.size()); }

  struct Filled {
    uint32_t bytes = 0;    // of `to`, one block; 0 when nothing was fit to be kept
    uint32_t records = 0;  // the agent's own not counted
    uint32_t read = 0;     // bytes of the region it took to make it
  };
  // At most `room` bytes at `to`, at least kMinRoom. Goes on until nothing is pending, whatever it returns.
  Filled ReadNames(std::byte* to, size_t room);
  // `reports`: gets those of CANN's modules.
  Filled ReadLane(uint32_t lane, std::byte* to, size_t room, ReportTaker* reports = nullptr);

  // Slots that held no record, since the last call: for the log of losses.
  uint64_t TakeDamagedSlots();
  // So many that no agent can have written the region: a stray write costs some, a kill less than a record.
  bool Lies() const { return all_damaged_slots_ > kMostDamagedSlots; }

 private:
  struct LaneState {
    uint64_t start = 0;  // slots before it belong to an earlier recording
    uint64_t next = 0;   // slots before it are done with
    uint64_t mark = 0;
    uint64_t lost_seen = 0;
    uint64_t lost = 0;    // since Begin()
    uint64_t seq = 0;     // of the next block
    uint32_t tid = 0;     // who wrote what follows; 0: not known
    bool joined = false;  // the slot `next` may be in the middle of a record
    // Overwrite mode, since the mark:
    uint32_t window = 0;  // slots, the most that are read
    bool torn = false;    // some were written over before they were copied
    bool read = false;    // some were not
    bool overrun() const { return torn && !read; }
  };
  // Slots [at, at + count) in a private copy.
  struct Copied {
    uint64_t at = 0;
    uint32_t count = 0;
    uint32_t torn = 0;    // leading ones that were overwritten meanwhile
    bool joined = false;  // what was before it is gone: it may begin in the middle of a record
  };

  uint64_t LoadHead(uint32_t lane) const;

  void MarkNames();
  void MarkLane(uint32_t lane, Found& found);
  void GoOn(uint32_t lane, uint64_t next);  // done with everything before `next`
  void CountDamaged(uint32_t lane, uint64_t slots);
  Copied Copy(uint32_t lane, std::byte* to, uint32_t max_slots);
  void CopySlots(uint32_t lane, uint64_t at, std::byte* to, uint32_t count) const;
  uint32_t OwnerAt(uint32_t lane, uint64_t at) const;

  const std::shared_ptr<Region> region_;
  const RingMode mode_;
  const uint32_t lane_slots_;
  std::shared_ptr<RecordingStats> stats_;
  std::vector<LaneState> lanes_;
  uint64_t damaged_slots_ = 0;  // since TakeDamagedSlots()
  uint64_t all_damaged_slots_ = 0;
  uint64_t oldest_ticks_ = 0;       // records before it are left out
  uint64_t without_lane_seen_ = 0;  // header.lost_without_lane
  uint32_t names_at_ = abi::kFirstNameOffset;
  uint32_t names_mark_ = abi::kFirstNameOffset;
  uint64_t names_seq_ = 0;
  bool names_damaged_ = false;
};

// The domains that the process has given names to. **Thread:** any.
std::set<std::string> DomainsOf(const Region& region);

}  // namespace profd::agent
