// The file `aged` of profd's own folder: how much of each stream has aged, told before its slice goes, so
// that the count is exact after a kill at any moment. Gone when the manifest has it for good.
#pragma once

#include <cstdint>
#include <map>

#include "base/unique_fd.h"
#include "daemon/store/files/file_system.h"
#include "daemon/store/files/open_files.h"
#include "format/mend/aged_entry.h"

namespace profd::store {

// **Thread:** the writer's.
class AgedLog {
 public:
  AgedLog(FileSystem& fs, OpenFiles& open, int dir) : fs_(fs), open_(open), dir_(dir) {}

  // Makes it, with room for so many streams and some more.
  base::Status Open(size_t streams);
  uint64_t room() const { return room_; }
  // In place, in one page: a kill leaves the old entry or the new one.
  base::Status Note(uint32_t stream, const mend::AgedEntry& entry);
  base::Status Remove();

 private:
  FileSystem& fs_;
  OpenFiles& open_;
  const int dir_;
  base::UniqueFd file_;
  uint64_t room_ = 0;
  std::map<uint32_t, uint64_t> slots_;  // by stream
};

}  // namespace profd::store
