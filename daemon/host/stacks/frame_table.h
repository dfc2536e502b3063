// The call frames of one mapped file: its index is read once, a function's frames when somebody is in it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/host/stacks/call_frames.h"
#include "daemon/host/stacks/elf_image.h"
#include "daemon/host/stacks/process_memory.h"

namespace profd::host {

// **Thread:** one. What it holds is the file's own doing: whoever has several adds up bytes().
class FrameTable {
 public:
  // Has no frames where the file has none, or none that can be read.
  FrameTable(ProcessMemory& memory, const ElfImage& image, uint64_t bias);
  // `address` as in the file. nullptr: nothing is said of it.
  const FrameRow* Find(ProcessMemory& memory, uint64_t bias, uint64_t address);
  size_t bytes() const { return sizeof(*this) + entries_.size() * sizeof(Entry) + function_bytes_; }

 private:
  struct Entry {
    int32_t begin, frames;  // from index_
  };
  std::optional<CallFrames> Read(ProcessMemory& memory, uint64_t bias, uint64_t at) const;

  uint64_t index_ = 0, file_end_ = 0;
  std::vector<Entry> entries_;  // by begin
  std::unordered_map<uint32_t, CallFrames>
      functions_;  // by place in entries_; without rows: nothing is known
  size_t function_bytes_ = 0;
};

}  // namespace profd::host
