#include "daemon/store/spool/notes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"
#include "daemon/store/spool/spool.h"

namespace profd::store {

using base::Code;
using base::Status;
using base::UniqueFd;

namespace {

constexpr uintmax_t kMaxBytes = 1 << 20;

bool IsFileName(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

}  // namespace

Status WriteNote(const std::string& spool, const std::string& name, const std::string& content) {
  const std::string folder = spool + "/" + kPrivateFolder;
  if (!IsFileName(name)) return {Code::kInvalidArgument, "'" + name + "' is not a file name"};
  // There may have been no session yet. The mode is the spool's (spool.h), whatever the umask.
  if (::mkdir(spool.c_str(), 0700) == 0) ::chmod(spool.c_str(), 0711);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return Status::FromErrno("make directory " + folder);
  const UniqueFd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir) return Status::FromErrno("open directory " + folder);
  const std::string beside = "." + name;
  const UniqueFd file(
      ::openat(dir.get(), beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return Status::FromErrno("write " + folder + "/" + name);
  const ssize_t written = ::write(file.get(), content.data(), content.size());
  if (written != static_cast<ssize_t>(content.size()))
    return Status::FromErrno("write " + folder + "/" + name);
  if (::renameat(dir.get(), beside.c_str(), dir.get(), name.c_str()) != 0) {
    return Status::FromErrno("rename " + folder + "/" + name);
  }
  return Status::Ok();
}

void RemoveNote(const std::string& spool, const std::string& name) {
  if (IsFileName(name)) ::unlink((spool + "/" + kPrivateFolder + "/" + name).c_str());
}

std::map<std::string, std::string> ReadNotes(const std::string& spool) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> notes;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(spool) / kPrivateFolder, error)) {
    const std::string name = entry.path().filename();
    if (!IsFileName(name) || !entry.is_regular_file(error) || entry.file_size(error) > kMaxBytes) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    notes[name] = {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  return notes;
}

}  // namespace profd::store
