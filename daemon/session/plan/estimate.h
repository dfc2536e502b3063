// What kinds will write, before they do. The only place for these figures: records of a sample by chip, bytes
// of rows of text as they were measured. Pure, as the plan is.
#pragma once

#include <cstdint>

#include "daemon/session/plan/plan.h"
#include "format/preset.h"

namespace profd::session {

// What sizes of the host's rows depend on, summed over the targets.
struct HostUnits {
  uint64_t processes = 1;
  uint64_t threads = 1;
  uint64_t cpus = 1;
  uint64_t interfaces = 1;
};

// Bytes of one sample of all the streams of a channel's start; of `kinds` those that it serves.
double ChannelSampleBytes(const ChannelStart& start, const format::KindList& kinds,
                          const driver::DeviceFacts& device);
// The same of a host kind; 0: it has no rate, or nobody knows what there will be.
double HostSampleBytes(format::Kind kind, const HostUnits& units);
double DeviceFileSampleBytes(format::DeviceFile what);

// One record of a kind that has no rate, or whose records come as the job goes; about.
uint32_t RecordBytes(format::Kind kind, const format::StreamFormat* format);

}  // namespace profd::session
