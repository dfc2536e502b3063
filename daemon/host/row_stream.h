// One text file of one session on its way to the writer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/chunk/pipe.h"
#include "daemon/chunk/stream_stats.h"
#include "daemon/host/sampler.h"
#include "daemon/host/tick.h"
#include "format/chunk.h"

namespace profd::host {

// The pipe of one session with what happened on it since the last tick ended.
struct Outlet {
  explicit Outlet(chunk::Pipe* to) : pipe(to) {}
  bool Push(chunk::Item item);

  chunk::Pipe* const pipe;
  bool pushed = false;   // the writer must be woken
  bool starved = false;  // no chunk was free: hand over what is being filled, so that chunks come back sooner
};

// Collects whole rows in chunks; a row that finds no room is counted and reported with its time.
// **Thread:** sample. **Owns:** the chunk being filled.
class RowStream {
 public:
  RowStream(Outlet& outlet, format::StreamKey key, std::shared_ptr<const void> spec,
            chunk::StreamStatsPtr stats);
  ~RowStream();
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  // A row or block is never split. `records` is 0 for a line that holds no measurement of its own: such a
  // line may get lost without being counted. False when it was lost.
  bool Append(const Tick& tick, std::string_view row, uint32_t records = 1);
  // Rows that were never made.
  void Lose(format::Loss::Where where, uint64_t from_ns, uint64_t to_ns, uint64_t records,
            uint64_t bytes = 0);
  // Hands the chunk over if its first row would be older than 100 ms at `next_mono_ns`, the next chance to do
  // so.
  void EndTick(uint64_t next_mono_ns);
  // Hands everything over; false while the queue has no room for it (call again).
  bool Finish();

  uint64_t records() const { return records_; }

 private:
  bool Announce();
  bool FlushLosses();
  void Push();

  Outlet& outlet_;
  const format::StreamKey key_;
  std::shared_ptr<const void> spec_;  // until announced
  const chunk::StreamStatsPtr stats_;
  chunk::Chunk* chunk_ = nullptr;
  uint64_t chunk_since_mono_ns_ = 0;
  uint64_t next_seq_ = 0;
  uint64_t records_ = 0;
  // Not yet reported, by cause; goes out before the next chunk.
  format::Loss pool_loss_;
  format::Loss sampler_loss_;
};

// All files of one session.
// **Thread:** sample. **Owns:** the streams.
class Output {
 public:
  explicit Output(const SampleRequest& request);

  RowStream& AddStream(const std::string& folder, const std::string& file, chunk::StreamStatsPtr stats);
  void EndTick(uint64_t next_mono_ns);
  // Hands everything over and then the end mark; false while the queue has no room for it (call again).
  bool Finish();
  // The pipe to kick, once per tick that pushed; else nullptr.
  chunk::Pipe* TakeKick();

 private:
  const uint32_t trace_;
  uint32_t next_stream_;
  Outlet outlet_;
  decltype(SampleRequest::make_spec) make_spec_;
  std::vector<std::unique_ptr<RowStream>> streams_;
};

}  // namespace profd::host
