// Faults on a timetable: what a call returns or how long it hangs, and the accidents of the data path.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace profd::sim {

enum class Call : uint8_t {
  // The driver's.
  kGetChannels,
  kStart,
  kStop,
  kRead,
  kPoll,
  kFlush,
  kDevNum,
  kDevIds,
  kApiVersion,
  kStatus,
  kPhysicalId,
  kInfo,
  kInfoByBuffer,
  kPairInfo,
  kChipInfo,
  kSplitMode,
  kAttach,
  kQueryGroup,
  kCreateGroup,
  kSubscribe,
  kWaitEvent,
  // Of the launcher of processes.
  kCanProcess,
  kOpenProcess,
  kProcessStates,
  kCloseProcess,
  // Of the card library.
  kInitCards,
  kCardList,
  kDevicesOfCard,
  kDeviceNumber,
  kPortTotals,
  kCardHealth
};

enum class Accident : uint8_t {
  kNone,           // the fault is of a call
  kDeviceLost,     // status 4; started channels never deliver again
  kRingOverwrite,  // a backlog of 1¼ rings arrives at once and overwrites what is unread
  kRingDrop,       // the same, but the device drops what finds no room
  kLoseSlots,      // the device's ten slots are lost: ten samples
  kPollSpurious,   // poll returns 0 at once
  kClockStep,      // the wall clock steps back by step_s while poll waits
};

struct FaultSpec {
  Accident accident = Accident::kNone;
  Call call = Call::kStart;
  double at_s = 0;                 // since the library was loaded
  double for_s = -1;               // < 0: for ever
  std::string while_file;          // only while this file is there; empty: whether or not
  int device = -1;                 // -1: every one
  std::vector<uint32_t> channels;  // empty: every one
  std::optional<int> ret;          // none: only the delay
  bool ones = false;               // what the call answers is full of them; it has done nothing else
  uint32_t delay_ms = 0;           // before the call goes on; no longer than the file is there
  int64_t times = -1;              // < 0: as often as it applies
  double step_s = 0;
};

// Whether there is such a file, or none is named.
bool IsThere(const std::string& file);

// **Thread:** any.
class Faults {
 public:
  Faults(const std::vector<FaultSpec>& specs, uint64_t loaded_ns);

  // Does any fault concern the call on this channel, at whatever time?
  bool MayHit(Call call, uint32_t device, uint32_t channel) const;

  // Waits out the delays of the faults that are due; the code of the first that has one. `answer`: where the
  // call's goes.
  std::optional<int> Hit(Call call, uint32_t device, uint32_t channel, void* answer = nullptr,
                         size_t bytes = 0);

  bool Planned(Accident accident, uint32_t device, uint32_t channel) const;  // at whatever time
  // Is the accident due? Counts down `times`.
  bool Happens(Accident accident, uint32_t device, uint32_t channel);
  // The same, but once per channel. Only the generator asks.
  bool HappensOnce(Accident accident, uint32_t device, uint32_t channel);
  double ClockStep();

 private:
  struct Fault {
    explicit Fault(const FaultSpec& from) : spec(from), left(from.times) {}
    FaultSpec spec;
    std::atomic<int64_t> left;
    std::vector<uint64_t> fired;  // device << 8 | channel; only touched by HappensOnce
  };
  bool Concerns(const Fault& fault, uint32_t device, uint32_t channel) const;
  bool Due(const Fault& fault) const;
  static bool Take(Fault& fault);
  static void WaitOut(const FaultSpec& spec);

  uint64_t loaded_ns_;
  std::vector<std::unique_ptr<Fault>> faults_;
};

}  // namespace profd::sim
