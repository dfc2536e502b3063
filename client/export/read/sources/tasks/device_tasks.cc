#include "client/export/read/sources/tasks/device_tasks.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>

#include "format/kind.h"

namespace profd::client {

namespace {

using format::CoreTasks;
using format::DeviceTask;
using format::Kind;
using format::Launch;
using format::TaskLog;
namespace file = format::file;

constexpr char kNoMagic[] = "records without their magic", kNoRecord[] = "pieces that are no record";
constexpr std::string_view kCounterKind = NameOf(Kind::kAiCoreTask);
constexpr std::string_view kCounterLogs[] = {file::kBothCores, file::kAiCore, file::kVectorCore};
constexpr std::string_view kLogs[] = {file::kStarsLog, file::kTaskLog, file::kVectorTaskLog};
// Of a 310, whose key points are in it, too: it is also read by a decoder of its own.
constexpr std::string_view kTimeLine = file::kTaskTrack, kKeyPointKind = NameOf(Kind::kStepTrace);

// The files that may log a side's tasks.
std::span<const std::string_view> LogsOf(const Side& side) {
  return side.facts.chip == format::Chip::k310 ? std::span(&kTimeLine, 1) : std::span(kLogs);
}

}  // namespace

std::string_view DeviceTasks::KindOf(const Side& side, std::string_view file) {
  if (std::ranges::find(kLogs, file) != std::end(kLogs)) return "task";
  const bool counts = std::ranges::find(kCounterLogs, file) != std::end(kCounterLogs);
  return counts && side.facts.cores_by_task ? kCounterKind : "";
}

bool DeviceTasks::LogsTasks(const Side& side, std::string_view file) {
  return !side.is_host() && std::ranges::find(LogsOf(side), file) != LogsOf(side).end();
}

// Of both kinds of cores: a task may use both.
bool DeviceTasks::WantsCounters(const Wanted& wanted) {
  return wanted.Kind(kCounterKind) || wanted.Kind(NameOf(Kind::kAiVectorTask));
}

DeviceTasks::DeviceTasks(const Capture& capture, const Side& side, const Wanted& wanted, const Sinks& sinks,
                         int64_t pid)
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
    counters_.push_back({stream, StreamReader(capture, *stream, framed, *sinks.report, sinks.progress),
                         CoreTasks(layout, side.facts.wide_streams)});
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
                     TaskLog(layout, side.facts.wide_streams),
                     name == kTimeLine && wanted.Kind(kKeyPointKind),
                     {},
                     0,
                     0});
  }
}

void DeviceTasks::Join(const Capture& capture, const CommStreams& streams, format::CannNames& names) {
  if (has_tasks() && !streams.empty() && !format::Is950(side_.facts.chip))
    by_ai_cpus_.emplace(capture, side_, streams, sinks_, names, comm_,
                        [this](const DeviceTask& task, uint64_t begin_ns, uint64_t end_ns) {
                          GiveNameless(task, begin_ns, end_ns);
                        });
}

