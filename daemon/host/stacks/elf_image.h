// What an ELF file says of itself where a process has it mapped: which part of it is where, where its tables
// of call frames are, and where a symbol is. Nothing of it is to be believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/host/stacks/process_memory.h"

namespace profd::host {

// Addresses are as in the file; where it is mapped they are `bias` higher.
class ElfImage {
 public:
  struct Symbol {
    uint64_t address = 0, bytes = 0;
  };

  // `at`: where its first byte lies. nullopt: there is none of this machine's.
  static std::optional<ElfImage> Read(ProcessMemory& memory, uint64_t at);

  // The code at this place in the file has this address.
  std::optional<uint64_t> AddressOf(uint64_t file_offset) const;
  std::optional<uint64_t> OffsetOf(uint64_t address) const;
  uint64_t frame_index() const { return frame_index_; }  // .eh_frame_hdr, 0: none
  // Below it is every address of the file.
  uint64_t end() const { return end_; }
  // Of those that others may use: each place that some version of it is at.
  std::vector<Symbol> FindAll(ProcessMemory& memory, uint64_t bias, std::string_view name) const;
  std::optional<Symbol> Find(ProcessMemory& memory, uint64_t bias, std::string_view name) const;

 private:
  struct Segment {
    uint64_t file_offset, address, bytes;
  };
  std::vector<Segment> code_;  // a page of the file can be of others, too
  uint64_t frame_index_ = 0, dynamic_ = 0, end_ = 0;
};

}  // namespace profd::host
