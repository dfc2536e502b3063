#include "daemon/agent/lanes/recording_stats.h"

#include <cstring>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/chunk/stream_stats.h"
#include "libagent/abi/record.h"

namespace profd::agent {

void RecordingStats::Written(const std::byte* blocks, size_t bytes, bool stored) {
  const std::byte* const end = blocks + bytes;
  const uint64_t now_ns = base::RawNs();
  while (blocks < end) {
    format::BlockHeader header;
    PROFD_CHECK(static_cast<size_t>(end - blocks) >= sizeof(header));
    std::memcpy(&header, blocks, sizeof(header));
    blocks += header.header_bytes + size_t{header.bytes};
    if (header.type != static_cast<uint16_t>(format::BlockType::kLane)) continue;
    PROFD_CHECK(header.lane < lanes.size());
    Lane& lane = lanes[header.lane];
    chunk::Add(stored ? lane.stored_records : lane.write_lost_records, header.records);
    for (size_t i = 0; i < format::kAgentKinds; ++i) {
      chunk::Add(stored ? kinds[i].stored_records : kinds[i].write_lost_records, header.kind_records[i]);
      if (!stored || header.kind_records[i] == 0) continue;
      chunk::Add(kinds[i].stored_bytes, uint64_t{header.kind_slots[i]} * abi::kRecordBytes);
      kinds[i].last_ns.store(now_ns, std::memory_order_relaxed);
      if (kinds[i].first_ns.load(std::memory_order_relaxed) == 0)
        kinds[i].first_ns.store(now_ns, std::memory_order_relaxed);
    }
  }
}

}  // namespace profd::agent
