#include "daemon/store/spool/recovery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "daemon/store/files/file_system.h"
#include "format/directory/prof_dir.h"
#include "format/mend/files.h"

namespace profd::store {

using base::Status;
using base::UniqueFd;
using mend::Names;
using mend::OpenDir;

namespace {

constexpr uint64_t kUserPatienceNs = 30'000'000'000;  // one user's folder must not keep the others waiting
constexpr size_t kMostLeftAlone = 16;                 // of a user's that are said each

void RecoverUser(const std::string& path, int folder, uid_t uid, uint64_t before_wall_ns,
                 const mend::IsFileOf& is_file_of, std::vector<mend::Mended>& all) {
  const uint64_t deadline = base::MonotonicNs() + kUserPatienceNs;
  mend::Entries entries(folder);
  size_t left_alone = 0;
  for (std::string name; entries.Next(name);) {
    if (!format::IsProfDirName(name)) continue;
    mend::Mended result;
    result.directory = path + "/" + name;
    const UniqueFd dir = OpenDir(folder, name, uid);
    if (!dir) {
      if (++left_alone > kMostLeftAlone) continue;
      result.remarks.emplace_back("no directory of the user's: left alone");
      all.push_back(std::move(result));
      continue;
    }
    if (base::MonotonicNs() > deadline) {
      result.remarks.emplace_back(path + ": there is too much to recover; the rest at the next start");
      all.push_back(std::move(result));
      return;
    }
    if (mend::IsWrittenByAnother(name) || !mend::Mend(dir.get(), uid, before_wall_ns, is_file_of, result))
      continue;
    all.push_back(std::move(result));
  }
}

}  // namespace

std::vector<mend::Mended> RecoverSpool(const std::string& spool, uint64_t before_wall_ns,
                                       const mend::IsFileOf& is_file_of) {
  std::vector<mend::Mended> all;
  const uid_t me = ::geteuid();
  const UniqueFd top = OpenDir(AT_FDCWD, spool, me);
  struct stat found {};
  if (!top || ::fstat(top.get(), &found) != 0 || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) return all;
  for (const std::string& user : Names(top.get())) {
    if (user.starts_with('.')) continue;
    // profd made this folder, and only profd can have: its owner is the user.
    const UniqueFd folder(
        ::openat(top.get(), user.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!folder || ::fstat(folder.get(), &found) != 0 || (me != 0 && found.st_uid != me)) continue;
    if (const Status owned = PosixFileSystem().BecomeOwner(found.st_uid, found.st_gid); !owned.ok()) {
      all.push_back({spool + "/" + user, false, 0, {owned.message()}});
      continue;
    }
    RecoverUser(spool + "/" + user, folder.get(), found.st_uid, before_wall_ns, is_file_of, all);
    if (const Status back = PosixFileSystem().BecomeOwner(me, ::getegid()); !back.ok()) {
      all.push_back({spool, false, 0, {back.message()}});
      return all;
    }
  }
  return all;
}

}  // namespace profd::store
