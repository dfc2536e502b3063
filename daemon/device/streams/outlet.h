// One stream's way into a session: fills chunks of its pipe, pushes them with their losses, counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/chunk/pipe.h"
#include "daemon/chunk/stream_stats.h"
#include "format/chunk.h"

namespace profd::device {

// **Thread:** the pump's. Never allocates.
class Outlet {
 public:
  Outlet(format::StreamKey key, chunk::StreamStatsPtr stats, chunk::Pipe& pipe);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  format::StreamKey key() const { return key_; }
  chunk::Pipe& pipe() const { return *pipe_; }

  // Whether any came here so far.
  bool has_records() const { return last_append_ns_ != 0; }

  // True when there is a chunk to write to; takes one from the pipe.
  bool Ready();
  // The chunk of Ready(), for a driver read straight into it; Commit() says what it holds then.
  chunk::Chunk& chunk() { return *chunk_; }
  void Commit(uint32_t bytes, uint32_t records, uint64_t now_ns);

  // The driver may still write to the chunk of Ready(): the pipe does without it from now on. Its memory, to
  // be kept until the driver has returned.
  std::shared_ptr<const base::MappedRegion> GiveUpChunk();

  // Copies whole records that fit one chunk. Without a chunk they are lost, and counted.
  void Append(const std::byte* data, uint32_t bytes, uint32_t records, uint64_t now_ns);
  void Lose(format::Loss::Where where, uint64_t from_ns, uint64_t to_ns, uint64_t records, uint64_t bytes);

  // Hands on what is there, losses first; an empty chunk goes back to the pipe. True when the pipe has news.
  bool Push();

 private:
  void Count(uint32_t bytes, uint32_t records, uint64_t now_ns);
  void Send();
  void SendLosses();

  const format::StreamKey key_;
  const chunk::StreamStatsPtr stats_;
  chunk::Pipe* const pipe_;
  chunk::Chunk* chunk_ = nullptr;
  uint64_t seq_ = 0;
  uint64_t last_append_ns_ = 0;
  bool news_ = false;  // sent since the last Push()
  // Not yet pushed, one per cause that a pump knows: driver, pool. None when records and bytes are 0.
  std::array<format::Loss, 2> losses_{};
};

}  // namespace profd::device
