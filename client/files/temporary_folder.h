// A folder for what is made on the way to a result.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace profd::client {

// **Owns:** the folder, which is gone with all in it at the end.
class TemporaryFolder {
 public:
  // Where temporary files go, for this user alone; `what`: a part of its name.
  static base::Result<TemporaryFolder> Make(const std::string& what);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace profd::client
