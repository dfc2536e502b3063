// What processes on the device push: AI CPU kernels (143, 144); of the device's own system see system.cc.
#include <cstring>

#include "format/records/tasks.h"
#include "sim/scenario/channel_ids.h"
#include "sim/scenario/producer.h"

namespace profd::sim {
namespace {

// One kernel record at the end of every communication task; names of the kernels as a text tail at stop.
class AicpuProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

  void Finish(Sample& sample) override {
    sample.AppendRaw("###drv_hashdata###\n1001:AllReduceKernel\n1002:CustomKernel\n");
  }

 protected:
  static constexpr uint16_t kLevel = 6000;
  static constexpr uint32_t kNodeType = 0;

  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind != Task::Kind::kCommunication) return;
    format::AiCpuRecord record{};
    record.magic = format::kReportMagic;
    record.level = kLevel;
    record.type = kNodeType;
    record.thread = event.task.stream;
    record.data_len = sizeof record.data;
    record.ticks = Ticks(event.at_ns);
    struct {
      uint16_t stream, task;
      uint32_t reserved;
      uint64_t start_ticks, end_ticks;
    } const node{event.task.stream, event.task.id, 0, Ticks(event.task.start_ns), Ticks(event.task.end_ns)};
    std::memcpy(record.data, &node, sizeof node);
    sample.Append(record);
    TaskValues(event, sample);
  }
};

}  // namespace

std::unique_ptr<Producer> MakeProcessProducer(const Environment& env, const StartRequest& request) {
  switch (request.channel) {
    case channel::kAicpu:
    case channel::kCusAicpu:
      return std::make_unique<AicpuProducer>(env, request);
    case channel::kAdprof:
      return MakeSystemProducer(env, request);
    default:
      return nullptr;
  }
}

}  // namespace profd::sim
