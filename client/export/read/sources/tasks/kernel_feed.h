// What programs have reported of kernels, as far as the tasks of the devices' logs need it: each is one of
// these.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "format/decode/span_writer.h"
#include "format/decode/tasks/kernel_join.h"

namespace profd::client {

// Reads programs' records as far as tasks have come. **Thread:** one.
class KernelFeed {
 public:
  KernelFeed(const Capture& capture, const Wanted& wanted, format::SpanSink& to, format::Texts& texts);
  ~KernelFeed();

  // Some program's records are there.
  bool any() const { return !programs_.empty(); }
  // Tasks of a device that will be looked for, at most KernelJoin::kLearnt.
  void Announce(int device, std::span<const format::KernelJoin::Task> tasks);
  bool Find(int device, const format::KernelJoin::Task& task, format::ReportedKernel& kernel);
  // Gives out all kernels that no task was found for.
  void Finish();

 private:
  class Program;

  void ReadTo(uint64_t until_ns);
  void Give(const format::ReportedKernel& kernel);
  void Shorten(format::KernelJoin& join, uint64_t now_ns, size_t most);

  format::SpanWriter spans_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::map<int, format::KernelJoin> devices_;
};

}  // namespace profd::client
