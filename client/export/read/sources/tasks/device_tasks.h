// What a device logged of its tasks and their counters, joined with the launches of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "client/export/read/sinks.h"
#include "client/export/read/slices.h"
#include "client/export/read/sources/tasks/ai_cpu_collectives.h"
#include "client/export/read/sources/tasks/comm_tasks.h"
#include "client/export/read/sources/tasks/kernel_feed.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/launches.h"
#include "format/decode/decoder.h"
#include "format/decode/span_writer.h"
#include "format/decode/tasks/core_tasks.h"
#include "format/decode/tasks/task_join.h"
#include "format/decode/tasks/task_log.h"

namespace profd::client {

// One device's logs, and the launches that wait for their tasks. **Thread:** one.
class DeviceTasks {
 public:
  // What --kinds calls a file that is read here; "" of others.
  static std::string_view KindOf(const Side& side, std::string_view file);
  // A log of tasks, also one that a decoder of its own reads for what else is in it.
  static bool LogsTasks(const Side& side, std::string_view file);
  static bool WantsCounters(const Wanted& wanted);

  DeviceTasks(const Capture& capture, const Side& side, const Wanted& wanted, const Sinks& sinks,
              int64_t pid);

  int device() const { return side_.facts.device; }
  bool has_tasks() const { return !logs_.empty() || !counters_.empty(); }
  void Join(KernelFeed* kernels) { kernels_ = kernels; }
  // `streams` are those that AI CPUs carry out collectives with.
  void Join(const Capture& capture, const CommStreams& streams, format::CannNames& names);
  void Add(format::Launch&& launch, uint64_t wall_ns) {
    if (!has_tasks()) return;
    if (numbers_tasks_) {
      launch.task |= launch.batch << 16;
      launch.batch = 0;
    }
    join_.Add(std::move(launch), wall_ns);
  }
  // All tasks that begin before `until_ns`.
  void Run(uint64_t until_ns);
  void Finish();

 private:
  struct Log {
    const Stream* stream;
    StreamReader reader;
    format::TaskLog log;
    bool read_twice;  // its bytes are counted by the decoder of its key points
    std::vector<format::DeviceTask> tasks;
    size_t next, announced;
  };
  struct CounterLog {
    const Stream* stream;
    StreamReader reader;
    format::CoreTasks tasks;
    bool ended = false;
    std::vector<format::DeviceTask> ahead =
        {};  // behind the log of tasks, as far as read: those whose records were read
  };

  // nullptr, and said, where nobody knows when its records were made.
  const Stream* FindDated(std::string_view name) const;
  static bool ReadOn(CounterLog& log, std::vector<format::DeviceTask>* tasks = nullptr);
  bool FindCounters(const format::DeviceTask& task, format::TaskCounters& counters);
  // Of the time before the log's end.
  bool IsLogged(const format::DeviceTask& task) const { return task.begin_ticks < log_end_ticks_; }
  // Without a log of tasks, and behind the end of one, their counters say when they were: a log ends where a
  // program begins to report its kernels.
  void RunCounters();
  void FinishCounters(CounterLog& log);
  format::KernelJoin::Task PlacedOf(const format::DeviceTask& task) const;
  // That some tasks from `next` on come now; returns up to where.
  size_t Announce(const std::vector<format::DeviceTask>& tasks, size_t next);
  // A task that a program has reported as a kernel: what it knows.
  void Describe(const format::ReportedKernel& kernel, format::Span& span, format::TaskDetail& detail);
  // As the vendor's timeline has it.
  void AddCopy(const format::LaunchExtras& copy, uint64_t ns);
  format::TextId LoggedType(const format::DeviceTask& task);
  format::Span& AddSpan(const format::DeviceTask& task, uint64_t begin_ns, uint64_t end_ns);
  // One that an AI CPU may have launched.
  void GiveNameless(const format::DeviceTask& task, uint64_t begin_ns, uint64_t end_ns);
  // `counters`: nullptr = none of it.
  void Give(format::DeviceTask task, uint64_t begin_ns, const format::TaskCounters* counters);

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

}  // namespace profd::client
