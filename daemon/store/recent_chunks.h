// The newest chunks of a flight recorder, of all streams of a session, in memory: what has been there longest
// makes way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "daemon/chunk/ledger.h"
#include "daemon/chunk/pipe.h"
#include "format/chunk.h"

namespace profd::store {

// **Thread:** the writer's; bytes() and from_ns() any.
class RecentChunks {
 public:
  struct Held {
    format::ChunkHeader header;
    std::unique_ptr<std::byte[]> data;
    chunk::Share share;
  };
  // What one of them takes besides its data.
  static constexpr uint64_t kOverhead = sizeof(Held) + 32;

  // Less than `most_bytes` where `account`, of its owner's recorders together, has no room for that.
  explicit RecentChunks(uint64_t most_bytes, std::shared_ptr<chunk::Account> account = {});
  ~RecentChunks();
  RecentChunks(const RecentChunks&) = delete;
  RecentChunks& operator=(const RecentChunks&) = delete;

  // What begins later (host raw) is not held any more. **Thread:** any.
  void KeepUntil(uint64_t raw_ns) { until_ns_.store(raw_ns, std::memory_order_relaxed); }
  // A copy of it. Never more than `most_bytes` are held: one that is larger itself is not.
  void Add(const chunk::Chunk& chunk);
  // All of one trace, in the order they came, are taken out. Those that end before `from_ns` (host raw) are
  // gone with that.
  std::deque<Held> Take(uint32_t trace, uint64_t from_ns);
  // Whether anything of the trace is there.
  bool HasAny(uint32_t trace) const;

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // When the first of them begins, host raw; 0: none is there.
  uint64_t from_ns() const { return from_ns_.load(std::memory_order_relaxed); }

 private:
  bool HasRoom(uint64_t bytes) const;
  static uint64_t SizeOf(const Held& held) { return held.header.used + kOverhead; }
  void Publish(uint64_t bytes);

  const uint64_t most_bytes_;
  const std::shared_ptr<chunk::Account> account_;
  std::deque<Held> held_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> from_ns_{0};
  std::atomic<uint64_t> until_ns_{UINT64_MAX};
};

}  // namespace profd::store
