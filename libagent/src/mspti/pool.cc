#include "libagent/src/mspti/pool.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "libagent/src/tables/spans.h"

namespace profd::agent::mspti {

namespace {

constexpr size_t kBufferBytes = 4U << 20;
constexpr uint32_t kBuffers = 12;
constexpr uint32_t kMostWaiting = 8;
constexpr uint32_t kTrash = kBuffers;  // one more: for when all others are out

enum State : uint8_t { kFree, kOut, kFull };

struct Slot {
  std::atomic<uint8_t> state;
  std::atomic<uint64_t> order;
  size_t valid;  // written before `state` says kFull
};

// The mapping stays: the vendor may hold a buffer for as long as the process lives.
std::atomic<uint8_t*> g_base;
Slot g_slots[kBuffers];
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

// Reads nothing but kinds and times.
void Swallow(const uint8_t* bytes, size_t valid) {
  Walker walker(bytes, valid);
  Activity activity;
  uint64_t count = 0;
  while (walker.Next(&activity)) count += WasRecording(activity.begin_ns, activity.end_ns) ? 1 : 0;
  g_swallowed.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace

void Request(uint8_t** buffer, size_t* size, size_t* max_records) {
  uint8_t* base = g_base.load(std::memory_order_acquire);
  uint32_t index = 0;
  for (; index < kBuffers; ++index) {
    uint8_t expected = kFree;
    if (g_slots[index].state.compare_exchange_strong(expected, kOut, std::memory_order_acquire)) break;
  }
  *buffer = base + index * kBufferBytes;  // kTrash may be out more than once
  *size = kBufferBytes;
  *max_records = 0;
}

void Complete(uint8_t* buffer, size_t, size_t valid) {
  uint8_t* base = g_base.load(std::memory_order_acquire);
  if (buffer == nullptr || base == nullptr || buffer < base) return;
  const size_t index = static_cast<size_t>(buffer - base) / kBufferBytes;
  if (index > kTrash || valid > kBufferBytes) return;  // another tool's
  const bool open = g_open.load(std::memory_order_acquire);
  if (index < kTrash && open && g_waiting.load(std::memory_order_relaxed) < kMostWaiting) {
    g_slots[index].valid = valid;
    g_slots[index].order.store(g_order.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    g_waiting.fetch_add(1, std::memory_order_relaxed);
    g_slots[index].state.store(kFull, std::memory_order_release);
    return Ring();
  }
  Swallow(buffer, valid);
  if (index < kTrash) g_slots[index].state.store(kFree, std::memory_order_release);
}

bool OpenPool(int wake) {
  if (g_base.load(std::memory_order_relaxed) == nullptr) {
    void* memory = ::mmap(nullptr, (kBuffers + 1) * kBufferBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    g_base.store(static_cast<uint8_t*>(memory), std::memory_order_release);
  }
  g_wake.store(wake, std::memory_order_relaxed);
  Buffer left;  // handed over as the pool closed; its texts are gone
  while (TakeFull(&left)) Return(left);
  g_swallowed.store(0, std::memory_order_relaxed);
  g_open.store(true, std::memory_order_release);
  return true;
}

void ClosePool() {
  g_open.store(false, std::memory_order_release);
  Buffer left;
  while (TakeFull(&left)) {
    Swallow(left.bytes, left.valid);
    Return(left);
  }
}

bool TakeFull(Buffer* buffer) {
  uint32_t oldest = kBuffers;
  for (uint32_t index = 0; index < kBuffers; ++index) {
    const Slot& slot = g_slots[index];
    if (slot.state.load(std::memory_order_acquire) != kFull) continue;
    if (oldest == kBuffers ||
        slot.order.load(std::memory_order_relaxed) < g_slots[oldest].order.load(std::memory_order_relaxed)) {
      oldest = index;
    }
  }
  if (oldest == kBuffers) return false;
  *buffer = {g_base.load(std::memory_order_relaxed) + oldest * kBufferBytes, g_slots[oldest].valid, oldest};
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
    ::madvise(base + index * kBufferBytes, kBufferBytes, MADV_DONTNEED);
    g_slots[index].state.store(kFree, std::memory_order_release);
  }
}

uint64_t TakeSwallowed() { return g_swallowed.exchange(0, std::memory_order_relaxed); }

void ResetPoolAfterFork() {
  g_open.store(false, std::memory_order_relaxed);
  g_waiting.store(0, std::memory_order_relaxed);
  for (Slot& slot : g_slots) {
    if (slot.state.load(std::memory_order_relaxed) == kFull)
      slot.state.store(kFree, std::memory_order_relaxed);
  }
}

}  // namespace profd::agent::mspti
