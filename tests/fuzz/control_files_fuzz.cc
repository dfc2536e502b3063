// Control files and names of a PROF directory: any bytes in; what is accepted must survive being written
// again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "format/directory/prof_dir.h"
#include "format/directory/side_facts.h"

namespace profd::format {

namespace {

void StartLog(std::string_view text) {
  const auto logs = ParseStartLog(text);
  if (!logs.ok()) return;
  ClockPair pair;
  pair.host_raw_ns = pair.device_raw_ns = logs->clock_monotonic_raw;
  pair.host_counter = pair.device_counter = logs->cntvct;
  for (const std::string& again : {HostStartLog(pair, 3), DevStartLog(pair)}) {
    const auto parsed = ParseStartLog(again);
    PROFD_CHECK(parsed.ok());
    PROFD_CHECK(parsed->clock_monotonic_raw == logs->clock_monotonic_raw && parsed->cntvct == logs->cntvct);
  }
}

void Times(std::string_view text) {
  const auto time = ParseCollectionTime(text);
  if (!time.ok() || time->wall_us > UINT64_MAX / 1000) return;
  ClockPair pair;
  pair.host_raw_ns = time->clock_monotonic_raw;
  pair.wall_ns = time->wall_us * 1000;
  const auto again = ParseCollectionTime(time->is_end ? EndInfo(pair) : StartInfo(pair));
  PROFD_CHECK(again.ok() && again->wall_us == time->wall_us && again->is_end == time->is_end);
  PROFD_CHECK(again->clock_monotonic_raw == time->clock_monotonic_raw);
}

}  // namespace

}  // namespace profd::format

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::format;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  StartLog(text);
  Times(text);
  if (const auto slice = ParseSliceName(text)) {
    PROFD_CHECK(SliceName(slice->file, slice->device, slice->slice) == text);
  }
  SideFacts facts;
  (void)ParseInfoJson(text, facts);
  (void)ParseSampleJson(text, facts);
  PROFD_CHECK(facts.counter_mhz >= 0 && facts.host_counter_mhz >= 0 && facts.qos_events.size() <= 1024);
  if (IsProfDirName(text)) PROFD_CHECK(text.find('/') == std::string_view::npos);
  return 0;
}
