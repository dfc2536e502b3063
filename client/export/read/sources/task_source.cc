#include "client/export/read/sources/task_source.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/export/read/slices.h"
#include "client/export/read/sources/ai_cpu_collectives.h"
#include "client/export/read/sources/cann_cursor.h"
#include "client/export/read/sources/comm_tasks.h"
#include "client/export/read/sources/host_records.h"
#include "client/export/read/sources/kernel_feed.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/launches.h"
#include "format/decode/decoder.h"
#include "format/decode/line_decoder.h"
#include "format/decode/tasks/core_tasks.h"
#include "format/decode/tasks/task_join.h"
#include "format/decode/tasks/task_log.h"
#include "format/kind.h"
#include "format/records/cann.h"
#include "format/records/packed.h"

namespace profd::client {

namespace {

using format::CannApiRecord;
using format::CannCommOp;
using format::CannCommPart;
using format::CannContexts;
using format::CannCopy;
using format::CannNodeAttributes;
using format::CannNodeInfo;
using format::CannTaskTrack;
using format::CannTensorInfo;
using format::CoreTasks;
using format::DeviceTask;
using format::Kind;
using format::Launch;
using format::TaskLog;
namespace file = format::file;

constexpr size_t kWindowCalls = 1 << 13;
constexpr size_t kWindowTracks = 16 * kWindowCalls;  // a call can launch many
constexpr char kNoMagic[] = "records without their magic", kNoRecord[] = "pieces that are no record";
constexpr std::string_view kCounterKind = NameOf(Kind::kAiCoreTask);
constexpr std::string_view kCounterLogs[] = {file::kBothCores, file::kAiCore, file::kVectorCore};
constexpr std::string_view kLogs[] = {file::kStarsLog, file::kTaskLog, file::kVectorTaskLog};
// Of a 310, whose key points are in it, too: it is also read by a decoder of its own.
constexpr std::string_view kTimeLine = file::kTaskTrack, kKeyPointKind = NameOf(Kind::kStepTrace);

// Of both kinds of cores: a task may use both.
bool WantsCounters(const Wanted& wanted) {
  return wanted.Kind(kCounterKind) || wanted.Kind(NameOf(Kind::kAiVectorTask));
}

// The files that may log a side's tasks.
std::span<const std::string_view> LogsOf(const Side& side) {
  return side.facts.chip == format::Chip::k310 ? std::span(&kTimeLine, 1) : std::span(kLogs);
}

void SkipUndated(const Stream& stream, const char* missing, Report& report) {
  report.Skip({stream.path(), 0, stream.bytes(), 0,
               "its records have no time: " + std::string(missing) + " cannot be read"});
}

// Nowhere.
class NoSpans : public format::SpanSink {
 public:
  void Spans(const format::SpanBatch&) override {}
};

// A device's log, and the launches that wait for their tasks. **Thread:** one.
class DeviceTasks {
 public:
  DeviceTasks(const Capture& capture, const Side& side, const Wanted& wanted, const Sinks& sinks, int64_t pid)
      : side_(side),
        sinks_(sinks),
        pid_(pid),
        numbers_tasks_(format::Is950(side.facts.chip)),
        join_(numbers_tasks_),
        spans_(*sinks.spans, *sinks.texts, "task"),
        comm_(spans_, side.facts.device),
        yes_(sinks.texts->Intern("YES")),
        no_(sinks.texts->Intern("NO")),
        dynamic_(sinks.texts->Intern("dynamic")),
        static_(sinks.texts->Intern("static")),
        graph_(sinks.texts->Intern("FFTS_PLUS")),
        correlation_key_(sinks.texts->Intern("correlation_id")),
        copied_key_(sinks.texts->Intern("size(B)")),
        speed_key_(sinks.texts->Intern("bandwidth(GB/s)")),
        operation_key_(sinks.texts->Intern("operation")),
        ai_cpu_(sinks.texts->Intern("KERNEL_AICPU")),
        ai_cpu_type_(sinks.texts->Intern("AI_CPU")) {
    context_.side = &side.facts;
    context_.clocks = &side.clocks;
    for (const std::string_view name : kCounterLogs) {
      const Stream* stream = WantsCounters(wanted) ? FindDated(name) : nullptr;
      if (stream == nullptr || !side.facts.cores_by_task) continue;
      Framed framed;
      framed.by = Framed::By::kRecord;
      const CoreTasks::Layout layout = CoreTasks::LayoutOf(name, side.facts.chip);
      framed.record_bytes = static_cast<uint32_t>(CoreTasks::RecordBytes(layout));
      counters_.push_back(
          {stream, StreamReader(capture, *stream, framed, *sinks.report, sinks.progress), CoreTasks(layout)});
    }
    for (const std::string_view name : LogsOf(side)) {
      const Stream* stream = wanted.Kind("task") ? FindDated(name) : nullptr;
      if (stream == nullptr) continue;
      const TaskLog::Layout layout = TaskLog::LayoutOf(name, side.facts.chip);
      Framed framed;
      framed.by = Framed::By::kRecord;
      framed.record_bytes = static_cast<uint32_t>(TaskLog::RecordBytes(layout));
      logs_.push_back({stream,
                       StreamReader(capture, *stream, framed, *sinks.report, sinks.progress),
                       TaskLog(layout),
                       name == kTimeLine && wanted.Kind(kKeyPointKind),
                       {},
                       0,
                       0});
    }
  }

