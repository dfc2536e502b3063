// The device's own system (145): files of its CPUs, memory and processes, in packets, as the collector's
// process on it was told by its arguments.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>

#include "format/records/tasks.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kTickMs = 10;  // of the device's scheduler
constexpr int kCpus = 8;
constexpr int kControlCpu = 0, kAiCpu = 3;

struct Process {
  int pid;
  const char* name;
  uint64_t permille;  // of one CPU
  uint64_t pages;
};
constexpr Process kProcesses[] = {
    {101, "slogd", 5, 2100}, {202, "aicpu_scheduler", 310, 64000}, {303, "adprof", 12, 900}};

// A number that `name` has in the arguments; 0 where its switch is not on.
uint64_t Interval(const std::vector<std::string>& arguments, const std::string& on, const std::string& name) {
  if (std::find(arguments.begin(), arguments.end(), on + ":on") == arguments.end()) return 0;
  for (const std::string& argument : arguments) {
    if (argument.rfind(name + ":", 0) != 0) continue;
    uint64_t value = 0;
    std::from_chars(argument.data() + name.size() + 1, argument.data() + argument.size(), value);
    return value;
  }
  return 0;
}

struct Intervals {
  uint64_t system_ms, processes_ms, cpus_ms;

  explicit Intervals(const std::vector<std::string>& arguments)
      : system_ms(Interval(arguments, "sys_profiling", "sys_sampling_interval")),
        processes_ms(Interval(arguments, "pid_profiling", "pid_sampling_interval")),
        cpus_ms(Interval(arguments, "aiCtrlCpuProfiling", "cpu_sampling_interval")) {
    constexpr uint64_t kUsualMs = 100;
    if (arguments.empty()) system_ms = kUsualMs;
  }
  uint64_t tick_ms() const {
    const uint64_t all = std::gcd(std::gcd(system_ms, processes_ms), cpus_ms);
    return std::max<uint64_t>(all, 1);
  }
};

template <typename... Values>
std::string Text(const char* format, Values... values) {
  char text[256];
  const int size = std::snprintf(text, sizeof text, format, values...);
  return {text, static_cast<size_t>(size)};
}

using Long = unsigned long long;

