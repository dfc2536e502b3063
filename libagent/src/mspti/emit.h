// From the vendor's records to ours, in the lane of the worker.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libagent/src/mspti/activity.h"
#include "libagent/src/mspti/pool.h"

namespace profd::agent::mspti {

// **Thread:** the worker, which owns it.
class Emitter {
 public:
  Emitter();
  // How long from now on the following calls may wait for profd to make room in the lane.
  void SetPatience(int ms);
  // Every record of the buffer that belongs to a recording; what can't be read is lost.
  void Record(const Buffer& buffer);
  // Counts records that never got this far.
  void Lose(uint64_t records);
  // Of kernels until now, by bit.
  uint64_t devices() const { return devices_; }

 private:
  // False: the next record is lost, and counted.
  bool AwaitRoom();
  void Put(const Activity& activity);

  uint64_t wait_until_ns_ = 0;
  uint64_t devices_ = 0;
  // Names of the values.
  uint32_t type_, level_, count_, data_type_, algorithm_, group_, name_, bytes_, address_, copy_, value_,
      async_, flag_;
};

}  // namespace profd::agent::mspti
