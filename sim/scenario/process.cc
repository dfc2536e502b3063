// What processes on the device push: AI CPU kernels (143, 144) and the device's own system figures (145).
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "format/records/tasks.h"
#include "sim/scenario/channel_ids.h"
#include "sim/scenario/producer.h"

namespace profd::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;

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

// Packets that append blocks of text to two files.
class AdprofProducer : public PeriodicProducer {
 public:
  AdprofProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, kPeriodMs * kMs) {}

 protected:
  static constexpr uint64_t kPeriodMs = 100;  // the device's system figures come no faster
  static constexpr uint64_t kTickMs = 10;     // of the device's scheduler
  static constexpr int kCpus = 8;

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    Append("SystemCpuUsage.data", CpuLines(tick), tick, sample);
    Append("Memory.data", MemoryLines(tick), tick, sample);
    return tick.device_ns;
  }

 private:
  static std::string CpuLines(const Tick& tick) {
    const uint64_t jiffies = tick.device_ns / (kTickMs * kMs);
    std::string lines;
    for (int cpu = -1; cpu < kCpus; ++cpu) {
      const uint64_t total = cpu < 0 ? jiffies * kCpus : jiffies;
      char line[160];
      std::snprintf(line, sizeof line, "cpu%s %llu 0 %llu %llu 0 0 0 0 0 0\n",
                    cpu < 0 ? "" : std::to_string(cpu).c_str(), static_cast<unsigned long long>(total / 5),
                    static_cast<unsigned long long>(total / 10),
                    static_cast<unsigned long long>(total - total / 5 - total / 10));
      lines += line;
    }
    return lines;
  }

  std::string MemoryLines(const Tick& tick) const {
    const uint64_t total_kb = uint64_t{env_.chip->memory_gib} << 20;
    const uint64_t used_kb = env_.load->MemoryBytes(tick.to_ns) >> 10;
    char text[512];
    const int size = std::snprintf(
        text, sizeof text,
        "MemTotal: %llu kB\nMemFree: %llu kB\nBuffers: 2048 kB\nCached: 65536 kB\nShmem: 1024 kB\n"
        "CommitLimit: %llu kB\nCommitted_AS: %llu kB\nHugePages_Total: 0\nHugePages_Free: 0\n",
        static_cast<unsigned long long>(total_kb), static_cast<unsigned long long>(total_kb - used_kb),
        static_cast<unsigned long long>(total_kb / 2), static_cast<unsigned long long>(used_kb));
    return {text, static_cast<size_t>(size)};
  }

  void Append(const char* file, const std::string& body, const Tick& tick, Sample& sample) {
    char head[96];
    const int head_size = std::snprintf(head, sizeof head, "TimeStamp:%llu\nIndex:%llu\nDataLen:%zu\n",
                                        static_cast<unsigned long long>(tick.device_ns),
                                        static_cast<unsigned long long>(tick.number), body.size());
    const std::string block = std::string(head, static_cast<size_t>(head_size)) + body + "\n";
    format::AdprofPacket packet{};
    packet.magic = format::kAdprofMagic;
    packet.version = 0x100;
    packet.type = 1;
    packet.length = sizeof packet - 16;
    packet.chunk_size = std::min(block.size(), sizeof packet.chunk);
    packet.offset = -1;
    std::memcpy(packet.chunk, block.data(), packet.chunk_size);
    std::snprintf(packet.file_name, sizeof packet.file_name, "%s", file);
    sample.Append(packet);
  }
};

}  // namespace

std::unique_ptr<Producer> MakeProcessProducer(const Environment& env, const StartRequest& request) {
  switch (request.channel) {
    case channel::kAicpu:
    case channel::kCusAicpu:
      return std::make_unique<AicpuProducer>(env, request);
    case channel::kAdprof:
      return std::make_unique<AdprofProducer>(env, request);
    default:
      return nullptr;
  }
}

}  // namespace profd::sim
