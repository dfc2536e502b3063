#include "daemon/base/pid_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/way.h"

namespace profd::base {

Result<PidFile> PidFile::Write(const std::string& path) {
  if (path.empty()) return PidFile("", UniqueFd());
  const std::string what = "--pid-file " + path;
  if (const Status place = CheckPlaceOf(path); !place.ok()) return place.In("--pid-file");
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) return Status::FromErrno(what);
  struct flock lock {};  // of this process alone: what it forks holds none
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return Status::FromErrno(what);
    return Status(Code::kAlreadyExists,
                  what + ": another profd that runs has it; give each a file of its own");
  }
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) != 0 ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Status::FromErrno(what);
  return PidFile(path, std::move(file));
}

PidFile::~PidFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace profd::base