class SystemProducer : public PeriodicProducer {
 public:
  SystemProducer(const Environment& env, const StartRequest& request, Intervals intervals)
      : PeriodicProducer(env, request, intervals.tick_ms() * kMs), intervals_(intervals) {}

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    if (IsDue(intervals_.system_ms, tick)) {
      Block("SystemCpuUsage.data", CpuLines(tick), tick, sample);
      Block("Memory.data", MemoryLines(tick), tick, sample);
      sample.Value("free_kb", FreeKb(tick));
      sample.Value("jiffies", Jiffies(tick));
    }
    if (IsDue(intervals_.processes_ms, tick)) {
      for (const Process& process : kProcesses) {
        const std::string pid = std::to_string(process.pid);
        Block(pid + "-CpuUsage.data", ProcessCpu(process, tick), tick, sample);
        Block(pid + "-Memory.data",
              Text("%llu %llu 300 20 0 400 0\nProcessName:%s\n", Long{process.pages}, Long{process.pages / 2},
                   process.name),
              tick, sample);
      }
      sample.Value("processes", uint64_t{std::size(kProcesses)});
    }
    if (IsDue(intervals_.cpus_ms, tick)) {
      Send("ai_ctrl_cpu.data", CpuSamples(tick), sample);
      sample.Value("cpu_samples", uint64_t{4});
    }
    return tick.device_ns;
  }

 private:
  bool IsDue(uint64_t interval_ms, const Tick& tick) const {
    return interval_ms != 0 && tick.number * intervals_.tick_ms() % interval_ms == 0;
  }
  static uint64_t Jiffies(const Tick& tick) { return tick.device_ns / (kTickMs * kMs); }

  static std::string CpuLine(const std::string& name, uint64_t total) {
    return Text("%s %llu 0 %llu %llu 0 0 0 0 0 0\n", name.c_str(), Long{total / 5}, Long{total / 10},
                Long{total - total / 5 - total / 10});
  }
  static std::string CpuLines(const Tick& tick) {
    std::string lines = CpuLine("cpu", Jiffies(tick) * kCpus);
    for (int cpu = 0; cpu < kCpus; ++cpu) lines += CpuLine("cpu" + std::to_string(cpu), Jiffies(tick));
    return lines;
  }

  uint64_t TotalKb() const { return uint64_t{env_.chip->memory_gib} << 20; }
  uint64_t FreeKb(const Tick& tick) const { return TotalKb() - (env_.load->MemoryBytes(tick.to_ns) >> 10); }
  std::string MemoryLines(const Tick& tick) const {
    // The fields that readers look for, among others: more than a packet holds.
    std::string lines = Text("MemTotal: %llu kB\nMemFree: %llu kB\nBuffers: 2048 kB\nCached: 65536 kB\n",
                             Long{TotalKb()}, Long{FreeKb(tick)});
    for (const char* other :
         {"SwapCached",     "Active",         "Inactive",      "Active(anon)",  "Inactive(anon)",
          "Active(file)",   "Inactive(file)", "Unevictable",   "Mlocked",       "SwapTotal",
          "SwapFree",       "Dirty",          "Writeback",     "AnonPages",     "Mapped",
          "KReclaimable",   "Slab",           "SReclaimable",  "SUnreclaim",    "KernelStack",
          "PageTables",     "NFS_Unstable",   "Bounce",        "WritebackTmp",  "VmallocTotal",
          "VmallocUsed",    "VmallocChunk",   "Percpu",        "AnonHugePages", "ShmemHugePages",
          "ShmemPmdMapped", "FileHugePages",  "FilePmdMapped", "CmaTotal",      "CmaFree",
          "Hugepagesize"}) {
      lines += Text("%-16s %12d kB\n", (std::string(other) + ":").c_str(), 4096);
    }
    return lines + Text(
                       "Shmem: 1024 kB\nCommitLimit: %llu kB\nCommitted_AS: %llu kB\nHugePages_Total: 16\n"
                       "HugePages_Free: 4\n",
                       Long{TotalKb() / 2}, Long{TotalKb() - FreeKb(tick)});
  }

  static std::string ProcessCpu(const Process& process, const Tick& tick) {
    const uint64_t ticks = Jiffies(tick) * process.permille / 1000;
    return Text(
               "%d (%s) S 1 %d %d 0 -1 4194560 100 0 0 0 %llu %llu 0 0 20 0 4 0 100 1000000 "
               "%llu\nProcessName:%s\n",
               process.pid, process.name, process.pid, process.pid, Long{ticks - ticks / 4}, Long{ticks / 4},
               Long{process.pages}, process.name) +
           CpuLine("cpu ", Jiffies(tick) * kCpus);
  }

  // As perf script prints them.
  static std::string CpuSamples(const Tick& tick) {
    std::string text;
    for (const int cpu : {kControlCpu, kAiCpu}) {
      for (const char* event : {"r8", "r11"}) {
        text += Text("%-16s %d/%d [%03d] %llu.%06llu: %10d %s: \n", kProcesses[1].name, kProcesses[1].pid,
                     kProcesses[1].pid + cpu, cpu, Long{tick.device_ns / 1'000'000'000},
                     Long{tick.device_ns / 1000 % 1'000'000}, event[2] == '1' ? 20000 : 8000, event);
        text += cpu == kAiCpu ? "\t    ffff8a001234 RunKernel+0x24 (/usr/lib64/libaicpu_processer.so)\n"
                                "\t    ffff8a000010 main+0x10 (/var/aicpu_scheduler)\n\n"
                              : "\tffff800010081234 schedule+0x10 ([kernel.kallsyms])\n\n";
      }
    }
    return text;
  }

  static void Block(const std::string& file, const std::string& body, const Tick& tick, Sample& sample) {
    Send(file,
         Text("TimeStamp:%llu\nIndex:%llu\nDataLen:%zu\n", Long{tick.device_ns}, Long{tick.number},
              body.size()) +
             body + "\n",
         sample);
  }

  static void Send(const std::string& file, const std::string& text, Sample& sample) {
    for (size_t at = 0; at < text.size(); at += sizeof format::AdprofPacket::chunk) {
      format::AdprofPacket packet{};
      packet.magic = format::kAdprofMagic;
      packet.version = format::kAdprofVersion;
      packet.type = 1;
      packet.length = sizeof packet - offsetof(format::AdprofPacket, is_last);
      packet.chunk_size = std::min(text.size() - at, sizeof packet.chunk);
      packet.offset = -1;
      std::memcpy(packet.chunk, text.data() + at, packet.chunk_size);
      std::snprintf(packet.file_name, sizeof packet.file_name, "%s", file.c_str());
      sample.Append(packet);
    }
  }

  const Intervals intervals_;
};

}  // namespace

std::unique_ptr<Producer> MakeSystemProducer(const Environment& env, const StartRequest& request) {
  return std::make_unique<SystemProducer>(env, request, Intervals(request.arguments));
}

}  // namespace profd::sim
