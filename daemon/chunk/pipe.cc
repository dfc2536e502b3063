#include "daemon/chunk/pipe.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.h"

namespace profd::chunk {

namespace {

constexpr size_t kExtraItems = 1024;

// The whole pages of it.
void GiveBack(std::byte* data, size_t bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(data);
  const uintptr_t from = (at + page - 1) / page * page, to = (at + bytes) / page * page;
  if (from < to) ::madvise(data + (from - at), to - from, MADV_DONTNEED);
}

}  // namespace

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

void Pipe::Collect(std::unique_lock<std::mutex>& lock) {
  Chunk* chunk = nullptr;
  while (back_.TryPop(chunk)) free_.push_back(chunk);
  in_flight_.store(chunks_.size() - free_.size(), std::memory_order_relaxed);
  const size_t in_any_case = in_any_case_.load(std::memory_order_relaxed);
  // What a slow disk once made wait, when others need the room.
  if (Idle() == touched_ && touched_ > in_any_case && account_.IsShort()) LetGo(touched_ - in_any_case, lock);
}

size_t Pipe::Free() {
  std::unique_lock lock(mutex_);
  Collect(lock);
  const size_t in_any_case = in_any_case_.load(std::memory_order_relaxed);
  const size_t more =
      std::max<uint64_t>(account_.Room() / chunk_bytes_, in_any_case > touched_ ? in_any_case - touched_ : 0);
  return std::min(free_.size(), Idle() + more);
}

void Pipe::LetGoOfUnused() {
  std::unique_lock lock(mutex_);
  Collect(lock);
  LetGo(std::min(least_idle_, Idle()), lock);
  least_idle_ = Idle();
}

// So many that are idle, those that have been so for longest. Meanwhile they count as under way.
void Pipe::LetGo(size_t count, std::unique_lock<std::mutex>& lock) {
  if (count == 0) return;
  const auto first = free_.end() - static_cast<ptrdiff_t>(Idle()),
             end = first + static_cast<ptrdiff_t>(count);
  const std::vector<Chunk*> unused(first, end);
  free_.erase(first, end);
  lock.unlock();
  for (const Chunk* chunk : unused) GiveBack(chunk->data, chunk_bytes_);
  lock.lock();
  free_.insert(free_.begin(), unused.begin(), unused.end());
  touched_ -= count;
  account_.Give(count * chunk_bytes_);
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

Chunk* Pipe::TryTake() {
  std::unique_lock lock(mutex_);
  Collect(lock);
  if (free_.empty() || (Idle() == 0 && !MayTouchOneMore())) return nullptr;
  Chunk* chunk = free_.back();
  free_.pop_back();
  least_idle_ = std::min(least_idle_, Idle());
  chunk->header = {};
  return chunk;
}

void Pipe::PutBack(Chunk* chunk) {
  const std::lock_guard lock(mutex_);
  free_.push_back(chunk);
}

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
  const bool pushed = back_.TryPush(std::exchange(chunk, nullptr));
  PROFD_CHECK(pushed);
}

}  // namespace profd::chunk
