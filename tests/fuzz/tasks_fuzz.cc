// Task logs and what CANN layers report: any bytes in, in windows as an export makes them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/launches.h"
#include "format/decode/cann/operator_records.h"
#include "format/decode/tasks/core_tasks.h"
#include "format/decode/tasks/task_join.h"
#include "format/decode/tasks/task_log.h"
#include "format/records/packed.h"
#include "tests/fuzz/checked_spans.h"

using namespace profd::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto layout = static_cast<TaskLog::Layout>(data[0] % 4);
  const size_t window = 1 + data[1] % 16;
  const std::span bytes = std::as_bytes(std::span(data + 2, size - 2));

  Texts texts(1 << 16);
  CannNames names(texts);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    names.HashLine(text.substr(at, end - at));
    names.TypeLine(text.substr(at, end - at));
    at = end + 1;
  }

  TaskLog log(layout);
  std::vector<DeviceTask> tasks;
  log.Take(bytes, tasks);
  const bool time_line = layout == TaskLog::Layout::kTimeLine;
  PROFD_CHECK(time_line ? log.records() * sizeof(TsTimeLineRecord) <= bytes.size()
                        : log.records() == bytes.size() / TaskLog::RecordBytes(layout));
  PROFD_CHECK(time_line || 2 * tasks.size() + log.foreign() + log.other() + log.no_start() + log.no_end() +
                                   log.cut_at_begin() + log.cut_at_end() >=
                               log.records());

  // Counters by task: each record is found once, waits, or was told why not.
  CoreTasks counters(static_cast<CoreTasks::Layout>(data[0] / 4 % 5));
  counters.Take(bytes, data[1] % 2 != 0 ? &tasks : nullptr);
  size_t counted = 0;
  for (const DeviceTask& task : tasks) {
    TaskCounters found;
    counted += counters.Find(task, found) ? 1 : 0;
  }
  const bool track = counters.layout() == CoreTasks::Layout::kTrack;
  PROFD_CHECK(track ? counters.records() * sizeof(TsTrackHead) <= bytes.size()
                    : counters.records() == bytes.size() / CoreTasks::RecordBytes(counters.layout()));
  PROFD_CHECK(counted + counters.no_task() + (track ? 0 : counters.foreign()) + counters.other() <=
              counters.records());

  ModelCalls models;
  for (size_t at = 0; at + sizeof(CannApiRecord) <= bytes.size(); at += sizeof(CannApiRecord))
    models.Add(Load<CannApiRecord>(bytes.data() + at));
  models.Finish();
  Captures captures(names, texts);
  const size_t left = captures.TakeVariable(bytes);
  PROFD_CHECK(left < sizeof(CannCapturedOp) + TensorList::kMost * sizeof(CannTensor));
  for (size_t at = 0; at + sizeof(CannCapture) <= bytes.size(); at += sizeof(CannCapture)) {
    const auto record = Load<CannCapture>(bytes.data() + at);
    if (!IsDamage(record)) captures.Add(record);
  }
  Launches launches(names, texts, models, captures);
  Checked sink;
  SpanWriter writer(sink, texts);
  TaskJoin join;
  size_t calls = 0, tracks = 0, given = 0, next = 0;
  for (size_t at = 0; at < bytes.size(); at += 64 * window) {
    for (size_t i = 0; i < window; ++i) {
      const std::span rest = bytes.subspan(std::min(at + 64 * i, bytes.size()));
      if (rest.size() < 64) break;
      launches.Add(Load<CannApiRecord>(rest.data()));
      launches.Add(Load<CannTaskTrack>(rest.data()));
      launches.Add(Load<CannNodeInfo>(rest.data()), (i & 1) != 0);
      launches.Add(Load<CannCopy>(rest.data()));
      if (rest.size() >= sizeof(CannTensorInfo)) launches.Add(Load<CannTensorInfo>(rest.data()));
      if (rest.size() >= sizeof(CannContexts)) launches.Add(Load<CannContexts>(rest.data()));
      ++tracks;
    }
    calls += launches.calls();
    const bool last = at + 64 * window >= bytes.size();
    launches.EndWindow(
        last, 1, [](uint64_t stamp) { return stamp; }, writer,
        [&](Launch&& launch) {
          ++given;
          const uint64_t stamp = launch.stamp;
          join.Add(std::move(launch), stamp);
        });
    for (; next < tasks.size() && (last || tasks[next].begin_ticks < launches.waiting_since()); ++next) {
      const Launch* launch = join.Find(tasks[next], tasks[next].begin_ticks);
      PROFD_CHECK(launch == nullptr ||
                  (launch->stream == tasks[next].stream && launch->task == tasks[next].task));
    }
  }
  writer.Flush();

  Checked of_operators;
  SpanWriter operators(of_operators, texts);
  OperatorRecords records(names, operators, 1);
  size_t taken = 0;
  for (size_t at = 0; at + sizeof(CannMemory) <= bytes.size(); at += 8) {
    const auto memory = Load<CannMemory>(bytes.data() + at);
    const auto model = Load<CannModel>(bytes.data() + at);
    const auto fused = Load<CannFusedOp>(bytes.data() + at);
    if (!IsDamage(memory)) records.Take(memory, memory.head.stamp), ++taken;
    if (!IsDamage(model)) records.Take(model);
    if (!IsDamage(fused)) records.Take(fused, models, fused.head.stamp), ++taken;
  }
  operators.Flush();
  PROFD_CHECK(of_operators.spans == taken);
  PROFD_CHECK(sink.spans == calls);
  PROFD_CHECK(given <= tracks);
  PROFD_CHECK(launches.waiting_since() == UINT64_MAX);
  return 0;
}
