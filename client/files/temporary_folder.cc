#include "client/files/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace profd::client {

base::Result<TemporaryFolder> TemporaryFolder::Make(const std::string& what) {
  std::error_code error;
  const std::filesystem::path top = std::filesystem::temp_directory_path(error);
  if (error) {
    const char* const named = std::getenv("TMPDIR");
    return base::Status(base::Code::kNotFound, "TMPDIR=" + std::string(named == nullptr ? "" : named) + ": " +
                                                   error.message() + ": name a folder for temporary files");
  }
  std::string path = (top / ("profctl-" + what + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) return base::Status::FromErrno("create " + path);
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace profd::client
