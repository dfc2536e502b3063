// One source thread's road to one writer thread: a fixed set of chunks that travel out full and come back
// empty. No chunk free means the source drops and counts; the pipe never blocks either side. A chunk that
// nobody has needed for some time gives its memory back.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mapped_region.h"
#include "base/threads/spsc_queue.h"
#include "base/threads/wake_up.h"
#include "daemon/chunk/ledger.h"
#include "daemon/chunk/stream_spec.h"
#include "format/chunk.h"

namespace profd::chunk {

// A buffer with its header. Owner: whoever holds the pointer; it returns to the pipe it came from.
struct Chunk {
  format::ChunkHeader header;
  std::byte* data = nullptr;
  uint32_t capacity = 0;

  std::byte* Free() { return data + header.used; }
  uint32_t Room() const { return capacity - header.used; }
};

// What a source tells the writer, in order with its chunks.
struct Item {
  enum class What : uint8_t {
    kChunk,   // `chunk` holds data
    kLoss,    // `loss` happened to `key`, before whatever follows
    kStream,  // `key` is new; `spec` says what it is
    kEnd,     // this source has nothing more for trace `key.trace`
  };
  What what = What::kChunk;
  Chunk* chunk = nullptr;
  format::StreamKey key;
  format::Loss loss;
  std::shared_ptr<const StreamSpec> spec;
};

// What its chunks take of profd's memory: so many in any case, more if there is room.
struct PipeRoom {
  std::shared_ptr<Ledger> ledger = nullptr;
  size_t in_any_case = SIZE_MAX;
};

class Pipe {
 public:
  // `consumer` outlives the pipe and is rung by Kick(). Buffers are mapped at once, touched only when used.
  Pipe(std::string name, size_t chunk_bytes, size_t chunks, base::WakeUp& consumer, PipeRoom room = {});

  // -- source thread --
  // An empty chunk, most recently used first (warm cache, small RSS); nullptr when all are under way.
  Chunk* TryTake();
  // How many it would give now.
  size_t Free();
  // Gives back a chunk that was taken and not needed.
  void PutBack(Chunk* chunk);
  // Chunks always fit; false for another item when the queue is full (try again on the next sweep).
  bool Push(Item item);
  // After a batch of Push(): wakes the writer if it sleeps.
  void Kick();

  // -- writer thread --
  bool Pop(Item& out);
  void Return(Chunk* chunk);
  // How many Pop() gives at least.
  size_t Waiting() const { return out_.SizeApprox(); }

  // -- any thread --
  // Called every few seconds: the memory of chunks that were not needed since the last call goes back.
  void LetGoOfUnused();
  // From now on all chunks may be had in any case.
  void HaveAll() { in_any_case_.store(chunks_.size(), std::memory_order_relaxed); }
  const std::string& name() const { return name_; }
  size_t chunk_bytes() const { return chunk_bytes_; }
  size_t chunks() const { return chunks_.size(); }
  // What the chunks' bytes lie in, for whoever may write to one after the pipe is gone.
  std::shared_ptr<const base::MappedRegion> memory() const { return memory_; }
  size_t InFlight() const { return in_flight_.load(std::memory_order_relaxed); }
  const std::shared_ptr<Ledger>& ledger() const { return account_.ledger(); }

 private:
  size_t Idle() const { return touched_ - (chunks_.size() - free_.size()); }
  void Collect(std::unique_lock<std::mutex>& lock);
  bool MayTouchOneMore();
  void LetGo(size_t count, std::unique_lock<std::mutex>& lock);

  const std::string name_;
  const size_t chunk_bytes_;
  base::WakeUp& consumer_;
  std::atomic<size_t> in_any_case_;
  Account account_;  // of the chunks that take memory
  const std::shared_ptr<base::MappedRegion> memory_;
  std::vector<Chunk> chunks_;
  // Held for as long as it takes to move some pointers. It guards what follows, and the near end of `back_`.
  std::mutex mutex_;
  std::vector<Chunk*> free_;  // the last one goes first: those without memory are at the front
  size_t touched_ = 0;        // chunks with memory, here or away
  size_t least_idle_ = 0;     // of those that were here: the fewest since LetGoOfUnused()
  base::SpscQueue<Item> out_;
  base::SpscQueue<Chunk*> back_;
  size_t extra_items_;                // room for items that are not chunks
  std::atomic<size_t> in_flight_{0};  // chunks away from the source
};

}  // namespace profd::chunk