  int device() const { return side_.facts.device; }
  bool has_tasks() const { return !logs_.empty() || !counters_.empty(); }
  void Join(KernelFeed* kernels) { kernels_ = kernels; }
  // `streams` are those that AI CPUs carry out collectives with.
  void Join(const Capture& capture, const CommStreams& streams, format::CannNames& names) {
    if (has_tasks() && !streams.empty() && !format::Is950(side_.facts.chip))
      by_ai_cpus_.emplace(capture, side_, streams, sinks_, names, comm_,
                          [this](const DeviceTask& task, uint64_t begin_ns, uint64_t end_ns) {
                            GiveNameless(task, begin_ns, end_ns);
                          });
  }
  void Add(Launch&& launch, uint64_t wall_ns) {
    if (!has_tasks()) return;
    if (numbers_tasks_) {
      launch.task |= launch.batch << 16;
      launch.batch = 0;
    }
    join_.Add(std::move(launch), wall_ns);
  }

  // All tasks that begin before `until_ns`.
  void Run(uint64_t until_ns) {
    for (Log& log : logs_) {
      while (true) {
        for (; log.next < log.tasks.size(); ++log.next) {
          const uint64_t begin_ns = context_.DeviceTicksToWall(log.tasks[log.next].begin_ticks);
          if (begin_ns >= until_ns) break;
          if (log.next >= log.announced) log.announced = Announce(log.tasks, log.next);
          const DeviceTask& task = log.tasks[log.next];
          log_end_ticks_ = std::max(log_end_ticks_, task.end_ticks);
          format::TaskCounters counters;
          Give(task, FindCounters(task, counters) ? &counters : nullptr);
        }
        if (log.next < log.tasks.size()) break;
        log.tasks.clear();
        log.next = log.announced = 0;
        const std::span<const std::byte> piece = log.reader.Next();
        if (piece.empty()) break;
        log.log.Take(piece, log.tasks);
      }
    }
  }
  void Finish() {
    Run(UINT64_MAX);
    RunCounters();
    if (by_ai_cpus_) by_ai_cpus_->Finish();
    comm_.Finish();
    spans_.Flush();
    Report& report = *sinks_.report;
    for (CounterLog& log : counters_) FinishCounters(log);
    for (const Log& log : logs_) {
      const std::string path = log.stream->path();
      report.Count(path, "task", log.read_twice ? 0 : log.reader.bytes_read(), log.log.records());
      const auto skip = [&](uint64_t records, const char* why) {
        if (records > 0) report.Skip({path, 0, 0, records, why});
      };
      skip(log.log.foreign(), log.log.layout() == TaskLog::Layout::kTimeLine ? kNoRecord : kNoMagic);
      skip(log.log.no_start(), "ends of tasks whose start is not there");
      skip(log.log.no_end(), "starts of tasks whose end is not there");
      const uint64_t cut = log.log.cut_at_begin() + log.log.cut_at_end();
      report.Cut(path, cut, "task that ran when the recording began or ended",
                 "tasks that ran when the recording began or ended");
      report.Note(path, log.log.other(), "record of blocks, which is not used",
                  "records of blocks, which are not used");
    }
    if (logs_.empty() && counters_.empty()) return;
    const std::string where = "device " + std::to_string(device());
    report.Note(where, nameless_, "task that no call of the host is known for",
                "tasks that no call of the host is known for");
    report.Note(where, join_.launches_without_task(), "launch without a task in the device's log",
                "launches without a task in the device's log");
    if (join_.no_room() > 0) {
      report.Skip({where + ": launches", 0, 0, join_.no_room(),
                   "launches waiting for their tasks: no room for more"});
    }
  }

