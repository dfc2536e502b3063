// The file-system calls of the writer, behind an interface only so that tests can make a disk fill, fail or
// stall.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::store {

// All names are one component inside an open directory, never a path, and are never followed through symbolic
// links. Errors name the call; the caller adds the file.
// **Thread:** any writer thread; the owner is the calling thread's own.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Runs the calling thread's later calls as this owner until called again; a no-op when profd is not root.
  virtual base::Status BecomeOwner(uid_t uid, gid_t gid) = 0;
  // mkdirat + open of one component, mode 0750; kAlreadyExists when it is there.
  virtual base::Result<base::UniqueFd> MakeDir(int parent, const std::string& name) = 0;
  // O_CREAT|O_EXCL|O_NOFOLLOW, write only, mode 0640 whatever the umask.
  virtual base::Result<base::UniqueFd> CreateFile(int dir, const std::string& name) = 0;
  // A regular file made by CreateFile() earlier, for writing.
  virtual base::Result<base::UniqueFd> OpenFile(int dir, const std::string& name) = 0;
  // Extends a file of `size` bytes by all of `data`. After an error the file may be longer than `size` by
  // anything: Truncate() it. The file may end at any page's edge within the first `at_once` bytes when a kill
  // comes in the middle, else only where `data` begins or ends, or where `at_once` is over.
  virtual base::Status Append(int fd, uint64_t size, const void* data, size_t bytes, size_t at_once) = 0;
  // Replaces bytes that the file has, or has room reserved for.
  virtual base::Status Overwrite(int fd, uint64_t offset, const void* data, size_t bytes) = 0;
  // Takes room for the file's first `bytes` bytes without changing its size; an error where there is none, Ok
  // where the file system does not know such a thing.
  virtual base::Status Reserve(int fd, uint64_t bytes) = 0;
  // Two files change their names, needing no room; kUnimplemented where the file system can't.
  virtual base::Status Exchange(int dir, const std::string& one, const std::string& other) = 0;
  virtual base::Status Truncate(int fd, uint64_t bytes) = 0;
  // Brings a file's bytes to the platter, and nothing else: the journal, which others write to as well, then
  // has less to wait for in Sync().
  virtual void WriteBack(int /*fd*/) {}
  // Waits until what was written to a file, or the names in a directory, survive a power cut.
  virtual base::Status Sync(int fd) = 0;
  // What has reached the platter of the file need not stay in memory, but for the page that it grows in.
  virtual void Evict(int /*fd*/) {}
  // The file gets no more bytes.
  virtual void Closed(int /*fd*/) {}
  // What a file takes on disk; "." is the directory itself.
  virtual base::Result<uint64_t> AllocatedBytes(int dir, const std::string& name) = 0;
  virtual base::Status Rename(int dir, const std::string& from, const std::string& to) = 0;
  // A file or an empty directory.
  virtual base::Status Remove(int dir, const std::string& name) = 0;
};

// The real one.
FileSystem& PosixFileSystem();

// An error of a call above says that the disk, or the owner's quota of it, is full: not that descriptors have
// run out.
bool IsDiskFull(const base::Status& status);

}  // namespace profd::store
