// Live counters of one stream, shared by the three threads that touch it: the source counts what it read and
// lost, the writer what it stored, ctl only reads. generated = stored + lost once a session is sealed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace profd::chunk {

struct StreamStats {
  // source
  std::atomic<uint64_t> read_bytes{0};
  std::atomic<uint64_t> read_records{0};
  std::atomic<uint64_t> lost_bytes{0};
  std::atomic<uint64_t> lost_records{0};
  std::atomic<uint64_t> last_data_ns{0};  // host raw of the last record's arrival
  // writer
  std::atomic<uint64_t> stored_bytes{0};
  std::atomic<uint64_t> stored_records{0};
  std::atomic<uint64_t> write_lost_bytes{0};
  std::atomic<uint64_t> write_lost_records{0};
};

// One writer per counter, so a plain load and store is enough.
inline void Add(std::atomic<uint64_t>& counter, uint64_t amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

using StreamStatsPtr = std::shared_ptr<StreamStats>;

}  // namespace profd::chunk