 private:
  struct Log {
    const Stream* stream;
    StreamReader reader;
    TaskLog log;
    bool read_twice;  // its bytes are counted by the decoder of its key points
    std::vector<DeviceTask> tasks;
    size_t next, announced;
  };
  struct CounterLog {
    const Stream* stream;
    StreamReader reader;
    CoreTasks tasks;
    bool ended = false;
    std::vector<DeviceTask> ahead =
        {};  // behind the log of tasks, as far as read: those whose records were read
  };

  // nullptr, and said, where nobody knows when its records were made.
  const Stream* FindDated(std::string_view name) const {
    const Stream* stream = side_.Find(name);
    if (stream == nullptr) return nullptr;
    const bool wall = side_.has_wall_clock();
    if (wall && (side_.has_clock_pairs || side_.facts.has_device_clock)) return stream;
    SkipUndated(*stream, wall ? "dev_start.log" : "start_info", *sinks_.report);
    return nullptr;
  }

  static bool ReadOn(CounterLog& log, std::vector<DeviceTask>* tasks = nullptr) {
    const std::span<const std::byte> piece = log.reader.Next();
    log.ended = piece.empty();
    log.tasks.Take(piece, tasks);
    return !log.ended;
  }

  bool FindCounters(const DeviceTask& task, format::TaskCounters& counters) {
    bool found = false;
    for (CounterLog& log : counters_) {
      if (log.tasks.has_times()) {
        while (!log.ended && !log.tasks.Reaches(task.end_ticks)) {
          std::erase_if(log.ahead, [this](const DeviceTask& read) { return IsLogged(read); });
          ReadOn(log, &log.ahead);
        }
        found = log.tasks.Find(task, counters) || found;
      } else {
        // Who knows whether it comes: as far as there is room.
        bool of_log = log.tasks.Find(task, counters);
        while (!of_log && log.tasks.waiting() < CoreTasks::kMostWaiting / 2 && !log.ended && ReadOn(log))
          of_log = log.tasks.Find(task, counters);
        found = found || of_log;
      }
    }
    return found;
  }

  // Of the time before the log's end.
  bool IsLogged(const DeviceTask& task) const { return task.begin_ticks < log_end_ticks_; }

  // Without a log of tasks, and behind the end of one, their counters say when they were: a log ends where a
  // program begins to report its kernels.
  void RunCounters() {
    std::vector<DeviceTask> tasks;
    for (CounterLog& log : counters_) {
      if (!log.tasks.has_times()) continue;
      while (!log.ended || !log.ahead.empty()) {
        if (log.ahead.empty()) ReadOn(log, &log.ahead);
        tasks = std::exchange(log.ahead, {});
        std::erase_if(tasks, [this](const DeviceTask& task) { return IsLogged(task); });
        size_t announced = 0;
        for (size_t next = 0; next < tasks.size(); ++next) {
          if (next >= announced) announced = Announce(tasks, next);
          // Of a task of both core types the first record is found with the second.
          format::TaskCounters counters;
          if (FindCounters(tasks[next], counters)) Give(tasks[next], &counters);
        }
      }
    }
  }

  void FinishCounters(CounterLog& log) {
    while (!log.ended) ReadOn(log);
    Report& report = *sinks_.report;
    const std::string path = log.stream->path();
    report.Count(path, std::string(kCounterKind), log.reader.bytes_read(), log.tasks.records());
    if (log.tasks.foreign() > 0) {
      report.Skip({path, 0, 0, log.tasks.foreign(),
                   log.tasks.layout() == CoreTasks::Layout::kTrack ? kNoRecord : kNoMagic});
    }
    if (log.tasks.layout() == CoreTasks::Layout::kTrack) {
      report.Note(path, log.tasks.other(), "record that counts nothing", "records that count nothing");
    } else {
      report.Note(path, log.tasks.other(), "record of blocks, or whose counters ran over",
                  "records of blocks, or whose counters ran over");
    }
    if (logs_.empty() && !log.tasks.has_times() && log.tasks.no_task() > 0) {
      report.Skip({path, 0, 0, log.tasks.no_task(),
                   "counters of tasks: without a log of tasks their times are unknown"});
      return;
    }
    report.Note(path, log.tasks.no_task(), "record of a task that is not in the device's log",
                "records of tasks that are not in the device's log");
  }