void DeviceTasks::Run(uint64_t until_ns) {
  for (Log& log : logs_) {
    while (true) {
      for (; log.next < log.tasks.size(); ++log.next) {
        const uint64_t begin_ns = context_.DeviceTicksToWall(log.tasks[log.next].begin_ticks);
        if (begin_ns >= until_ns) break;
        if (log.next >= log.announced) log.announced = Announce(log.tasks, log.next);
        const DeviceTask& task = log.tasks[log.next];
        log_end_ticks_ = std::max(log_end_ticks_, task.end_ticks);
        format::TaskCounters counters;
        Give(task, begin_ns, FindCounters(task, counters) ? &counters : nullptr);
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

void DeviceTasks::Finish() {
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
    report.Skip(
        {where + ": launches", 0, 0, join_.no_room(), "launches waiting for their tasks: no room for more"});
  }
}

const Stream* DeviceTasks::FindDated(std::string_view name) const {
  const Stream* stream = side_.Find(name);
  if (stream == nullptr) return nullptr;
  const bool wall = side_.has_wall_clock();
  if (wall && (side_.has_clock_pairs || side_.facts.has_device_clock)) return stream;
  sinks_.report->SkipUndated(stream->path(), stream->bytes(), wall ? "dev_start.log" : "start_info");
  return nullptr;
}

bool DeviceTasks::ReadOn(CounterLog& log, std::vector<DeviceTask>* tasks) {
  const std::span<const std::byte> piece = log.reader.Next();
  log.ended = piece.empty();
  log.tasks.Take(piece, tasks);
  return !log.ended;
}

bool DeviceTasks::FindCounters(const DeviceTask& task, format::TaskCounters& counters) {
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

void DeviceTasks::RunCounters() {
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
        if (FindCounters(tasks[next], counters))
          Give(tasks[next], context_.DeviceTicksToWall(tasks[next].begin_ticks), &counters);
      }
    }
  }
}

void DeviceTasks::FinishCounters(CounterLog& log) {
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

format::KernelJoin::Task DeviceTasks::PlacedOf(const DeviceTask& task) const {
  const uint64_t begin_ns = context_.DeviceTicksToWall(task.begin_ticks);
  return {task.stream, begin_ns, std::max(begin_ns, context_.DeviceTicksToWall(task.end_ticks))};
}

size_t DeviceTasks::Announce(const std::vector<DeviceTask>& tasks, size_t next) {
  const size_t end = std::min(tasks.size(), next + format::KernelJoin::kLearnt);
  if (kernels_ == nullptr) return end;
  placed_.clear();
  for (; next < end; ++next) placed_.push_back(PlacedOf(tasks[next]));
  kernels_->Announce(device(), placed_);
  return end;
}

void DeviceTasks::Describe(const format::ReportedKernel& kernel, format::Span& span,
                           format::TaskDetail& detail) {
  span.pid = kernel.span.pid;
  span.tid = kernel.span.tid;
  span.connection = kernel.span.connection;
  span.flow = kernel.span.flow;
  span.category = kernel.span.category;
  span.name = kernel.span.name;
  kernel.Describe(detail);
  if (kernel.span.value != 0) spans_.AddArg(correlation_key_, format::ArgType::kU64, kernel.span.value);
}

void DeviceTasks::AddCopy(const format::LaunchExtras& copy, uint64_t ns) {
  const double gb_s = ns == 0 ? 0 : static_cast<double>(copy.copied_bytes) / static_cast<double>(ns);
  spans_.AddArg(copied_key_, format::ArgType::kU64, copy.copied_bytes);
  spans_.AddArg(speed_key_, format::ArgType::kF64, std::bit_cast<uint64_t>(gb_s));
  spans_.AddArg(operation_key_, format::ArgType::kText, copy.copy_operation);
}

format::TextId DeviceTasks::LoggedType(const DeviceTask& task) {
  return sinks_.texts->Intern(task.context != format::kNoId
                                  ? format::LoggedSubTaskTypeName(task.type)
                                  : format::LoggedTaskTypeName(task.type, context_.side->chip));
}

format::Span& DeviceTasks::AddSpan(const DeviceTask& task, uint64_t begin_ns, uint64_t end_ns) {
  format::Span& span = spans_.Add(format::SpanKind::kTask);
  span.begin_ns = begin_ns;
  span.end_ns = end_ns;
  span.value = task.task;
  span.device = device();
  span.stream = task.stream;
  span.pid = pid_;
  return span;
}

void DeviceTasks::GiveNameless(const DeviceTask& task, uint64_t begin_ns, uint64_t end_ns) {
  format::Span& span = AddSpan(task, begin_ns, end_ns);
  span.category = span.name = LoggedType(task);
  spans_.AddDetail().context = task.context;
}

void DeviceTasks::Give(DeviceTask task, uint64_t begin_ns, const format::TaskCounters* counters) {
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

}  // namespace profd::client
