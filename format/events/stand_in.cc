#include "format/events/stand_in.h"

#include <algorithm>

#include "format/records/cann.h"

namespace profd::format {

namespace {

constexpr std::string_view kTracks = "unaging.compact.task_track",
                           kTypes = "unaging.additional.type_info_dic",
                           kNames = "unaging.additional.hash_dic";
constexpr char kSlice[] = ".slice_0";
// Streams have up to 11 bits in a log, so this is none.
constexpr uint16_t kNoStream = 0xFFFF, kNoTask = 0xFFFF;
// Any numbers will do, as long as the dictionaries hold them. Task types 6 and 98 mean something to the
// parser.
constexpr uint32_t kThread = 1, kTrackType = 3, kTaskType = 13, kKernel = 1;

std::string TypeLine(uint32_t type, const char* name) {
  return std::to_string(static_cast<int>(CannLevel::kRuntime)) + "_" + std::to_string(type) + ":" + name +
         "\n";
}

}  // namespace

std::vector<StandInFile> StandInLaunches(const std::vector<uint32_t>& devices, uint64_t stamp) {
  if (devices.empty()) return {};
  std::string tracks;
  for (const uint32_t device : devices) {
    CannTaskTrack track{};
    track.head = {kCannMagic, static_cast<uint16_t>(CannLevel::kRuntime), kTrackType,
                  kThread,    sizeof(CannTaskTrack) - sizeof(CannHead),   stamp};
    track.device = static_cast<uint16_t>(device);
    track.stream = kNoStream;
    track.task = kNoTask;
    track.task_type = kTaskType;
    track.kernel = kKernel;
    tracks.append(reinterpret_cast<const char*>(&track), sizeof track);
  }
  return {{std::string(kTracks) + kSlice, tracks},
          {std::string(kTypes) + kSlice, TypeLine(kTrackType, "task_track") + TypeLine(kTaskType, "UNKNOWN")},
          {std::string(kNames) + kSlice, std::to_string(kKernel) + ":UNKNOWN\n"}};
}

bool IsStandIn(std::string_view stream, const Manifest& manifest) {
  const bool may_come = manifest.state != "sealed" && manifest.settings.contains("reports");
  return IsStandIn(stream, may_come || HasStream(manifest, "host", stream));
}

bool IsStandIn(std::string_view stream, bool is_in_manifest) {
  return !is_in_manifest && (stream == kTracks || stream == kTypes || stream == kNames);
}

}  // namespace profd::format
