// Files of "TimeStamp:" blocks: the ticks of /proc/stat, /proc/meminfo, and stat and statm of processes; of
// the host, and of the device's own OS.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "format/decode/family.h"
#include "format/decode/host/cpu_classes.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/series.h"

namespace profd::format {

namespace {

const Series kCpuUsageSeries{"cpu_usage",
                             Kind::kDevCpu,
                             {"class"},
                             {{"user", Unit::kRatio},
                              {"sys", Unit::kRatio},
                              {"iowait", Unit::kRatio},
                              {"irq", Unit::kRatio},
                              {"soft", Unit::kRatio},
                              {"idle", Unit::kRatio},
                              // Weight of the row: ticks of the interval, all CPUs of the class.
                              {"ticks", Unit::kCount}}};
const Series kProcessCpuSeries{
    "process_cpu", Kind::kDevPidCpu, {"pid"}, {{"usage", Unit::kRatio}, {"ticks", Unit::kCount}}};
const Series kSysMemSeries{"sys_mem",
                           Kind::kDevMem,
                           {},
                           {{"total", Unit::kBytes},
                            {"free", Unit::kBytes},
                            {"buffers", Unit::kBytes},
                            {"cached", Unit::kBytes},
                            {"shared", Unit::kBytes},
                            {"commit_limit", Unit::kBytes},
                            {"committed", Unit::kBytes},
                            {"huge_total", Unit::kCount},
                            {"huge_free", Unit::kCount}}};
const Series kProcessMemSeries{
    "process_mem",
    Kind::kDevPidMem,
    {"pid"},
    {{"size", Unit::kCount}, {"resident", Unit::kCount}, {"shared", Unit::kCount}}};

// **Thread:** one.
class BlockDecoder : public LineDecoder {
 public:
  BlockDecoder(const DecodeContext& context, const Series& series)
      : LineDecoder(context), rows_(series, context) {}
  void Finish() override {
    if (open_) Reject("block without its end");
    rows_.Flush();
  }

 protected:
  virtual void BeginBlock() {}
  virtual void BodyLine(std::string_view line) = 0;
  virtual void EndBlock(uint64_t wall_ns) = 0;

  Rows rows_;

 private:
  void Line(std::string_view line) final {
    if (line.starts_with("TimeStamp:")) {
      if (open_) Reject("block without its end");
      ++records_;
      const auto stamp = ToNumber<uint64_t>(line.substr(10));
      open_ = stamp.has_value();
      if (!open_) return Reject("no number behind TimeStamp:");
      const bool of_host = context().side->device < 0;
      wall_ns_ = of_host ? context().HostRawToWall(*stamp) : context().DeviceNsToWall(*stamp);
      BeginBlock();
    } else if (!open_) {
      return;
    } else if (line.empty()) {
      EndBlock(wall_ns_);
      open_ = false;
    } else if (!line.starts_with("Index:") && !line.starts_with("DataLen:")) {
      BodyLine(line);
    }
  }

  uint64_t wall_ns_ = 0;
  bool open_ = false;
};

// A "cpu…" line of /proc/stat.
struct CpuTicks {
  static constexpr size_t kColumns = 10;
  std::array<uint64_t, kColumns> ticks{};  // user nice sys idle iowait irq soft steal guest guest_nice

  bool Parse(std::string_view numbers) {
    Words words(numbers);
    size_t i = 0;
    for (; i < kColumns; ++i) {
      const auto number = ToNumber<uint64_t>(words.Next());
      if (!number) break;
      ticks[i] = *number;
    }
    return i >= 7;
  }
  void Add(const CpuTicks& other) {
    for (size_t i = 0; i < kColumns; ++i) ticks[i] += other.ticks[i];
  }
  // What passed since `before`; what shrank did not pass.
  CpuTicks Since(const CpuTicks& before) const {
    CpuTicks passed;
    for (size_t i = 0; i < kColumns; ++i) {
      passed.ticks[i] = ticks[i] > before.ticks[i] ? ticks[i] - before.ticks[i] : 0;
    }
    return passed;
  }
  // guest is in user already; the vendor counts it again.
  double Total(bool vendor) const {
    double sum = 0;
    for (size_t i = 0; i < (vendor ? kColumns : 8); ++i) sum += static_cast<double>(ticks[i]);
    return sum;
  }
};

// SystemCpuUsage.data, host_sys_cpu.data. The vendor adds the counters themselves, which makes it a mean
// since the machine's start. **Thread:** one.
class CpuUsage : public BlockDecoder {
 public:
  explicit CpuUsage(const DecodeContext& context) : BlockDecoder(context, kCpuUsageSeries) {}

 private:
  struct Class {
    CpuTicks now, before;
    bool here = false, has_before = false;
  };

