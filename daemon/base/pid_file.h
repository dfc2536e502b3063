// The file that says which process profd is, for whoever looks after it without a service manager.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::base {

// **Thread:** one. The file goes with it, and is locked as long.
class PidFile {
 public:
  // Over what an earlier process left there; links are not followed. An error if another process that lives
  // has it. An empty path: no file.
  static Result<PidFile> Write(const std::string& path);
  PidFile(PidFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), locked_(std::move(other.locked_)) {}
  PidFile& operator=(PidFile&&) = delete;
  ~PidFile();

 private:
  PidFile(std::string path, UniqueFd locked) : path_(std::move(path)), locked_(std::move(locked)) {}

  std::string path_;
  UniqueFd locked_;
};

}  // namespace profd::base
