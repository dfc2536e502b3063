// What successive looks at a node saw, as the entries of a manifest: what makes measured figures other than
// they would be, with the interval in which it did.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/directory/manifest.h"

namespace profd::session {

namespace perturbation {
inline constexpr std::string_view kClockStep = "clock-step";
inline constexpr std::string_view kCollector = "collector";
inline constexpr std::string_view kCpuThrottling = "cpu-throttling";
inline constexpr std::string_view kMemoryLimit = "memory-limit";
inline constexpr std::string_view kCpuFrequency = "cpu-frequency";
inline constexpr std::string_view kCpuHeat = "cpu-heat";
inline constexpr std::string_view kDeviceFrequency = "device-frequency";
using format::kDeviceHealth;
inline constexpr std::string_view kEnvironment = "environment";
inline constexpr std::string_view kUnrecorded = "unrecorded";
inline constexpr std::string_view kMore = "more";
}  // namespace perturbation

struct Sight {
  // Of one moment: the wall clock between two readings of the other.
  uint64_t raw_ns = 0, wall_ns = 0, error_ns = 0;

  // What only grows: its growth is the perturbation.
  struct Count {
    std::string_view kind;
    std::string what;                   // "cgroup /a"; with the kind its identity
    std::array<uint64_t, 3> amounts{};  // kCpuThrottling times, us; kMemoryLimit high, max, oom_kills;
                                        // kCpuHeat cores, packages
  };
  std::vector<Count> counts;

  // What holds as long as looks see it; the text of the first look stays.
  struct Condition {
    std::string_view kind;
    std::string what;  // with the kind its identity
    std::string text;
    int32_t device = -1;  // that it is a matter of; -1: of the host
  };
  std::vector<Condition> conditions;
  bool only_counts = false;  // conditions were not looked for

  // What another look at the same moment saw.
  void Add(const Sight& other);
};

// How far off the wall clock is from what passed on the other between two moments, beyond what adjusting its
// rate can do; 0 = not at all.
int64_t ClockStepNs(const Sight& before, const Sight& now);

// **Thread:** one.
class PerturbationLog {
 public:
  static constexpr size_t kMostEntries = 256;  // then the latest of the same kind and place is stretched

  // One that is overtaken by a later one is of no use any more.
  void Take(const Sight& sight);
  // What was there at or after that moment, oldest first.
  std::vector<format::ManifestPerturbation> Since(uint64_t raw_ns) const;

 private:
  struct Entry {
    std::string key;
    std::array<uint64_t, 3> amounts{};
    format::ManifestPerturbation out;
  };
  Entry* LastOf(const std::string& key);
  // nullptr: there is no room.
  Entry* Add(std::string key, format::ManifestPerturbation perturbation);
  void TakeCount(const Sight::Count& count, uint64_t raw_ns);
  void TakeConditions(const Sight& sight);

  std::vector<Entry> entries_;
  std::map<std::string, std::array<uint64_t, 3>> counts_;  // as last seen
  Sight before_;                                           // without its lists; raw_ns 0: none yet
  std::set<std::string> left_out_;                         // keys
  uint64_t left_out_since_ns_ = 0;
};

}  // namespace profd::session
