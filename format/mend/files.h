// Files and folders of a PROF directory that somebody else may have rearranged: relative to open directories,
// never through a link, only what is the user's own.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "format/check/stream_check.h"

namespace profd::mend {

// What is in a directory, one name after the other, however many there are. Some of them may go meanwhile.
class Entries {
 public:
  explicit Entries(int dir);
  bool Next(std::string& name);

 private:
  std::unique_ptr<DIR, int (*)(DIR*)> stream_;
};

// A directory that belongs to `uid`; none otherwise.
base::UniqueFd OpenDir(int parent, const std::string& name, uid_t uid);
inline constexpr size_t kMaxNames = 1'000'000;
// At most kMaxNames, in any order.
std::vector<std::string> Names(int dir);
// A regular file that belongs to `uid` and has no other name.
std::optional<struct stat> RegularFile(int dir, const std::string& name, uid_t uid);
// At most 16 MiB.
std::optional<std::string> ReadSmall(int dir, const std::string& name);

// Writes `content` beside and renames it over `name`: a reader finds the old file or the new one, never a
// part.
base::Status ReplaceFile(int dir, const std::string& name, const std::string& content);
// Cuts a slice of `size` bytes behind its last whole record; how many bytes are left. 0: only a header, or
// nothing, was.
base::Result<uint64_t> CutTail(int dir, const std::string& name, uid_t uid, const format::FileShape& shape,
                               uint64_t size);
// The writer of host_disk.data ends it with its first line, "start_time …", again: done here in its place.
// How many bytes were added to the `size` there are.
base::Result<uint64_t> EndDiskFile(int dir, const std::string& name, uid_t uid, uint64_t size);
// Reads `size` bytes through the check.
void Feed(int dir, const std::string& name, uid_t uid, uint64_t size, format::StreamCheck& check);

}  // namespace profd::mend
