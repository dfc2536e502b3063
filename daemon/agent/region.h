// The memory that one process writes its records into (libagent/abi/lane.h): made and sealed here, mapped by
// both sides. Everything the process may write is untrusted; the geometry that counts is the copy kept here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::agent {

struct Geometry {
  uint32_t lanes = 256;
  uint32_t lane_slots = 1u << 15;  // 32 bytes each
  uint32_t names_bytes = 1u << 20;
};

// **Thread:** immutable after Make(), so any. **Owns:** the memfd, its mapping, the eventfd. It outlives the
// process: what was published before a kill is still here.
class Region {
 public:
  static base::Result<std::shared_ptr<Region>> Make(const Geometry& geometry);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const Geometry& geometry() const { return geometry_; }
  std::byte* untrusted_bytes() const { return bytes_; }
  int memfd() const { return memfd_.get(); }   // goes through the door
  int wake_fd() const { return wake_.get(); }  // eventfd; the process rings it when a lane passes half full

  // Gives the pages of all rings back to the kernel. Only while nobody records.
  void ReleaseRings();

 private:
  Region() = default;

  Geometry geometry_;
  std::byte* bytes_ = nullptr;
  size_t mapped_ = 0;
  base::UniqueFd memfd_;
  base::UniqueFd wake_;
};

}  // namespace profd::agent
