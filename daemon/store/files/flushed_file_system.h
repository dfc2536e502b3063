// A file system whose changes are handed to a flusher, or flushed at once (Durability::kAlways): what one
// trace writes through.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/store/files/file_system.h"
#include "daemon/store/files/flusher.h"

namespace profd::store {

// **Thread:** the writer's.
class FlushedFileSystem final : public FileSystem {
 public:
  // A trace's first bytes stay in the page cache, where who looks at it soon finds them. A long one would
  // fill the memory that the jobs' own files are cached in, and new pages cost more than those that come
  // back: what it writes further leaves once it is flushed.
  static constexpr uint64_t kStaysInMemory = 1ull << 30;

  // Without a flusher it only passes on.
  FlushedFileSystem(FileSystem& fs, Flusher* flusher, uint64_t stays_in_memory = kStaysInMemory)
      : fs_(fs), flusher_(flusher), stays_in_memory_(stays_in_memory) {}

  std::string error() const { return report_->error(); }

  base::Status BecomeOwner(uid_t uid, gid_t gid) override { return fs_.BecomeOwner(uid, gid); }
  base::Result<base::UniqueFd> MakeDir(int parent, const std::string& name) override;
  base::Result<base::UniqueFd> CreateFile(int dir, const std::string& name) override;
  base::Result<base::UniqueFd> OpenFile(int dir, const std::string& name) override;
  base::Status Append(int fd, uint64_t size, const void* data, size_t bytes, size_t at_once) override;
  base::Status Overwrite(int fd, uint64_t offset, const void* data, size_t bytes) override;
  base::Status Reserve(int fd, uint64_t bytes) override { return fs_.Reserve(fd, bytes); }
  base::Status Exchange(int dir, const std::string& one, const std::string& other) override;
  base::Status Sync(int fd) override { return fs_.Sync(fd); }
  void Closed(int fd) override;
  base::Status Truncate(int fd, uint64_t bytes) override { return fs_.Truncate(fd, bytes); }
  base::Result<uint64_t> AllocatedBytes(int dir, const std::string& name) override {
    return fs_.AllocatedBytes(dir, name);
  }
  base::Status Rename(int dir, const std::string& from, const std::string& to) override;
  base::Status Remove(int dir, const std::string& name) override;

 private:
  // `fd` has got bytes, or is a directory that has got names. `evict`: they leave memory once flushed.
  base::Status Touch(int fd, bool evict = false);
  // Of a file that is about to be no more: held open it would keep its room, and some file systems (NFS,
  // FUSE) would keep it under another name.
  void LetGo(int dir, const std::string& name);
  base::Result<base::UniqueFd> Named(int dir, const std::string& name, base::UniqueFd made);

  FileSystem& fs_;
  Flusher* const flusher_;
  const uint64_t stays_in_memory_;
  uint64_t appended_ = 0;                     // bytes
  std::unordered_map<int, uint64_t> handed_;  // descriptor → round of the flusher
  const std::shared_ptr<FlushReport> report_ = std::make_shared<FlushReport>();
};

}  // namespace profd::store
