// Sessions of earlier lives of profd, read from the manifests in the spool.
#pragma once

#include <string>
#include <vector>

#include "daemon/session/types.h"

namespace profd::session {

// Newest first, at most `most`. A manifest that still says "running" belongs to a profd that was killed: interrupted.
// Blocks on the disk.
std::vector<SessionInfo> ReadPastSessions(const std::string& spool, size_t most);

}  // namespace profd::session
