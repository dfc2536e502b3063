#include "daemon/base/pid_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace profd::base {

Result<PidFile> PidFile::Write(const std::string& path) {
  if (path.empty()) return PidFile("");
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  const std::string text = std::to_string(::getpid()) + "\n";
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Status::FromErrno("--pid-file " + path);
  return PidFile(path);
}

PidFile::~PidFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace profd::base
