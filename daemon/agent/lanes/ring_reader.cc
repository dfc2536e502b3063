#include "daemon/agent/lanes/ring_reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "daemon/agent/lanes/lane_clock.h"
#include "daemon/agent/lanes/slot_walk.h"
#include "daemon/chunk/stream_stats.h"

namespace profd::agent {

namespace {

using format::BlockHeader;

// A word in foreign memory: accessed once.
template <typename T>
T Relaxed(T& untrusted) {
  return std::atomic_ref(untrusted).load(std::memory_order_relaxed);
}

uint64_t SaturatingSum(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

BlockHeader HeaderOf(format::BlockType type, uint64_t seq) {
  BlockHeader header{};
  header.magic = format::kBlockMagic;
  header.type = static_cast<uint16_t>(type);
  header.header_bytes = sizeof(BlockHeader);
  header.seq = seq;
  return header;
}

// Puts `header` in front of its payload, which is there.
uint32_t Finish(std::byte* block, const BlockHeader& header) {
  std::memcpy(block, &header, sizeof(header));
  format::SealBlock(block);
  return static_cast<uint32_t>(sizeof(header)) + header.bytes;
}

// Bytes of the whole entry at `at`; 0 when it isn't one, `left` + 1 or more when it goes on behind the copy.
size_t NameEntryBytes(const std::byte* at, size_t left) {
  abi::NameEntry entry;
  if (left < sizeof(entry)) return left + 1;
  std::memcpy(&entry, at, sizeof(entry));
  if (entry.bytes > abi::kMaxNameBytes || entry.type < abi::kNameText || entry.type > abi::kNameOfReportType)
    return 0;
  const size_t bytes =
      (sizeof(entry) + entry.bytes + abi::kNameUnit) / abi::kNameUnit * size_t{abi::kNameUnit};
  if (bytes <= left && at[sizeof(entry) + entry.bytes] != std::byte{0}) return 0;
  return bytes;
}

// The fewest slots that are tried: they are copied long before the quickest writer comes round.
constexpr uint32_t kLeastWindow = 2 * abi::kMaxRecordSlots;

}  // namespace

RingReader::RingReader(std::shared_ptr<Region> region, RingMode mode)
    : region_(std::move(region)),
      mode_(mode),
      lane_slots_(region_->geometry().lane_slots),
      lanes_(region_->geometry().lanes) {
  for (uint32_t lane = 0; lane < lanes(); ++lane) {
    LaneState& state = lanes_[lane];
    state.start = LoadHead(lane);
    state.mark = state.start;
    state.window = lane_slots_;
    state.lost_seen = Relaxed(region_->untrusted_lane(lane)->lost);
    GoOn(lane, state.start);
  }
  without_lane_seen_ = Relaxed(region_->untrusted_header()->lost_without_lane);
}

void RingReader::Begin(std::shared_ptr<RecordingStats> stats) {
  stats_ = std::move(stats);
  PROFD_CHECK(stats_->lanes.size() == lanes_.size());
  for (LaneState& state : lanes_) {
    state.lost = 0;
    state.seq = 0;
  }
  names_at_ = abi::kFirstNameOffset;
  names_mark_ = abi::kFirstNameOffset;
  names_seq_ = 0;
  names_damaged_ = false;
}

uint64_t RingReader::LoadHead(uint32_t lane) const {
  return std::atomic_ref(region_->untrusted_lane(lane)->head).load(std::memory_order_acquire);
}

void RingReader::GoOn(uint32_t lane, uint64_t next) {
  lanes_[lane].next = next;
  if (mode_ != RingMode::kDropNewest) return;
  std::atomic_ref tail(region_->untrusted_lane(lane)->tail);
  if (tail.load(std::memory_order_relaxed) != next) tail.store(next, std::memory_order_release);
}

void RingReader::CountDamaged(uint32_t lane, uint64_t slots) {
  if (slots == 0) return;
  damaged_slots_ += slots;
  all_damaged_slots_ += slots;
  chunk::Add(stats_->lanes[lane].damaged_slots, slots);
}

uint64_t RingReader::TakeDamagedSlots() { return std::exchange(damaged_slots_, 0); }

RingReader::Found RingReader::Mark() {
  Found found;
  for (uint32_t lane = 0; lane < lanes(); ++lane) MarkLane(lane, found);
  const uint64_t without_lane = Relaxed(region_->untrusted_header()->lost_without_lane);
  if (const uint64_t before = std::exchange(without_lane_seen_, without_lane); without_lane > before) {
    std::atomic<uint64_t>& sum = stats_->lost_without_lane;
    sum.store(SaturatingSum(sum.load(std::memory_order_relaxed), without_lane - before),
              std::memory_order_relaxed);
    found.lost_records = SaturatingSum(found.lost_records, without_lane - before);
  }
  // Behind the heads: what a published record refers to is then below the mark.
  MarkNames();
  return found;
}

void RingReader::MarkLane(uint32_t lane, Found& found) {
  LaneState& state = lanes_[lane];
  const uint64_t before_mark = std::exchange(state.mark, LoadHead(lane));
  const uint64_t waiting = state.mark - state.next;
  const bool wild =
      mode_ == RingMode::kDropNewest ? waiting > lane_slots_ : static_cast<int64_t>(waiting) < 0;
  if (wild) {
    CountDamaged(lane, lane_slots_);
    state.start = state.mark;
    GoOn(lane, state.mark);
  } else {
    state.window = state.overrun() ? std::max(state.window / 2, kLeastWindow) : lane_slots_;
    if (waiting > state.window) {
      state.next = state.mark - state.window;
      state.joined = true;
    }
  }
  state.torn = false;
  state.read = false;
  found.fullest_slots = std::max(found.fullest_slots, state.mark - state.next);
  found.waiting_slots += state.mark - state.next;
  found.new_slots += std::min<uint64_t>(state.mark - before_mark, lane_slots_);
  const uint64_t lost = Relaxed(region_->untrusted_lane(lane)->lost);
  if (const uint64_t before = std::exchange(state.lost_seen, lost); lost > before) {
    const uint64_t sum = SaturatingSum(state.lost, lost - before);
    chunk::Add(stats_->lanes[lane].lost_records, sum - state.lost);
    found.lost_records = SaturatingSum(found.lost_records, sum - state.lost);
    state.lost = sum;
  }
}

void RingReader::MarkNames() {
  abi::RegionHeader* header = region_->untrusted_header();
  stats_->names_lost.store(Relaxed(header->names_lost), std::memory_order_relaxed);
  const uint32_t used = std::atomic_ref(header->names_used).load(std::memory_order_acquire);
  if (names_damaged_ || (used == 0 && names_at_ == abi::kFirstNameOffset)) return;  // 0: never attached
  if (used < names_at_ || used > region_->geometry().names_bytes) {
    names_damaged_ = true;
    stats_->names_damaged.store(true, std::memory_order_relaxed);
    names_mark_ = names_at_;
    return;
  }
  names_mark_ = used;
}

void RingReader::Rewind() {
  for (LaneState& state : lanes_) {
    state.next = state.start;
    state.tid = 0;
  }
}

void RingReader::KeepNewest(uint64_t newest_ns) {
  oldest_ticks_ = 0;
  if (newest_ns == 0) return;
  const abi::LaneClock clock = ReadClock(*region_);
  const double ns_per_tick = NsPerTick(clock);
  const double back = ns_per_tick == 0 ? 0 : static_cast<double>(newest_ns) / ns_per_tick;
  // Not known how fast it ticks, or longer than it has ticked: everything.
  if (back <= 0 || back >= static_cast<double>(clock.latest.ticks)) return;
  oldest_ticks_ = clock.latest.ticks - static_cast<uint64_t>(back);
}

bool RingReader::Overrun() const { return std::ranges::any_of(lanes_, &LaneState::overrun); }

RingReader::Copied RingReader::Copy(uint32_t lane, std::byte* to, uint32_t max_slots) {
  LaneState& state = lanes_[lane];
  Copied copied{.at = state.next, .joined = state.joined};
  // In overwrite mode, how many slots from `copied.at` on may be torn by now, `limit` at most.
  const auto torn = [&](uint64_t limit) {
    if (mode_ != RingMode::kOverwriteOldest) return uint64_t{0};
    const uint64_t behind = LoadHead(lane) - copied.at;
    const uint64_t sound = lane_slots_ - abi::kMaxRecordSlots;
    const uint64_t slots = behind > sound ? std::min(behind - sound, limit) : 0;
    copied.joined |= slots != 0;
    return slots;
  };
  copied.at += torn(state.mark - copied.at);
  copied.count = static_cast<uint32_t>(std::min<uint64_t>(state.mark - copied.at, max_slots));
  CopySlots(lane, copied.at, to, copied.count);
  std::atomic_thread_fence(std::memory_order_acquire);
  copied.torn = static_cast<uint32_t>(torn(copied.count));
  state.torn |= copied.at + copied.torn != state.next;
  state.read |= copied.torn != copied.count;
  return copied;
}

void RingReader::CopySlots(uint32_t lane, uint64_t at, std::byte* to, uint32_t count) const {
  const uint64_t ring = abi::RingOffset(lanes(), lane_slots_, lane);
  const uint64_t index = at & (lane_slots_ - 1);
  const auto before_wrap = static_cast<uint32_t>(std::min<uint64_t>(count, lane_slots_ - index));
  region_->CopyForeign(ring + index * abi::kRecordBytes, to, size_t{before_wrap} * abi::kRecordBytes);
  if (count == before_wrap) return;
  region_->CopyForeign(ring, to + size_t{before_wrap} * abi::kRecordBytes,
                       size_t{count - before_wrap} * abi::kRecordBytes);
}

// Who wrote the slot `at`, as far as the process says; 0: it doesn't.
uint32_t RingReader::OwnerAt(uint32_t lane, uint64_t at) const {
  abi::Lane* untrusted = region_->untrusted_lane(lane);
  if (Relaxed(untrusted->owner_since) > at) return 0;
  if (const uint32_t tid = Relaxed(untrusted->owner_tid); tid != 0) return tid;
  if (mode_ == RingMode::kDropNewest) return 0;  // nothing is missing: whoever comes introduces itself
  // The last owner has gone, but introduced itself again and again.
  std::array<abi::Record, 128> slots;
  while (at != lanes_[lane].mark) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(lanes_[lane].mark - at, slots.size()));
    CopySlots(lane, at, reinterpret_cast<std::byte*>(slots.data()), count);
    for (uint32_t i = 0; i < count; ++i) {
      if (slots[i].kind == abi::kThread) return static_cast<uint32_t>(slots[i].value);
    }
    at += count;
  }
  return 0;
}

