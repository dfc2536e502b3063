#include "daemon/store/files/flushed_file_system.h"

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

Status FlushedFileSystem::Touch(int fd, bool evict) {
  if (flusher_ == nullptr) return {};
  if (flusher_->durability() == Durability::kAlways) return fs_.Sync(fd);
  if (flusher_->durability() != Durability::kPeriodic) return {};
  // Who waits for this round's flush already has it coming: no need to ask the kernel who it is.
  const uint64_t round = flusher_->round();
  const auto known = handed_.find(fd);
  if (known != handed_.end() && known->second == round) return {};
  const auto key = KeyOf(fd);
  if (!key || !flusher_->Add(*key, fd, report_, evict)) {
    handed_.erase(fd);
  } else {
    // It may be of a later round than this one: then it is handed over once more.
    handed_[fd] = round;
  }
  return {};
}

void FlushedFileSystem::LetGo(int dir, const std::string& name) {
  struct stat facts {};
  if (flusher_ != nullptr && ::fstatat(dir, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0) {
    flusher_->Drop(facts.st_ino);
  }
}

Result<UniqueFd> FlushedFileSystem::OpenFile(int dir, const std::string& name) {
  Result<UniqueFd> opened = fs_.OpenFile(dir, name);
  if (opened.ok()) handed_.erase(opened->get());  // another file had the number
  return opened;
}

void FlushedFileSystem::Closed(int fd) {
  if (flusher_ == nullptr) return;
  const bool evict = appended_ > stays_in_memory_;
  if (flusher_->durability() != Durability::kSlice &&
      !(flusher_->durability() == Durability::kPeriodic && evict)) {
    return;
  }
  if (const auto key = KeyOf(fd)) flusher_->Add(*key, fd, report_, evict);
}

// What is made and then refused must not be in the way of the next attempt.
Result<UniqueFd> FlushedFileSystem::Named(int dir, const std::string& name, UniqueFd made) {
  handed_.erase(made.get());  // another file had the number
  const Status status = Touch(dir);
  if (status.ok()) return made;
  made.Reset();
  [[maybe_unused]] const Status removed = fs_.Remove(dir, name);  // the first error is the one to report
  return status;
}

Result<UniqueFd> FlushedFileSystem::MakeDir(int parent, const std::string& name) {
  Result<UniqueFd> made = fs_.MakeDir(parent, name);
  return made.ok() ? Named(parent, name, std::move(made).value()) : std::move(made);
}

Result<UniqueFd> FlushedFileSystem::CreateFile(int dir, const std::string& name) {
  Result<UniqueFd> made = fs_.CreateFile(dir, name);
  return made.ok() ? Named(dir, name, std::move(made).value()) : std::move(made);
}

Status FlushedFileSystem::Append(int fd, uint64_t size, const void* data, size_t bytes, size_t at_once) {
  PROFD_RETURN_IF_ERROR(fs_.Append(fd, size, data, bytes, at_once));
  appended_ += bytes;
  return Touch(fd, appended_ > stays_in_memory_);
}

Status FlushedFileSystem::Overwrite(int fd, uint64_t offset, const void* data, size_t bytes) {
  PROFD_RETURN_IF_ERROR(fs_.Overwrite(fd, offset, data, bytes));
  return Touch(fd);
}

Status FlushedFileSystem::Exchange(int dir, const std::string& one, const std::string& other) {
  PROFD_RETURN_IF_ERROR(fs_.Exchange(dir, one, other));
  return Touch(dir);
}

Status FlushedFileSystem::Rename(int dir, const std::string& from, const std::string& to) {
  LetGo(dir, to);
  PROFD_RETURN_IF_ERROR(fs_.Rename(dir, from, to));
  return Touch(dir);
}

Status FlushedFileSystem::Remove(int dir, const std::string& name) {
  LetGo(dir, name);
  return fs_.Remove(dir, name);
}

}  // namespace profd::store
