// When a stream lost records, and why: a bounded list whose totals are exact.
#pragma once

#include <cstddef>
#include <vector>

#include "format/chunk.h"

namespace profd::store {

class LossLog {
 public:
  static constexpr size_t kMaxLosses = 1000;

  // Joined to the last one if that has the same cause and nothing was stored since; when the list is full, to
  // the last one of its cause.
  void Add(const format::Loss& loss);
  // Data reached the disk: what is lost from now on is an interval of its own.
  void NoteStored() { stored_since_ = true; }

  const std::vector<format::Loss>& losses() const { return losses_; }

 private:
  std::vector<format::Loss> losses_;
  bool stored_since_ = false;
};

}  // namespace profd::store
