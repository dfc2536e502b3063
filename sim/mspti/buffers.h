// How records reach the client: its buffers, who asks for them, and which thread gives them back.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/mspti/abi.h"
#include "sim/mspti/config.h"

namespace profd::sim::mspti {

// Of one kind, since the library was loaded.
struct KindTruth {
  uint64_t delivered = 0;
  uint64_t dropped = 0;   // before they reached a buffer
  uint64_t checksum = 0;  // sum of the CRC-32s of the delivered records: order doesn't matter
};

// **Thread:** any; one record at a time. **Owns:** the threads that hand buffers over. Buffers are the
// client's.
class Buffers {
 public:
  explicit Buffers(const MsptiConfig& config) : config_(config) {}

  void Register(RequestFn request, CompleteFn complete);
  // The request callback may run here. False: there was no room, or the record got lost.
  bool Append(std::string_view record);
  void FlushAll();
  void SetPeriod(uint32_t ms);
  // As the process ends: hands over what is full.
  void Shutdown();

  uint32_t SizeOf(uint32_t kind) const;
  // Of every kind; the last is the one that nobody knows.
  std::array<KindTruth, kKinds + 1> Truth();

 private:
  struct Buffer {
    uint8_t* bytes = nullptr;
    size_t size = 0;
    size_t valid = 0;
  };
  void Request();
  void Manage();
  void Deliver(const Buffer& buffer);

  const MsptiConfig& config_;

  std::mutex record_mutex_;  // not recursive: a callback that records under it waits for ever
  RequestFn request_ = nullptr;
  CompleteFn complete_ = nullptr;
  Buffer current_;
  bool has_current_ = false;
  uint64_t appended_ = 0;

  std::mutex queue_mutex_;
  std::condition_variable wake_;
  std::vector<Buffer> full_;
  std::vector<std::thread> workers_;  // one per full buffer, joined by FlushAll only
  std::thread manager_;
  uint32_t period_ms_ = 0;
  bool over_ = false;

  std::mutex truth_mutex_;
  std::array<KindTruth, kKinds + 1> truth_{};
};

}  // namespace profd::sim::mspti
