// profd/manifest.json: everything about a trace that the vendor's files have no place for.
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

struct ManifestKind {
  std::string kind, unit;
  double requested_hz = 0, effective_hz = 0;
  std::string verdict, reason;
};
struct ManifestStream {
  std::string kind, unit, folder, file;
  uint64_t slices = 0, bytes = 0, records = 0;
  uint64_t lost_records = 0, lost_bytes = 0;
  std::vector<Loss> losses;
};
struct ManifestClock {
  int device = -1;  // -1: host alone
  ClockPair pair;
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
  std::string previous, next;  // linked directories of a session that rolled
  std::vector<ManifestKind> kinds;
  std::vector<ManifestStream> streams;
  std::vector<ManifestClock> clocks;
  std::map<std::string, std::string> settings;  // anything else asked for, as asked
};

std::string WriteManifest(const Manifest& manifest);
base::Result<Manifest> ParseManifest(std::string_view json);

}  // namespace profd::format
