// Kernels as the runtime reports them to a program, and the tasks of the device's log that they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "format/decode/cann/tensor_texts.h"
#include "format/events/spans.h"

namespace profd::format {

struct ReportedKernel {
  Span span;
  TextId op_type = 0, op_task_type = 0;
  TensorTexts tensors{};

  // Of it, and of the task that it is.
  void Describe(TaskDetail& detail) const {
    detail.has_op = true;
    detail.kernel_name = detail.op_name = span.name;
    detail.op_type = op_type;
    detail.op_task_type = op_task_type;
    SetTensors(detail, tensors);
  }
};

// Of one device. Neither side tells the other's ids: what they share is the stream, how long each took (both
// have the device's own ticks), and when it began, up to how far the two maps of its clock to the wall clock
// are apart. That distance changes now and then by some microseconds, and is learnt from the tasks and
// kernels themselves.
// **Thread:** one.
class KernelJoin {
 public:
  static constexpr uint64_t kMostApartNs = 5'000'000;  // the two clocks
  static constexpr uint64_t kKeptNs = 10'000'000'000;  // how much later a task may come than others
  static constexpr size_t kLearnt = 512;               // tasks

  struct Task {
    uint32_t stream = 0;
    uint64_t begin_ns = 0, end_ns = 0;
  };

  // Kernels come nearly in order.
  void Add(const ReportedKernel& kernel);
  // Before the first Find of some tasks, at most kLearnt, all kernels of that time and kMostApartNs behind
  // are added.
  void Learn(std::span<const Task> tasks);
  // False: nobody has reported a kernel that this task may be. Each kernel is found once.
  bool Find(const Task& task, ReportedKernel& kernel);

  // Gives those that no task from `now_ns` on can be, and of more than `most` the oldest.
  using Give = std::function<void(const ReportedKernel&)>;
  void Drop(uint64_t now_ns, size_t most, const Give& give);

  uint64_t newest_ns() const { return newest_ns_; }
  size_t waiting() const { return waiting_; }

 private:
  using Kernels = std::deque<ReportedKernel>;  // by begin
  static bool SameLength(const Task& task, const ReportedKernel& kernel);
  static Kernels::iterator FirstFrom(Kernels& kernels, uint64_t begin_ns);

  std::unordered_map<uint32_t, Kernels> streams_;
  size_t waiting_ = 0;
  uint64_t newest_ns_ = 0;
  // How much later the kernels' clock is, the likeliest first; two where it changes among the tasks.
  std::vector<int64_t> apart_ns_{0};
};

}  // namespace profd::format