RingReader::Filled RingReader::ReadLane(uint32_t lane, std::byte* to, size_t room, ReportTaker* reports) {
  LaneState& state = lanes_[lane];
  std::byte* const slots = to + sizeof(BlockHeader);
  const size_t max_slots = (room - sizeof(BlockHeader)) / abi::kRecordBytes;
  const Copied copied = Copy(lane, slots, static_cast<uint32_t>(std::min<size_t>(max_slots, lane_slots_)));
  SlotWalk walk{.first = copied.torn,
                .count = copied.count,
                .last = copied.at + copied.count == state.mark,
                .tid = state.tid,
                .reports = reports};
  if (copied.joined) {
    walk.tid = 0;
    walk.first = SkipPayload(slots, walk.first, walk.count);
  }
  // Of a record that was written over there may be more than was copied.
  state.joined = copied.joined && walk.first == walk.count;
  if (oldest_ticks_ != 0) walk.first = SkipOld(slots, walk.first, walk.count, oldest_ticks_, walk.tid);
  if (walk.tid == 0) walk.tid = OwnerAt(lane, copied.at + walk.first);
  BlockHeader header = HeaderOf(format::BlockType::kLane, state.seq);
  const WalkedSlots walked = WalkSlots(slots, walk, header);
  state.tid = walk.tid;
  CountDamaged(lane, walked.damaged);
  GoOn(lane, copied.at + walked.taken);
  const auto read = static_cast<uint32_t>(copied.count * abi::kRecordBytes);
  if (walked.kept == 0) return {.read = read};
  ++state.seq;
  header.lane = lane;
  header.bytes = walked.kept * abi::kRecordBytes;
  header.lost_before = state.lost;
  chunk::Add(stats_->lanes[lane].read_records, header.records);
  return {Finish(to, header), header.records, read};
}

