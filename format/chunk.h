// In-memory chunk: the unit that moves from a source to the writer. Whole records of one stream, nothing
// else.
#pragma once

#include <cstdint>

namespace profd::format {

// Which open trace and which stream of it a chunk belongs to. Both numbers are given out by ctl and valid
// inside one profd process; they never reach the disk.
struct StreamKey {
  uint32_t trace = 0;
  uint32_t stream = 0;
  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};

struct ChunkHeader {
  StreamKey key;
  uint64_t seq = 0;            // counts the chunks of a stream from 0
  uint64_t first_time_ns = 0;  // host raw: when the source read the first and the last byte
  uint64_t last_time_ns = 0;
  uint32_t used = 0;     // bytes of payload
  uint32_t records = 0;  // records (text kinds: data lines) in it
};

// Records of a stream that never reached a chunk or a file, and when.
struct Loss {
  enum class Where : uint8_t {
    kDriver,   // the driver's ring or the device overflowed; seen as damaged bytes or missing periods
    kPool,     // no chunk was free: the disk is slower than the source
    kWrite,    // the file system refused the bytes
    kSampler,  // a tick of the host sampler was missed
    kAgent,    // the process found no room in its lanes
  };
  Where where = Where::kDriver;
  uint64_t from_ns = 0;  // host raw
  uint64_t to_ns = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;
};

// "driver", "pool", "write", "sampler", "agent": the manifest's word for the cause.
const char* LossName(Loss::Where where);

}  // namespace profd::format
