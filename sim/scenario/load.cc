#include "sim/scenario/load.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace profd::sim {
namespace {

// Phase borders in permille of a step: input | forward | backward | backward + all-reduce | all-reduce |
// optimizer.
constexpr std::array<uint32_t, 7> kBorders = {0, 100, 400, 740, 820, 900, 1000};
// Within a phase the rate swings by ±10 % in whole waves, and an even step differs from the odd one after it
// by up to ±5 % in opposite directions: both leave every total since the beginning a closed formula.
constexpr double kRipple = 0.10;
constexpr double kStepSwing = 0.05;
constexpr double kDeviceSwing = 0.04;
// A checkpoint is written evenly over this part of its step.
constexpr double kCheckpointBegin = 0.10, kCheckpointEnd = 0.95;

constexpr double G = 1e9;
struct Rates {
  Flow flow;
  Flow key;                     // flows with one key rise and fall together
  std::array<double, 6> phase;  // units per second
  double checkpoint;            // units per second, mean over the step
};
constexpr double kLine = 64;
constexpr Rates kRates[] = {
    {Flow::kHbmRead, Flow::kHbmRead, {60 * G, 640 * G, 820 * G, 860 * G, 300 * G, 520 * G}, 20 * G},
    {Flow::kHbmWrite, Flow::kHbmWrite, {40 * G, 260 * G, 430 * G, 450 * G, 220 * G, 480 * G}, 0},
    {Flow::kDdrRead, Flow::kDdrRead, {90 * G, 180 * G, 210 * G, 200 * G, 60 * G, 150 * G}, 8 * G},
    {Flow::kDdrWrite, Flow::kDdrWrite, {60 * G, 70 * G, 110 * G, 110 * G, 50 * G, 120 * G}, 0},
    {Flow::kLlcRead, Flow::kLlcRead, {110 * G, 900 * G, 1200 * G, 1250 * G, 400 * G, 650 * G}, 0},
    {Flow::kLlcReadHits,
     Flow::kLlcRead,
     {.35 * 110 * G / kLine, .72 * 900 * G / kLine, .66 * 1200 * G / kLine, .64 * 1250 * G / kLine,
      .50 * 400 * G / kLine, .55 * 650 * G / kLine},
     0},
    {Flow::kLlcWrite, Flow::kLlcWrite, {70 * G, 400 * G, 600 * G, 620 * G, 260 * G, 600 * G}, 0},
    {Flow::kLlcWriteHits,
     Flow::kLlcWrite,
     {.40 * 70 * G / kLine, .70 * 400 * G / kLine, .62 * 600 * G / kLine, .60 * 620 * G / kLine,
      .50 * 260 * G / kLine, .58 * 600 * G / kLine},
     0},
    {Flow::kPcieTx, Flow::kPcieTx, {.6 * G, .1 * G, .1 * G, .1 * G, .1 * G, .1 * G}, 9 * G},
    {Flow::kPcieRx, Flow::kPcieRx, {18 * G, .3 * G, .2 * G, .2 * G, .2 * G, .2 * G}, 0},
    {Flow::kHccsTx, Flow::kHccsTx, {0, 0, 0, 110 * G, 140 * G, 0}, 0},
    {Flow::kHccsRx, Flow::kHccsRx, {0, 0, 0, 108 * G, 138 * G, 0}, 0},
    {Flow::kRoceTx, Flow::kRoceTx, {.02 * G, .02 * G, .02 * G, 18 * G, 21 * G, .02 * G}, 0},
    {Flow::kRoceRx, Flow::kRoceRx, {.02 * G, .02 * G, .02 * G, 17 * G, 20 * G, .02 * G}, 0},
    {Flow::kNicTx, Flow::kNicTx, {2e6, 2e6, 2e6, 2e6, 2e6, 2e6}, .8 * G},
    {Flow::kNicRx, Flow::kNicRx, {60e6, 5e6, 5e6, 5e6, 5e6, 5e6}, 0},
    {Flow::kUbTx, Flow::kUbTx, {.05 * G, .05 * G, .05 * G, 60 * G, 80 * G, .05 * G}, 0},
    {Flow::kUbRx, Flow::kUbRx, {.05 * G, .05 * G, .05 * G, 58 * G, 78 * G, .05 * G}, 0},
    {Flow::kSioTx, Flow::kSioTx, {.05 * G, .9 * G, 1.1 * G, 1.2 * G, .6 * G, .4 * G}, 0},
    {Flow::kSioRx, Flow::kSioRx, {.05 * G, .8 * G, 1.0 * G, 1.1 * G, .6 * G, .4 * G}, 0},
    // Busy nanoseconds of one core or engine per second.
    {Flow::kAicBusy, Flow::kAicBusy, {.03 * G, .76 * G, .80 * G, .78 * G, .12 * G, .35 * G}, 0},
    {Flow::kAivBusy, Flow::kAivBusy, {.08 * G, .45 * G, .55 * G, .55 * G, .20 * G, .78 * G}, 0},
    {Flow::kTscpuBusy, Flow::kTscpuBusy, {.25 * G, .35 * G, .40 * G, .40 * G, .20 * G, .30 * G}, 0},
    {DvppBusy(0), DvppBusy(0), {.70 * G, .30 * G, .02 * G, .02 * G, .02 * G, .20 * G}, 0},
    {DvppBusy(1), DvppBusy(1), {.78 * G, .40 * G, .02 * G, .02 * G, .02 * G, .30 * G}, 0},
    {DvppBusy(2), DvppBusy(2), {.12 * G, .05 * G, 0, 0, 0, .02 * G}, 0},
    {DvppBusy(3), DvppBusy(3), {.02 * G, .01 * G, .01 * G, .01 * G, .01 * G, .01 * G}, .2 * G},
    {DvppBusy(4), DvppBusy(4), {.55 * G, .50 * G, .05 * G, .02 * G, .02 * G, .25 * G}, 0},
    {DvppBusy(5), DvppBusy(5), {.02 * G, .02 * G, .02 * G, .02 * G, .02 * G, .02 * G}, 0},
    {DvppBusy(6), DvppBusy(6), {.05 * G, .04 * G, .01 * G, .01 * G, .01 * G, .02 * G}, 0},
};
static_assert(sizeof(kRates) / sizeof(kRates[0]) == kFlows);

constexpr std::array<uint32_t, 6> kAicMhzPercent = {80, 100, 100, 100, 90, 100};

bool IsBusyTime(Flow flow) { return flow >= Flow::kAicBusy; }

// -1 … 1
double Signed(uint64_t hash) { return static_cast<double>(static_cast<int64_t>(hash)) / 0x1p63; }

size_t PhaseOf(double permille) {
  size_t phase = 0;
  while (phase + 1 < kBorders.size() - 1 && permille >= kBorders[phase + 1]) ++phase;
  return phase;
}

}  // namespace

