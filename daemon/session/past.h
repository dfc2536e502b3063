// Sessions of earlier lives of profd, read from the manifests in the spool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/session/types.h"

namespace profd::session {

// Seals what an earlier life left open (store/recovery.h); says in the log what it did. Blocks on the disk.
void RecoverPastSessions(const std::string& spool, uint64_t before_wall_ns);

// Newest first, at most `most`. A manifest that still says "running" belongs to a profd that was killed:
// interrupted. Blocks on the disk.
std::vector<SessionInfo> ReadPastSessions(const std::string& spool, size_t most);

}  // namespace profd::session
