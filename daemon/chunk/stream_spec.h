// What the writer must know of a stream to name and cut its files, and what it is of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "daemon/chunk/stream_stats.h"

namespace profd::chunk {

struct StreamSpec {
  std::string folder;  // below the PROF directory: "host", "device_0", format::kOwnFolder
  std::string file;    // prefix with tag and device, without ".slice_N": "hbm.data.0", "host_cpu.data"
  std::string kind;    // as the manifest names it; may be empty
  std::string unit;    // whose it is, as the manifest says it: "host", "device:0", "agent"
  // Header lines are part of the files but not of what `stats` counts as stored.
  // HCCS: the vendor's reader skips the first line of every slice, so every slice starts with this. System
  // and pthread calls: it takes the first stamp for the begin of the collection.
  std::string every_slice_header;
  // Other text kinds: a header line for the first slice only.
  std::string first_slice_header;
  // What a kill may cut at a page's edge: between fixed records, within text, nothing else.
  enum class Records : uint8_t { kAnyhow, kFixed, kText };
  Records records = Records::kAnyhow;
  uint32_t record_bytes = 0;  // kFixed; the file has no header then
  // RoCE and DVPP: the vendor's reader keeps the last slice only, so one growing file.
  bool one_slice = false;
  // A pause of the session leaves nothing out of it, and a flight recorder keeps nothing of it in memory
  // (TraceSpec::recent): its source does that itself, or a part means nothing without the rest.
  bool whole = false;
  bool direct = false;  // written as it comes, also where a flight recorder keeps other streams in memory …
  uint32_t buffer = 0;  // … else which of its buffers it is kept in
  StreamStatsPtr stats;
  // Told of every chunk's bytes once they are stored, or lost in writing. **Thread:** the writer's.
  std::function<void(const std::byte* data, size_t bytes, bool stored)> written;
};

}  // namespace profd::chunk
