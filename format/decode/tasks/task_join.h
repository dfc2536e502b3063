// Device tasks and the launches that caused them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/flat_map.h"
#include "format/decode/cann/launches.h"
#include "format/decode/tasks/task_log.h"

namespace profd::format {

// Finds the launch of every task of one device. Launches come in the order of their stamps, a task after
// every launch that lies before its begin. **Thread:** one.
class TaskJoin {
 public:
  static constexpr uint64_t kSlackNs = 1'000'000;

  // `by_number`: a task's number is of its device, not of its stream.
  explicit TaskJoin(bool by_number = false) : by_number_(by_number) {}

  // `begin_ns`: when it was launched, wall clock.
  void Add(Launch&& launch, uint64_t wall_ns);
  // nullptr: nobody launched it, as far as is known. Good until the next call.
  const Launch* Find(const DeviceTask& task, uint64_t begin_ns);

  uint64_t launches_without_task() const { return lost_ + waiting_; }
  uint64_t no_room() const { return no_room_; }

 private:
  static constexpr size_t kMaxLaunches = 1 << 19;
  static constexpr uint32_t kNone = UINT32_MAX, kBlock = 512;
  struct Node {
    Launch launch;
    uint64_t wall_ns = 0;
    uint32_t next = kNone;
  };
  // Launches with the same id, oldest first; the one that ran last is kept, a graph's task runs again and
  // again.
  struct Queue {
    uint32_t first = kNone, last = kNone, ran = kNone;
  };

  uint64_t Key(uint32_t stream, uint32_t task) const {
    return by_number_ ? task : static_cast<uint64_t>(stream) << 32 | task;
  }
  uint32_t Take();
  void Free(uint32_t node);
  void ForgetRun();

  Node& At(uint32_t node) { return blocks_[node / kBlock][node % kBlock]; }

  const bool by_number_;
  std::vector<std::unique_ptr<Node[]>> blocks_;  // nodes stay where they are: moving them all costs
  uint32_t nodes_ = 0;
  uint32_t free_ = kNone;
  base::FlatMap<Queue> queues_{kMaxLaunches};
  size_t ran_ = 0;  // queues that keep one
  uint64_t waiting_ = 0, lost_ = 0, no_room_ = 0;
};

}  // namespace profd::format
