// Sessions of earlier lives of profd, read from the manifests in the spool.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/session/plan/types.h"

namespace profd::session {

// Seals what an earlier life left open (store/recovery.h); says in the log what it did. Blocks on the disk.
void RecoverPastSessions(const std::string& spool, uint64_t before_wall_ns);

// Newest first, at most `most`. A manifest that still says "running" belongs to a profd that was killed:
// interrupted. Blocks on the disk.
std::vector<SessionInfo> ReadPastSessions(const std::string& spool, size_t most);

// Where a directory of the spool is after it was moved to `output`.
std::string MovedTo(const std::string& directory, const std::string& output);

// **Thread:** ctl. What became of them since.
class PastSessions {
 public:
  void Set(std::vector<SessionInfo> sessions) { sessions_ = std::move(sessions); }
  const std::vector<SessionInfo>& all() const { return sessions_; }
  // It goes on.
  void Forget(const std::string& session);
  void NoteRemoved(const std::string& directory, uint64_t bytes, uint64_t records);
  void NoteMoved(const std::string& directory, const std::string& output);
  // All of it is where it was to go, and takes so much there.
  void NoteMoveEnded(const std::string& session, uid_t uid, uint64_t used_bytes);

 private:
  std::vector<SessionInfo> sessions_;
};

}  // namespace profd::session
