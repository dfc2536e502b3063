#include "format/decode/tasks/task_join.h"

#include <utility>

namespace profd::format {

uint32_t TaskJoin::Take() {
  if (free_ == kNone && nodes_ >= kMaxLaunches && ran_ >= kMaxLaunches / 8) ForgetRun();
  if (free_ != kNone) {
    const uint32_t node = free_;
    free_ = At(node).next;
    return node;
  }
  if (nodes_ >= kMaxLaunches) return kNone;
  if (nodes_ % kBlock == 0) blocks_.push_back(std::make_unique<Node[]>(kBlock));
  return nodes_++;
}

// Tasks that run again and again become nameless then; others run once.
void TaskJoin::ForgetRun() {
  std::vector<uint64_t> idle;
  queues_.ForEach([&](uint64_t key, Queue& queue) {
    if (queue.ran != kNone) Free(queue.ran);
    queue.ran = kNone;
    if (queue.first == kNone) idle.push_back(key);
  });
  for (const uint64_t key : idle) queues_.Erase(key);
  ran_ = 0;
}

void TaskJoin::Free(uint32_t node) {
  At(node).next = free_;
  free_ = node;
}

void TaskJoin::Add(Launch&& launch, uint64_t wall_ns) {
  const uint32_t node = Take();
  Queue* queue = node == kNone ? nullptr : queues_.FindOrAdd(Key(launch.stream, launch.task));
  if (queue == nullptr) {
    ++no_room_;
    if (node != kNone) Free(node);
    return;
  }
  Node& at = At(node);
  at.launch = std::move(launch);
  at.wall_ns = wall_ns;
  at.next = kNone;
  if (queue->last == kNone) {
    queue->first = node;
  } else {
    At(queue->last).next = node;
  }
  queue->last = node;
  ++waiting_;
}

const Launch* TaskJoin::Find(const DeviceTask& task, uint64_t begin_ns) {
  Queue* queue = queues_.Find(Key(task.stream, task.task));
  if (queue == nullptr) return nullptr;
  // Ids come round again: of those launched before the task began it is the last; the device's log lost the
  // others. The clocks of host and device are known to less than kSlackNs.
  for (bool took = false; queue->first != kNone; took = true) {
    const uint32_t node = queue->first;
    const uint64_t wall_ns = At(node).wall_ns;
    if (took ? wall_ns > begin_ns : queue->ran != kNone && wall_ns > begin_ns + kSlackNs) break;
    if (took) ++lost_;
    if (queue->ran != kNone) {
      Free(queue->ran);
    } else {
      ++ran_;
    }
    queue->ran = node;
    queue->first = At(node).next;
    if (queue->first == kNone) queue->last = kNone;
    --waiting_;
  }
  return queue->ran == kNone ? nullptr : &At(queue->ran).launch;
}

}  // namespace profd::format
