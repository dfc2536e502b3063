// What a driver's calls and bytes say, beside what profd's tables believe of such a device. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/hardware/evidence.h"
#include "format/chip.h"

namespace profd::client {

// A place in what a channel brought that is no record of its kind.
struct OddBytes {
  uint64_t offset = 0;  // in what the channel brought from this start on
  std::string what;
  std::string hex;  // the first of them
};

struct ChannelReport {
  uint32_t channel = 0;
  std::string file;                    // "hbm.data": what its records are of
  int32_t code = 0;                    // of its start
  int32_t stop = 0;                    // of its stop
  uint64_t start_ns = 0, stop_ns = 0;  // how long these calls took
  bool started = false, stopped = false;
  uint64_t bytes = 0;
  std::optional<uint64_t> records;  // none: they cannot be counted
  uint32_t record_bytes = 0;        // 0: text, or no size known
  double seen_hz = 0;               // by the records' own stamps; 0 = nothing to tell it by
  std::vector<OddBytes> odd;
  uint64_t more_odd = 0;
};

enum class HardwareVerdict : uint8_t { kOk, kSilent, kWaits, kLost, kOdd, kRefused };
const char* NameOf(HardwareVerdict verdict);

// A kind in one of the sessions.
struct KindReport {
  std::string kind, mode = {};
  HardwareVerdict verdict = HardwareVerdict::kOk;
  std::string reason = {};  // profd's
  double asked_hz = 0, effective_hz = 0;
  uint64_t stored_records = 0, lost = 0;
  std::vector<ChannelReport> channels = {};
};

// Host and device clocks, by all calls that asked for them.
struct ClockReport {
  size_t pairs = 0;                   // bursts of questions
  uint64_t fastest_ns = 0;            // of the questions
  std::optional<double> drift_ppm;    // of the device's clock against the host's …
  double drift_error_ppm = 0;         // … give or take
  std::optional<double> counter_mhz;  // by what it counted in the device's time
  double told_mhz = 0;                // by the driver
  double believed_mhz = 0;            // by profd's tables; 0 = not in them
};

struct DeviceJudgement {
  uint32_t device = 0;
  std::string product;  // as the driver has it
  format::Chip chip = format::Chip::kNotTold;
  bool known_chip = false;
  std::vector<uint32_t> listed;                // channels
  std::vector<uint32_t> nobodys;               // of these, which profd starts for no kind
  std::map<std::string, std::string> missing;  // kinds that it does not have, and why
  ClockReport clocks;
  std::vector<KindReport> kinds;
  std::map<std::string, uint64_t> failed_calls;  // "prof_drv_start 115": how often, but of channels
  uint64_t left_out_calls = 0, left_out_bytes = 0;
  std::vector<std::string> doubts;  // what is otherwise than profd believes; a line each
  bool has_failed = false;          // something is wrong, not just other
};

DeviceJudgement Judge(const DeviceEvidence& evidence);

}  // namespace profd::client
