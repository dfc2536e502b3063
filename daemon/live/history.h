// What was published in the last seconds, for those who come later. A set takes 16 bytes a value as long as
// there are the same values as before; their names are kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "daemon/live/values/metric.h"

namespace profd::live {

class History {
 public:
  struct Reading {
    double value = 0;
    uint64_t wall_ns = 0;
  };
  struct Set {
    SnapshotPtr names;  // the first of those alike: all but the readings is true of this one, too
    uint64_t number = 0, wall_ns = 0;
    std::vector<Reading> readings;
  };
  // Only the history holds sets for long.
  using Later = std::weak_ptr<const Set>;

  // No set older than `most_ns`, and no more than `most_bytes` of them all; 0: none.
  History(uint64_t most_ns, size_t most_bytes) : most_ns_(most_ns), most_bytes_(most_bytes) {}

  // Newer than all before.
  void Add(const Snapshot& snapshot);
  // The oldest first.
  std::vector<Later> Since(uint64_t wall_ns) const;
  void Clear();

  // As it was published; **thread:** any.
  static SnapshotPtr Whole(const Set& set);

  uint64_t most_ns() const { return most_ns_; }
  size_t bytes() const { return bytes_; }

 private:
  void DropOldest();

  const uint64_t most_ns_;
  const size_t most_bytes_;
  std::deque<std::shared_ptr<const Set>> sets_;
  size_t bytes_ = 0;
};

}  // namespace profd::live