uint64_t Mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

TrainingLoad::TrainingLoad(const ScenarioConfig& config, uint64_t seed, uint32_t device, const Chip& chip)
    : step_ns_(uint64_t{config.step_ms} * 1'000'000),
      checkpoint_every_(config.checkpoint_every),
      offset_ns_(Mix(seed) % step_ns_),
      chip_(&chip) {
  const double device_scale = 1 + kDeviceSwing * Signed(Mix(seed, 1000 + device));
  const double step_s = static_cast<double>(step_ns_) / 1e9;
  for (const Rates& rates : kRates) {
    Shape& shape = shapes_[static_cast<size_t>(rates.flow)];
    shape.key = Mix(Mix(seed, device), static_cast<uint64_t>(rates.key));
    const double scale = device_scale * (IsBusyTime(rates.flow) ? 1 : chip.bandwidth_scale);
    double units = 0;
    for (size_t phase = 0; phase < rates.phase.size(); ++phase) {
      units += rates.phase[phase] * (kBorders[phase + 1] - kBorders[phase]) / 1000 * step_s;
      shape.reached[phase + 1] = units;
    }
    for (double& reached : shape.reached) reached /= units;
    shape.step_units = std::round(units * scale);
    shape.checkpoint_units = std::round(rates.checkpoint * step_s * scale);
  }
}

