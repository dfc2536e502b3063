#include "client/files/prof_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/files/whole_file.h"
#include "format/directory/prof_dir.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

UniqueFd OpenDir(int parent, const std::string& name) {
  return UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::set<std::string> Names(int dir) {
  std::set<std::string> names;
  UniqueFd own(::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return names;
  own.Release();
  while (const dirent* entry = ::readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.insert(name);
  }
  return names;
}

UniqueFd OpenFile(int dir, const std::string& name, uint64_t* bytes, std::string* why) {
  UniqueFd fd(::openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) {
    *why = errno == ELOOP ? "is a symbolic link" : Status::FromErrno("cannot be opened").message();
    return {};
  }
  if (!S_ISREG(facts.st_mode)) {
    *why = "is not a regular file";
    return {};
  }
  *bytes = static_cast<uint64_t>(facts.st_size);
  return fd;
}

ssize_t ReadSome(int fd, std::byte* into, size_t bytes) {
  for (;;) {
    const ssize_t got = ::read(fd, into, bytes);
    if (got >= 0 || errno != EINTR) return got;
  }
}

Result<std::string> ReadSmallFile(int dir, const std::string& name, uint64_t max_bytes) {
  uint64_t bytes = 0;
  std::string why;
  const UniqueFd fd = OpenFile(dir, name, &bytes, &why);
  if (fd && bytes > max_bytes) why = "is too large: " + std::to_string(bytes) + " bytes";
  if (!why.empty()) return Status(Code::kInvalidArgument, why);
  return base::ReadWhole(fd.get(), max_bytes);
}

std::map<std::string, std::set<uint64_t>> SlicesByStream(const std::set<std::string>& names) {
  std::map<std::string, std::set<uint64_t>> streams;
  for (const std::string& name : names) {
    if (name.starts_with(".")) continue;
    if (const auto parsed = format::ParseSliceName(name)) {
      streams[name.substr(0, name.rfind(".slice_"))].insert(parsed->slice);
    }
  }
  return streams;
}

}  // namespace profd::client
