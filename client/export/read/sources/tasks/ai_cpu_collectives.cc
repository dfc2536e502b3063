#include "client/export/read/sources/tasks/ai_cpu_collectives.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "format/comm_words.h"
#include "format/kind.h"
#include "format/records/packed.h"

namespace profd::client {

using format::AiCpuCommEdge;
using format::AiCpuCommOp;
using format::AiCpuCommPart;
using format::AiCpuRecord;
using format::AiCpuReport;
using format::Launch;

namespace {

constexpr size_t kMostParts = 1 << 17, kMostTasks = 1 << 16, kMostRunning = 1 << 12;
constexpr uint64_t kReportMs = 1000;  // how long after its kernel a report may come
constexpr uint64_t kLogMs = 2;        // how much later than its time a task may be logged
constexpr uint64_t kLastMs = 10'000;  // how long after its kernel a collective may end
constexpr uint8_t kCoreTask = 20;     // C_CORE_SQE: on the main stream of a collective in an operator
constexpr std::string_view kNoKernels[] = {"NOTIFY_WAIT", "MEMCPY_ASYNC"}, kInit = "hcomAicpuInit";

}  // namespace

void CommStreams::Add(const format::CannCommStreams& record) {
  kernels[record.kernels] = record.group;
  for (uint32_t n = 0; n < record.count; ++n) {
    std::vector<uint64_t>& of = work[record.streams[n]];
    if (std::ranges::find(of, uint64_t{record.group}) == of.end()) of.push_back(record.group);
  }
}

AiCpuCollectives::AiCpuCollectives(const Capture& capture, const Side& side, const CommStreams& streams,
                                   const Sinks& sinks, format::CannNames& names, CommTasks& comm,
                                   GiveTask give)
    : streams_(streams),
      sinks_(sinks),
      comm_(comm),
      give_(std::move(give)),
      reader_of_words_(names, *sinks.texts),
      wide_(side.facts.wide_streams),
      ticks_per_ms_(std::max<uint64_t>(1, static_cast<uint64_t>(side.facts.counter_mhz * 1000))),
      parts_(kMostParts),
      ran_(kMostTasks) {
  const Stream* stream = side.Find(format::file::kAiCpu);
  if (stream == nullptr) return;
  Framed framed;
  framed.by = Framed::By::kRecord;
  framed.record_bytes = sizeof(AiCpuRecord);
  // Its bytes are counted, and complained of, where the kernels themselves are read.
  reader_.emplace(capture, *stream, framed, elsewhere_, nullptr);
}

bool AiCpuCollectives::IsKernel(const Launch& launch) const {
  const std::string_view name = sinks_.texts->Get(launch.op_name);
  if (!name.ends_with(format::kCommKernel) && !streams_.kernels.contains(launch.stream)) return false;
  const std::string_view type = sinks_.texts->Get(launch.task_type);
  return std::ranges::find(kNoKernels, type) == std::end(kNoKernels) && !name.empty() && name != kInit;
}

bool AiCpuCollectives::AddTask(const format::DeviceTask& task, uint64_t begin_ns, uint64_t end_ns) {
  const auto of = streams_.work.find(task.stream);
  if (task.context != format::kNoId || of == streams_.work.end()) return false;
  now_ticks_ = std::max(now_ticks_, task.end_ticks);
  const Task added{task, begin_ns, end_ns, std::make_shared<bool>(false)};
  for (const uint64_t group : of->second) {
    std::deque<Task>& tasks = groups_[group].tasks;
    tasks.push_back(added);
    if (tasks.size() <= kMostTasks) continue;
    Give(tasks.front());
    tasks.pop_front();
    ++no_room_;
  }
  CloseAll(false);
  return true;
}

void AiCpuCollectives::Give(const Task& task) {
  if (!std::exchange(*task.given, true)) give_(task.task, task.begin_ns, task.end_ns);
}

void AiCpuCollectives::AddKernel(const format::DeviceTask& task, const Launch& launch) {
  const uint64_t begin = task.begin_ticks, end = task.end_ticks;
  const uint32_t stream = task.stream;
  now_ticks_ = std::max(now_ticks_, end);
  ReadUntil(end + kReportMs * ticks_per_ms_);
  Running running{.begin_ticks = begin,
                  .end_ticks = end,
                  .of = {launch.connection, launch.model, 0},
                  .collective = {},
                  .model_name = launch.model_name,
                  .group = 0,
                  .of_library = of_library_[stream],
                  .first = {},
                  .last = {}};
  if (const auto group = streams_.kernels.find(stream); group != streams_.kernels.end())
    running.group = group->second;
  format::Collective& collective = running.collective;
  reader_of_words_.SetGroup(running.group, collective);
  std::deque<OpInfo>& ops = ops_[stream];
  while (!ops.empty() && ops.front().ticks < begin) ops.pop_front();
  const std::shared_ptr<format::Collective> known =
      launch.extras != nullptr ? launch.extras->carries_out : nullptr;
  if (!ops.empty() && ops.front().ticks <= end) {
    reader_of_words_.Describe(ops.front().record, collective);
    running.group = ops.front().record.group;
    if (known != nullptr) {
      known->relay = collective.relay;
      known->retry = collective.retry;
    }
    ops.pop_front();
  }
  std::deque<Edge>& edges = edges_[stream];
  for (; !edges.empty() && edges.front().ticks <= end; edges.pop_front()) {
    if (edges.front().ticks < begin) continue;
    if (edges.front().is_last) running.last = edges.front().task;
    if (!edges.front().is_last && !running.first) running.first = edges.front().task;
  }
  uint32_t* const ran = ran_.FindOrAdd(KeyOf(stream, task.task) ^ uint64_t{launch.batch} << 16);
  const uint32_t number = ran == nullptr ? 1 : ++*ran;
  collective.connection = launch.connection;
  collective.name = launch.op_name;
  collective.of_ai_cpu = true;
  if (collective.data_type == 0) {  // as the vendor's analyser has it
    collective.rank_size = UINT32_MAX;
    collective.count = UINT32_MAX;
  }
  const bool is_theirs = running.of_library && known != nullptr;
  running.of.name = sinks_.texts->Intern(comm_.NameOf(is_theirs ? *known : collective, number));
  if (running_.size() < kMostRunning) {
    running_.push_back(std::move(running));
  } else {
    ++no_room_;
  }
  CloseAll(false);
}

void AiCpuCollectives::ReadUntil(uint64_t ticks) {
  while (reader_ && read_ticks_ < ticks) {
    const std::span<const std::byte> piece = reader_->Next();
    if (piece.empty()) return reader_.reset();
    for (size_t at = 0; at + sizeof(AiCpuRecord) <= piece.size(); at += sizeof(AiCpuRecord))
      Take(format::Load<AiCpuRecord>(piece.data() + at));
  }
}

void AiCpuCollectives::Take(const AiCpuRecord& record) {
  if (record.magic != format::kReportMagic || record.level != format::kAiCpuLevel) return;
  read_ticks_ = std::max(read_ticks_, uint64_t{record.ticks});
  const auto* const data = reinterpret_cast<const std::byte*>(record.data);
  switch (static_cast<AiCpuReport>(uint32_t{record.type})) {
    case AiCpuReport::kKernel:
    case AiCpuReport::kQueue:
    case AiCpuReport::kWait:
      return;
    case AiCpuReport::kCommOp: {
      const auto op = format::Load<AiCpuCommOp>(data);
      const uint32_t stream = format::StarsIdsOf(op.stream, op.task, wide_).stream;
      of_library_[stream] = true;
      ops_[stream].push_back({record.ticks, op});
      return;
    }
    case AiCpuReport::kCommEdge: {
      const auto edge = format::Load<AiCpuCommEdge>(data);
      const format::StarsIds kernel = format::StarsIdsOf(edge.kernel_stream, edge.kernel_task, wide_);
      const format::StarsIds ids = format::StarsIdsOf(edge.stream, edge.task, wide_);
      edges_[kernel.stream].push_back({record.ticks, KeyOf(ids.stream, ids.task), edge.is_last != 0});
      return;
    }
    case AiCpuReport::kCommParts:
      TakePart(format::Load<AiCpuCommPart>(data));
      TakePart(format::Load<AiCpuCommPart>(data + sizeof(AiCpuCommPart)));
      return;
  }
}

void AiCpuCollectives::TakePart(const AiCpuCommPart& record) {
  if (record.group == 0) return;
  if (parts_.full()) {  // of tasks that never came
    std::vector<uint64_t> old;
    parts_.ForEach([&](uint64_t key, const Part& part) {
      if (part.ticks + kLastMs * ticks_per_ms_ < now_ticks_) old.push_back(key);
    });
    for (const uint64_t key : old) parts_.Erase(key);
  }
  const format::StarsIds ids = format::StarsIdsOf(record.stream, record.task, wide_);
  if (Part* const part = parts_.FindOrAdd(KeyOf(ids.stream, ids.task)); part != nullptr) {
    *part = {reader_of_words_.PartOf(record), record.ticks};
  } else {
    ++no_room_;
  }
}

bool AiCpuCollectives::IsComplete(const Running& running) const {
  const uint64_t end = running.end_ticks;
  if (now_ticks_ < end + kLogMs * ticks_per_ms_) return false;
  if (!running.last || now_ticks_ > end + kLastMs * ticks_per_ms_) return true;
  const auto group = groups_.find(running.group);
  if (group == groups_.end()) return false;
  const auto last = std::ranges::find_if(group->second.tasks,
                                         [&](const Task& task) { return task.key() == *running.last; });
  return last != group->second.tasks.end() && now_ticks_ >= last->task.end_ticks + kLogMs * ticks_per_ms_;
}

void AiCpuCollectives::CloseAll(bool last) {
  while (!running_.empty() && (last || IsComplete(running_.front()))) {
    Close(running_.front());
    running_.pop_front();
  }
}

void AiCpuCollectives::Close(const Running& running) {
  Group& group = groups_[running.group];
  uint64_t begin = running.begin_ticks, end = running.end_ticks;
  for (const Task& task : group.tasks) {
    if (task.task.end_ticks < begin) continue;
    if (running.first == task.key()) begin = task.task.begin_ticks;
    if (running.last == task.key()) end = task.task.end_ticks;
  }
  uint64_t main_begin_ns = UINT64_MAX, main_end_ns = 0;
  std::deque<Task> later;
  for (const Task& task : group.tasks) {
    if (task.task.end_ticks < begin) {
      Give(task);
      ++unmatched_;
    } else if (task.task.end_ticks > end) {
      later.push_back(task);
    } else {
      const bool is_first = running.first == task.key();
      if (task.task.type == kCoreTask || is_first) group.master = task.task.stream;
      if (group.master == task.task.stream) {
        main_begin_ns = std::min(main_begin_ns, task.begin_ns);
        main_end_ns = std::max(main_end_ns, task.end_ns);
      }
      GivePart(running, group, task, is_first);
    }
  }
  group.tasks = std::move(later);
  if (running.of_library || main_begin_ns == UINT64_MAX) return;
  // An operator's: nobody else tells of it.
  format::Collective collective = running.collective;
  collective.group = OfOperator(collective.group);
  comm_.Add(collective, running.of, running.model_name, main_begin_ns, main_end_ns);
}

format::TextId AiCpuCollectives::OfOperator(format::TextId group) {
  return sinks_.texts->Intern(std::string(sinks_.texts->Get(group)) + std::string(format::kOfOperator));
}

// Planes as the vendor's analyser has them: those of the library begin behind the host's own.
void AiCpuCollectives::GivePart(const Running& running, Group& group, const Task& task, bool is_first) {
  Part* const found = parts_.Find(task.key());
  if (found == nullptr || *task.given) return Give(task);
  format::CommPart part = found->part;
  parts_.Erase(task.key());
  const bool leads = task.task.type == kCoreTask || is_first;
  const bool is_master = leads ? !running.of_library : group.master == task.task.stream;
  const uint32_t behind = running.of_library ? 1 : 0;
  if (is_master || is_first) {
    part.plane = behind;
  } else {
    const auto next = static_cast<uint32_t>(group.planes.size()) + 1;
    part.plane = group.planes.try_emplace(task.task.stream, next).first->second + behind;
  }
  if (!running.of_library) part.group = OfOperator(part.group);
  Give(task);
  comm_.AddPart(task.task, part, is_master, running.of, task.begin_ns, task.end_ns);
}

void AiCpuCollectives::Finish() {
  CloseAll(true);
  for (const auto& [group, of] : groups_) {
    unmatched_ += of.tasks.size();
    for (const Task& task : of.tasks) Give(task);
  }
  sinks_.report->Note("collectives of AI CPUs", unmatched_, "task of no kernel that carries one out",
                      "tasks of no kernel that carries one out");
  if (no_room_ > 0) sinks_.report->Skip({"collectives of AI CPUs", 0, 0, no_room_, "no room for more"});
}

}  // namespace profd::client
