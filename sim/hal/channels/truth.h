// The truth file: what was generated, as JSON lines, for checks that compare.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "sim/scenario/producers/producer.h"

namespace profd::sim {

// Bytes of one run of a channel; generated = delivered + dropped + overwritten + discarded.
struct Counters {
  uint64_t generated_bytes = 0, generated_records = 0;
  uint64_t delivered_bytes = 0;
  uint64_t dropped_bytes = 0, dropped_records = 0;  // never reached the ring
  uint64_t overwritten_bytes = 0;                   // were in the ring when the writer passed the reader
  uint64_t discarded_bytes = 0;                     // were still unread when the channel was closed
  uint32_t crc32 = 0;                               // of the delivered bytes …
  bool crc_valid = false;                           // … if it is known
};

uint32_t Crc32(uint32_t crc, std::string_view bytes);  // IEEE 802.3; start with 0

// **Thread:** any. **Owns:** the file. Lines reach it with Flush().
class Truth {
 public:
  Truth() = default;
  Truth(const Truth&) = delete;
  Truth& operator=(const Truth&) = delete;
  ~Truth();

  bool Open(const std::string& file);  // appends
  bool on() const { return fd_ >= 0; }

  void Write(uint32_t device, uint32_t channel, const Sample& sample, bool dropped);
  void WriteStart(uint32_t device, uint32_t channel, const StartRequest& request);
  void WriteStop(uint32_t device, uint32_t channel, const Counters& counters);
  void WriteLine(const std::string& line);
  void Flush();

 private:
  int fd_ = -1;
  std::mutex mutex_;
  std::string lines_;
};

}  // namespace profd::sim
