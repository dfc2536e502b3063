#include "sim/scenario/producers/producer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace profd::sim {
namespace {

template <typename Number>
void AppendNumber(std::string& out, Number value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

template <typename Number>
void AppendList(std::string& out, std::span<const Number> values) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    AppendNumber(out, values[i]);
  }
  out += ']';
}

}  // namespace

void Sample::Clear() {
  bytes_.clear();
  values_.clear();
  records_ = 0;
}

void Sample::AppendRaw(std::string_view record) {
  bytes_ += record;
  ++records_;
}

void Sample::Key(std::string_view key) {
  if (!values_.empty()) values_ += ',';
  values_ += '"';
  values_ += key;
  values_ += "\":";
}

void Sample::Value(std::string_view key, double value) {
  if (!wants_values_) return;
  Key(key);
  AppendNumber(values_, value);
}

void Sample::Value(std::string_view key, uint64_t value) {
  if (!wants_values_) return;
  Key(key);
  AppendNumber(values_, value);
}

void Sample::Value(std::string_view key, std::string_view text) {
  if (!wants_values_) return;
  Key(key);
  values_ += '"';
  values_ += text;
  values_ += '"';
}

void Sample::Values(std::string_view key, std::span<const double> values) {
  if (!wants_values_) return;
  Key(key);
  AppendList(values_, values);
}

void Sample::Values(std::string_view key, std::span<const uint64_t> values) {
  if (!wants_values_) return;
  Key(key);
  AppendList(values_, values);
}

uint32_t StartRequest::Word(size_t index, uint32_t otherwise) const {
  if (payload.size() < (index + 1) * sizeof(uint32_t)) return otherwise;
  uint32_t word;
  std::memcpy(&word, payload.data() + index * sizeof word, sizeof word);
  return word;
}

uint16_t StartRequest::Half(size_t byte_offset) const {
  if (payload.size() < byte_offset + sizeof(uint16_t)) return 0;
  uint16_t half;
  std::memcpy(&half, payload.data() + byte_offset, sizeof half);
  return half;
}

std::vector<uint32_t> QosPercentOf(const StartRequest& request, size_t offset) {
  constexpr size_t kMostStreams = 10;  // bandwidths in a record
  std::vector<uint32_t> percent(std::min<size_t>(request.Half(offset), kMostStreams));
  for (size_t i = 0; i < percent.size(); ++i) {
    const size_t at = offset + 2 * sizeof(uint16_t) + i;
    const size_t id = at < request.payload.size() ? static_cast<uint8_t>(request.payload[at]) : 0;
    percent[i] = id >= 1 && id <= kQosPercent.size() ? kQosPercent[id - 1] : 0;
  }
  return percent;
}

PeriodicProducer::PeriodicProducer(const Environment& env, const StartRequest& request, uint64_t period_ns)
    : env_(env),
      period_ns_(period_ns),
      device_start_ns_(env.clock->DeviceNs(request.start_ns)),
      last_ns_(request.start_ns),
      due_ns_(env.clock->HostNs(device_start_ns_ + period_ns)) {}

void PeriodicProducer::Emit(Sample& sample) {
  ++number_;
  const uint64_t device_ns = device_start_ns_ + number_ * period_ns_;
  const Tick tick{.number = number_,
                  .from_ns = last_ns_,
                  .to_ns = due_ns_,
                  .device_ns = device_ns,
                  .ticks = env_.clock->Ticks(device_ns),
                  .since_start_us = number_ * period_ns_ / 1000,
                  .seconds = static_cast<double>(period_ns_) / 1e9};
  sample.number = number_;
  sample.host_raw_ns = due_ns_;
  sample.stamp = Encode(tick, sample);
  last_ns_ = due_ns_;
  due_ns_ = env_.clock->HostNs(device_start_ns_ + (number_ + 1) * period_ns_);
}

TaskProducer::TaskProducer(const Environment& env, const StartRequest& request)
    : env_(env), next_(env.tasks->FirstAfter(request.start_ns)), event_(env.tasks->EventAt(next_)) {}

void TaskProducer::Emit(Sample& sample) {
  sample.number = ++number_;
  sample.host_raw_ns = event_.at_ns;
  sample.stamp = Ticks(event_.at_ns);
  Encode(event_, sample);
  event_ = env_.tasks->EventAt(++next_);
}

uint64_t TaskProducer::Cycles(const Task& task) const {
  // More blocks than cores run one after the other.
  return (task.end_ns - task.start_ns) * env_.chip->aic_mhz / 1000 *
         std::min(task.blocks, env_.chip->aic_count);
}

uint64_t TaskProducer::Counted(uint64_t cycles, uint64_t event_number, uint64_t salt) {
  return cycles * (50 + Mix(event_number, salt) % 600) / 1000;
}

void TaskProducer::TaskValues(const TaskStory::Event& event, Sample& sample) const {
  sample.Value("stream", uint64_t{event.task.stream});
  sample.Value("task", uint64_t{event.task.id});
  sample.Value("end", uint64_t{event.end});
}

std::unique_ptr<Producer> MakeProducer(const Environment& env, const StartRequest& request) {
  for (const auto make : {MakeMemoryProducer, MakeLinkProducer, MakeCoreProducer, MakeSocProducer,
                          MakeTaskProducer, MakeInstrProducer, MakeProcessProducer}) {
    if (auto producer = make(env, request)) return producer;
  }
  return nullptr;
}

}  // namespace profd::sim