  format::KernelJoin::Task PlacedOf(const DeviceTask& task) const {
    const uint64_t begin_ns = context_.DeviceTicksToWall(task.begin_ticks);
    return {task.stream, begin_ns, std::max(begin_ns, context_.DeviceTicksToWall(task.end_ticks))};
  }

  // That some tasks from `next` on come now; returns up to where.
  size_t Announce(const std::vector<DeviceTask>& tasks, size_t next) {
    const size_t end = std::min(tasks.size(), next + format::KernelJoin::kLearnt);
    if (kernels_ == nullptr) return end;
    placed_.clear();
    for (; next < end; ++next) placed_.push_back(PlacedOf(tasks[next]));
    kernels_->Announce(device(), placed_);
    return end;
  }

  // A task that a program has reported as a kernel: what it knows.
  void Describe(const format::ReportedKernel& kernel, format::Span& span, format::TaskDetail& detail) {
    span.pid = kernel.span.pid;
    span.tid = kernel.span.tid;
    span.connection = kernel.span.connection;
    span.flow = kernel.span.flow;
    span.category = kernel.span.category;
    span.name = kernel.span.name;
    kernel.Describe(detail);
    if (kernel.span.value != 0) spans_.AddArg(correlation_key_, format::ArgType::kU64, kernel.span.value);
  }

  // As the vendor's timeline has it.
  void AddCopy(const format::LaunchExtras& copy, uint64_t ns) {
    const double gb_s = ns == 0 ? 0 : static_cast<double>(copy.copied_bytes) / static_cast<double>(ns);
    spans_.AddArg(copied_key_, format::ArgType::kU64, copy.copied_bytes);
    spans_.AddArg(speed_key_, format::ArgType::kF64, std::bit_cast<uint64_t>(gb_s));
    spans_.AddArg(operation_key_, format::ArgType::kText, copy.copy_operation);
  }

  format::TextId LoggedType(const DeviceTask& task) {
    return sinks_.texts->Intern(task.context != format::kNoId
                                    ? format::LoggedSubTaskTypeName(task.type)
                                    : format::LoggedTaskTypeName(task.type, context_.side->chip));
  }

  format::Span& AddSpan(const DeviceTask& task, uint64_t begin_ns, uint64_t end_ns) {
    format::Span& span = spans_.Add(format::SpanKind::kTask);
    span.begin_ns = begin_ns;
    span.end_ns = end_ns;
    span.value = task.task;
    span.device = device();
    span.stream = task.stream;
    span.pid = pid_;
    return span;
  }

  // One that an AI CPU may have launched.
  void GiveNameless(const DeviceTask& task, uint64_t begin_ns, uint64_t end_ns) {
    format::Span& span = AddSpan(task, begin_ns, end_ns);
    span.category = span.name = LoggedType(task);
    spans_.AddDetail().context = task.context;
  }

