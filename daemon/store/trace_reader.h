// Reads a directory of the spool for somebody who cannot open it himself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/status.h"

namespace profd::store {

struct TracePiece {
  std::string path;  // below the directory, "/" between; one at the end: an empty folder
  uint64_t offset = 0;
  std::span<const std::byte> data;  // empty at the end of an empty file
  bool end_of_file = false;
  uint32_t crc32c = 0;  // of the whole file, at its end
};

// Hands `put` every file of `<spool>/<user>/<name>` in pieces, in the order of their paths, beginning at byte
// `offset` of `path` ("" = the first); stops when `put` says false. Nobody removes the directory meanwhile.
// Links, and what is not the user's own, are no files. Blocks: on a thread of its own, whose identity it
// changes and sets back.
base::Status ReadTrace(const std::string& spool, const std::string& user, const std::string& name,
                       const std::string& path, uint64_t offset,
                       const std::function<bool(const TracePiece&)>& put);

}  // namespace profd::store
