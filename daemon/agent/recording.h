// One process that is recorded: its lanes on their way into the chunks of a trace.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "daemon/agent/drain.h"
#include "daemon/agent/lanes/ring_reader.h"
#include "daemon/chunk/pipe.h"
#include "format/chunk.h"

namespace profd::agent {

// **Thread:** made and destroyed on ctl, otherwise drain's. **Owns:** the reader; chunks only within Visit().
class Recording {
 public:
  Recording(std::shared_ptr<Region> region, RingMode mode, DrainTarget target, uint64_t now_ns);

  // What is asked is carried out in order by the visits that follow; then `done` runs on the drain thread.
  void Retarget(DrainTarget next, std::function<void()> done);
  void Snapshot(uint64_t newest_ns, std::function<void()> done);
  void Stop(std::function<void()> done);

  struct Visited {
    bool blocked =
        false;  // no chunk, or no room in the pipe's queue: visit again soon. Nothing is lost by it
    bool unfinished = false;     // its share is used up, but there is more
    uint64_t bytes = 0;          // of the region that were read
    uint64_t waiting_bytes = 0;  // of it that were there when it was looked at, and have not been read
    uint64_t new_bytes = 0;      // that have been published or lost since it was looked at before
    bool stopped = false;        // that was the last visit
    bool cut_off = false;        // the process lies: nothing more of it is read
    bool has_work = true;        // there is a reason to come again
    uint64_t fullest_slots = 0;  // what waited in the fullest lane
  };
  // Moves what is published now into chunks, as far as there are any, until it has read `share` bytes.
  // `now_ns`: host raw.
  Visited Visit(uint64_t now_ns, uint64_t share);

  // Something may still be pushed for `trace`.
  bool Feeds(uint32_t trace) const;
  const Region& region() const { return *region_; }
  uid_t user() const { return user_; }
  // Something was asked that is not done yet.
  bool is_asked() const { return !asked_.empty(); }
  // Where its records go now; nullptr: nowhere.
  chunk::Pipe* pipe() const { return target_.pipe; }
  bool reads_by_itself() const { return mode_ == RingMode::kDropNewest && !cut_off_; }

 private:
  // What the front of asked_ wants, or, when nothing was asked, the sweep.
  struct Asked {
    enum class What : uint8_t { kRetarget, kSnapshot, kStop };
    What what = What::kStop;
    std::function<void()> done;
    DrainTarget next;        // kRetarget
    uint64_t newest_ns = 0;  // kSnapshot
  };

  void Aim(DrainTarget target);
  void Mark(uint64_t now_ns);
  enum class Moved : uint8_t { kAll, kBlocked, kShare };
  Visited Look(uint64_t now_ns);
  Moved Move(uint64_t now_ns);
  bool Push(chunk::Item item);
  bool Announce();
  bool PushLoss();
  Moved MoveNames(uint64_t now_ns);
  Moved MoveLanes(uint64_t now_ns);
  bool FlushReports(uint64_t now_ns);
  void Fill(chunk::Chunk& chunk, RingReader::Filled filled);
  void HandOver(chunk::Chunk* chunk, format::StreamKey key, uint64_t& seq, uint64_t now_ns);

  format::StreamKey LanesKey() const { return {.trace = target_.trace, .stream = target_.first_stream}; }
  format::StreamKey NamesKey() const { return {.trace = target_.trace, .stream = target_.first_stream + 1}; }

  // A lane of 2^22 slots is halved 16 times at most.
  static constexpr uint32_t kMoreMarks = 32;

  const std::shared_ptr<Region> region_;
  const RingMode mode_;
  const uid_t user_;
  RingReader reader_;
  DrainTarget target_;
  std::optional<ReportReader> reports_;  // to the target's files
  std::deque<Asked> asked_;
  bool marked_ = false;               // the front of asked_ has its mark
  bool to_mark_ = true;               // … and is to have another behind the names, for a snapshot
  uint32_t more_marks_ = kMoreMarks;  // how often it may still be marked where a writer was quicker
  bool sweeping_ = false;             // the last sweep has not come to its mark
  uint64_t share_ = 0;                // bytes that this visit may still read
  uint32_t next_lane_ = 0;            // where the round goes on
  uint64_t lanes_seq_ = 0;            // of chunks
  uint64_t names_seq_ = 0;
  format::Loss loss_;  // not yet reported
  uint64_t loss_from_ns_ = 0;
  uint64_t marked_ns_ = 0;
  uint64_t fullest_slots_ = 0;
  uint64_t waiting_bytes_ = 0, new_bytes_ = 0;
  bool cut_off_ = false;
};

}  // namespace profd::agent
