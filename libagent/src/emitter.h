// The recording path: from a call to 32 bytes in the calling thread's lane.
//
// A thread that records holds an Owner for the rest of its life; the Owner gets a lane in each region.
// Whether and for whom to record is one word, profd_agent_active: 0 nobody, 1 not started, else the number of
// the current recording (its generation). The Owner repeats the number, so one comparison catches a thread
// without a lane, a new recording, a new region and a forked child (Owners live in memory that fork wipes).
#pragma once

#include <atomic>
#include <cstdint>

#include "libagent/abi/lane.h"
#include "libagent/include/profd/agent.h"
#include "libagent/src/tables/clock.h"
#include "libagent/src/tables/domains.h"

namespace profd::agent {

inline constexpr uint32_t kIdle = 0;
inline constexpr uint32_t kNotStarted = 1;
inline constexpr uint32_t kFirstGeneration = 2;
inline constexpr uint32_t kLastGeneration = (1U << 30) - 1;

// Beside the generation in an Owner's state. One comparison says that a record can be begun at once.
inline constexpr uint32_t kBusy = 1U << 31;    // in the middle of a record
inline constexpr uint32_t kFenced = 1U << 30;  // no membarrier here: the thread pays for its own fence

inline constexpr int kUntracked = -2;

// How deep a thread is in its ranges of one domain.
struct Depth {
  uint16_t domain;
  uint16_t used;
  int32_t depth;
};

// What one recording thread needs at hand. **Thread:** the one that took it; `state` is read by the thread
// that stops a recording.
struct alignas(128) Owner {
  std::atomic<uint32_t> state;  // the generation it has a lane for (0: none), kBusy, kFenced
  uint32_t kinds;               // bit 1 << RecordKind: wanted, of the default domain where it has one
  uint64_t* ring;
  uint64_t mask;   // slots - 1
  uint64_t head;   // our own word for lane->head
  uint64_t quick;  // as `room` where kInlineCounter is the counter, else 0
  abi::Lane* lane;
  abi::CounterKind counter;
  uint32_t kinds_in_domains;  // as `kinds`, where IsRecorded() says yes
  uint64_t ranges_started;    // for ids
  uint64_t room;              // slots below it may be written without asking
  bool overwrite;
  // Slow paths only from here.
  int32_t tid;      // 0: free
  uint32_t region;  // number of the region that `lane` is in
  uint32_t lane_index;
  uint64_t thread_said_at;  // head behind the latest kThread record
  uint64_t lost_pending;    // records lost since the last kLost record
  uint64_t lost_first;
  uint64_t lost_last;
  Depth depths[8];
};

extern constinit thread_local Owner* t_owner;  // NOLINT(bugprone-dynamic-static-initializers)

inline uint32_t Generation() { return __atomic_load_n(&profd_agent_active, __ATOMIC_RELAXED); }

// The slow part of Enter: starts the agent, takes a lane, or finds out why not.
Owner* EnterSlow(uint32_t generation, uint64_t records = 1);
// The owner asks again when it gets to that slot.
void SetRoom(Owner* owner, uint64_t until);
// Room for `slots` more, or the loss is counted.
bool MakeRoom(Owner* owner, uint32_t slots);

// Whether a thread can record without asking for a lane first.
inline bool IsReady(const Owner* owner, uint32_t generation) {
  return owner != nullptr && owner->state.load(std::memory_order_relaxed) == generation;
}

inline void Leave(Owner* owner) {
  owner->state.store(owner->state.load(std::memory_order_relaxed) & ~kBusy, std::memory_order_release);
}

// The quick part of Enter, for an Owner that is ready.
inline Owner* EnterReady(Owner* owner, uint32_t generation) {
  owner->state.store(generation | kBusy, std::memory_order_relaxed);
  // Pairs with Quiesce: it sees kBusy, or we see that recording has stopped.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (Generation() == generation) [[likely]]
    return owner;
  Leave(owner);
  return nullptr;
}

// The calling thread's Owner for one record, to be given to Leave; nullptr: don't record. `records`: as many
// are lost then, where they should have been.
inline Owner* Enter(uint32_t generation, uint64_t records = 1) {
  Owner* owner = t_owner;
  return IsReady(owner, generation) ? EnterReady(owner, generation) : EnterSlow(generation, records);
}

// Of the default domain, or of no domain.
inline bool Wants(const Owner* owner, abi::RecordKind kind) { return (owner->kinds >> kind & 1U) != 0; }
inline bool WantsIn(const Owner* owner, abi::RecordKind kind, uint32_t domain) {
  return (owner->kinds_in_domains >> kind & 1U) != 0 && IsRecorded(domain);
}

// The four words of a slot; see abi::Record and abi::ValueSlot.
struct Words {
  uint64_t word[4];
};
inline Words RecordWords(uint64_t stamp, abi::RecordKind kind, uint32_t more, uint16_t domain, uint32_t name,
                         uint64_t value, uint32_t category, uint32_t detail) {
  return {{stamp,
           static_cast<uint64_t>(kind) | uint64_t{more} << 8 | uint64_t{domain} << 16 | uint64_t{name} << 32,
           value, uint64_t{category} | uint64_t{detail} << 32}};
}

inline void PutSlot(Owner* owner, uint64_t slot, const Words& words) {
  uint64_t* to = owner->ring + (slot & owner->mask) * (abi::kRecordBytes / sizeof(uint64_t));
  // One by one: of a loop the compiler makes one, over words that went through the stack.
  std::atomic_ref(to[0]).store(words.word[0], std::memory_order_relaxed);
  std::atomic_ref(to[1]).store(words.word[1], std::memory_order_relaxed);
  std::atomic_ref(to[2]).store(words.word[2], std::memory_order_relaxed);
  std::atomic_ref(to[3]).store(words.word[3], std::memory_order_relaxed);
}

// Before the first PutSlot of a record: see "overwrite oldest" in lane.h.
inline void BeginPut([[maybe_unused]] const Owner* owner) {
#if !defined(__x86_64__)  // where it is no instruction
  if (!owner->overwrite) return;
#endif
  std::atomic_thread_fence(std::memory_order_release);
}

inline void Publish(Owner* owner, uint64_t head) {
  owner->head = head;
  std::atomic_ref(owner->lane->head).store(head, std::memory_order_release);
}

// EmitAndLeave without its short cut.
int32_t EmitSlowAndLeave(Owner* owner, abi::RecordKind kind, uint16_t domain, uint32_t name, uint64_t value,
                         uint32_t detail);

// One record without payload, after Enter. Returns `detail`, for those who return it too: everything that is
// not the quick path can then be left with a jump, and the quick path saves no registers.
inline int32_t EmitAndLeave(Owner* owner, abi::RecordKind kind, uint16_t domain, uint32_t name,
                            uint64_t value, uint32_t detail) {
  const uint64_t head = owner->head;
  if (head >= owner->quick) [[unlikely]] {
    return EmitSlowAndLeave(owner, kind, domain, name, value, detail);
  }
  BeginPut(owner);
  PutSlot(owner, head, RecordWords(ReadCounter(kInlineCounter), kind, 0, domain, name, value, 0, detail));
  Publish(owner, head + 1);
  Leave(owner);
  return static_cast<int32_t>(detail);
}

// One record with the event's payload. Between Enter and Leave.
void EmitEvent(Owner* owner, abi::RecordKind kind, const profd_event& event, uint64_t value, uint32_t detail);

// One record whose slots are ready but for the stamp. Between Enter and Leave.
void EmitSlots(Owner* owner, Words* slots, uint32_t count);

// Whether a record of so many slots finds room now. Between Enter and Leave.
bool HasRoom(const Owner* owner, uint32_t slots);

// Counts records that were lost before they got here. Between Enter and Leave.
void LoseRecords(Owner* owner, uint64_t records);

// As Enter, for records that come later than what they tell of: from Arm until Disarm, pauses included. What
// finds no lane counts as so many lost records.
Owner* EnterLate(uint64_t records);

// An id for a range, unique in the process. Between Enter and Leave.
uint64_t NextRangeId(Owner* owner);

// The depth counter of a domain; nullptr: the thread uses too many domains. Between Enter and Leave.
int32_t* DepthOf(Owner* owner, uint16_t domain);

}  // namespace profd::agent
