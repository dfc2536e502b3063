#include "daemon/store/files/user_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/store/files/file_system.h"
#include "format/directory/prof_dir.h"
#include "format/mend/files.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using mend::OpenDir;

namespace {

constexpr uint64_t kTurnNs = 20'000'000;
// A user may have made millions of directories that are called like one.
constexpr size_t kMostFound = 10'000;

// A folder that is being visited.
struct Visited {
  std::string user;
  std::vector<std::string> names;  // still to come, the newest last
  uint64_t used_ns = 0;
  bool listed = false;
};

std::vector<std::string> NewestIn(int folder) {
  // The name carries the time after the number.
  const auto is_newer = [](const std::string& a, const std::string& b) {
    return a.substr(12) > b.substr(12);
  };
  std::vector<std::string> names;
  mend::Entries entries(folder);
  for (std::string name; entries.Next(name);) {
    if (!format::IsProfDirName(name)) continue;
    names.push_back(name);
    if (names.size() < 2 * kMostFound) continue;
    std::nth_element(names.begin(), names.begin() + kMostFound, names.end(), is_newer);
    names.resize(kMostFound);
  }
  std::sort(names.begin(), names.end(), is_newer);
  std::reverse(names.begin(), names.end());
  return names;
}

}  // namespace

Result<UserFolder> UserFolder::Enter(const std::string& spool, const std::string& user) {
  const uid_t me = ::geteuid();
  const UniqueFd top = OpenDir(AT_FDCWD, spool, me);
  struct stat found {};
  if (!top || ::fstat(top.get(), &found) != 0 || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Status(Code::kFailedPrecondition, spool + " is not profd's own");
  }
  UserFolder folder;
  folder.dir_.Reset(::openat(top.get(), user.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.dir_ || ::fstat(folder.dir_.get(), &found) != 0) {
    return Status::FromErrno("open " + spool + "/" + user);
  }
  if (me != 0 && found.st_uid != me) return Status(Code::kPermissionDenied, user + " is another user's");
  folder.uid_ = found.st_uid;
  PROFD_RETURN_IF_ERROR(PosixFileSystem().BecomeOwner(found.st_uid, found.st_gid));
  folder.entered_ = true;
  return folder;
}

UserFolder::~UserFolder() {
  if (!entered_) return;
  // The thread ends soon; were it kept it would only have fewer rights.
  [[maybe_unused]] const Status back = PosixFileSystem().BecomeOwner(::geteuid(), ::getegid());
}

UserFolder::UserFolder(UserFolder&& other) noexcept
    : dir_(std::move(other.dir_)), uid_(other.uid_), entered_(std::exchange(other.entered_, false)) {}

void VisitFolders(const std::string& spool, uint64_t patience_ns, const FolderVisit& visit,
                  const std::function<uint64_t()>& now_ns) {
  const auto now = [&] { return now_ns ? now_ns() : base::MonotonicNs(); };
  std::list<Visited> waiting;
  {
    const UniqueFd top = OpenDir(AT_FDCWD, spool, ::geteuid());
    if (!top) return;
    for (std::string& user : mend::Names(top.get())) {
      if (!user.starts_with('.')) waiting.push_back({std::move(user), {}, 0, false});
    }
  }
  // True: it has had its last turn.
  const auto take_turn = [&](Visited& one) {
    uid_t uid = 0;
    {
      const Result<UserFolder> folder = UserFolder::Enter(spool, one.user);
      if (!folder.ok()) {
        visit.failed(one.user, folder.status());
        return true;
      }
      uid = folder->uid();
      const uint64_t begin = now();
      const auto used = [&] { return now() - begin; };
      if (!std::exchange(one.listed, true)) one.names = NewestIn(folder->dir());
      while (!one.names.empty() && used() < kTurnNs && one.used_ns + used() < patience_ns) {
        const std::string name = std::move(one.names.back());
        one.names.pop_back();
        visit.directory(*folder, one.user, name);
      }
      one.used_ns += used();
      if (!one.names.empty() && one.used_ns < patience_ns) return false;
    }
    visit.done(one.user, uid, one.names.size());
    return true;
  };
  while (!waiting.empty()) waiting.remove_if(take_turn);
}

}  // namespace profd::store
