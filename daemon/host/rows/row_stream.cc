#include "daemon/host/rows/row_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace profd::host {

namespace {

constexpr uint64_t kMaxAgeNs = 100'000'000;

chunk::Item MakeItem(chunk::Item::What what, format::StreamKey key) {
  chunk::Item item;
  item.what = what;
  item.key = key;
  return item;
}

format::Loss LossBy(format::Loss::Where where) {
  format::Loss loss;
  loss.where = where;
  return loss;
}

}  // namespace

bool Outlet::Push(chunk::Item item) {
  if (!pipe->Push(std::move(item))) return false;
  pushed = true;
  return true;
}

bool Outlet::Claim(size_t bytes) {
  if (account.own() + bytes > kInAnyCase) return account.Claim(bytes);
  account.Take(bytes);
  return true;
}

RowStream::RowStream(Outlet& outlet, format::StreamKey key, std::shared_ptr<const chunk::StreamSpec> spec,
                     chunk::StreamStatsPtr stats)
    : outlet_(outlet),
      key_(key),
      spec_(std::move(spec)),
      stats_(std::move(stats)),
      pool_loss_(LossBy(format::Loss::Where::kPool)),
      sampler_loss_(LossBy(format::Loss::Where::kSampler)) {
  header_.key = key_;
  Announce();
}

bool RowStream::Announce() {
  if (spec_ == nullptr) return true;
  chunk::Item item = MakeItem(chunk::Item::What::kStream, key_);
  item.spec = spec_;
  if (!outlet_.Push(std::move(item))) return false;
  spec_ = nullptr;
  return true;
}

// For rows of so many bytes, at most a chunk's.
bool RowStream::HasRoom(size_t bytes) {
  if (bytes <= room_) return true;
  const size_t room = std::min(outlet_.pipe->chunk_bytes(), std::max<size_t>(2 * room_, bytes + 4096));
  if (!outlet_.Claim(room - room_)) return false;
  room_ = room;
  rows_.reserve(room);
  return true;
}

bool RowStream::Append(const Tick& tick, std::string_view row, uint32_t records) {
  const size_t chunk_bytes = outlet_.pipe->chunk_bytes();
  const auto fits = [&] {
    const size_t bytes = rows_.size() + row.size();
    return bytes <= chunk_bytes && outlet_.gathered + row.size() <= outlet_.max_gathered && HasRoom(bytes);
  };
  if (!fits() && (!Push() || !fits())) {
    if (records != 0) Lose(format::Loss::Where::kPool, tick.raw_ns, tick.raw_ns, records, row.size());
    return false;
  }
  FlushLosses();
  if (rows_.empty()) {
    header_.first_time_ns = tick.raw_ns;
    rows_since_mono_ns_ = tick.mono_ns;
  }
  rows_ += row;
  outlet_.gathered += row.size();
  header_.records += records;
  header_.last_time_ns = tick.raw_ns;
  records_ += records;
  chunk::Add(stats_->read_bytes, row.size());
  chunk::Add(stats_->read_records, records);
  stats_->last_data_ns.store(tick.raw_ns, std::memory_order_relaxed);
  return true;
}

void RowStream::Lose(format::Loss::Where where, uint64_t from_ns, uint64_t to_ns, uint64_t records,
                     uint64_t bytes) {
  Push();  // what came before the loss stays before it, if there is a way
  format::Loss& loss = where == format::Loss::Where::kPool ? pool_loss_ : sampler_loss_;
  loss.from_ns = loss.records == 0 ? from_ns : std::min(loss.from_ns, from_ns);
  loss.to_ns = std::max(loss.to_ns, to_ns);
  loss.records += records;
  loss.bytes += bytes;
  chunk::Add(stats_->lost_records, records);
  chunk::Add(stats_->lost_bytes, bytes);
}

bool RowStream::FlushLosses() {
  for (format::Loss* loss : {&sampler_loss_, &pool_loss_}) {
    if (loss->records == 0) continue;
    chunk::Item item = MakeItem(chunk::Item::What::kLoss, key_);
    item.loss = *loss;
    if (!outlet_.Push(std::move(item))) return false;
    *loss = LossBy(loss->where);
  }
  return true;
}

bool RowStream::Push() {
  if (rows_.empty()) return true;
  chunk::Chunk* chunk = Announce() ? outlet_.pipe->TryTake() : nullptr;
  if (chunk == nullptr) {
    outlet_.backlog = true;
    return false;
  }
  header_.used = static_cast<uint32_t>(rows_.size());
  chunk->header = header_;
  std::memcpy(chunk->data, rows_.data(), rows_.size());
  outlet_.gathered -= rows_.size();
  rows_.clear();
  if (outlet_.account.IsShort()) {
    rows_ = {};
    outlet_.account.Give(std::exchange(room_, 0));
  }
  header_.records = 0;
  ++header_.seq;
  chunk::Item item = MakeItem(chunk::Item::What::kChunk, key_);
  item.chunk = chunk;
  return outlet_.Push(std::move(item));
}

void RowStream::EndTick(uint64_t next_mono_ns) {
  if (next_mono_ns > rows_since_mono_ns_ + kMaxAgeNs) Push();
}

bool RowStream::Finish() { return Push() && Announce() && FlushLosses(); }

Output::Output(const SampleRequest& request)
    : trace_(request.trace),
      next_stream_(request.first_stream),
      outlet_(request.pipe),
      make_spec_(request.make_spec) {}

RowStream& Output::AddStream(const std::string& folder, const std::string& file,
                             chunk::StreamStatsPtr stats) {
  const format::StreamKey key{.trace = trace_, .stream = next_stream_++};
  std::shared_ptr<const chunk::StreamSpec> spec = make_spec_(folder, file, stats);
  return *streams_.emplace_back(std::make_unique<RowStream>(outlet_, key, std::move(spec), std::move(stats)));
}

bool Output::EndTick(uint64_t next_mono_ns) {
  for (const auto& stream : streams_) stream->EndTick(next_mono_ns);
  return !std::exchange(outlet_.backlog, false);
}

bool Output::Finish() {
  for (const auto& stream : streams_) {
    if (!stream->Finish()) return false;
  }
  return outlet_.Push(MakeItem(chunk::Item::What::kEnd, {.trace = trace_, .stream = 0}));
}

chunk::Pipe* Output::TakeKick() { return std::exchange(outlet_.pushed, false) ? outlet_.pipe : nullptr; }

}  // namespace profd::host
