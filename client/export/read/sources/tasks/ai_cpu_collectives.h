// Collectives that AI CPUs carry out: the host launches a kernel, and what the kernel gives to the device's
// streams nobody on the host knows. The kernel reports it (aicpu.data).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/flat_map.h"
#include "client/export/read/capture.h"
#include "client/export/read/sinks.h"
#include "client/export/read/slices.h"
#include "client/export/read/sources/tasks/comm_tasks.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/collectives.h"
#include "format/decode/cann/launches.h"
#include "format/decode/tasks/task_log.h"
#include "format/records/cann.h"

namespace profd::client {

// Which streams work for which group. Source: the vendor's mscalculate/hccl/kfc_calculator.py.
struct CommStreams {
  std::map<uint32_t, uint64_t> kernels;            // group, by stream
  std::map<uint32_t, std::vector<uint64_t>> work;  // groups, by stream

  void Add(const format::CannCommStreams& record);
  bool empty() const { return kernels.empty(); }
};

// Those of one device. **Thread:** one.
class AiCpuCollectives {
 public:
  // Gives out a task that nobody on the host launched.
  using GiveTask = std::function<void(const format::DeviceTask& task, uint64_t begin_ns, uint64_t end_ns)>;
  AiCpuCollectives(const Capture& capture, const Side& side, const CommStreams& streams, const Sinks& sinks,
                   format::CannNames& names, CommTasks& comm, GiveTask give);

  // Whether a launch is of a kernel that carries out a collective.
  bool IsKernel(const format::Launch& launch) const;
  // Of the device's log, in its order: a kernel that was given out already, or a task that nobody on the host
  // launched. A task that may be a part of a collective is given out with that one; false: this one is none.
  void AddKernel(const format::DeviceTask& task, const format::Launch& launch);
  bool AddTask(const format::DeviceTask& task, uint64_t begin_ns, uint64_t end_ns);
  void Finish();

 private:
  static uint64_t KeyOf(uint32_t stream, uint32_t task) { return uint64_t{stream} << 32 | task; }
  struct Task {
    format::DeviceTask task;
    uint64_t begin_ns, end_ns;
    std::shared_ptr<bool> given;  // streams can work for several groups

    uint64_t key() const { return KeyOf(task.stream, task.task); }
  };
  struct Part {
    format::CommPart part;
    uint64_t ticks;  // T3, when it was reported
  };
  // What the kernels of a stream report.
  struct Edge {
    uint64_t ticks;
    uint64_t task;  // key
    bool is_last;
  };
  struct OpInfo {
    uint64_t ticks;
    format::AiCpuCommOp record;
  };
  // A kernel that ran, until all its tasks are there.
  struct Running {
    uint64_t begin_ticks, end_ticks;  // of the kernel
    CommTasks::Of of;
    format::Collective collective;
    format::TextId model_name;
    uint64_t group;
    bool of_library;  // the host tells of the collective, too
    std::optional<uint64_t> first, last;
  };
  struct Group {
    std::deque<Task> tasks;  // of its streams, that no kernel is known of
    std::map<uint32_t, uint32_t> planes;
    std::optional<uint32_t> master;
  };

  void Give(const Task& task);
  void ReadUntil(uint64_t ticks);
  void Take(const format::AiCpuRecord& record);
  void TakePart(const format::AiCpuCommPart& record);
  void CloseAll(bool last);
  bool IsComplete(const Running& running) const;
  void Close(const Running& running);
  // The name of what an operator does in this group.
  format::TextId OfOperator(format::TextId group);
  void GivePart(const Running& running, Group& group, const Task& task, bool is_first);

  const CommStreams& streams_;
  const Sinks& sinks_;
  CommTasks& comm_;
  const GiveTask give_;
  format::CommReader reader_of_words_;
  Report elsewhere_;
  std::optional<StreamReader> reader_;
  const bool wide_;  // streams have 15 bits
  uint64_t ticks_per_ms_ = 1;
  std::map<uint64_t, Group> groups_;
  std::map<uint32_t, std::deque<Edge>> edges_;  // by the kernels' stream
  std::map<uint32_t, std::deque<OpInfo>> ops_;
  std::map<uint32_t, bool> of_library_;  // streams whose kernels have reported a collective
  base::FlatMap<Part> parts_;
  base::FlatMap<uint32_t> ran_;  // how often each kernel has
  std::deque<Running> running_;
  uint64_t read_ticks_ = 0, now_ticks_ = 0;
  uint64_t unmatched_ = 0, no_room_ = 0;
};

}  // namespace profd::client
