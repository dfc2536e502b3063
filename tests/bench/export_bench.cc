// What an export costs: records per CPU-second and core, and peak memory, of generated directories in the
// sizes of the vendor's own figures. Ratios to the goals and to the vendor's exporter; with --gate an exit
// status.
//
//   export_bench [--gate] [--seconds N] [--tasks N] [--best-of N] [--dir FOLDER] [--only OUTPUT]
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "client/export/exporter.h"
#include "client/export/read/capture.h"
#include "client/export/read/sources/pipeline.h"
#include "format/directory/prof_dir.h"
#include "format/records/cann.h"
#include "format/records/device.h"
#include "format/records/tasks.h"

namespace profd {
namespace {

namespace fs = std::filesystem;
using client::ExportFormat;

constexpr uint64_t kBeginNs = 1'700'000'000'000'000'000, kRawNs = 5'000'000'000'000,
                   kDeviceNs = 3'000'000'000'000;
constexpr uint64_t kDeviceTicks = 145'000'000'000, kTickNs = 20;
constexpr size_t kSliceBytes = 2 << 20;

// Slices of one stream, cut on record edges.
class Stream {
 public:
  Stream(fs::path folder, std::string file, int device)
      : folder_(std::move(folder)), file_(std::move(file)), device_(device) {}
  ~Stream() { Cut(); }
  void Add(const void* bytes, size_t size) {
    buffer_.append(static_cast<const char*>(bytes), size);
    if (buffer_.size() >= kSliceBytes) Cut();
  }
  template <typename Record>
  void Add(const Record& record) {
    Add(&record, sizeof record);
  }
  void Text(const char* format, auto... values) {
    char line[256];
    Add(line, static_cast<size_t>(std::snprintf(line, sizeof line, format, values...)));
  }

