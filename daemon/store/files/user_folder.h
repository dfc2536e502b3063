// A user's folder of the spool, and the calling thread with that user's rights while this lives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::store {

// **Thread:** one that is profd's own again afterwards.
class UserFolder {
 public:
  static base::Result<UserFolder> Enter(const std::string& spool, const std::string& user);
  ~UserFolder();
  UserFolder(UserFolder&& other) noexcept;
  UserFolder& operator=(UserFolder&&) = delete;

  int dir() const { return dir_.get(); }
  uid_t uid() const { return uid_; }

 private:
  UserFolder() = default;

  base::UniqueFd dir_;
  uid_t uid_ = 0;
  bool entered_ = false;
};

// What VisitFolders() calls, all of it on its thread, with the rights of the folder's user but for `done`.
struct FolderVisit {
  // Every PROF directory of a user's, the newest first.
  std::function<void(const UserFolder&, const std::string& user, const std::string& name)> directory;
  // After the last one. `left`: there were so many more, for which the user's time was too short.
  std::function<void(const std::string& user, uid_t uid, size_t left)> done;
  std::function<void(const std::string& user, const base::Status&)> failed;  // instead of `done`
};
// The folders take turns, so what is in one keeps the others waiting no longer than they need themselves.
// Each may take `patience_ns` in all. Blocks on the disk; `now_ns` is for tests.
void VisitFolders(const std::string& spool, uint64_t patience_ns, const FolderVisit& visit,
                  const std::function<uint64_t()>& now_ns = {});

}  // namespace profd::store
