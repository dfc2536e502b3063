#include "daemon/store/spool/kept.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/unique_fd.h"
#include "daemon/store/files/file_system.h"
#include "daemon/store/files/flusher.h"
#include "daemon/store/files/user_folder.h"
#include "daemon/store/spool/departure.h"
#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "format/mend/files.h"

namespace profd::store {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using mend::Entries;
using mend::Names;
using mend::OpenDir;
using mend::ReadSmall;

constexpr char kPin[] = "pinned";
// A directory on its way out is called this, so that a removal that is cut short leaves nothing that looks
// whole.
constexpr char kGoing[] = ".removed_";
// Deeper than anything that profd makes; a user may have put more below.
constexpr int kMaxDepth = 32;
// What is not looked at by then counts for the user's quota, and nothing removes it until the next start.
constexpr uint64_t kUserPatienceNs = 30'000'000'000;

struct OnDisk {
  uint64_t bytes = 0, files = 0;
};
OnDisk SizeOf(int dir, int depth) {
  struct stat facts {};
  OnDisk size{::fstat(dir, &facts) == 0 ? static_cast<uint64_t>(facts.st_blocks) * 512 : 0, 1};
  Entries entries(dir);  // they are a user's, who may have made millions
  for (std::string name; entries.Next(name);) {
    if (::fstatat(dir, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(facts.st_mode)) {
      size.bytes += static_cast<uint64_t>(facts.st_blocks) * 512;
      ++size.files;
    } else if (depth < kMaxDepth) {
      const UniqueFd below(::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!below) continue;
      const OnDisk more = SizeOf(below.get(), depth + 1);
      size.bytes += more.bytes;
      size.files += more.files;
    }
  }
  return size;
}

Status RemoveTree(int parent, const std::string& name, int depth) {
  const UniqueFd dir(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir) return Status::FromErrno(name);
  Status first;
  Entries entries(dir.get());
  for (std::string each; entries.Next(each);) {
    if (::unlinkat(dir.get(), each.c_str(), 0) == 0 || errno == ENOENT) continue;
    const Status status = errno == EISDIR && depth < kMaxDepth ? RemoveTree(dir.get(), each, depth + 1)
                                                               : Status::FromErrno(name + "/" + each);
    if (first.ok()) first = status;
  }
  if (!first.ok()) return first;
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 ? Status::Ok() : Status::FromErrno(name);
}

std::optional<format::Manifest> ManifestOf(int dir, uid_t uid) {
  const UniqueFd own = OpenDir(dir, format::OwnFolderIn(dir), uid);
  const auto text = own ? ReadSmall(own.get(), format::kManifestFile) : std::nullopt;
  auto manifest = text ? format::ParseManifest(*text) : Status(Code::kNotFound, "no manifest");
  if (!manifest.ok()) return std::nullopt;
  return std::move(manifest).value();
}

Result<Kept> Look(const UserFolder& folder, const std::string& user, const std::string& name) {
  const UniqueFd dir = OpenDir(folder.dir(), name, folder.uid());
  const auto manifest = dir ? ManifestOf(dir.get(), folder.uid()) : std::nullopt;
  if (!manifest) return Status(Code::kNotFound, name + " is not a directory of profd's");
  if (manifest->state != "sealed") return Status(Code::kFailedPrecondition, name + " is being written");
  Kept kept;
  kept.user = user;
  kept.name = name;
  kept.uid = folder.uid();
  kept.session = manifest->session;
  const OnDisk size = SizeOf(dir.get(), 0);
  kept.disk_bytes = size.bytes;
  kept.files = size.files;
  const UniqueFd own = OpenDir(dir.get(), format::OwnFolderIn(dir.get()), folder.uid());
  struct stat facts {};
  // Not what the manifest says: nobody can set a file's ctime.
  if (::fstatat(own.get(), format::kManifestFile, &facts, AT_SYMLINK_NOFOLLOW) == 0) {
    kept.end_wall_ns = static_cast<uint64_t>(facts.st_ctim.tv_sec) * 1'000'000'000 +
                       static_cast<uint64_t>(facts.st_ctim.tv_nsec);
  }
  kept.pinned = ::faccessat(own.get(), kPin, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  return kept;
}

}  // namespace

KeptSpool ScanSpool(const std::string& spool) {
  KeptSpool all;
  std::map<std::string, uint64_t> of_sessions;
  FolderVisit visit;
  visit.directory = [&](const UserFolder& folder, const std::string& user, const std::string& name) {
    Result<Kept> kept = Look(folder, user, name);
    if (kept.ok()) {
      of_sessions[user] += kept->disk_bytes;
      all.kept.push_back(std::move(kept).value());
    } else if (kept.status().code() == Code::kFailedPrecondition) {
      const UniqueFd running = OpenDir(folder.dir(), name, folder.uid());  // its session counts it
      if (running) of_sessions[user] += SizeOf(running.get(), 0).bytes;
    }
  };
  visit.done = [&](const std::string& user, uid_t uid, size_t) {
    const Result<UserFolder> folder = UserFolder::Enter(spool, user);
    if (!folder.ok()) return;
    Entries entries(folder->dir());
    for (std::string name; entries.Next(name);) {
      if (name.starts_with(kGoing)) [[maybe_unused]]
        const Status removed = RemoveTree(folder->dir(), name, 0);  // else at the next start
    }
    const uint64_t bytes = SizeOf(folder->dir(), 0).bytes;
    all.other_bytes[uid] += bytes - std::min(bytes, of_sessions[user]);
  };
  visit.failed = [](const std::string&, const Status&) {};  // whose past is read says it
  VisitFolders(spool, kUserPatienceNs, visit);
  return all;
}

std::map<std::string, FolderSize> MeasureFolders(const std::string& spool) {
  std::map<std::string, FolderSize> sizes;
  const UniqueFd top = OpenDir(AT_FDCWD, spool, ::geteuid());
  if (!top) return sizes;
  for (const std::string& user : Names(top.get())) {
    if (user.starts_with('.')) continue;
    const Result<UserFolder> folder = UserFolder::Enter(spool, user);
    if (!folder.ok()) continue;
    const OnDisk size = SizeOf(folder->dir(), 0);
    sizes[user] = {folder->uid(), size.bytes, size.files};
  }
  return sizes;
}

Result<Kept> FindKept(const std::string& spool, const std::string& user, const std::string& name) {
  PROFD_ASSIGN_OR_RETURN(const UserFolder folder, UserFolder::Enter(spool, user));
  return Look(folder, user, name);
}

Result<RemovedTrace> RemoveKept(const std::string& spool, const Kept& kept, uint64_t room_patience_ns) {
  PROFD_ASSIGN_OR_RETURN(const UserFolder folder, UserFolder::Enter(spool, kept.user));
  const UniqueFd dir = OpenDir(folder.dir(), kept.name, folder.uid());
  if (!dir) return Status(Code::kNotFound, kept.name + " is gone");
  if (::flock(dir.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status(Code::kAborted, kept.name + " is being read; try again later");
  }
  RemovedTrace removed;
  if (const auto manifest = ManifestOf(dir.get(), folder.uid())) {
    for (const format::ManifestStream& stream : manifest->streams) {
      removed.bytes += stream.bytes - std::min(stream.bytes, stream.aged.bytes);
      removed.records += stream.records - std::min(stream.records, stream.aged.records);
    }
  }
  const std::string going = kGoing + kept.name;
  [[maybe_unused]] const Status cleared =
      RemoveTree(folder.dir(), going, 0);  // there is none, unless a user made one
  if (::renameat(folder.dir(), kept.name.c_str(), folder.dir(), going.c_str()) != 0) {
    return Status::FromErrno("remove " + kept.name);
  }
  std::optional<Departure> departure;
  if (room_patience_ns > 0) departure.emplace(dir.get());
  PROFD_RETURN_IF_ERROR(RemoveTree(folder.dir(), going, 0));
  Flusher::LetGoOfRemoved();  // or it would take its room until the next flush
  if (departure) departure->Wait(room_patience_ns);
  return removed;
}

Status PinKept(const std::string& spool, const std::string& user, const std::string& name, bool pinned) {
  PROFD_ASSIGN_OR_RETURN(const UserFolder folder, UserFolder::Enter(spool, user));
  const UniqueFd dir = OpenDir(folder.dir(), name, folder.uid());
  const UniqueFd own = dir ? OpenDir(dir.get(), format::OwnFolderIn(dir.get()), folder.uid()) : UniqueFd();
  if (!own) return {Code::kNotFound, name + " is gone"};
  if (!pinned) {
    if (::unlinkat(own.get(), kPin, 0) == 0 || errno == ENOENT) return {};
    return Status::FromErrno("unpin " + name);
  }
  const Result<UniqueFd> made = PosixFileSystem().CreateFile(own.get(), kPin);
  if (made.ok() || made.status().code() == Code::kAlreadyExists) return {};
  return made.status().In("pin " + name);
}

}  // namespace profd::store
