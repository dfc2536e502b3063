// The load of a simulated device: a training job whose every quantity is a pure function of the host's
// CLOCK_MONOTONIC_RAW, the seed and the device number, so that any other program can tell the same story.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/scenario/chip.h"

namespace profd::sim {

struct ScenarioConfig {
  uint32_t step_ms = 500;
  uint32_t checkpoint_every = 20;  // steps; the last one of each group writes a checkpoint
};

// Quantities that add up over time: bytes, 64-byte lines or busy nanoseconds.
enum class Flow : uint8_t {
  kHbmRead,
  kHbmWrite,
  kDdrRead,
  kDdrWrite,
  kLlcRead,
  kLlcReadHits,
  kLlcWrite,
  kLlcWriteHits,
  kPcieTx,
  kPcieRx,
  kHccsTx,
  kHccsRx,
  kRoceTx,
  kRoceRx,
  kNicTx,
  kNicRx,
  kUbTx,
  kUbRx,
  kSioTx,
  kSioRx,
  kAicBusy,
  kAivBusy,
  kTscpuBusy,
  kDvppBusy0,  // + engine number 0…6 (VDEC JPEGD PNGD JPEGE VPC VENC SCD)
  kDvppBusy6 = kDvppBusy0 + 6,
};
inline constexpr int kFlows = static_cast<int>(Flow::kDvppBusy6) + 1;
constexpr Flow DvppBusy(int engine) { return static_cast<Flow>(static_cast<int>(Flow::kDvppBusy0) + engine); }

// Where a moment lies in the job. A step is: input, forward, backward, backward with all-reduce, all-reduce,
// optimizer.
struct Position {
  uint64_t step;
  uint64_t within_ns;
};

uint64_t Mix(uint64_t value);  // splitmix64: the only source of chance
inline uint64_t Mix(uint64_t a, uint64_t b) { return Mix(a ^ Mix(b)); }

// **Thread:** any (immutable).
class TrainingLoad {
 public:
  TrainingLoad(const ScenarioConfig& config, uint64_t seed, uint32_t device, const Chip& chip);

  uint64_t step_ns() const { return step_ns_; }
  Position At(uint64_t raw_ns) const;
  uint64_t StepStart(uint64_t step) const { return step * step_ns_ - offset_ns_; }
  // Of the step that contains the moment: permille of its length.
  uint32_t Permille(uint64_t raw_ns) const;

  // Units since raw time 0, modulo 2^64; never decreases.
  uint64_t Total(Flow flow, uint64_t raw_ns) const;
  uint64_t Between(Flow flow, uint64_t from_ns, uint64_t to_ns) const {
    return Total(flow, to_ns) - Total(flow, from_ns);
  }

  uint64_t MemoryBytes(uint64_t raw_ns) const;  // in use, of the chip's memory
  uint64_t AppMemoryBytes(uint64_t raw_ns) const { return MemoryBytes(raw_ns) / 10 * 9; }
  uint64_t HostSideDdrBytes(uint64_t raw_ns) const;
  uint32_t AicMhz(uint64_t raw_ns) const;
  // First moment after raw_ns at which AicMhz may change.
  uint64_t NextFrequencyChange(uint64_t raw_ns) const;

 private:
  struct Shape {
    uint64_t key = 0;                 // of its ripple and of its change from step to step
    double step_units = 0;            // of a mean step
    double checkpoint_units = 0;      // added by a step with a checkpoint
    std::array<double, 7> reached{};  // share of the step reached at the phase borders
  };
  uint64_t StepUnits(const Shape& shape, uint64_t step) const;

  uint64_t step_ns_;
  uint64_t checkpoint_every_;
  uint64_t offset_ns_;
  const Chip* chip_;
  std::array<Shape, kFlows> shapes_;
};

// One task of the job on the device. Streams and ids are the same in every task channel.
struct Task {
  uint64_t index;  // since raw time 0
  uint64_t start_ns, end_ns;
  uint16_t stream;
  uint16_t id;
  enum class Kind : uint16_t { kAic = 0, kAiv = 1, kCommunication = 2 } kind;
  uint32_t blocks;
};

// The tasks of the job in time order. **Thread:** any (immutable).
class TaskStory {
 public:
  explicit TaskStory(const TrainingLoad& load);

  struct Event {
    Task task;
    bool end;
    uint64_t at_ns;
  };
  static constexpr uint64_t kTasksPerStep = 48;
  static constexpr uint64_t kEventsPerStep = 2 * kTasksPerStep;

  // The communication tasks of a step are the parts of one collective.
  static constexpr uint64_t kParts = 4;
  enum class Part : uint8_t { kNotified, kCopies, kReduces, kNotifies, kByCcu };
  // The first one is 0.
  static uint64_t PartOf(const Task& task);
  static Part PartKind(const Chip& chip, const Task& task);

  Event EventAt(uint64_t number) const;
  // Number of the first event later than the moment.
  uint64_t FirstAfter(uint64_t raw_ns) const;

 private:
  struct Slot {
    uint64_t at_ns;  // since the step's start
    uint16_t task;
    bool end;
  };
  const TrainingLoad* load_;
  std::vector<Slot> slots_;                                        // kEventsPerStep, in time order
  std::array<std::pair<uint64_t, uint64_t>, kTasksPerStep> span_;  // of each task, since the step's start
};

}  // namespace profd::sim
