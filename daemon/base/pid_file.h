// The file that says which process profd is, for whoever looks after it without a service manager.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace profd::base {

// **Thread:** one. The file goes with it.
class PidFile {
 public:
  // Over what an earlier process left there; links are not followed. An empty path: no file.
  static Result<PidFile> Write(const std::string& path);
  PidFile(PidFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PidFile& operator=(PidFile&&) = delete;
  ~PidFile();

 private:
  explicit PidFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace profd::base
