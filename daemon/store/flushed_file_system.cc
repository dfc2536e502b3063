#include "daemon/store/flushed_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <utility>

namespace profd::store {

using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

// All that a flusher is handed is on one file system.
std::optional<uint64_t> KeyOf(int fd) {
  struct stat facts {};
  if (fd < 0 || ::fstat(fd, &facts) != 0) return std::nullopt;
  return facts.st_ino;
}

}  // namespace

void FlushedFileSystem::Touch(int fd) {
  if (flusher_ == nullptr) return;
  if (const auto key = KeyOf(fd)) flusher_->Touch(*key, fd, report_);
}

void FlushedFileSystem::Closed(int fd) {
  if (flusher_ == nullptr) return;
  if (const auto key = KeyOf(fd)) flusher_->Finish(*key, fd, report_);
}

Result<UniqueFd> FlushedFileSystem::MakeDir(int parent, const std::string& name) {
  Result<UniqueFd> made = fs_.MakeDir(parent, name);
  if (made.ok()) Touch(parent);
  return made;
}

Result<UniqueFd> FlushedFileSystem::CreateFile(int dir, const std::string& name) {
  Result<UniqueFd> made = fs_.CreateFile(dir, name);
  if (made.ok()) Touch(dir);
  return made;
}

Status FlushedFileSystem::Append(int fd, uint64_t size, const void* data, size_t bytes) {
  Status status = fs_.Append(fd, size, data, bytes);
  if (status.ok()) Touch(fd);
  return status;
}

Status FlushedFileSystem::Overwrite(int fd, uint64_t offset, const void* data, size_t bytes) {
  Status status = fs_.Overwrite(fd, offset, data, bytes);
  if (status.ok()) Touch(fd);
  return status;
}

Status FlushedFileSystem::Exchange(int dir, const std::string& one, const std::string& other) {
  Status status = fs_.Exchange(dir, one, other);
  if (status.ok()) Touch(dir);
  return status;
}

Status FlushedFileSystem::Rename(int dir, const std::string& from, const std::string& to) {
  Status status = fs_.Rename(dir, from, to);
  if (status.ok()) Touch(dir);
  return status;
}

Status FlushedFileSystem::Remove(int dir, const std::string& name) {
  struct stat facts {};
  if (flusher_ != nullptr && ::fstatat(dir, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0) {
    flusher_->Drop(facts.st_ino);
  }
  return fs_.Remove(dir, name);
}

}  // namespace profd::store
