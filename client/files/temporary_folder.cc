#include "client/files/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace profd::client {

base::Result<TemporaryFolder> TemporaryFolder::Make(const std::string& what) {
  std::string path = (std::filesystem::temp_directory_path() / ("profctl-" + what + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) return base::Status::FromErrno("create " + path);
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace profd::client
