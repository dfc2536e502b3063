// What processes on the device push: AI CPU kernels (143, 144); of the device's own system see system.cc.
#include <cstring>

#include "format/records/tasks.h"
#include "sim/scenario/producers/channel_ids.h"
#include "sim/scenario/producers/producer.h"

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
  // The kernel runs within its task: handed to its CPU first, then it computes and copies.
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    const Task& task = event.task;
    if (!event.end || task.kind != Task::Kind::kCommunication) return;
    const uint64_t ns = task.end_ns - task.start_ns;
    const auto at = [&](uint64_t percent) { return task.start_ns + ns * percent / 100; };
    const auto us_at = [&](uint64_t percent) { return env_.clock->DeviceNs(at(percent)) / 1000; };
    const uint64_t submitted = at(5), before = at(20), begin = at(25), end = at(90), after = at(95);
    format::AiCpuKernel kernel{};
    kernel.stream = task.stream;
    kernel.task = task.id;
    kernel.begin_us = us_at(25);
    kernel.begin_ticks = Ticks(begin);
    kernel.compute_us = us_at(30);
    kernel.copy_us = us_at(60);
    kernel.copied_us = us_at(80);
    kernel.end_us = us_at(90);
    kernel.end_ticks = Ticks(end);
    kernel.thread = kThread;
    kernel.device = env_.device;
    kernel.submit_ticks = Ticks(submitted);
    kernel.schedule_ticks = Ticks(at(10));
    kernel.before_ticks = Ticks(before);
    kernel.after_ticks = Ticks(after);
    kernel.kernel_type = kAiCpuKernel;
    kernel.dispatch_us = static_cast<uint32_t>((before - submitted) / 1000);
    kernel.total_us = static_cast<uint32_t>((after - submitted) / 1000);
    format::AiCpuRecord record{};
    record.magic = format::kReportMagic;
    record.level = format::kAiCpuLevel;
    record.type = static_cast<uint32_t>(format::AiCpuReport::kKernel);
    record.thread = kThread;
    record.data_len = sizeof kernel;
    record.ticks = Ticks(after);
    std::memcpy(record.data, &kernel, sizeof kernel);
    sample.Append(record);
    TaskValues(event, sample);
    sample.Value("begin_ns", begin);
    sample.Value("run_ns", end - begin);
    sample.Value("total_ns", after - submitted);
    sample.Value("compute_us", kernel.copy_us - kernel.compute_us);
    sample.Value("copy_us", kernel.copied_us - kernel.copy_us);
    sample.Value("dispatch_us", uint64_t{kernel.dispatch_us});
  }

 private:
  static constexpr uint32_t kThread = 3, kAiCpuKernel = 1;
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
