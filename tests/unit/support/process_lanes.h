// A region as its process has it: all of it mapped, to be written to.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "base/status.h"
#include "daemon/agent/lanes/region.h"
#include "libagent/abi/lane.h"

namespace profd::agent {

class ProcessLanes {
 public:
  explicit ProcessLanes(const Region& region)
      : bytes_(abi::RegionBytes(region.geometry().lanes, region.geometry().lane_slots,
                                region.geometry().names_bytes)),
        memory_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, region.memfd(), 0)) {
    PROFD_CHECK(memory_ != MAP_FAILED);
  }
  ~ProcessLanes() { ::munmap(memory_, bytes_); }
  ProcessLanes(const ProcessLanes&) = delete;
  ProcessLanes& operator=(const ProcessLanes&) = delete;

  std::byte* bytes() const { return static_cast<std::byte*>(memory_); }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  void* memory_;
};

}  // namespace profd::agent
