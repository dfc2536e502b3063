// A user's folder of the spool, and the calling thread with that user's rights while this lives.
#pragma once

#include <sys/types.h>

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

}  // namespace profd::store
