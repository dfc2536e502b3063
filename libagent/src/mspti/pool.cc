#include "libagent/src/mspti/pool.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace profd::agent::mspti {

namespace {

constexpr size_t kBufferBytes = 4U << 20;
constexpr uint32_t kBuffers = 12;
constexpr uint32_t kMostWaiting = 8;
// For when all of those are out, as in a burst: they are counted when they come back, never read. The last
// one may be out more than once, and what it holds then is counted as far as it is whole.
constexpr uint32_t kCounted = 20;
constexpr uint32_t kTrash = kBuffers + kCounted;

enum State : uint8_t { kFree, kOut, kFull, kTaken };

struct Slot {
  std::atomic<uint8_t> state;
  std::atomic<uint64_t> order;
  std::atomic<uint64_t> asked_wall_ns, asked_raw_ns;
  size_t valid;  // written before `state` says kFull, …
  Filled filled;
};

// The mapping stays: the vendor may hold a buffer for as long as the process lives.
std::atomic<uint8_t*> g_base;
Slot g_slots[kTrash + 1];
std::atomic<uint32_t> g_waiting;
std::atomic<uint64_t> g_order;
std::atomic<bool> g_open;
std::atomic<int> g_wake{-1};
std::atomic<uint64_t> g_swallowed;

void Ring() {
  const int before = errno;
  const uint64_t one = 1;
  ::syscall(SYS_write, g_wake.load(std::memory_order_relaxed), &one, sizeof(one));
  errno = before;
}

// Its memory, to the system.
void GiveBack(uint8_t* buffer) {
  const int before = errno;
  ::madvise(buffer, kBufferBytes, MADV_DONTNEED);
  errno = before;
}

// Reads nothing but kinds and times.
void Swallow(const uint8_t* bytes, size_t valid, const Filled& filled) {
  Walker walker(bytes, valid);
  Activity activity;
  uint64_t count = 0;
  while (walker.Next(&activity)) count += WasRecording(activity.begin_ns, activity.end_ns, filled) ? 1 : 0;
  g_swallowed.fetch_add(count + UnreadOf(walker, filled), std::memory_order_relaxed);
}

bool Take(uint32_t index) {
  uint8_t expected = kFull;
  return g_slots[index].state.compare_exchange_strong(expected, kTaken);
}

void SwallowOne(const Buffer& buffer) {
  Swallow(buffer.bytes, buffer.valid, buffer.filled);
  Return(buffer);
}

}  // namespace

uint64_t UnreadOf(const Walker& walker, const Filled& filled) {
  const bool wanted = walker.stuck() && WasRecording(filled.from.wall_ns, filled.to.wall_ns, filled);
  return wanted ? walker.Unread() : 0;
}

void Request(uint8_t** buffer, size_t* size, size_t* max_records) {
  uint8_t* base = g_base.load(std::memory_order_acquire);
  uint32_t index = 0;
  for (; index < kTrash; ++index) {
    uint8_t expected = kFree;
    if (g_slots[index].state.compare_exchange_strong(expected, kOut, std::memory_order_acquire)) break;
  }
  const Moment now = Now();
  g_slots[index].asked_wall_ns.store(now.wall_ns, std::memory_order_relaxed);
  g_slots[index].asked_raw_ns.store(now.raw_ns, std::memory_order_relaxed);
  *buffer = base + index * kBufferBytes;  // kTrash may be out more than once
  *size = kBufferBytes;
  *max_records = 0;
}

void Complete(uint8_t* buffer, size_t, size_t valid) {
  uint8_t* base = g_base.load(std::memory_order_acquire);
  if (buffer == nullptr || base == nullptr || buffer < base) return;
  const size_t index = static_cast<size_t>(buffer - base) / kBufferBytes;
  if (index > kTrash || valid > kBufferBytes) return;  // another tool's
  Slot& slot = g_slots[index];
  const Filled filled = {
      {slot.asked_wall_ns.load(std::memory_order_relaxed), slot.asked_raw_ns.load(std::memory_order_relaxed)},
      Now()};
  const bool open = g_open.load(std::memory_order_acquire);
  if (index < kBuffers && open && g_waiting.load(std::memory_order_relaxed) < kMostWaiting) {
    slot.valid = valid;
    slot.filled = filled;
    slot.order.store(g_order.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    g_waiting.fetch_add(1, std::memory_order_relaxed);
    slot.state.store(kFull);
    // Closed meanwhile: nobody may have seen it.
    if (!g_open.load() && Take(static_cast<uint32_t>(index)))
      return SwallowOne({buffer, valid, filled, static_cast<uint32_t>(index)});
    return Ring();
  }
  Swallow(buffer, valid, filled);
  if (index == kTrash) return;
  if (index >= kBuffers) GiveBack(buffer);
  slot.state.store(kFree, std::memory_order_release);
}

bool OpenPool(int wake) {
  if (g_base.load(std::memory_order_relaxed) == nullptr) {
    void* memory = ::mmap(nullptr, (kTrash + 1) * kBufferBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    g_base.store(static_cast<uint8_t*>(memory), std::memory_order_release);
  }
  g_wake.store(wake, std::memory_order_relaxed);
  g_swallowed.store(0, std::memory_order_relaxed);
  g_open.store(true, std::memory_order_release);
  return true;
}

void ClosePool() {
  g_open.store(false);
  Buffer left;
  while (TakeFull(&left)) SwallowOne(left);
}

bool TakeFull(Buffer* buffer) {
  uint32_t oldest;
  do {
    oldest = kBuffers;
    for (uint32_t index = 0; index < kBuffers; ++index) {
      const Slot& slot = g_slots[index];
      if (slot.state.load() != kFull) continue;
      if (oldest == kBuffers || slot.order.load(std::memory_order_relaxed) <
                                    g_slots[oldest].order.load(std::memory_order_relaxed)) {
        oldest = index;
      }
    }
    if (oldest == kBuffers) return false;
  } while (!Take(oldest));
  *buffer = {g_base.load(std::memory_order_relaxed) + oldest * kBufferBytes, g_slots[oldest].valid,
             g_slots[oldest].filled, oldest};
  return true;
}

void Return(const Buffer& buffer) {
  g_waiting.fetch_sub(1, std::memory_order_relaxed);
  g_slots[buffer.index].state.store(kFree, std::memory_order_release);
}

void TrimPool() {
  uint8_t* base = g_base.load(std::memory_order_relaxed);
  if (base == nullptr) return;
  for (uint32_t index = 0; index < kBuffers; ++index) {
    // Taken while it is emptied, so that nobody is writing to it.
    uint8_t expected = kFree;
    if (!g_slots[index].state.compare_exchange_strong(expected, kOut, std::memory_order_acquire)) continue;
    GiveBack(base + index * kBufferBytes);
    g_slots[index].state.store(kFree, std::memory_order_release);
  }
}

uint64_t TakeSwallowed() { return g_swallowed.exchange(0, std::memory_order_relaxed); }

void ResetPoolAfterFork() {
  g_open.store(false, std::memory_order_relaxed);
  g_waiting.store(0, std::memory_order_relaxed);
  for (Slot& slot : g_slots) {
    if (const uint8_t state = slot.state.load(std::memory_order_relaxed); state == kFull || state == kTaken)
      slot.state.store(kFree, std::memory_order_relaxed);
  }
}

}  // namespace profd::agent::mspti
