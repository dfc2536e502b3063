// A small file that can be rewritten on a full disk: it and the one it changes places with have their room
// beforehand.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/store/files/file_system.h"
#include "daemon/store/files/open_files.h"
#include "daemon/store/spool/budget.h"

namespace profd::store {

// **Thread:** the writer's.
class SteadyFile {
 public:
  SteadyFile(FileSystem& fs, OpenFiles& open, Budget& budget, int dir, std::string name)
      : fs_(fs), open_(open), budget_(budget), dir_(dir), name_(std::move(name)) {}

  // A reader finds the old content or the new one. The second time takes the room: reserving it may take a
  // while, and a session that begins does not wait for that. Behind `content` blanks may follow.
  base::Status Replace(const std::string& content);
  // The last content again, as an ordinary file without room to spare.
  base::Status Settle();
  // Both have been removed.
  void Forget() { budget_.Change(std::exchange(allocated_, 0), 0); }

 private:
  base::Status Prepare();
  void Measure();
  std::string Spare() const { return "." + name_ + ".tmp"; }  // a name that no reader looks at

  FileSystem& fs_;
  OpenFiles& open_;
  Budget& budget_;
  const int dir_;
  const std::string name_;
  std::string content_;
  bool spare_ = false;          // the other file is there, with room
  bool plain_ = false;          // the file system cannot exchange names
  uint64_t room_ = 0;           // of each of the two
  uint64_t sizes_[2] = {0, 0};  // of the file and its spare
  uint64_t allocated_ = 0;
};

}  // namespace profd::store
