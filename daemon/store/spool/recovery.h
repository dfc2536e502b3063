// What a profd that was killed left open in its spool, mended (mend/). Folders of users are theirs:
// everything below them is done with their rights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/mend/mend.h"

namespace profd::store {

// Blocks on the disk: on a thread of its own, whose identity it changes and sets back. Directories that began
// at `before_wall_ns` or later are this profd's own.
std::vector<mend::Mended> RecoverSpool(const std::string& spool, uint64_t before_wall_ns,
                                       const mend::IsFileOf& is_file_of);

}  // namespace profd::store
