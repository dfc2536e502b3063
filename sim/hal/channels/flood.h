// Flood mode: a channel whose ring always holds prepared records, so that a read is one memcpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/hal/channels/ring.h"
#include "sim/hal/channels/truth.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {

// The stream is the first sample, then one block of whole samples again and again; it ends on the edge of a
// block.
// **Thread:** whoever holds the channel's lock.
class Flood {
 public:
  // Fills the ring's data area from the producer.
  Flood(Ring& ring, Producer& producer);

  // Bytes per second, 0 = as fast as they are read; what finds no room in the ring meanwhile is dropped.
  void SetRate(double bytes_s, uint64_t now_ns);
  void End(uint64_t now_ns);  // production stops; what is in the ring stays

  size_t Available(uint64_t now_ns);
  size_t Read(char* out, size_t size, uint64_t now_ns);
  bool limited() const { return bytes_s_ > 0; }

  Counters Count() const;  // after End()

 private:
  void Settle(uint64_t now_ns);

  Ring& ring_;
  std::string first_;  // sample
  uint32_t first_records_ = 0;
  size_t block_bytes_ = 0;
  uint32_t block_records_ = 0;
  size_t pattern_bytes_ = 0;  // whole blocks in the ring

  double bytes_s_ = 0;
  uint64_t settled_ns_ = 0;
  double produced_ = 0;  // limited rate only: up to settled_ns_
  uint64_t consumed_ = 0;
  uint64_t dropped_blocks_ = 0;
  bool ended_ = false;
  uint64_t end_ = 0;  // length of the stream, once ended
};

}  // namespace profd::sim
