// manifest.json (own_folder.h): everything about a trace that the vendor's files have no place for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/chunk.h"
#include "format/clock_map.h"

namespace profd::format {

inline constexpr int kManifestVersion = 1;
// Far more than there is in a true one: 200 streams with 1000 losses each are a million values.
inline constexpr size_t kMostManifestItems = 2'000'000;
inline constexpr size_t kMostManifestDepth = 8;

struct ManifestKind {
  std::string kind, unit;
  double requested_hz = 0, effective_hz = 0;
  std::string verdict, reason;
  uint64_t bytes = 0, records = 0;  // ever stored
  uint64_t lost = 0;                // records
};
// What the storage limit has removed of a stream: its oldest slices, so one interval.
struct ManifestAged {
  uint64_t slices = 0, bytes = 0, records = 0;
  uint64_t from_ns = 0, to_ns = 0;  // host raw
};
// Bytes and records are all that was ever stored, what has aged since included.
struct ManifestStream {
  std::string kind, unit, folder, file;
  uint64_t slices = 0, bytes = 0, records = 0;
  uint64_t lost_records = 0, lost_bytes = 0;
  std::vector<Loss> losses;
  ManifestAged aged;
  // What was added to the stamps of a kind that counts from its channel's start, so that they count from the
  // directory's pair of clocks, and how far off that start may be.
  int64_t shift_us = 0;
  uint64_t shift_error_ns = 0;
};
struct ManifestClock {
  int device = -1;  // -1: host alone
  ClockPair pair;
};
// A time in which nothing could be stored, and why; what was lost is with the streams.
struct ManifestPause {
  uint64_t from_ns = 0, to_ns = 0;  // host raw; 0: it lasts
  std::string reason;
};
// What made the measured programs slower, or the clocks jump, while this directory was written.
struct ManifestPerturbation {
  std::string kind, text;
  uint64_t from_ns = 0, to_ns = 0;  // host raw, as exact as profd looks; to 0: it lasts
  int32_t device = -1;              // that it is a matter of; -1: of the host
};
inline constexpr std::string_view kDeviceHealth = "device-health";  // the kind: a device does not work
// One thread's ring of a process that recorded itself.
struct ManifestLane {
  uint32_t lane = 0;
  uint64_t records = 0;        // stored
  uint64_t lost = 0;           // no room in the ring
  uint64_t write_lost = 0;     // the file system refused them
  uint64_t damaged_slots = 0;  // held no record
};
struct ManifestStepWindow {
  uint64_t cycle = 0, step = 0, ticks = 0;
  bool opened = false;
};
// Counter and CLOCK_MONOTONIC_RAW of a process at one moment.
struct ManifestTicks {
  uint64_t ticks = 0, raw_ns = 0, error_ns = 0;
};
// A process that recorded itself (format/events/agent_blocks.h). Counts are of this directory alone.
struct ManifestAgent {
  int64_t pid = 0, container_pid = 0;
  int64_t target = 0;  // the pid that was asked for: itself or an ancestor
  uint32_t attachment = 0;
  std::string executable, agent_version;
  std::map<std::string, std::string> labels;
  std::string lanes_file, names_file;  // below profd/, without slice
  std::string counter;                 // tsc, cntvct or raw_clock: what stamps are ticks of
  uint64_t counter_hz = 0;             // nominal; 0 = the hardware does not say
  ManifestTicks first, latest;
  uint64_t fire_raw_ns = 0;  // when it was to begin; 0 = as soon as it could
  uint64_t begun_ticks = 0;
  int64_t skew_ns = 0;  // how much later than that it began
  std::string end;      // "" while recording; stopped, gone, moved (to the next directory)
  uint64_t lost_without_lane = 0, names_lost = 0;
  bool names_damaged = false;
  std::vector<ManifestLane> lanes;
  std::vector<ManifestStepWindow> step_windows;
};
struct Manifest {
  int version = kManifestVersion;
  std::string session, name, user;
  uint32_t uid = 0;
  std::map<std::string, std::string> labels;
  std::string profd_version, protocol_version, driver_path;
  uint32_t driver_api_version = 0;
  std::string state;       // running | sealed
  std::string end_reason;  // "" while running
  std::vector<std::string> degraded;
  std::vector<int64_t> pids;
  std::map<int64_t, std::string> pid_end;  // pid → why its part ended
  uint64_t duration_ns = 0, storage_limit_bytes = 0;
  uint64_t begin_wall_ns = 0, elapsed_ns = 0;  // of the session, its earlier directories included
  std::string previous, next;                  // linked directories of a session that rolled
  std::vector<std::string> removed;            // earlier ones that had to go
  std::vector<ManifestKind> kinds;
  std::vector<ManifestStream> streams;
  std::vector<ManifestPause> pauses;
  std::vector<ManifestPerturbation> perturbations;
  std::vector<ManifestClock> clocks;
  std::vector<ManifestAgent> agents;
  std::map<std::string, std::string> settings;  // anything else asked for, as asked
};

// Of a moment in host raw time, after the session's begin; 0 where that is not known.
uint64_t SinceBegin(const Manifest& manifest, uint64_t raw_ns);

// Whether it names a stream; `file` without slice.
bool HasStream(const Manifest& manifest, std::string_view folder, std::string_view file);

std::string WriteManifest(const Manifest& manifest);
base::Result<Manifest> ParseManifest(std::string_view json);

}  // namespace profd::format
