// Which operator called which: by the times at which they ran.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "client/export/framework/input/calls.h"

namespace profd::client::framework {

// A moment on a thread, of which the innermost operator is wanted.
struct Moment {
  int64_t ns = 0;
  uint64_t tid = 0;
  Ref of = 0;       // the asker's own number
  Ref op = kNoRef;  // found
};

struct Tree {
  std::vector<Ref> order;    // operators by their begins
  std::vector<Ref> parents;  // by operator; kNoRef: none

  // What an operator's children take.
  int64_t InsideNs(Ref op) const {
    if (inside_ns[op] != kLong) return inside_ns[op];
    return long_ns.at(op);
  }
  void AddInside(Ref op, int64_t ns);

  static constexpr uint32_t kLong = UINT32_MAX;
  std::vector<uint32_t> inside_ns;  // by operator; kLong: in long_ns
  std::unordered_map<Ref, int64_t> long_ns;
};

// The operator that encloses another one on its thread. `as_vendor`: on whatever thread, and one that ends in
// the middle counts, too. `moments` come back by time.
Tree BuildTree(const Calls& calls, bool as_vendor, std::vector<Moment>& moments);

// As the vendor's finds it where there is no queue: threads are not told apart, an operator that ends at the
// moment is none, and where no child has begun yet the first one counts. Afterwards `moments` are as they
// were.
void FindAsVendor(const Calls& calls, const Tree& tree, std::vector<Moment>& moments);

// Of --vendor-compatible: operators that are further out than this get nothing of what is deep inside.
inline constexpr size_t kMostLevels = 1000;

}  // namespace profd::client::framework
