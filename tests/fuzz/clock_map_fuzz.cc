// Clock pairs as a damaged manifest may hold them: every stamp has an answer, and adding pairs keeps it so.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/status.h"
#include "format/clock_map.h"
#include "format/records/packed.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::format;
  if (size < 2 * sizeof(double)) return 0;
  ClockMap map(Load<double>(data), Load<double>(data + sizeof(double)));
  size_t added = 0;
  ClockMemo memos[kClocks];
  for (size_t at = 2 * sizeof(double); at + sizeof(ClockPair) <= size; at += sizeof(ClockPair)) {
    const auto pair = Load<ClockPair>(data + at);
    map.Add(pair);
    PROFD_CHECK(map.pair_count() <= ++added);
    for (const uint64_t stamp : {pair.device_counter, pair.device_raw_ns, pair.host_raw_ns, pair.host_counter,
                                 pair.wall_ns, uint64_t{0}, UINT64_MAX}) {
      // Compared, so that none is optimised away; the sanitizers watch the arithmetic.
      PROFD_CHECK(map.DeviceTicksToWall(stamp).ns ==
                  map.HostRawToWall(map.DeviceTicksToHostRaw(stamp).ns).ns);
      PROFD_CHECK(map.DeviceNsToWall(stamp).error_ns >= map.DeviceNsToHostRaw(stamp).error_ns);
      PROFD_CHECK(map.HostCounterToWall(stamp).error_ns >= map.HostCounterToRaw(stamp).error_ns);
    }
  }
  // What remembers its lines says the same as what does not.
  const auto same = [&](Clock clock, uint64_t stamp, uint64_t plain) {
    PROFD_CHECK(map.ToWall(clock, stamp, memos[static_cast<size_t>(clock)]) == plain);
  };
  for (size_t at = 2 * sizeof(double); at + 8 <= size; at += 8) {
    const auto stamp = Load<uint64_t>(data + at);
    same(Clock::kHostRaw, stamp, map.HostRawToWall(stamp).ns);
    same(Clock::kHostCounter, stamp, map.HostCounterToWall(stamp).ns);
    same(Clock::kDeviceNs, stamp, map.DeviceNsToWall(stamp).ns);
    same(Clock::kDeviceTicks, stamp, map.DeviceTicksToWall(stamp).ns);
  }
  return 0;
}