  // `counters`: nullptr = none of it.
  void Give(DeviceTask task, const format::TaskCounters* counters) {
    const uint64_t begin_ns = context_.DeviceTicksToWall(task.begin_ticks);
    const uint64_t end_ns = std::max(begin_ns, context_.DeviceTicksToWall(task.end_ticks));
    const Launch* launch = join_.Find(task, begin_ns);
    if (launch != nullptr) task.stream = launch->stream;
    if (launch == nullptr && by_ai_cpus_ && by_ai_cpus_->AddTask(task, begin_ns, end_ns)) return;
    format::Span& span = AddSpan(task, begin_ns, end_ns);
    format::TaskDetail& detail = spans_.AddDetail();
    detail.context = task.context;
    if (counters != nullptr) spans_.AddCounters(*counters);
    format::ReportedKernel kernel;
    const bool reported = kernels_ != nullptr && kernels_->Find(device(), PlacedOf(task), kernel);
    if (launch == nullptr && reported) return Describe(kernel, span, detail);
    if (launch == nullptr) {
      ++nameless_;
      span.category = span.name = LoggedType(task);
      return;
    }
    // Of a launch of sub tasks the log knows better what each is (task_processor.cpp, GetTaskType).
    span.category = launch->task_type == graph_ ? LoggedType(task) : launch->task_type;
    span.tid = launch->thread;
    span.connection = launch->connection;
    span.flow = launch->connection != 0 ? format::Flow::kEnds : format::Flow::kNone;
    static const format::LaunchedOp kUnknown;
    const format::LaunchedOp* const known = launch->OpOf(task.context);
    const format::LaunchedOp& op = known != nullptr ? *known : kUnknown;
    span.name = op.op_name != 0 ? op.op_name : launch->kernel != 0 ? launch->kernel : span.category;
    detail.batch = launch->batch;
    detail.model = launch->model;
    detail.model_name = launch->model_name;
    detail.kernel_name = launch->kernel;
    detail.has_op = op.is_compute;
    detail.op_name = op.op_name;
    detail.attributes = op.attributes;
    detail.block_num = op.blocks;
    detail.mix_block_num = op.mix_blocks;
    format::SetTensors(detail, op.tensors);
    if (op.op_type != 0) {
      detail.op_type = op.op_type;
      detail.op_task_type = op.op_task_type;
    }
    if (op.has_info) {
      detail.op_state = op.is_dynamic ? dynamic_ : static_;
      detail.hf32 = op.hf32 ? yes_ : no_;
    }
    const bool carries_out = by_ai_cpus_ && by_ai_cpus_->IsKernel(*launch);
    if (carries_out) {
      detail.carries_out = true;
      if (launch->task_type == ai_cpu_) detail.op_task_type = ai_cpu_type_;
    }
    // What follows are spans of their own.
    if (launch->extras != nullptr && launch->extras->copy_operation != 0)
      AddCopy(*launch->extras, end_ns - begin_ns);
    if (carries_out) by_ai_cpus_->AddKernel(task, *launch);
    if (launch->comm() != nullptr) comm_.Add(task, *launch, begin_ns, end_ns);
  }

  const Side& side_;
  const Sinks& sinks_;
  const int64_t pid_;
  format::DecodeContext context_;
  std::deque<Log> logs_;
  std::deque<CounterLog> counters_;
  // A 950: a task has one number of 32 bits, and its log no stream (Ascend/msprof, tree_analyzer.cpp,
  // GetTaskIdBit; ascend_task_association.cpp, FillDeviceTaskStreamId).
  const bool numbers_tasks_;
  format::TaskJoin join_;
  format::SpanWriter spans_;
  CommTasks comm_;
  std::optional<AiCpuCollectives> by_ai_cpus_;
  KernelFeed* kernels_ = nullptr;
  std::vector<format::KernelJoin::Task> placed_;
  const format::TextId yes_, no_, dynamic_, static_, graph_, correlation_key_;
  const format::TextId copied_key_, speed_key_, operation_key_, ai_cpu_, ai_cpu_type_;
  uint64_t log_end_ticks_ = 0;  // of the tasks that have been given
  uint64_t nameless_ = 0;
};

// **Thread:** one.
class TaskSource {
 public:
  TaskSource(const Capture& capture, const Wanted& wanted, bool vendor_compatible, const Sinks& sinks)
      : capture_(capture),
        sinks_(sinks),
        wanted_(wanted),
        vendor_compatible_(vendor_compatible),
        names_(*sinks.texts),
        with_calls_(wanted.Kind("api")),
        calls_(with_calls_ ? *sinks.spans : static_cast<format::SpanSink&>(nowhere_), *sinks.texts, "api") {
    const int64_t pid = capture.host() != nullptr ? capture.host()->facts.pid : 0;
    for (const Side& side : capture.sides) {
      if (side.is_host() || !wanted.Device(side.facts.device)) continue;
      devices_.emplace_back(capture, side, wanted, sinks, pid);
    }
    const bool any = std::ranges::any_of(devices_, &DeviceTasks::has_tasks);
    if (!any || !sinks.joins_kernels) return;
    kernels_.emplace(capture, wanted, *sinks.spans, *sinks.texts);
    if (!kernels_->any()) kernels_.reset();
    for (DeviceTasks& device : devices_) device.Join(kernels_ ? &*kernels_ : nullptr);
  }
  bool gave_kernels() const { return kernels_.has_value(); }

