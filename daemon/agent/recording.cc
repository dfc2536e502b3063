#include "daemon/agent/recording.h"

#include <algorithm>
#include <utility>

namespace profd::agent {

namespace {

using chunk::Item;

constexpr uint64_t kMostNew = uint64_t{1} << 32;  // records

Item MakeItem(Item::What what, format::StreamKey key) {
  Item item;
  item.what = what;
  item.key = key;
  return item;
}

}  // namespace

Recording::Recording(std::shared_ptr<Region> region, RingMode mode, DrainTarget target, uint64_t now_ns)
    : region_(std::move(region)),
      mode_(mode),
      user_(target.user),
      reader_(region_, mode),
      marked_ns_(now_ns) {
  loss_.where = format::Loss::Where::kAgent;
  Aim(std::move(target));
}

void Recording::Aim(DrainTarget target) {
  target_ = std::move(target);
  PROFD_CHECK(target_.pipe == nullptr || target_.pipe->chunk_bytes() >= RingReader::kMinRoom);
  reader_.Begin(target_.stats);
  reports_.reset();
  if (target_.reports != nullptr) reports_.emplace(target_.reports, target_.stats);
  if (mode_ == RingMode::kOverwriteOldest) reader_.Rewind();
  lanes_seq_ = 0;
  names_seq_ = 0;
}

void Recording::Retarget(DrainTarget next, std::function<void()> done) {
  Asked& asked = asked_.emplace_back();
  asked.what = Asked::What::kRetarget;
  asked.next = std::move(next);
  asked.done = std::move(done);
}

void Recording::Snapshot(uint64_t newest_ns, std::function<void()> done) {
  Asked& asked = asked_.emplace_back();
  asked.what = Asked::What::kSnapshot;
  asked.newest_ns = newest_ns;
  asked.done = std::move(done);
}

void Recording::Stop(std::function<void()> done) { asked_.emplace_back().done = std::move(done); }

bool Recording::Feeds(uint32_t trace) const {
  return target_.trace == trace || std::ranges::any_of(asked_, [trace](const Asked& asked) {
           return asked.what == Asked::What::kRetarget && asked.next.trace == trace;
         });
}

Recording::Visited Recording::Visit(uint64_t now_ns, uint64_t share) {
  share_ = share;
  new_bytes_ = 0;
  Visited visited = Look(now_ns);
  visited.cut_off = cut_off_;
  visited.bytes = share - share_;
  waiting_bytes_ -= std::min(waiting_bytes_, visited.bytes);
  visited.waiting_bytes = waiting_bytes_;
  visited.new_bytes = new_bytes_;
  return visited;
}

Recording::Visited Recording::Look(uint64_t now_ns) {
  fullest_slots_ = 0;
  for (;;) {
    const bool aimed = target_.pipe != nullptr;
    // What was asked gets everything up to its first visit, however many visits it takes.
    if (aimed && !marked_ && !(sweeping_ && asked_.empty())) {
      Mark(now_ns);
      marked_ = !asked_.empty();
    }
    const Moved moved = aimed ? Move(now_ns) : Moved::kAll;
    sweeping_ = moved == Moved::kShare && asked_.empty();
    if (moved == Moved::kBlocked) return {.blocked = true, .fullest_slots = fullest_slots_};
    if (moved == Moved::kShare) return {.unfinished = true, .fullest_slots = fullest_slots_};
    marked_ = false;
    to_mark_ = true;
    more_marks_ = kMoreMarks;
    if (asked_.empty()) return {.has_work = aimed && reads_by_itself(), .fullest_slots = fullest_slots_};
    Asked asked = std::move(asked_.front());
    asked_.pop_front();
    if (asked.what == Asked::What::kRetarget) Aim(std::move(asked.next));
    asked.done();
    if (asked.what == Asked::What::kStop) {
      for (const Asked& late : asked_) late.done();
      return {.stopped = true, .has_work = false};
    }
    if (asked_.empty() && asked.what != Asked::What::kRetarget) {
      return {.has_work = target_.pipe != nullptr && reads_by_itself(), .fullest_slots = fullest_slots_};
    }
  }
}

void Recording::Mark(uint64_t now_ns) {
  if (cut_off_) return;
  const RingReader::Found found = reader_.Mark();
  if (reads_by_itself()) fullest_slots_ = found.fullest_slots;
  waiting_bytes_ = found.waiting_slots * abi::kRecordBytes;
  // What a process says it has lost can be any number.
  new_bytes_ += (found.new_slots + std::min(found.lost_records, kMostNew)) * abi::kRecordBytes;
  if ((loss_.records | loss_.bytes) == 0) loss_from_ns_ = marked_ns_;
  loss_.records = std::max(loss_.records, loss_.records + found.lost_records);
  marked_ns_ = now_ns;
  cut_off_ = reader_.Lies();
  if (!asked_.empty() && asked_.front().what == Asked::What::kSnapshot && !reads_by_itself()) {
    reader_.KeepNewest(asked_.front().newest_ns);
  }
}

Recording::Moved Recording::Move(uint64_t now_ns) {
  const bool snapshot = !asked_.empty() && asked_.front().what == Asked::What::kSnapshot;
  const bool reads = (reads_by_itself() || snapshot) && !cut_off_;
  if (!Announce()) return Moved::kBlocked;
  while (reads) {
    if (const Moved moved = MoveNames(now_ns); moved != Moved::kAll) return moved;
    // A quick writer has written over its whole lane by the time that many names are copied.
    if (to_mark_ && !reads_by_itself()) {
      if (share_ == 0) return Moved::kShare;
      Mark(now_ns);
      to_mark_ = false;
      continue;
    }
    if (const Moved moved = MoveLanes(now_ns); moved != Moved::kAll) return moved;
    if (reads_by_itself() || !reader_.Overrun() || more_marks_ == 0) break;
    // Nothing is left of a lane: less of it, which takes less time.
    --more_marks_;
    to_mark_ = true;
  }
  return FlushReports(now_ns) && PushLoss() ? Moved::kAll : Moved::kBlocked;
}

bool Recording::FlushReports(uint64_t now_ns) {
  return !reports_ || reports_->files().Flush(*target_.pipe, now_ns);
}

bool Recording::Push(Item item) {
  if (!target_.pipe->Push(std::move(item))) return false;
  target_.pipe->Kick();
  return true;
}

bool Recording::Announce() {
  for (const bool lanes : {true, false}) {
    std::shared_ptr<const chunk::StreamSpec>& spec = lanes ? target_.lanes_spec : target_.names_spec;
    if (spec == nullptr) continue;
    Item item = MakeItem(Item::What::kStream, lanes ? LanesKey() : NamesKey());
    item.spec = spec;
    if (!Push(std::move(item))) return false;
    spec = nullptr;
  }
  return true;
}

bool Recording::PushLoss() {
  loss_.bytes += reader_.TakeDamagedSlots() * abi::kRecordBytes;
  if ((loss_.records | loss_.bytes) == 0) return true;
  Item item = MakeItem(Item::What::kLoss, LanesKey());
  item.loss = loss_;
  item.loss.from_ns = loss_from_ns_;
  item.loss.to_ns = marked_ns_;
  if (!Push(std::move(item))) return false;
  loss_.records = 0;
  loss_.bytes = 0;
  return true;
}

Recording::Moved Recording::MoveNames(uint64_t now_ns) {
  while (reader_.NamesPending()) {
    if (share_ == 0) return Moved::kShare;
    chunk::Chunk* chunk = target_.pipe->TryTake();
    if (chunk == nullptr) return Moved::kBlocked;
    const RingReader::Filled filled = reader_.ReadNames(chunk->data, chunk->capacity);
    if (reports_ && filled.bytes > 0)
      reports_->TakeNames(
          {chunk->data + sizeof(format::BlockHeader), filled.bytes - sizeof(format::BlockHeader)});
    Fill(*chunk, filled);
    HandOver(chunk, NamesKey(), names_seq_, now_ns);
  }
  return Moved::kAll;
}

// Goes round from where the last visit ended early, so that no lane has to wait for ever.
Recording::Moved Recording::MoveLanes(uint64_t now_ns) {
  chunk::Chunk* chunk = nullptr;
  auto moved = Moved::kAll;
  for (uint32_t n = 0; n < reader_.lanes() && moved == Moved::kAll && !cut_off_; ++n) {
    while (moved == Moved::kAll && !cut_off_ && reader_.LanePending(next_lane_)) {
      if (chunk != nullptr && chunk->Room() < RingReader::kMinRoom) {
        HandOver(std::exchange(chunk, nullptr), LanesKey(), lanes_seq_, now_ns);
      }
      if (chunk == nullptr && share_ != 0) chunk = target_.pipe->TryTake();
      if (share_ == 0) {
        moved = Moved::kShare;
      } else if (reports_ && reports_->files().IsFull() && !FlushReports(now_ns)) {
        moved = Moved::kBlocked;
      } else if (chunk == nullptr) {
        moved = Moved::kBlocked;
      } else {
        Fill(*chunk,
             reader_.ReadLane(next_lane_, chunk->Free(), chunk->Room(), reports_ ? &*reports_ : nullptr));
        cut_off_ = reader_.Lies();
      }
    }
    if (moved == Moved::kAll) next_lane_ = (next_lane_ + 1) % reader_.lanes();
  }
  if (chunk != nullptr) HandOver(chunk, LanesKey(), lanes_seq_, now_ns);
  return moved;
}

void Recording::Fill(chunk::Chunk& chunk, RingReader::Filled filled) {
  chunk.header.used += filled.bytes;
  chunk.header.records += filled.records;
  share_ -= std::min<uint64_t>(share_, filled.read);
}

void Recording::HandOver(chunk::Chunk* chunk, format::StreamKey key, uint64_t& seq, uint64_t now_ns) {
  if (chunk->header.used == 0) {
    target_.pipe->PutBack(chunk);
    return;
  }
  chunk->header.key = key;
  chunk->header.seq = seq++;
  chunk->header.first_time_ns = now_ns;
  chunk->header.last_time_ns = now_ns;
  Item item = MakeItem(Item::What::kChunk, key);
  item.chunk = chunk;
  Push(std::move(item));
}

}  // namespace profd::agent
