// The chunks of a flight recorder, of all streams of a session, in memory: the newest ones, what has been
// there longest makes way. Streams may have buffers of their own in it, which others do not touch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

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
    uint64_t number = 0;  // in the order they came
    chunk::Share share;
  };
  struct Buffer {
    uint64_t most_bytes = 0;
    bool keeps_first = false;  // what comes when it is full is not held
  };
  // What one of them takes besides its data.
  static constexpr uint64_t kOverhead = sizeof(Held) + 32;

  // `own` are 1, 2 … of Add(), and a part of `most_bytes`; buffer 0 has the rest.
  // Less than that where `account`, of its owner's recorders together, has no room for it.
  explicit RecentChunks(uint64_t most_bytes, const std::vector<Buffer>& own = {},
                        std::shared_ptr<chunk::Account> account = {});
  ~RecentChunks();
  RecentChunks(const RecentChunks&) = delete;
  RecentChunks& operator=(const RecentChunks&) = delete;

  // What begins later (host raw) is not held any more. **Thread:** any.
  void KeepUntil(uint64_t raw_ns) { until_ns_.store(raw_ns, std::memory_order_relaxed); }
  // A copy of it. A buffer never holds more than its bytes: one that is larger itself is not held.
  void Add(const chunk::Chunk& chunk, uint32_t buffer = 0);
  // All of one trace, in the order they came, are taken out. Those that end before `from_ns` (host raw) are
  // gone with that.
  std::deque<Held> Take(uint32_t trace, uint64_t from_ns);
  // Whether anything of the trace is there.
  bool HasAny(uint32_t trace) const;

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // When the first of them begins, host raw; 0: none is there.
  uint64_t from_ns() const { return from_ns_.load(std::memory_order_relaxed); }

 private:
  static uint64_t SizeOf(const Held& held) { return held.header.used + kOverhead; }
  void Publish();

  struct Ring {
    Buffer buffer;
    std::deque<Held> held = {};
    uint64_t bytes = 0;
  };

  const std::shared_ptr<chunk::Account> account_;
  std::deque<Ring> rings_;
  uint64_t added_ = 0;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> from_ns_{0};
  std::atomic<uint64_t> until_ns_{UINT64_MAX};
};

}  // namespace profd::store
