// What lies in the memory of a process that is looked at. Nothing in it is to be believed, and nothing of it
// may keep profd waiting: a page of a file is read from the file's server, which can be the user's own (FUSE)
// and never answer. So what is there already is read, and of the rest only what the kernel can bring by
// itself: memory without a file, and files of file systems that are on this node's disks or in its memory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.h"

namespace profd::host {

// **Thread:** that of a stand-in: a page can be on a slow disk, and between the look whether it is there and
// the read of it the process can take it away.
class ProcessMemory {
 public:
  ProcessMemory() = default;
  // Of the process that has this number now. Another one that has it later is none of ours: nothing of it is
  // read.
  explicit ProcessMemory(pid_t pid);

  // How much of it could be read, from the front.
  size_t Read(uint64_t at, std::span<std::byte> to);
  template <typename T>
  std::optional<T> Get(uint64_t at) {
    T value;
    if (Read(at, std::as_writable_bytes(std::span(&value, 1))) != sizeof value) return std::nullopt;
    return value;
  }
  // Whoever has its number by now is another.
  bool IsGone() const;
  // Until it is read again; a process that executes another program has another memory.
  void Close() {
    memory_ = {};
    pages_ = {};
    opened_ = false;
    ranges_read_ns_ = 0;
  }

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
  };

  void Open();
  bool MayRead(uint64_t page);
  bool IsResident(uint64_t page) const;
  bool ComesByItself(uint64_t page);
  void ReadRanges();

  pid_t pid_ = 0;
  base::UniqueFd process_;  // its folder in /proc, in which nothing is left when it has gone
  bool was_gone_ = false;
  bool opened_ = false;  // or tried in vain
  base::UniqueFd memory_, pages_;
  std::vector<Range> ranges_;  // that wait for nobody, ascending
  uint64_t ranges_read_ns_ = 0;
};

}  // namespace profd::host