RingReader::Filled RingReader::ReadNames(std::byte* to, size_t room) {
  std::byte* const entries = to + sizeof(BlockHeader);
  const uint32_t waiting = names_mark_ - names_at_;
  const auto copied = static_cast<uint32_t>(std::min<size_t>(waiting, room - sizeof(BlockHeader)));
  region_->CopyForeign(abi::NamesOffset(lanes(), lane_slots_) + names_at_, entries, copied);

  BlockHeader header = HeaderOf(format::BlockType::kNames, names_seq_);
  header.lost_before = names_at_;
  while (header.bytes < copied) {
    const size_t bytes = NameEntryBytes(entries + header.bytes, copied - header.bytes);
    if (bytes > copied - header.bytes && copied < waiting) break;  // next time
    if (bytes == 0 || bytes > copied - header.bytes) {
      names_damaged_ = true;
      stats_->names_damaged.store(true, std::memory_order_relaxed);
      break;
    }
    header.bytes += static_cast<uint32_t>(bytes);
    ++header.records;
  }
  names_at_ += header.bytes;
  if (names_damaged_) names_mark_ = names_at_;
  if (header.bytes == 0) return {.read = copied};
  ++names_seq_;
  return {Finish(to, header), header.records, copied};
}

std::set<std::string> DomainsOf(const Region& region) {
  const Geometry& geometry = region.geometry();
  const uint32_t used =
      std::min(std::atomic_ref(region.untrusted_header()->names_used).load(std::memory_order_acquire),
               geometry.names_bytes);
  std::vector<std::byte> entries(used);
  region.CopyForeign(abi::NamesOffset(geometry.lanes, geometry.lane_slots), entries.data(), used);
  std::set<std::string> domains;
  for (size_t at = abi::kFirstNameOffset; at < used;) {
    const size_t bytes = NameEntryBytes(entries.data() + at, used - at);
    if (bytes == 0 || bytes > used - at) break;  // ReadNames() says that it is damaged
    abi::NameEntry entry;
    std::memcpy(&entry, entries.data() + at, sizeof(entry));
    if (entry.type == abi::kNameDomain) {
      domains.emplace(reinterpret_cast<const char*>(entries.data() + at + sizeof(entry)), entry.bytes);
    }
    at += bytes;
  }
  return domains;
}

}  // namespace profd::agent
