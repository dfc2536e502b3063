#include "daemon/device/streams/outlet.h"

#include <cstring>
#include <utility>

#include "base/status.h"

namespace profd::device {

using format::Loss;

Outlet::Outlet(format::StreamKey key, chunk::StreamStatsPtr stats, chunk::Pipe& pipe)
    : key_(key), stats_(std::move(stats)), pipe_(&pipe) {}

Outlet::~Outlet() {
  if (chunk_ != nullptr) pipe_->PutBack(chunk_);
}

bool Outlet::Ready() {
  if (chunk_ == nullptr) chunk_ = pipe_->TryTake();
  return chunk_ != nullptr;
}

void Outlet::Commit(uint32_t bytes, uint32_t records, uint64_t now_ns) {
  format::ChunkHeader& header = chunk_->header;
  if (header.used == 0) header.first_time_ns = now_ns;
  header.last_time_ns = now_ns;
  header.used += bytes;
  header.records += records;
  Count(bytes, records, now_ns);
}

std::shared_ptr<const base::MappedRegion> Outlet::GiveUpChunk() {
  chunk_ = nullptr;
  return pipe_->memory();
}

void Outlet::Append(const std::byte* data, uint32_t bytes, uint32_t records, uint64_t now_ns) {
  if (chunk_ != nullptr && chunk_->Room() < bytes) Send();
  if (!Ready()) {
    Lose(Loss::Where::kPool, last_append_ns_ == 0 ? now_ns : last_append_ns_, now_ns, records, bytes);
    Count(bytes, records, now_ns);
    return;
  }
  PROFD_CHECK(chunk_->Room() >= bytes);
  std::memcpy(chunk_->Free(), data, bytes);
  Commit(bytes, records, now_ns);
}

void Outlet::Count(uint32_t bytes, uint32_t records, uint64_t now_ns) {
  chunk::Add(stats_->read_bytes, bytes);
  chunk::Add(stats_->read_records, records);
  stats_->last_data_ns.store(now_ns, std::memory_order_relaxed);
  last_append_ns_ = now_ns;
}

void Outlet::Lose(Loss::Where where, uint64_t from_ns, uint64_t to_ns, uint64_t records, uint64_t bytes) {
  chunk::Add(stats_->lost_records, records);
  chunk::Add(stats_->lost_bytes, bytes);
  Loss& loss = losses_[where == Loss::Where::kPool ? 1 : 0];
  if ((loss.records | loss.bytes) == 0) loss = {.where = where, .from_ns = from_ns};
  loss.to_ns = to_ns;
  loss.records += records;
  loss.bytes += bytes;
}

bool Outlet::Push() {
  Send();
  return std::exchange(news_, false);
}

void Outlet::Send() {
  SendLosses();
  if (chunk_ == nullptr) return;
  chunk::Chunk* chunk = std::exchange(chunk_, nullptr);
  if (chunk->header.used == 0) {
    pipe_->PutBack(chunk);
    return;
  }
  chunk->header.key = key_;
  chunk->header.seq = seq_++;
  pipe_->Push({.what = chunk::Item::What::kChunk, .chunk = chunk, .key = key_, .loss = {}, .spec = {}});
  news_ = true;
}

// What does not fit the queue stays and grows until it does.
void Outlet::SendLosses() {
  for (Loss& loss : losses_) {
    if ((loss.records | loss.bytes) == 0) continue;
    if (!pipe_->Push(
            {.what = chunk::Item::What::kLoss, .chunk = nullptr, .key = key_, .loss = loss, .spec = {}})) {
      continue;
    }
    loss = {};
    news_ = true;
  }
}

}  // namespace profd::device
