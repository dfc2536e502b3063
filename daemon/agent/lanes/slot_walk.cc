#include "daemon/agent/lanes/slot_walk.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "libagent/abi/record.h"

namespace profd::agent {

namespace {

using format::AgentKind;

constexpr size_t kSlot = abi::kRecordBytes;

// By RecordKind: 1 in the byte of the AgentKind it counts for; 0: not an event.
using Tallies = std::array<uint64_t, 256>;
constexpr Tallies MakeTallies() {
  Tallies tallies{};
  const auto set = [&](abi::RecordKind kind, AgentKind counts_for) {
    tallies[kind] = uint64_t{1} << (8 * static_cast<int>(counts_for));
  };
  for (const auto kind : {abi::kRangePush, abi::kRangePop, abi::kRangeStart, abi::kRangeEnd}) {
    set(kind, AgentKind::kRange);
  }
  set(abi::kMark, AgentKind::kMark);
  set(abi::kDeviceMark, AgentKind::kMark);
  set(abi::kCounter, AgentKind::kCounter);
  set(abi::kStepBegin, AgentKind::kStep);
  set(abi::kStepEnd, AgentKind::kStep);
  set(abi::kKernel, AgentKind::kKernel);
  set(abi::kComm, AgentKind::kComm);
  set(abi::kApi, AgentKind::kApi);
  set(abi::kMemory, AgentKind::kMemory);
  return tallies;
}
constexpr Tallies kTallies = MakeTallies();

// A byte of a tally holds this many.
constexpr uint32_t kBatchSlots = 255;

// Second word of a slot: kind, more, …
uint64_t Word1(const std::byte* slot) {
  uint64_t word = 0;
  std::memcpy(&word, slot + sizeof(uint64_t), sizeof(word));
  return word;
}
uint64_t Stamp(const std::byte* slot) {
  uint64_t stamp = 0;
  std::memcpy(&stamp, slot, sizeof(stamp));
  return stamp;
}
uint32_t KindOf(uint64_t word1) { return word1 & 0xff; }
uint32_t MoreOf(uint64_t word1) { return word1 >> 8 & 0xff; }

uint32_t ThreadOf(const std::byte* slot) {
  abi::Record record;
  std::memcpy(&record, slot, sizeof(record));
  return static_cast<uint32_t>(record.value);
}

// The slots behind `record` are its payload.
bool PayloadIsWhole(const std::byte* record, uint32_t more) {
  const uint64_t stamp = Stamp(record);
  for (uint32_t i = 1; i <= more; ++i) {
    const std::byte* value = record + i * kSlot;
    const uint64_t word1 = Word1(value);
    if (KindOf(word1) != abi::kValue || MoreOf(word1) != more - i || Stamp(value) != stamp) return false;
  }
  return true;
}

enum class Verdict : uint8_t { kEvent, kOwn, kReport, kDamaged, kGoesOn };

// Of the record at `slot`, `left` slots before the end of the copy.
Verdict Judge(const std::byte* slot, size_t left) {
  const uint64_t word1 = Word1(slot);
  const uint32_t kind = KindOf(word1);
  const uint32_t more = MoreOf(word1);
  if (kind == abi::kThread || kind == abi::kLost) return more == 0 ? Verdict::kOwn : Verdict::kDamaged;
  const bool describes = kind == abi::kTensors, reports = kind == abi::kReport;
  if ((kTallies[kind] == 0 && !describes && !reports) || more > abi::kMaxValues) return Verdict::kDamaged;
  if (more >= left) return Verdict::kGoesOn;
  if (!PayloadIsWhole(slot, more)) return Verdict::kDamaged;
  if (reports) return more == 0 ? Verdict::kDamaged : Verdict::kReport;
  return describes ? Verdict::kOwn : Verdict::kEvent;
}

}  // namespace

WalkedSlots WalkSlots(std::byte* slots, SlotWalk& walk, format::BlockHeader& header) {
  const std::byte* in = slots + walk.first * kSlot;
  const std::byte* const end = slots + walk.count * kSlot;
  std::byte* out = slots;  // catches up with nothing: it is never ahead of `in`
  WalkedSlots walked;
  const auto keep = [&](uint32_t count) {
    if (in != out) std::memmove(out, in, count * kSlot);
    in += count * kSlot;
    out += count * kSlot;
  };
  header.tid = walk.tid;
  bool cut = false;
  while (in < end && !cut) {
    uint64_t tally = 0;
    const std::byte* const batch_end = in + std::min<size_t>(end - in, kBatchSlots * kSlot);
    while (in < batch_end) {
      const uint64_t word1 = Word1(in);
      const uint64_t one = kTallies[KindOf(word1)];
      if (one != 0 && MoreOf(word1) == 0) [[likely]] {
        tally += one;
        keep(1);
        continue;
      }
      Verdict verdict = Judge(in, static_cast<size_t>(end - in) / kSlot);
      if (verdict == Verdict::kGoesOn && walk.last) verdict = Verdict::kDamaged;
      if (verdict == Verdict::kReport && walk.reports == nullptr) verdict = Verdict::kDamaged;
      if (verdict == Verdict::kEvent) {
        tally += one;
        for (size_t i = 0; i < format::kAgentKinds; ++i) {
          if ((one >> (8 * i) & 1) != 0) header.kind_slots[i] += MoreOf(word1);
        }
        keep(1 + MoreOf(word1));
      } else if (verdict == Verdict::kOwn) {
        if (KindOf(word1) == abi::kThread) {
          walk.tid = ThreadOf(in);
          if (out == slots) header.tid = walk.tid;
        }
        keep(1 + MoreOf(word1));
      } else if (verdict == Verdict::kReport) {
        const size_t bytes = (1 + MoreOf(word1)) * kSlot;
        walk.reports->Take({in, bytes});
        in += bytes;
      } else if (verdict == Verdict::kDamaged) {
        ++walked.damaged;
        in += kSlot;
      } else {
        cut = true;
        break;
      }
    }
    for (size_t i = 0; i < format::kAgentKinds; ++i) {
      header.kind_records[i] += static_cast<uint32_t>(tally >> (8 * i) & 0xff);
    }
  }
  for (size_t i = 0; i < format::kAgentKinds; ++i) {
    header.records += header.kind_records[i];
    header.kind_slots[i] += header.kind_records[i];
  }
  walked.taken = static_cast<uint32_t>((in - slots) / kSlot);
  walked.kept = static_cast<uint32_t>((out - slots) / kSlot);
  if (walked.kept != 0) {
    header.first_stamp = Stamp(slots);
    header.last_stamp = Stamp(out - kSlot);  // payload repeats the stamp of its record
  }
  return walked;
}

uint32_t SkipOld(const std::byte* slots, uint32_t first, uint32_t count, uint64_t oldest_ticks,
                 uint32_t& tid) {
  for (; first < count && Stamp(slots + first * kSlot) < oldest_ticks; ++first) {
    if (KindOf(Word1(slots + first * kSlot)) == abi::kThread) tid = ThreadOf(slots + first * kSlot);
  }
  return first;
}

uint32_t SkipPayload(const std::byte* slots, uint32_t first, uint32_t count) {
  while (first < count && KindOf(Word1(slots + first * kSlot)) == abi::kValue) ++first;
  return first;
}

}  // namespace profd::agent
