// Keys of series of CPUs: whose a CPU is.
#pragma once

#include <cstdint>

namespace profd::format {

// Of the series cpu_usage.
enum class CpuClass : int64_t { kHost = 0, kCtrlCpu = 1, kAiCpu = 2 };
// Of the series pmu_events and pmu_functions.
enum class PmuCpu : int64_t { kHost = 0, kCtrlCpu = 1, kAiCpu = 2, kTsCpu = 3 };

}  // namespace profd::format
