// One text file of one session on its way to the writer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/chunk/pipe.h"
#include "daemon/chunk/stream_stats.h"
#include "daemon/host/files/tick.h"
#include "daemon/host/rows/sample_request.h"
#include "format/chunk.h"

namespace profd::host {

// The pipe of one session, how much waits for it, and what has happened on it since the last tick ended.
struct Outlet {
  static constexpr size_t kInAnyCase = 1 << 20;  // of rows that wait, whoever else has how much

  explicit Outlet(chunk::Pipe* to)
      : pipe(to), max_gathered(to->chunk_bytes() * to->chunks()), account(to->ledger()) {}
  bool Push(chunk::Item item);
  // Memory for so many bytes more.
  bool Claim(size_t bytes);

  chunk::Pipe* const pipe;
  const size_t max_gathered;
  size_t gathered = 0;     // bytes in all streams together
  chunk::Account account;  // … and what memory they take
  bool pushed = false;     // the writer must be woken
  bool backlog = false;    // something could not be handed over: try again soon
};

// Gathers whole rows and hands them over by the chunk. A chunk is taken only when it is handed over, so that
// a few chunks serve any number of files; a row that finds no room is counted and reported with its time.
// **Thread:** sample. **Owns:** the rows that are not yet handed over.
class RowStream {
 public:
  RowStream(Outlet& outlet, format::StreamKey key, std::shared_ptr<const chunk::StreamSpec> spec,
            chunk::StreamStatsPtr stats);
  ~RowStream() { outlet_.account.Give(room_); }
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  // A row or block is never split. `records` is 0 for a line that holds no measurement of its own: such a
  // line may get lost without being counted. False when it was lost.
  bool Append(const Tick& tick, std::string_view row, uint32_t records = 1);
  // Rows that were never made.
  void Lose(format::Loss::Where where, uint64_t from_ns, uint64_t to_ns, uint64_t records,
            uint64_t bytes = 0);
  // Hands over what would be older than 100 ms at `next_mono_ns`, the next chance to do so.
  void EndTick(uint64_t next_mono_ns);
  // Hands everything over; false while there is no room for it (call again).
  bool Finish();

  uint64_t records() const { return records_; }

 private:
  bool Announce();
  bool FlushLosses();
  bool HasRoom(size_t bytes);
  bool Push();

  Outlet& outlet_;
  const format::StreamKey key_;
  std::shared_ptr<const chunk::StreamSpec> spec_;  // until announced
  const chunk::StreamStatsPtr stats_;
  std::string rows_;
  size_t room_ = 0;             // for them
  format::ChunkHeader header_;  // of the rows
  uint64_t rows_since_mono_ns_ = 0;
  uint64_t records_ = 0;
  // Not yet reported, by cause: a loss is reported whole, when rows go on.
  format::Loss pool_loss_;
  format::Loss sampler_loss_;
};

// All files of one session.
// **Thread:** sample. **Owns:** the streams.
class Output {
 public:
  explicit Output(const SampleRequest& request);

  RowStream& AddStream(const std::string& folder, const std::string& file, chunk::StreamStatsPtr stats);
  // False when something is left that should go now (call again soon).
  bool EndTick(uint64_t next_mono_ns);
  // Hands everything over and then the end mark; false while there is no room for it (call again).
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