Position TrainingLoad::At(uint64_t raw_ns) const {
  const uint64_t job_ns = raw_ns + offset_ns_;
  return {.step = job_ns / step_ns_, .within_ns = job_ns % step_ns_};
}

uint32_t TrainingLoad::Permille(uint64_t raw_ns) const {
  return static_cast<uint32_t>(At(raw_ns).within_ns * 1000 / step_ns_);
}

// An even step gets a share more, the odd one after it the same share less.
uint64_t TrainingLoad::StepUnits(const Shape& shape, uint64_t step) const {
  const auto swing =
      static_cast<int64_t>(std::llround(shape.step_units * kStepSwing * Signed(Mix(shape.key, step / 2))));
  const auto mean = static_cast<int64_t>(shape.step_units);
  return static_cast<uint64_t>(step % 2 == 0 ? mean + swing : mean - swing);
}

uint64_t TrainingLoad::Total(Flow flow, uint64_t raw_ns) const {
  const Shape& shape = shapes_[static_cast<size_t>(flow)];
  const Position position = At(raw_ns);
  const uint64_t step = position.step;
  const uint64_t this_step = StepUnits(shape, step);
  const auto mean = static_cast<uint64_t>(shape.step_units);

  uint64_t total = step * mean;
  if (step % 2 == 1) total += mean - this_step;  // the even step before it was as much above the mean

  const double within = static_cast<double>(position.within_ns) / static_cast<double>(step_ns_);
  const size_t phase = PhaseOf(within * 1000);
  const double begin = kBorders[phase] / 1000.0;
  const double end = kBorders[phase + 1] / 1000.0;
  const double local = (within - begin) / (end - begin);
  const double waves = 2 + static_cast<double>(Mix(shape.key, step * 8 + phase) % 4);
  const double angle = 2 * std::numbers::pi * waves;
  const double done = local + kRipple * (1 - std::cos(angle * local)) / angle;
  const double share = shape.reached[phase] + (shape.reached[phase + 1] - shape.reached[phase]) * done;
  total += static_cast<uint64_t>(std::llround(static_cast<double>(this_step) * share));

  if (shape.checkpoint_units > 0) {
    total += step / checkpoint_every_ * static_cast<uint64_t>(shape.checkpoint_units);
    if (step % checkpoint_every_ == checkpoint_every_ - 1) {
      const double written =
          std::clamp((within - kCheckpointBegin) / (kCheckpointEnd - kCheckpointBegin), 0.0, 1.0);
      total += static_cast<uint64_t>(std::llround(shape.checkpoint_units * written));
    }
  }
  return total;
}

// Weights and optimizer state stay; activations grow through the forward pass and go in the backward pass.
uint64_t TrainingLoad::MemoryBytes(uint64_t raw_ns) const {
  const uint64_t memory = uint64_t{chip_->memory_gib} << 30;
  const double within = static_cast<double>(At(raw_ns).within_ns) / static_cast<double>(step_ns_);
  const double grown =
      std::clamp((within - 0.10) / 0.30, 0.0, 1.0) - std::clamp((within - 0.40) / 0.42, 0.0, 1.0);
  return memory / 1000 * 420 +
         static_cast<uint64_t>(static_cast<double>(memory) * 0.35 * std::max(grown, 0.0));
}

uint64_t TrainingLoad::HostSideDdrBytes(uint64_t raw_ns) const {
  return (uint64_t{300} << 20) + (At(raw_ns).step % checkpoint_every_) * (uint64_t{1} << 20);
}

uint32_t TrainingLoad::AicMhz(uint64_t raw_ns) const {
  return chip_->aic_mhz * kAicMhzPercent[PhaseOf(Permille(raw_ns))] / 100;
}

