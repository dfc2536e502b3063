// What a profd that was killed left open: one PROF directory cut to whole records, completed, sealed as
// "interrupted". Everything in it is untrusted: only what belongs to its owner is touched, and no link
// followed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "format/chip.h"

namespace profd::mend {

struct Mended {
  std::string directory;
  bool sealed = false;
  uint64_t cut_bytes = 0;            // that were no whole record
  std::vector<std::string> remarks;  // what was left alone, and why
};

// Whether the records of device kind `kind` are in `file` on a chip.
using IsFileOf = std::function<bool(const std::string& kind, format::Chip chip, std::string_view file)>;

// With the rights of `uid`, which the caller has, of the directory that is open as `dir`. False when there is
// nothing to do: sealed, not profd's, or begun at `before_wall_ns` or later. Only the newest slice of a
// stream is read, but for the counting of text and blocks (up to 256 MiB of a directory).
bool Mend(int dir, uid_t uid, uint64_t before_wall_ns, const IsFileOf& is_file_of, Mended& result);

// A directory of this name may be under way in a profd that lives and is not this process: its number is in
// the name. A profd that is not too old also holds a shared flock of the directory.
bool IsWrittenByAnother(const std::string& name);

}  // namespace profd::mend
