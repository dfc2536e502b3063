#include "daemon/chunk/pipe.h"

#include <utility>

#include "base/status.h"

namespace profd::chunk {

namespace {
constexpr size_t kExtraItems = 1024;
}

Pipe::Pipe(std::string name, size_t chunk_bytes, size_t chunks, base::WakeUp& consumer)
    : name_(std::move(name)),
      chunk_bytes_(chunk_bytes),
      consumer_(consumer),
      memory_(std::make_shared<base::MappedRegion>(chunk_bytes * chunks)),
      chunks_(chunks),
      out_(chunks + kExtraItems),
      back_(chunks),
      extra_items_(out_.capacity() - chunks) {
  PROFD_CHECK(*memory_);
  free_.reserve(chunks);
  for (size_t i = chunks; i-- > 0;) {
    chunks_[i].data = memory_->data() + i * chunk_bytes;
    chunks_[i].capacity = static_cast<uint32_t>(chunk_bytes);
    free_.push_back(&chunks_[i]);
  }
}

size_t Pipe::Free() {
  Chunk* chunk = nullptr;
  while (back_.TryPop(chunk)) free_.push_back(chunk);
  in_flight_.store(chunks_.size() - free_.size(), std::memory_order_relaxed);
  return free_.size();
}

Chunk* Pipe::TryTake() {
  if (Free() == 0) return nullptr;
  Chunk* chunk = free_.back();
  free_.pop_back();
  chunk->header = {};
  return chunk;
}

void Pipe::PutBack(Chunk* chunk) { free_.push_back(chunk); }

bool Pipe::Push(Item item) {
  // The queue has a slot for every chunk; other items may only use the rest.
  if (item.what != Item::What::kChunk && out_.SizeApprox() >= extra_items_) return false;
  const bool pushed = out_.TryPush(std::move(item));
  PROFD_CHECK(pushed);
  return true;
}

void Pipe::Kick() { consumer_.Ring(); }

bool Pipe::Pop(Item& out) { return out_.TryPop(out); }

void Pipe::Return(Chunk* chunk) {
  const bool pushed = back_.TryPush(std::move(chunk));
  PROFD_CHECK(pushed);
}

}  // namespace profd::chunk