  void BeginBlock() override {
    for (Class& of : classes_) of.now = {}, of.here = false;
  }
  void BodyLine(std::string_view line) override {
    if (!line.starts_with("cpu")) return;
    const std::string_view name = Words(line).Next();
    CpuTicks ticks;
    if (!ticks.Parse(line.substr(name.size()))) return Reject("no cpu line of /proc/stat");
    const int found = ClassOf(name.substr(3));
    if (found < 0) return;
    classes_[found].now.Add(ticks);
    classes_[found].here = true;
  }
  int ClassOf(std::string_view number) const {
    const SideFacts& side = *context().side;
    if (side.device < 0) {
      const bool sum = number.empty();
      return sum || context().vendor_compatible ? static_cast<int>(CpuClass::kHost) : -1;
    }
    const auto cpu = ToNumber<int64_t>(number);
    if (!cpu) return -1;
    if (std::count(side.ctrl_cpus.begin(), side.ctrl_cpus.end(), *cpu) != 0)
      return static_cast<int>(CpuClass::kCtrlCpu);
    if (std::count(side.ai_cpus.begin(), side.ai_cpus.end(), *cpu) != 0)
      return static_cast<int>(CpuClass::kAiCpu);
    return -1;
  }
  void EndBlock(uint64_t wall_ns) override {
    const bool vendor = context().vendor_compatible;
    for (size_t i = 0; i < classes_.size(); ++i) {
      Class& of = classes_[i];
      if (!of.here) continue;
      const CpuTicks passed = vendor ? of.now : of.now.Since(of.before);
      const double total = passed.Total(vendor);
      if ((vendor || of.has_before) && total > 0) {
        const auto part = [&](size_t column) { return static_cast<double>(passed.ticks[column]) / total; };
        rows_.Add(wall_ns, {static_cast<int64_t>(i)},
                  {part(0), part(2), part(4), part(5), part(6), part(3), total});
      }
      of.before = of.now;
      of.has_before = true;
    }
  }

  std::array<Class, 3> classes_;
};

// <pid>-CpuUsage.data. The vendor takes the mean of the process's share since the machine's start.
// **Thread:** one.
class ProcessCpu : public BlockDecoder {
 public:
  ProcessCpu(const DecodeContext& context, int64_t pid)
      : BlockDecoder(context, kProcessCpuSeries), pid_(pid) {}

 private:
  void BeginBlock() override { has_process_ = has_machine_ = false; }
  void BodyLine(std::string_view line) override {
    if (line.starts_with("ProcessName:")) {
      rows_.Label(0, pid_, line.substr(12));
    } else if (line.starts_with("cpu ")) {
      CpuTicks ticks;
      has_machine_ = ticks.Parse(line.substr(4));
      machine_ = ticks.Total(context().vendor_compatible);
    } else if (const size_t name_end = line.rfind(')'); name_end != std::string_view::npos) {
      Words words(line.substr(name_end + 1));
      for (int i = 0; i < 11; ++i) words.Next();
      process_ = 0;
      has_process_ = true;
      for (int i = 0; i < 4; ++i) {  // utime stime cutime cstime
        const auto ticks = ToNumber<int64_t>(words.Next());
        has_process_ = has_process_ && ticks;
        process_ += static_cast<double>(ticks.value_or(0));
      }
    }
  }
  void EndBlock(uint64_t wall_ns) override {
    if (!has_process_ || !has_machine_)
      return Reject("block without the lines of the process and the machine");
    if (context().vendor_compatible) {
      if (machine_ > 0) rows_.Add(wall_ns, {pid_}, {process_ / machine_, 1});
    } else if (has_before_ && machine_ > machine_before_ && process_ >= process_before_) {
      const double passed = machine_ - machine_before_;
      rows_.Add(wall_ns, {pid_}, {(process_ - process_before_) / passed, passed});
    }
    process_before_ = process_;
    machine_before_ = machine_;
    has_before_ = true;
  }

  const int64_t pid_;
  double process_ = 0, machine_ = 0, process_before_ = 0, machine_before_ = 0;
  bool has_process_ = false, has_machine_ = false, has_before_ = false;
};

// Memory.data, host_sys_mem.data. **Thread:** one.
class SysMem : public BlockDecoder {
 public:
  explicit SysMem(const DecodeContext& context) : BlockDecoder(context, kSysMemSeries) {}

 private:
  static constexpr std::string_view kFields[] = {"MemTotal",     "MemFree",         "Buffers",
                                                 "Cached",       "Shmem",           "CommitLimit",
                                                 "Committed_AS", "HugePages_Total", "HugePages_Free"};
  static constexpr size_t kPages = 7;  // from here on pages, before kB