  void Run() {
    const Side* host = capture_.host();
    if (host != nullptr && host->has_wall_clock()) {
      Host(*host);
    } else if (host != nullptr) {
      for (const Stream& stream : host->streams) {
        if (!TaskStreamKind(*host, stream.file).empty()) SkipUndated(stream, "start_info", *sinks_.report);
      }
    }
    for (DeviceTasks& device : devices_) device.Finish();
    const bool cancelled = sinks_.progress != nullptr && sinks_.progress->cancelled;
    if (kernels_ && !cancelled) kernels_->Finish();
  }

 private:
  void Host(const Side& host) {
    ReadNames(capture_, host, sinks_, names_);
    format::ModelCalls models;
    // The same file is read for the calls once more: what most directories need not.
    if (names_.knows_models()) ReadModelCalls(capture_, host, sinks_, models);
    const std::map<uint32_t, format::TextId> model_names = ReadModelNames(capture_, host, names_);
    format::DecodeContext context;
    context.side = &host.facts;
    context.clocks = &host.clocks;
    if (with_calls_) GiveOperatorRecords(capture_, host, wanted_, sinks_, names_, models, calls_);
    Report& report = *sinks_.report;
    Cursor<CannApiRecord> calls(capture_, host, file::kApi, report, sinks_.progress);
    Cursor<CannTaskTrack> tracks(capture_, host, "compact.task_track", report, sinks_.progress);
    Cursor<CannNodeInfo> infos(capture_, host, "compact.node_basic_info", report, sinks_.progress);
    Cursor<CannTensorInfo> tensors(capture_, host, "additional.tensor_info", report, sinks_.progress);
    Cursor<CannNodeAttributes> attributes(capture_, host, "compact.node_attr_info", report, sinks_.progress);
    Cursor<CannContexts> contexts(capture_, host, "additional.context_id_info", report, sinks_.progress);
    Cursor<CannCopy> copies(capture_, host, "compact.memcpy_info", report, sinks_.progress);
    Cursor<CannCommOp> comm_ops(capture_, host, "compact.hccl_op_info", report, sinks_.progress);
    Cursor<CannCommPart> comm_parts(capture_, host, "additional.hccl_info", report, sinks_.progress);
    // At level 0 the vendor knows an operator's name only, whatever the records hold.
    const bool names_only =
        vendor_compatible_ && (host.facts.prof_level == "l0" || host.facts.prof_level == "level0");
    format::Captures captures(names_, *sinks_.texts);
    ReadCaptures(capture_, host, sinks_, captures);
    ReadCommStreams(capture_, host, sinks_, comm_streams_);
    for (DeviceTasks& device : devices_) device.Join(capture_, comm_streams_, names_);
    format::Launches launches(names_, *sinks_.texts, models, captures, names_only);
    launches.SetPids(ReadThreads(capture_));
    const auto to_wall = [&](uint64_t stamp) { return context.HostCounterToWall(stamp); };
    uint64_t until_ns = 0;  // tasks that begin before it have their launches
    const format::Launches::Take take_launch = [&](Launch&& launch) {
      if (const auto model = model_names.find(launch.model); model != model_names.end())
        launch.model_name = model->second;
      const uint64_t wall_ns = to_wall(launch.stamp);
      until_ns = std::max(until_ns, wall_ns);
      const auto of_device =
          std::ranges::find(devices_, static_cast<int>(launch.device), &DeviceTasks::device);
      if (of_device != devices_.end()) of_device->Add(std::move(launch), wall_ns);
    };
    bool last = false;
    while (!last) {
      if (sinks_.progress != nullptr && sinks_.progress->cancelled) return;
      calls.Drain(UINT64_MAX, kWindowCalls, [&](const CannApiRecord& call, bool) { launches.Add(call); });
      last = calls.done();
      const uint64_t end = last ? UINT64_MAX : launches.end_stamp();
      tracks.Drain(end, kWindowTracks, [&](const CannTaskTrack& track, bool) { launches.Add(track); });
      infos.Drain(end, kWindowTracks, [&](const CannNodeInfo& info, bool ages) { launches.Add(info, ages); });
      tensors.Drain(end, kWindowTracks, [&](const CannTensorInfo& of_one, bool) { launches.Add(of_one); });
      attributes.Drain(end, kWindowTracks,
                       [&](const CannNodeAttributes& of_one, bool) { launches.Add(of_one); });
      contexts.Drain(end, kWindowTracks, [&](const CannContexts& of_one, bool) { launches.Add(of_one); });
      copies.Drain(end, kWindowTracks, [&](const CannCopy& copy, bool) { launches.Add(copy); });
      comm_ops.Drain(end, kWindowTracks, [&](const CannCommOp& op, bool) { launches.Add(op); });
      comm_parts.Drain(end, kWindowTracks, [&](const CannCommPart& part, bool) { launches.Add(part); });
      last = last && tracks.done() && infos.done() && tensors.done() && attributes.done() &&
             contexts.done() && copies.done() && comm_ops.done() && comm_parts.done();
      until_ns = 0;
      launches.EndWindow(last, host.facts.pid, to_wall, calls_, take_launch);
      if (launches.waiting_since() != UINT64_MAX)
        until_ns = std::min(until_ns, to_wall(launches.waiting_since()));
      until_ns -= std::min<uint64_t>(until_ns, 2 * format::TaskJoin::kSlackNs);
      for (DeviceTasks& device : devices_) device.Run(until_ns);
    }
    calls_.Flush();
    calls.Count(report, "api");
    tracks.Count(report, "task");
    infos.Count(report, "task");
    tensors.Count(report, "task");
    attributes.Count(report, "task");
    contexts.Count(report, "task");
    copies.Count(report, "task");
    comm_ops.Count(report, "task");
    comm_parts.Count(report, "task");
    if (launches.foreign() > 0)
      report.Skip({"host/data", 0, 0, launches.foreign(), "API records without their magic"});
    if (launches.unpaired_events() > 0) {
      report.Skip({"host/data", 0, 0, launches.unpaired_events(), "API events whose other end is not there"});
    }
    report.Note("host", launches.tracks_without_call(), "launch outside of every call",
                "launches outside of every call");
    report.Note("host", names_.unknown(), "name that the dictionaries do not hold",
                "names that the dictionaries do not hold");
  }

