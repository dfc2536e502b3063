// What a profd that was killed left open in its spool, mended (mend/). Folders of users are theirs:
// everything below them is done with their rights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/store/files/user_folder.h"
#include "format/mend/mend.h"

namespace profd::store {

// None: nothing was to be done. A directory that began at `before_wall_ns` or later is this profd's own.
// Blocks on the disk.
std::optional<mend::Mended> RecoverDirectory(const UserFolder& folder, const std::string& path,
                                             const std::string& name, uint64_t before_wall_ns,
                                             const mend::IsFileOf& is_file_of);

}  // namespace profd::store
