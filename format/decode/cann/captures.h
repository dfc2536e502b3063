// What was captured into graphs, whose tasks run again and again without a call of the host: their operators
// and the graphs' numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/launched_op.h"
#include "format/events/spans.h"
#include "format/records/cann.h"

namespace profd::format {

inline bool IsDamage(const CannCapture& record) { return record.head.magic != kCannMagic; }

// To be filled before the launches are read. **Thread:** one.
class Captures {
 public:
  Captures(CannNames& names, Texts& texts) : names_(names), texts_(texts) {}

  // The last of a task holds. Damage is counted.
  void Add(const CannCapturedOp& record, std::span<const CannTensor> tensors, bool is_dynamic);
  // In the order of their stamps.
  void Add(const CannCapture& record);

  // nullptr: none of that task.
  const LaunchedOp* OpOf(uint32_t device, uint32_t stream, uint32_t task) const;
  // The graph of a task of the stream's `batch`th 65536, given to it at `stamp`; kNoId: none.
  uint32_t ModelOf(uint32_t device, uint32_t stream, uint32_t batch, uint64_t stamp) const {
    return captures_.empty() ? kNoId : Find(device, stream, batch, stamp);
  }

  // Records that lie behind each other in a file, each as long as its tensors; returns how many bytes at the
  // end are none yet.
  size_t TakeVariable(std::span<const std::byte> bytes);

  // So many bytes are left of a record whose end is not there.
  void AddCut(size_t bytes) {
    records_ += bytes > 0 ? 1 : 0;
    damaged_ += bytes > 0 ? 1 : 0;
  }

  uint64_t records() const { return records_; }
  uint64_t damaged() const { return damaged_; }
  uint64_t no_room() const { return no_room_; }

 private:
  uint32_t Find(uint32_t device, uint32_t stream, uint32_t batch, uint64_t stamp) const;

  static constexpr size_t kMost = 1 << 20;
  struct Start {
    uint64_t stamp;
    uint32_t model;
  };

  CannNames& names_;
  Texts& texts_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, LaunchedOp> ops_;    // by device, stream, task
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Start>> captures_;  // by device, stream
  size_t starts_ = 0;
  uint64_t records_ = 0, damaged_ = 0, no_room_ = 0;
};

}  // namespace profd::format
