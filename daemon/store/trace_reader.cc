#include "daemon/store/trace_reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/crc32c.h"
#include "base/unique_fd.h"
#include "daemon/store/files/user_folder.h"
#include "format/mend/files.h"

namespace profd::store {

namespace {

using base::Code;
using base::Status;
using base::UniqueFd;
using mend::kMaxNames;
using mend::Names;
using mend::OpenDir;
using mend::RegularFile;

constexpr size_t kPiece = 256u << 10;
constexpr int kMaxDepth = 4;  // PROF_…/device_0/data/slice

void Collect(int dir, const std::string& path, uid_t uid, int depth, std::vector<std::string>& files) {
  const std::vector<std::string> names = Names(dir);
  if (names.empty() && !path.empty()) files.push_back(path);
  for (const std::string& name : names) {
    if (files.size() >= kMaxNames) return;
    if (RegularFile(dir, name, uid)) {
      files.push_back(path + name);
    } else if (depth < kMaxDepth) {
      const UniqueFd below = OpenDir(dir, name, uid);
      if (below) Collect(below.get(), path + name + "/", uid, depth + 1, files);
    }
  }
}

// Step by step, so that no link is followed.
UniqueFd OpenFile(int dir, const std::string& path, uid_t uid) {
  UniqueFd parent(::fcntl(dir, F_DUPFD_CLOEXEC, 0));
  size_t begin = 0;
  for (size_t slash; parent && (slash = path.find('/', begin)) != std::string::npos; begin = slash + 1) {
    parent = OpenDir(parent.get(), path.substr(begin, slash - begin), uid);
  }
  const std::string name = path.substr(begin);
  if (!parent || !RegularFile(parent.get(), name, uid)) return {};
  UniqueFd file(::openat(parent.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != uid) return {};
  return file;
}

}  // namespace

Status ReadTrace(const std::string& spool, const std::string& user, const std::string& name,
                 const std::string& path, uint64_t offset,
                 const std::function<bool(const TracePiece&)>& put) {
  PROFD_ASSIGN_OR_RETURN(const UserFolder folder, UserFolder::Enter(spool, user));
  const UniqueFd dir = OpenDir(folder.dir(), name, folder.uid());
  if (!dir) return {Code::kNotFound, name + " is gone"};
  if (::flock(dir.get(), LOCK_SH | LOCK_NB) != 0) {
    return {Code::kAborted, name + " is being removed or moved"};
  }
  std::vector<std::string> files;
  Collect(dir.get(), "", folder.uid(), 0, files);
  std::sort(files.begin(), files.end());
  std::vector<std::byte> buffer(kPiece);
  for (auto file = std::lower_bound(files.begin(), files.end(), path); file != files.end(); ++file) {
    if (file->ends_with('/')) {
      if (!put({.path = *file, .data = {}, .end_of_file = true})) return {};
      continue;
    }
    const UniqueFd source = OpenFile(dir.get(), *file, folder.uid());
    if (!source) return {Code::kAborted, *file + " has changed; try again"};
    const uint64_t from = *file == path ? offset : 0;
    TracePiece piece;
    piece.path = *file;
    for (uint64_t at = 0; !piece.end_of_file;) {
      const ssize_t got = ::pread(source.get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
      if (got < 0) return Status::FromErrno("read " + *file);
      piece.crc32c = base::Crc32c(buffer.data(), static_cast<size_t>(got), piece.crc32c);
      piece.end_of_file = got == 0;
      const uint64_t end = at + static_cast<uint64_t>(got);
      const uint64_t begin = std::max(at, from);
      at = end;
      if (!piece.end_of_file && begin >= end) continue;
      piece.offset = std::min(begin, end);
      piece.data = {buffer.data() + (got - static_cast<ssize_t>(end - piece.offset)),
                    static_cast<size_t>(end - piece.offset)};
      if (!put(piece)) return {};
    }
  }
  return {};
}

}  // namespace profd::store
