#include "daemon/chunk/pipe.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace profd::chunk {

namespace {
constexpr size_t kExtraItems = 1024;
}

Pipe::Pipe(std::string name, size_t chunk_bytes, size_t chunks, base::WakeUp& consumer, PipeRoom room)
    : name_(std::move(name)),
      chunk_bytes_(chunk_bytes),
      consumer_(consumer),
      in_any_case_(std::min(chunks, room.in_any_case)),
      account_(std::move(room.ledger)),
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
  const size_t in_flight = chunks_.size() - free_.size();
  in_flight_.store(in_flight, std::memory_order_relaxed);
  const size_t in_any_case = in_any_case_.load(std::memory_order_relaxed);
  if (in_flight == 0 && touched_ > in_any_case && account_.IsShort()) LetGo(in_any_case);
  const size_t more =
      std::max<uint64_t>(account_.Room() / chunk_bytes_, in_any_case > touched_ ? in_any_case - touched_ : 0);
  return std::min(free_.size(), touched_ - in_flight + more);
}

bool Pipe::MayTouchOneMore() {
  if (touched_ < in_any_case_.load(std::memory_order_relaxed)) {
    account_.Take(chunk_bytes_);
  } else if (!account_.Claim(chunk_bytes_)) {
    return false;
  }
  ++touched_;
  return true;
}

// What a slow disk once made wait, when others need the room. All chunks are here.
void Pipe::LetGo(size_t kept) {
  for (size_t i = 0; i < chunks_.size(); ++i) free_[chunks_.size() - 1 - i] = &chunks_[i];
  constexpr size_t kPage = 65536;  // the largest
  const size_t from = (kept * chunk_bytes_ + kPage - 1) / kPage * kPage;
  if (from < memory_->size()) ::madvise(memory_->data() + from, memory_->size() - from, MADV_DONTNEED);
  account_.Give((touched_ - kept) * chunk_bytes_);
  touched_ = kept;
}

Chunk* Pipe::TryTake() {
  if (Free() == 0) return nullptr;
  const bool is_new = free_.size() <= chunks_.size() - touched_;
  if (is_new && !MayTouchOneMore()) return nullptr;
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
  // What was touched beyond what may be had in any case, in a burst, is not kept for the next.
  const auto number = static_cast<size_t>(chunk - chunks_.data());
  if (number >= in_any_case_.load(std::memory_order_relaxed))
    ::madvise(chunk->data, chunk_bytes_, MADV_DONTNEED);
  const bool pushed = back_.TryPush(std::move(chunk));
  PROFD_CHECK(pushed);
}

}  // namespace profd::chunk
