// Producers turn the load into the bytes of one channel: a sample per period, or a record per event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/scenario/chip.h"
#include "sim/scenario/clock.h"
#include "sim/scenario/load.h"

namespace profd::sim {

// What one tick or event of a channel delivers, and what it means.
class Sample {
 public:
  explicit Sample(bool wants_values) : wants_values_(wants_values) {}

  void Clear();

  template <typename Record>
  void Append(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record>);
    AppendRaw({reinterpret_cast<const char*>(&record), sizeof record});
  }
  void AppendRaw(std::string_view record);                      // one record, or one line
  void AppendHeader(std::string_view line) { bytes_ += line; }  // counts as no record

  // Semantic values for the truth file; free when nobody wants them.
  void Value(std::string_view key, double value);
  void Value(std::string_view key, uint64_t value);
  void Value(std::string_view key, std::string_view text);
  void Values(std::string_view key, std::span<const double> values);
  void Values(std::string_view key, std::span<const uint64_t> values);

  const std::string& bytes() const { return bytes_; }
  uint32_t records() const { return records_; }
  const std::string& values() const { return values_; }  // members of a JSON object
  bool wants_values() const { return wants_values_; }

  uint64_t number = 0;       // of the sample, from 1
  uint64_t host_raw_ns = 0;  // the moment it stands for
  uint64_t stamp = 0;        // as written in the records

 private:
  void Key(std::string_view key);

  bool wants_values_;
  std::string bytes_;
  uint32_t records_ = 0;
  std::string values_;
};

// What a producer may look at. **Owns:** nothing; outlives every producer.
struct Environment {
  uint32_t device;
  const Chip* chip;
  const TrainingLoad* load;
  const TaskStory* tasks;
  const DeviceClock* clock;
  const HostCounter* host_counter;
};

struct StartRequest {
  uint32_t channel;
  uint32_t period_ms;
  std::string payload;                 // user_data
  uint64_t start_ns;                   // host raw
  std::vector<std::string> arguments;  // of the process on the device that feeds the channel

  uint32_t Word(size_t index, uint32_t otherwise = 0) const;  // of the payload, as u32 words
  uint16_t Half(size_t byte_offset) const;
};

// **Thread:** sim-gen, or whoever holds the generator's lock.
class Producer {
 public:
  virtual ~Producer() = default;

  static constexpr uint64_t kNever = UINT64_MAX;
  virtual uint64_t due_ns() const = 0;        // host raw time of the next sample
  virtual void Emit(Sample& sample) = 0;      // exactly that one
  virtual void Finish(Sample& /*sample*/) {}  // the tail that some channels add when they are stopped
};

// A producer on the period grid: sample k = 1, 2, … is due at start + k·period on the device's clock.
class PeriodicProducer : public Producer {
 public:
  PeriodicProducer(const Environment& env, const StartRequest& request, uint64_t period_ns);

  uint64_t due_ns() const override { return due_ns_; }
  void Emit(Sample& sample) override;

 protected:
  struct Tick {
    uint64_t number;
    uint64_t from_ns, to_ns;  // host raw
    uint64_t device_ns;       // T2 at `to`
    uint64_t ticks;           // T3 at `to`
    uint64_t since_start_us;  // T1 at `to`
    double seconds;           // of the period, by the device's clock
  };
  // Appends the records and values, and answers the stamp it wrote.
  virtual uint64_t Encode(const Tick& tick, Sample& sample) = 0;

  uint64_t Flowed(Flow flow, const Tick& tick) const {
    return env_.load->Between(flow, tick.from_ns, tick.to_ns);
  }

  const Environment env_;

 private:
  uint64_t period_ns_;
  uint64_t device_start_ns_;
  uint64_t number_ = 0;
  uint64_t last_ns_;
  uint64_t due_ns_;
};

// A producer of task records: one Encode per start or end of a task.
class TaskProducer : public Producer {
 public:
  TaskProducer(const Environment& env, const StartRequest& request);

  uint64_t due_ns() const override { return event_.at_ns; }
  void Emit(Sample& sample) override;

 protected:
  virtual void Encode(const TaskStory::Event& event, Sample& sample) = 0;
  uint64_t Ticks(uint64_t host_ns) const { return env_.clock->TicksAtHost(host_ns); }
  // Cycles of the task's cores and one counter of them, by the counter's event number.
  uint64_t Cycles(const Task& task) const;
  static uint64_t Counted(uint64_t cycles, uint64_t event_number, uint64_t salt);
  void TaskValues(const TaskStory::Event& event, Sample& sample) const;

  const Environment env_;

 private:
  uint64_t next_;
  TaskStory::Event event_;
  uint64_t number_ = 0;
};

inline constexpr double kMebibyte = 1 << 20;
// The share weight/total of a running total: shares of one total keep adding up to it, and never decrease.
inline uint64_t Share(uint64_t total, uint32_t weight, uint32_t of) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(total) * weight / of);
}

// Shares of the memory traffic that the QoS streams carry, in percent; as many as there are streams.
// Stream i has id i + 1.
inline constexpr std::array<uint32_t, 3> kQosPercent = {78, 15, 7};
// What the streams that a start asks for carry, in its order; one that is none carries nothing. `offset`: of
// their number (u16), two bytes and their ids in the payload.
std::vector<uint32_t> QosPercentOf(const StartRequest& request, size_t offset);

// One factory per family of channels; nullptr: not a channel of the family.
std::unique_ptr<Producer> MakeMemoryProducer(const Environment& env, const StartRequest& request);
std::unique_ptr<Producer> MakeLinkProducer(const Environment& env, const StartRequest& request);
std::unique_ptr<Producer> MakeCoreProducer(const Environment& env, const StartRequest& request);
std::unique_ptr<Producer> MakeSocProducer(const Environment& env, const StartRequest& request);
std::unique_ptr<Producer> MakeTaskProducer(const Environment& env, const StartRequest& request);
std::unique_ptr<Producer> MakeInstrProducer(const Environment& env, const StartRequest& request);
std::unique_ptr<Producer> MakeProcessProducer(const Environment& env, const StartRequest& request);
std::unique_ptr<Producer> MakeSystemProducer(const Environment& env, const StartRequest& request);

// nullptr: nothing is simulated on this channel; it starts and stays silent.
std::unique_ptr<Producer> MakeProducer(const Environment& env, const StartRequest& request);

// `recorded` instead of what is simulated; it outlives the producer.
std::unique_ptr<Producer> MakeReplayProducer(const Environment& env, const StartRequest& request,
                                             std::string_view recorded);

}  // namespace profd::sim