 private:
  void Cut() {
    if (buffer_.empty()) return;
    std::ofstream(folder_ / format::SliceName(file_, device_, slice_++), std::ios::binary) << buffer_;
    buffer_.clear();
  }
  const fs::path folder_;
  const std::string file_;
  const int device_;
  uint64_t slice_ = 0;
  std::string buffer_;
};

void Write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Control files of one side; where its data go.
fs::path MakeSide(const fs::path& prof, int device) {
  const fs::path side = prof / (device < 0 ? "host" : "device_" + std::to_string(device));
  fs::create_directories(side / "data");
  const std::string tag = device < 0 ? "" : "." + std::to_string(device);
  const format::ClockPair at{kRawNs, kRawNs, kBeginNs, kDeviceNs, kDeviceTicks, 0};
  format::DeviceInfo info;
  info.id = static_cast<uint32_t>(device < 0 ? 0 : device);
  info.chip = format::Chip::k910B;
  info.counter_mhz = 1000.0 / kTickNs;
  info.ctrl_cpu_core_num = 1;
  format::HostFacts host;
  host.memory_total_kb = 64 << 20;
  format::SampleSettings settings;
  settings.kinds = {"hbm", "llc"};
  settings.llc_mode = "read";
  Write(side / ("info.json" + tag),
        format::InfoJson(host, device < 0 ? nullptr : &info, format::Chip::k910B, 467473, {4242, "trainer"}));
  Write(side / "sample.json", format::SampleJson(settings, device));
  Write(side / ("start_info" + tag), format::StartInfo(at));
  Write(side / ("host_start.log" + tag), format::HostStartLog(at, device));
  if (device >= 0) Write(side / ("dev_start.log" + tag), format::DevStartLog(at));
  return side / "data";
}

// 28 records a tick at 100 Hz: HBM, PCIe, LLC, HCCS, NIC, RoCE.
uint64_t MakeSampled(const fs::path& prof, int devices, uint64_t seconds) {
  constexpr uint32_t kLlcEvents[] = {0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36};
  MakeSide(prof, -1);
  for (int device = 0; device < devices; ++device) {
    const fs::path data = MakeSide(prof, device);
    Stream hbm(data, "hbm.data", device), pcie(data, "pcie.data", device), llc(data, "llc.data", device);
    Stream hccs(data, "hccs.data", device), nic(data, "nic.data", device), roce(data, "roce.data", device);
    hccs.Text("time_stamp(s):time_stamp(ns) send_amount receive_amount\n");
    for (uint64_t tick = 1; tick <= seconds * 100; ++tick) {
      const uint64_t us = tick * 10'000, ns = kDeviceNs + us * 1000;
      const auto some = static_cast<uint32_t>(tick * 2654435761u);
      for (uint32_t event = 0; event < 2; ++event) {
        for (uint32_t id = 0; id < 4; ++id) {
          hbm.Add(format::HbmRecord{us, (some >> 12) + id, event, id});
        }
      }
      for (uint32_t id = 0; id < 2; ++id) {
        for (const uint32_t event : kLlcEvents)
          llc.Add(format::LlcRecord{us, (some >> 14) + event, event, id});
      }
      char record[96] = {};
      std::memcpy(record, &ns, sizeof ns);
      for (uint32_t i = 0; i < 21; ++i) {
        const uint32_t value = 100 + i + (some >> 25);
        std::memcpy(record + 12 + 4 * i, &value, sizeof value);
      }
      pcie.Add(record, sizeof record);
      const uint64_t s = ns / 1'000'000'000, rest = ns % 1'000'000'000;
      hccs.Text("%" PRIu64 ":%09" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s, rest, tick * 3'000'000,
                tick * 2'000'000);
      for (Stream* port : {&nic, &roce}) {
        port->Text("%" PRIu64 ":%09" PRIu64 " 100000 1000 1310720000 %" PRIu64 " %" PRIu64
                   " 0 0 2000 2621440000 %" PRIu64 " %" PRIu64 " 0 0 0\n",
                   s, rest, tick * 10, tick * 12'500, tick * 20, tick * 25'000);
      }
    }
  }
  return static_cast<uint64_t>(devices) * seconds * 100 * 28;
}

// Per task two records of the device's log, two calls, a track and a node info.
uint64_t MakeTasks(const fs::path& prof, uint64_t tasks) {
  constexpr uint32_t kLaunch = 1, kKernelLaunch = 2, kThread = 4242;
  const fs::path host = MakeSide(prof, -1), device = MakeSide(prof, 0);
  Stream calls(host, "aging.api_event.data", -1), tracks(host, "aging.compact.task_track", -1);
  Stream infos(host, "aging.compact.node_basic_info", -1), log(device, "stars_soc.data", 0);
  Stream hashes(host, "unaging.additional.hash_dic", -1), types(host, "unaging.additional.type_info_dic", -1);
  for (uint64_t op = 0; op < 1000; ++op) hashes.Text("%" PRIu64 ":MatMul_%" PRIu64 "\n", 1000 + op, op);
  hashes.Text("12:MatMul\n14:matmul_kernel\n");
  types.Text("10000_1:launch\n5000_2:KernelLaunch\n5000_13:KERNEL_AICORE\n");
  for (uint64_t i = 0; i < tasks; ++i) {
    const uint64_t at = kRawNs + 1'000'000 + i * 20'000, op = 1000 + i % 1000;
    const auto task = static_cast<uint16_t>(i);
    calls.Add(
        format::CannApiRecord{format::kCannMagic, 5000, kKernelLaunch, kThread, 0, at + 1000, at + 5000, 14});
    calls.Add(format::CannApiRecord{format::kCannMagic, 10000, kLaunch, kThread, 0, at, at + 6000, op});
    tracks.Add(format::CannTaskTrack{
        {format::kCannMagic, 5000, 3, kThread, 40, at + 3000}, 0, 7, task, 0, 13, 14, 0, 0, 0, {}});
    infos.Add(
        format::CannNodeInfo{{format::kCannMagic, 10000, 4, kThread, 40, at + 6000}, op, 0, 12, 20, 0, {}});
    format::StarsTaskRecord record{};
    record.magic = format::kStarsMagic;
    record.stream = 7;
    record.task = task;
    record.ticks = kDeviceTicks + (at + 12'000 - kRawNs) / kTickNs;
    log.Add(record);
    record.header = 1;
    record.ticks += 5000 / kTickNs;
    log.Add(record);
  }
  return tasks * 6;
}

struct Cost {
  bool ok = false;
  double cpu_s = 0;
  double rss_mib = 0;
};

// In a process of its own.
Cost MeasureOnce(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return {};
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0, seconds(usage.ru_utime) + seconds(usage.ru_stime),
          static_cast<double>(usage.ru_maxrss) / 1024};
}

// Of several runs the one that others disturbed least.
Cost Measure(uint64_t runs, const std::function<bool()>& work) {
  Cost best = MeasureOnce(work);
  for (uint64_t i = 1; i < runs && best.ok; ++i) {
    const Cost cost = MeasureOnce(work);
    const double rss_mib = std::max(best.rss_mib, cost.rss_mib);
    if (!cost.ok || cost.cpu_s < best.cpu_s) best = cost;
    best.rss_mib = rss_mib;
  }
  return best;
}

class Nowhere : public format::RowSink, public format::SpanSink {
 public:
  void Rows(const format::RowBatch&) override {}
  void Spans(const format::SpanBatch&) override {}
};

bool DecodeOnly(const std::string& prof) {
  client::Report report;
  auto capture = client::OpenCapture(prof, false, report);
  if (!capture.ok()) return false;
  Nowhere nowhere;
  format::Texts texts;
  client::Progress progress;
  client::Sinks sinks;
  sinks.rows = &nowhere;
  sinks.spans = &nowhere;
  sinks.texts = &texts;
  sinks.report = &report;
  sinks.progress = &progress;
  client::Decode(capture.value(), client::Wanted{}, false, sinks);
  return report.complete();
}

bool ExportAs(const std::string& prof, const fs::path& out, ExportFormat format) {
  client::ExportOptions options;
  options.formats = {format};
  options.out = out.string();
  client::Progress progress;
  const auto result = client::Export(prof, options, progress);
  if (!result.ok()) std::fprintf(stderr, "%s\n", result.status().message().c_str());
  return result.ok() && result.value().report.complete();
}

struct Goal {
  const char* name;
  double records_per_s;  // 0: none
};

int Main(int argc, char** argv) {
  bool gate = false;
  uint64_t seconds = 60, tasks = 1'000'000, runs = 1;
  fs::path folder = fs::temp_directory_path();
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--gate") gate = true;
    if (i + 1 >= argc) continue;
    if (option == "--seconds") seconds = std::strtoull(argv[++i], nullptr, 10);
    if (option == "--tasks") tasks = std::strtoull(argv[++i], nullptr, 10);
    if (option == "--best-of") runs = std::strtoull(argv[++i], nullptr, 10);
    if (option == "--dir") folder = argv[++i];
    if (option == "--only") only = argv[++i];
  }
  folder /= "export_bench." + std::to_string(getpid());
  const fs::path sampled = folder / "PROF_000001_20231114221320000_00004242ABCDEFGH";
  const fs::path task_dir = folder / "PROF_000002_20231114221320000_00004242ABCDEFGH";
  struct Input {
    const char* name;
    fs::path path;
    uint64_t records;
    // The vendor's records per CPU-second from raw data: timeline, summary, database.
    double vendor_timeline, vendor_summary, vendor_db;
  };
  const Input inputs[] = {
      {"sampled (8 devices)", sampled, MakeSampled(sampled, 8, seconds), 71'400, 74'400, 77'900},
      {"tasks", task_dir, MakeTasks(task_dir, tasks), 59'500, 62'700, 79'700}};
  constexpr Goal kGoals[] = {{"decode", 0}, {"perfetto", 10e6}, {"csv", 10e6}, {"chrome", 4e6}, {"db", 0}};
  constexpr double kMostMib = 256;
  bool good = true;
  std::printf("%-20s %-9s %12s %14s %10s %10s %10s %8s\n", "input", "output", "records", "records/CPU-s",
              "to goal", "to vendor", "peak MiB", "MB/s");
  for (const Input& input : inputs) {
    uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(input.path)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    for (const Goal& goal : kGoals) {
      const std::string name = goal.name;
      if (!only.empty() && only != name) continue;
      const fs::path out = folder / name;
      fs::create_directories(out);
      const Cost cost = Measure(runs, [&] {
        if (name == "decode") return DecodeOnly(input.path);
        const ExportFormat format = name == "perfetto" ? ExportFormat::kPerfetto
                                    : name == "csv"    ? ExportFormat::kCsv
                                    : name == "chrome" ? ExportFormat::kChrome
                                                       : ExportFormat::kDatabase;
        return ExportAs(input.path, out, format);
      });
      const double rate = cost.cpu_s > 0 ? static_cast<double>(input.records) / cost.cpu_s : 0;
      const double vendor_rate = name == "csv"  ? input.vendor_summary
                                 : name == "db" ? input.vendor_db
                                                : input.vendor_timeline;
      char to_goal[32] = "-";
      if (goal.records_per_s > 0) std::snprintf(to_goal, sizeof to_goal, "%.2f", rate / goal.records_per_s);
      std::printf("%-20s %-9s %12" PRIu64 " %14.0f %10s %9.0fx %10.0f %8.0f%s\n", input.name, goal.name,
                  input.records, rate, to_goal, rate / vendor_rate, cost.rss_mib,
                  static_cast<double>(bytes) / 1e6 / cost.cpu_s, cost.ok ? "" : "  FAILED");
      std::fflush(stdout);
      good = good && cost.ok && cost.rss_mib <= kMostMib &&
             (goal.records_per_s == 0 || rate >= goal.records_per_s) && rate >= 50 * vendor_rate;
      fs::remove_all(out);
    }
  }
  fs::remove_all(folder);
  return gate && !good ? 1 : 0;
}

}  // namespace
}  // namespace profd

int main(int argc, char** argv) { return profd::Main(argc, argv); }