  void BeginBlock() override { values_.fill(kNoValue); }
  void BodyLine(std::string_view line) override {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const auto field = std::find(std::begin(kFields), std::end(kFields), line.substr(0, colon));
    if (field == std::end(kFields)) return;
    const auto value = ToNumber<uint64_t>(Words(line.substr(colon + 1)).Next());
    if (!value) return Reject("no line of /proc/meminfo");
    const size_t i = static_cast<size_t>(field - std::begin(kFields));
    values_[i] = static_cast<double>(*value) * (i < kPages ? 1024 : 1);
  }
  void EndBlock(uint64_t wall_ns) override { rows_.Add(wall_ns, {}, values_); }

  std::array<double, std::size(kFields)> values_{};
};

// <pid>-Memory.data. **Thread:** one.
class ProcessMem : public BlockDecoder {
 public:
  ProcessMem(const DecodeContext& context, int64_t pid)
      : BlockDecoder(context, kProcessMemSeries), pid_(pid) {}

 private:
  void BeginBlock() override { whole_ = false; }
  void BodyLine(std::string_view line) override {
    if (line.starts_with("ProcessName:")) return rows_.Label(0, pid_, line.substr(12));
    Words words(line);
    whole_ = true;
    for (double& pages : pages_) {
      const auto number = ToNumber<uint64_t>(words.Next());
      whole_ = whole_ && number;
      pages = static_cast<double>(number.value_or(0));
    }
  }
  void EndBlock(uint64_t wall_ns) override {
    if (!whole_) return Reject("block without a line of statm");
    rows_.Add(wall_ns, {pid_}, pages_);
  }

  const int64_t pid_;
  std::array<double, 3> pages_{};
  bool whole_ = false;
};

std::unique_ptr<Decoder> MakeCpuUsage(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<CpuUsage>(context);
}
std::unique_ptr<Decoder> MakeProcessCpu(const DecodeContext& context, std::string_view, int64_t pid) {
  return std::make_unique<ProcessCpu>(context, pid);
}
std::unique_ptr<Decoder> MakeSysMem(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<SysMem>(context);
}
std::unique_ptr<Decoder> MakeProcessMem(const DecodeContext& context, std::string_view, int64_t pid) {
  return std::make_unique<ProcessMem>(context, pid);
}

// Whole packets, so that a name nobody knows is told from damage (ReadFilePiece).
bool IsAdprof(const std::byte* bytes) {
  constexpr size_t kHead = offsetof(AdprofPacket, is_last);
  return check::All(
      Load<uint32_t>(bytes) == kAdprofMagic,
      Load<uint32_t>(bytes + offsetof(AdprofPacket, version)) == kAdprofVersion,
      Load<uint32_t>(bytes + offsetof(AdprofPacket, length)) == sizeof(AdprofPacket) - kHead,
      Load<uint64_t>(bytes + offsetof(AdprofPacket, chunk_size)) <= sizeof(AdprofPacket::chunk));
}

constexpr FramingRow kFramings[] = {
    row::Sized<IsAdprof>(chips::kAll, kDevicePackets, sizeof(AdprofPacket), StampDomain::kNone, 0),
    // Blocks of several lines.
    row::Opaque(file::kSystemCpu),
    row::Opaque(file::kSystemMemory),
    row::Opaque(file::kProcessCpu),
    row::Opaque(file::kProcessMemory),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kSystemCpu,
     .kind = Kind::kDevCpu,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kDeviceNs,
     .make = MakeCpuUsage},
    {.file = file::kSystemMemory,
     .kind = Kind::kDevMem,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kDeviceNs,
     .make = MakeSysMem},
    {.file = file::kProcessCpu,
     .kind = Kind::kDevPidCpu,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kDeviceNs,
     .make = MakeProcessCpu},
    {.file = file::kProcessMemory,
     .kind = Kind::kDevPidMem,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kDeviceNs,
     .make = MakeProcessMem},
    row::OfHost(file::kHostSysCpu, Kind::kHostSysCpu, MakeCpuUsage, "TimeStamp:"),
    row::OfHost(file::kHostSysMem, Kind::kHostSysMem, MakeSysMem, "TimeStamp:"),
    row::OfHost(file::kProcessCpu, Kind::kHostPidCpu, MakeProcessCpu, "TimeStamp:"),
    row::OfHost(file::kProcessMemory, Kind::kHostPidMem, MakeProcessMem, "TimeStamp:"),
};

constexpr const Series* kSeries[] = {&kCpuUsageSeries, &kProcessCpuSeries, &kSysMemSeries,
                                     &kProcessMemSeries};

}  // namespace

namespace family {
Family OsBlocks() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