  const Capture& capture_;
  const Sinks& sinks_;
  const Wanted& wanted_;
  const bool vendor_compatible_;
  std::optional<KernelFeed> kernels_;
  NoSpans nowhere_;
  format::CannNames names_;
  CommStreams comm_streams_;
  const bool with_calls_;
  format::SpanWriter calls_;
  std::deque<DeviceTasks> devices_;
};

}  // namespace

bool LogsTasks(const Side& side, std::string_view file) {
  return !side.is_host() && std::ranges::find(LogsOf(side), file) != LogsOf(side).end();
}

std::string_view TaskStreamKind(const Side& side, std::string_view file) {
  if (std::ranges::find(kLogs, file) != std::end(kLogs)) return "task";
  const bool counts = std::ranges::find(kCounterLogs, file) != std::end(kCounterLogs);
  if (counts && side.facts.cores_by_task) return kCounterKind;
  if (!file.starts_with("aging.") && !file.starts_with("unaging.")) return "";
  const std::string_view rest = file.substr(file.find('.') + 1);
  const bool of_calls =
      rest == file::kApi || rest == "compact.task_track" || rest == "compact.node_basic_info" ||
      rest == "additional.tensor_info" || rest == "compact.node_attr_info" ||
      rest == "compact.hccl_op_info" || rest == "compact.memcpy_info" || rest == "additional.hccl_info" ||
      rest == "additional.context_id_info" || IsOfOperators(rest) || IsOfCaptures(rest) ||
      rest == kCommStreams || rest == "additional.hash_dic" || rest == "additional.type_info_dic";
  return of_calls ? (side.is_host() ? "api" : "task") : "";
}

bool DecodeTasks(const Capture& capture, const Wanted& wanted, bool vendor_compatible, const Sinks& sinks) {
  if (!wanted.Kind("task") && !wanted.Kind("api") && !WantsCounters(wanted)) return false;
  TaskSource source(capture, wanted, vendor_compatible, sinks);
  source.Run();
  return source.gave_kernels();
}

}  // namespace profd::client
