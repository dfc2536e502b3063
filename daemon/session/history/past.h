// Sessions of earlier lives of profd, read from the manifests in the spool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/session/plan/types.h"

namespace profd::session {

// Seals what an earlier life left open (store/spool/recovery.h), and says in the log what it did. A manifest
// that still says "running" belongs to a profd that was killed: interrupted. Users' folders take turns;
// `take` is given what is a user's, newest first, when that user's folder has been read. Blocks on the disk.
void ReadPast(const std::string& spool, uint64_t before_wall_ns,
              const std::function<void(std::vector<SessionInfo>)>& take);

// Where a directory of the spool is after it was moved to `output`.
std::string MovedTo(const std::string& directory, const std::string& output);

// **Thread:** ctl. What became of them since.
class PastSessions {
 public:
  // The newest of each user; of all together less of those who have most.
  static constexpr size_t kMostOfUser = 256, kMostOfAll = 4096, kMostBytesOfAll = 128u << 20;

  void Add(std::vector<SessionInfo> of_user);
  // Newest first.
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
