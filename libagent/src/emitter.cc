#include "libagent/src/emitter.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "libagent/src/process.h"

namespace profd::agent {

namespace {

// Not write(): that is a cancellation point, and errno is the caller's.
void WakeReader() {
  const int before = errno;
  const uint64_t one = 1;
  ::syscall(SYS_write, Own(kLaneWakeFd).get(), &one, sizeof(one));
  errno = before;
}

void SayThread(Owner* owner) {
  PutSlot(owner, owner->head,
          RecordWords(ReadCounter(owner->counter), abi::kThread, 0, 0, 0, static_cast<uint64_t>(owner->tid),
                      0, 0));
  Publish(owner, owner->head + 1);
  owner->thread_said_at = owner->head;
}

constexpr uint64_t kOwnRecords = 2;  // kLost and kThread

// How many slots the value takes.
uint32_t SlotsOf(const profd_value& value) {
  if (value.type < PROFD_U64 || value.type > PROFD_NAME) return 0;
  if (value.type != PROFD_TEXT) return 1;
  if (value.as.text == nullptr) return 0;
  const size_t bytes = ::strnlen(value.as.text, abi::kMaxValues * abi::kTextBytes + 1);
  return bytes == 0 ? 1 : static_cast<uint32_t>((bytes + abi::kTextBytes - 1) / abi::kTextBytes);
}

Words ValueWords(uint64_t stamp, uint32_t more, uint32_t type, uint32_t bytes, uint32_t key) {
  return {{stamp,
           uint64_t{abi::kValue} | uint64_t{more} << 8 | uint64_t{type} << 16 | uint64_t{bytes} << 24 |
               uint64_t{key} << 32,
           0, 0}};
}

// Returns the slot behind the value's last one; `left` are the payload slots from this value on.
uint64_t PutValue(Owner* owner, uint64_t slot, const profd_value& value, uint64_t stamp, uint32_t left) {
  if (value.type != PROFD_TEXT) {
    Words words = ValueWords(stamp, left - 1, value.type, 0, value.key);
    words.word[2] = value.type == PROFD_NAME ? value.as.name : value.as.u64;
    PutSlot(owner, slot, words);
    return slot + 1;
  }
  const uint32_t slots = SlotsOf(value);
  size_t rest = ::strnlen(value.as.text, slots * abi::kTextBytes);
  const char* text = value.as.text;
  for (uint32_t i = 0; i < slots; ++i) {
    const size_t bytes = std::min<size_t>(rest, abi::kTextBytes);
    const uint32_t goes_on = i + 1 < slots ? abi::kTextGoesOn : 0;
    Words words = ValueWords(stamp, --left, value.type, static_cast<uint32_t>(bytes) | goes_on, value.key);
    memcpy(&words.word[2], text, bytes);
    PutSlot(owner, slot + i, words);
    text += bytes;
    rest -= bytes;
  }
  return slot + slots;
}

}  // namespace

void SetRoom(Owner* owner, uint64_t until) {
  owner->room = until;
  owner->quick = owner->counter == kInlineCounter ? until : 0;
}

bool MakeRoom(Owner* owner, uint32_t slots) {
  const uint64_t capacity = owner->mask + 1;
  const uint64_t half = capacity / 2;
  if (owner->overwrite) {
    if (owner->head - owner->thread_said_at >= half) {
      BeginPut(owner);
      SayThread(owner);
    }
    SetRoom(owner, owner->thread_said_at + half);
    return true;
  }
  const uint64_t tail = std::atomic_ref(owner->lane->tail).load(std::memory_order_acquire);
  const uint64_t used = owner->head - tail;  // a tail that makes no sense looks like a full ring
  if (used + slots + kOwnRecords > capacity) {
    std::atomic_ref(owner->lane->lost).fetch_add(1, std::memory_order_relaxed);
    owner->lost_last = ReadCounter(owner->counter);
    if (owner->lost_pending++ == 0) {
      owner->lost_first = owner->lost_last;
      SetRoom(owner, owner->head);  // until there is room, every record asks
      WakeReader();
    }
    return false;
  }
  if (owner->lost_pending != 0) {
    Words lost = RecordWords(owner->lost_first, abi::kLost, 0, 0, 0, owner->lost_pending, 0, 0);
    lost.word[3] = owner->lost_last;
    PutSlot(owner, owner->head, lost);
    Publish(owner, owner->head + 1);
    owner->lost_pending = 0;
  }
  if (owner->head - owner->thread_said_at >= capacity) SayThread(owner);
  if (used < half) {
    SetRoom(owner, tail + half);
    if (owner->head + slots > owner->room) SetRoom(owner, owner->head + slots);
  } else {
    SetRoom(owner, tail + capacity - kOwnRecords);
    WakeReader();
  }
  return true;
}

int32_t EmitSlowAndLeave(Owner* owner, abi::RecordKind kind, uint16_t domain, uint32_t name, uint64_t value,
                         uint32_t detail) {
  if (owner->head < owner->room || MakeRoom(owner, 1)) {
    BeginPut(owner);
    PutSlot(owner, owner->head,
            RecordWords(ReadCounter(owner->counter), kind, 0, domain, name, value, 0, detail));
    Publish(owner, owner->head + 1);
  }
  Leave(owner);
  return static_cast<int32_t>(detail);
}

bool HasRoom(const Owner* owner, uint32_t slots) {
  if (owner->overwrite) return true;
  const uint64_t tail = std::atomic_ref(owner->lane->tail).load(std::memory_order_acquire);
  return owner->head - tail + slots + kOwnRecords <= owner->mask + 1;
}

void LoseRecords(Owner* owner, uint64_t records) {
  std::atomic_ref(owner->lane->lost).fetch_add(records, std::memory_order_relaxed);
  owner->lost_last = ReadCounter(owner->counter);
  if (owner->lost_pending == 0) owner->lost_first = owner->lost_last;
  owner->lost_pending += records;
  SetRoom(owner, owner->head);  // the next record says so first
}

void EmitSlots(Owner* owner, Words* slots, uint32_t count) {
  if (owner->head + count > owner->room && !MakeRoom(owner, count)) return;
  BeginPut(owner);
  const uint64_t stamp = ReadCounter(owner->counter);
  for (uint32_t i = 0; i < count; ++i) {
    slots[i].word[0] = stamp;
    PutSlot(owner, owner->head + i, slots[i]);
  }
  Publish(owner, owner->head + count);
}

int32_t* DepthOf(Owner* owner, uint16_t domain) {
  if (domain == 0) return &owner->depths[0].depth;
  for (Depth& entry : owner->depths) {
    if (entry.used == 0) entry = {domain, 1, 0};
    if (entry.domain == domain) return &entry.depth;
  }
  return nullptr;
}

void EmitEvent(Owner* owner, abi::RecordKind kind, const profd_event& event, uint64_t value,
               uint32_t detail) {
  // Values are left out from the first that doesn't fit.
  uint32_t more = 0;
  size_t count = 0;
  for (; event.values != nullptr && count < event.value_count; ++count) {
    const uint32_t slots = SlotsOf(event.values[count]);
    if (more + slots > abi::kMaxValues) break;
    more += slots;
  }
  if (owner->head + 1 + more > owner->room && !MakeRoom(owner, 1 + more)) return;
  BeginPut(owner);
  const uint64_t stamp = ReadCounter(owner->counter);
  PutSlot(owner, owner->head,
          RecordWords(stamp, kind, more, static_cast<uint16_t>(event.domain), event.name, value,
                      event.category, detail));
  uint64_t slot = owner->head + 1;
  const uint64_t end = slot + more;
  for (size_t i = 0; i < count; ++i) {
    if (SlotsOf(event.values[i]) == 0) continue;
    slot = PutValue(owner, slot, event.values[i], stamp, static_cast<uint32_t>(end - slot));
  }
  Publish(owner, end);
}

}  // namespace profd::agent