uint64_t TrainingLoad::NextFrequencyChange(uint64_t raw_ns) const {
  const Position position = At(raw_ns);
  for (const uint32_t border : kBorders) {
    const uint64_t at = (step_ns_ * border + 999) / 1000;
    if (at > position.within_ns) return StepStart(position.step) + at;
  }
  return StepStart(position.step + 1);
}

namespace {

// Tasks of a step: `count` equal slots between two permilles, all on one stream.
struct Stage {
  uint32_t begin, end;
  uint16_t count;
  uint16_t stream;
  Task::Kind kind;
};
constexpr Stage kStages[] = {
    {100, 400, 16, 2, Task::Kind::kAic},
    {400, 820, 24, 2, Task::Kind::kAic},
    {740, 900, TaskStory::kParts, 5, Task::Kind::kCommunication},
    {900, 1000, 4, 3, Task::Kind::kAiv},
};

const Stage& StageOf(uint16_t task) {
  uint32_t first = 0;
  for (const Stage& stage : kStages) {
    if (task < first + stage.count) return stage;
    first += stage.count;
  }
  return kStages[0];
}

}  // namespace

TaskStory::TaskStory(const TrainingLoad& load) : load_(&load) {
  uint16_t task = 0;
  for (const Stage& stage : kStages) {
    for (uint32_t i = 0; i < stage.count; ++i, ++task) {
      const uint64_t length = load.step_ns() * (stage.end - stage.begin) / 1000 / stage.count;
      const uint64_t begin = load.step_ns() * stage.begin / 1000 + i * length + length / 20;
      span_[task] = {begin, begin + length * 17 / 20};
      slots_.push_back({.at_ns = span_[task].first, .task = task, .end = false});
      slots_.push_back({.at_ns = span_[task].second, .task = task, .end = true});
    }
  }
  std::stable_sort(slots_.begin(), slots_.end(),
                   [](const Slot& a, const Slot& b) { return a.at_ns < b.at_ns; });
}

uint64_t TaskStory::PartOf(const Task& task) {
  constexpr uint64_t kFirst = kStages[0].count + kStages[1].count;
  static_assert(kStages[2].kind == Task::Kind::kCommunication);
  return task.index % kTasksPerStep - kFirst;
}

// A CCU of a 950 does all of it; logs before STARS have one kind of task for it.
TaskStory::Part TaskStory::PartKind(const Chip& chip, const Task& task) {
  constexpr Part kByStars[kParts] = {Part::kNotified, Part::kCopies, Part::kReduces, Part::kNotifies};
  constexpr format::ChipSet kStars = format::Only({format::Chip::k910B, format::Chip::k310B});
  if (chip.is_950()) return Part::kByCcu;
  return kStars.Has(chip.id) ? kByStars[PartOf(task) % kParts] : Part::kCopies;
}

TaskStory::Event TaskStory::EventAt(uint64_t number) const {
  const uint64_t step = number / kEventsPerStep;
  const Slot& slot = slots_[number % kEventsPerStep];
  const Stage& stage = StageOf(slot.task);
  const uint64_t start = load_->StepStart(step);
  const uint64_t index = step * kTasksPerStep + slot.task;
  return {.task = {.index = index,
                   .start_ns = start + span_[slot.task].first,
                   .end_ns = start + span_[slot.task].second,
                   .stream = stage.stream,
                   .id = static_cast<uint16_t>(index),
                   .kind = stage.kind,
                   .blocks = 8 + static_cast<uint32_t>(Mix(slot.task) % 17)},
          .end = slot.end,
          .at_ns = start + slot.at_ns};
}

uint64_t TaskStory::FirstAfter(uint64_t raw_ns) const {
  const Position position = load_->At(raw_ns);
  const auto next = std::upper_bound(slots_.begin(), slots_.end(), position.within_ns,
                                     [](uint64_t at, const Slot& slot) { return at < slot.at_ns; });
  return position.step * kEventsPerStep + static_cast<uint64_t>(next - slots_.begin());
}

}  // namespace profd::sim
