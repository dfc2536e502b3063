// What the vendor makes of the counters of cores: parts of the cycles, rates of memories, operations.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/directory/side_facts.h"
#include "format/events/spans.h"

namespace profd::client {

// What a core of one kind has counted.
struct CoreCounts {
  double cycles = 0;
  double mhz = 0;
  std::span<const double> events;  // in the order in which they were asked for
};
std::array<double, format::TaskCounters::kEvents> EventsOf(const format::TaskCounters::Core& core);

// A figure of these counters.
struct CoreMetric {
  enum class What : uint8_t {
    kPart,   // of the cycles
    kShare,  // of other counts
    kBound,  // how much more one pipe was busy than the busiest of others
    kRate,   // GB/s, which is GiB/s, of requests of so many bits
    kSum,
  };
  struct Term {
    size_t place = 0;  // in CoreCounts::events
    double weight = 1;
  };

  std::string name;  // "mac_ratio"
  What what = What::kPart;
  std::vector<Term> plus;
  std::vector<size_t> of;  // places, of kShare and kBound: the first, or the sum of the others if it is more
  bool is_pipe = false;    // a part of the time, too
  bool is_of_core = true;  // else this kind of core has nothing of the sort: the number says nothing

  // kNoValue: the clock is not known, or what is needed was not counted.
  double Value(const CoreCounts& counts) const;
  // "mac_time"
  std::string TimeName() const;
};

// How long a task's cores of one kind were busy, µs, as the vendor has it: a 950 tells; else rounds of as
// many blocks as there are cores. kNoValue where neither is known.
double CoreBusyUs(const format::TaskCounters::Core& core, const format::SideFacts& side, bool vector,
                  uint32_t blocks);

enum class CoreMode : uint8_t { kSampled, kByTask };
// Of the AI cores or vector cores of a device, in the vendor's order; where tables have one set of columns
// for both, all of these (is_of_core). Counters that no figure is made of are there by their number, as parts
// of the cycles. What was asked for by number (`Custom:0x8`) is `r8`, as it was counted.
std::vector<CoreMetric> CoreMetricsOf(const format::SideFacts& side, bool vector, CoreMode mode);

}  // namespace profd::client
