// What the directories of one session hold on disk, and which slices go when that reaches the session's
// limit, or a bound that it shares with others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "daemon/store/spool/bounds.h"
#include "daemon/store/spool/on_full.h"

namespace profd::store {

// What a file of `bytes` takes on disk, at least.
constexpr uint64_t BlocksOf(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// A slice that is closed, as ageing sees it.
struct ClosedSlice {
  // What one stream has in it; two streams may share a file.
  struct Part {
    uint32_t stream = 0;
    uint32_t records = 0;
    uint64_t bytes = 0;
  };
  uint32_t file = 0;  // the keeper's number of the file it is a slice of
  uint64_t number = 0;
  uint64_t disk_bytes = 0;  // with its marker
  uint64_t first_ns = 0;    // host raw, of its chunks
  uint64_t last_ns = 0;
  std::vector<Part> parts;
};

// One directory, to a budget.
class SliceKeeper {
 public:
  virtual ~SliceKeeper() = default;
  // Removes the slice from the disk and counts what was in it as aged. Called again after an error.
  virtual base::Status Age(const ClosedSlice& slice) = 0;
  // Of each stream the newest slice is not offered for ageing. The time the oldest of these begins at …
  virtual uint64_t OldestNewest() const = 0;  // UINT64_MAX: there is none
  // … which is closed and offered all the same when nothing else is left.
  virtual void OfferOldestNewest() = 0;
};

// **Thread:** the writer's, but for the figures. One for all directories of a session, which outlives them.
class Budget {
 public:
  // Without a limit and bounds it only counts.
  explicit Budget(uint64_t limit_bytes = 0, std::vector<std::shared_ptr<Bound>> bounds = {})
      : limit_(limit_bytes), bounds_(std::move(bounds)) {}
  ~Budget() { LeaveBounds(); }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // What to do when nothing can be stored; `stop` asks for the session's end. Before the first directory.
  void WhenFull(OnFull on_full, std::function<void()> stop);
  OnFull on_full() const { return on_full_; }

  bool limited() const { return limit_ > 0; }
  bool ages() const { return limited() || !bounds_.empty(); }

  // -- the figures; any thread --
  uint64_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  uint64_t aged_bytes() const { return aged_bytes_.load(std::memory_order_relaxed); }  // as records
  uint64_t aged_records() const { return aged_records_.load(std::memory_order_relaxed); }
  // The newest time of which every stream has all that it stored: what is on disk covers this long.
  uint64_t window_ns() const;

  // What else than its own limit has cost it data, e.g. "for the quota of user alice (…)"; "" = nothing.
  std::string aged_for() const;

  // Why nothing is stored at the moment, or "".
  std::string paused() const;

  // -- the directories --
  // Nothing can be stored until Resume().
  void Pause(const std::string& reason);
  void Resume();
  void Join(SliceKeeper* keeper) { keepers_.push_back(keeper); }
  void Leave(SliceKeeper* keeper);

  // What files take on disk has changed from `before` to `after` bytes. **Thread:** any.
  void Change(uint64_t before, uint64_t after);
  // A whole directory has gone, and what for. **Thread:** any.
  void NoteRemoved(uint64_t disk_bytes, uint64_t bytes, uint64_t records, const std::string& why);
  // Nothing is written any more: somebody else counts for the bounds from now on. **Thread:** any, with none
  // in here.
  void LeaveBounds();
  void NoteStored(uint64_t first_ns, uint64_t last_ns);
  // Streams that cut slices have come or gone.
  void ChangeStreams(int64_t by) { streams_ += by; }
  // `most` without a limit; else so small that the newest slices, which stay, are a quarter of it at most.
  uint64_t SliceBytes(uint64_t most) const;
  // A slice that began this long ago is closed, however small: slow streams then age in step with fast ones.
  uint64_t SliceNs() const;

  // The slice may go when it is the oldest. Slices of one file come in the order of their numbers.
  void Offer(SliceKeeper* keeper, ClosedSlice slice);
  // Ages until `bytes` more fit, or for as long as an append may take if they fit already without the
  // reserve, or if it is others who need the room. An error: the disk does not give up what must go, or
  // nothing is left that may.
  base::Status MakeRoom(uint64_t bytes);
  // Removes the oldest slice; kResourceExhausted: none is left that may go.
  base::Status AgeOldest();

 private:
  struct Entry {
    SliceKeeper* keeper = nullptr;
    ClosedSlice slice;
  };

  enum class Want : uint8_t { kNothing, kRather, kMust };
  struct Need {
    Want want = Want::kNothing;
    const Bound* bound = nullptr;  // null: the session's own limit
  };

  Need NeedFor(uint64_t bytes);
  uint64_t Reserve() const;
  bool OfferOldestNewest();
  std::string Name(const Need& need) const;

  const uint64_t limit_;
  std::vector<std::shared_ptr<Bound>> bounds_;
  int64_t streams_ = 0;
  std::vector<SliceKeeper*> keepers_;
  std::multimap<uint64_t, Entry> closed_;  // by the time they end at; equal ones as they came
  std::map<std::pair<SliceKeeper*, uint32_t>, uint64_t> latest_;  // key in `closed_` of a file's last slice
  uint64_t begin_ns_ = UINT64_MAX;                                // the first that was stored
  uint64_t newest_ns_ = 0;
  uint64_t aged_through_ns_ = 0;

  OnFull on_full_ = OnFull::kAge;
  std::function<void()> stop_;
  mutable std::mutex mutex_;
  std::string paused_, aged_for_;      // by mutex_
  const Bound* aged_bound_ = nullptr;  // that aged_for_ names

  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> aged_bytes_{0};
  std::atomic<uint64_t> aged_records_{0};
  std::atomic<uint64_t> window_ns_{0};
};

}  // namespace profd::store
