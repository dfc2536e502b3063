// What a profd that was killed left open in its spool: cut to whole records, completed, sealed as
// "interrupted". Folders of users are theirs: everything below them is untrusted, and done with their rights.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace profd::store {

struct Recovered {
  std::string directory;
  bool sealed = false;
  uint64_t cut_bytes = 0;            // that were no whole record
  std::vector<std::string> remarks;  // what was left alone, and why
};

// Whether the records of device kind `kind` are in `file` on a chip.
using IsFileOf = std::function<bool(const std::string& kind, uint32_t chip, std::string_view file)>;

// Blocks on the disk: on a thread of its own, whose identity it changes and sets back. Directories that began
// at `before_wall_ns` or later are this profd's own. Only the newest slice of a stream is read, but for the
// counting of text and blocks (up to 256 MiB of a directory).
std::vector<Recovered> RecoverSpool(const std::string& spool, uint64_t before_wall_ns,
                                    const IsFileOf& is_file_of);

}  // namespace profd::store
