// Brings a file that a program was told to write into a directory of somebody's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace profd::store {

struct FileOwner {
  uid_t uid = 0;
  gid_t gid = 0;
};

struct Collected {
  bool there = false;
  bool moved = false;
  uint64_t bytes = 0;  // that it has now
};

// What there is no room for where it goes to, for so many bytes more; "": there is.
using ShortOf = std::function<std::string(uint64_t bytes)>;

// Moves `name` of the open folder `from`, a JSON text of `source`'s, to `as` below the open directory `to`,
// by `folders`, of which the last is made. What is not whole yet, or had other than `seen_bytes` when last
// looked at, stays. Links, and what is not `source`'s alone, are refused, and files with
// holes, which would fill the disk with nothing. Each side is touched with its own user's rights. Blocks on
// both file systems; changes the thread's identity and sets it back.
base::Result<Collected> CollectJson(int from, const std::string& name, FileOwner source, uint64_t seen_bytes,
                                    int to, const std::vector<std::string>& folders, const std::string& as,
                                    FileOwner target, const ShortOf& short_of);

}  // namespace profd::store
