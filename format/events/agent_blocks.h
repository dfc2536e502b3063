// What profd keeps of an agent's lanes, in its own folder (own_folder.h). All little-endian.
//
//   agent_<pid>_<n>.lanes.slice_K   blocks of records (n: 0-based attachment of that pid in this directory)
//   agent_<pid>_<n>.names.slice_0   blocks of name entries
//
// A file is a sequence of blocks, each a BlockHeader and its payload, 8-byte aligned. A lane block holds
// 32-byte slots of one lane exactly as the process wrote them (libagent/abi/record.h), whole records only;
// blocks of one lane follow each other in `seq`. A name block holds whole entries of the name table
// (libagent/abi/lane.h, NameEntry), from offset `at` on. A torn or damaged block is recognised by its
// checksum; a reader goes on at the next magic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace profd::format {

// In the order of BlockHeader::kind_records.
enum class AgentKind : uint8_t { kRange, kMark, kCounter, kStep, kKernel, kComm, kApi, kMemory };
inline constexpr size_t kAgentKinds = 8;
// "agent-range" …
const char* AgentKindName(AgentKind kind);

inline constexpr uint32_t kBlockMagic = 0x4b4c4250;  // "PBLK"
enum class BlockType : uint16_t { kLane = 1, kNames = 2 };

struct BlockHeader {
  uint32_t magic;
  uint16_t type;          // BlockType
  uint16_t header_bytes;  // 128
  uint32_t bytes;         // payload
  uint32_t crc32c;        // of header (this field 0) and payload
  uint32_t lane;          // kLane: which of the process's lanes
  uint32_t tid;  // kLane: who wrote the first slot (innermost pid namespace); kThread records change it
  uint64_t seq;  // of this lane (or of the names), from 0
  uint64_t first_stamp;  // kLane: ticks of the process's counter, of the first and last record; kNames: 0
  uint64_t last_stamp;
  uint64_t lost_before;  // kLane: records of this lane lost so far, in this recording; kNames: offset `at`
  uint32_t records;      // whole records, the agent's own not counted; kNames: entries
  uint32_t reserved;
  uint32_t kind_records[kAgentKinds];
  uint32_t kind_slots[kAgentKinds];  // of the same records, payload included
};
static_assert(sizeof(BlockHeader) == 128);

// `block` is a BlockHeader (any alignment) with its payload right behind: sets its `crc32c`.
void SealBlock(std::byte* block);

struct Block {
  BlockHeader header;
  std::span<const std::byte> payload;
};

// Walks the blocks of a file, whatever is in it. A lane block's payload is whole slots; what they say is the
// process's word.
class BlockReader {
 public:
  explicit BlockReader(std::span<const std::byte> file) : file_(file) {}

  // The next whole block; false when there is none.
  bool Next(Block& block);

  // Where the search goes on, and what was no block on the way there.
  size_t offset() const { return at_; }
  uint64_t skipped_bytes() const { return skipped_; }

 private:
  std::span<const std::byte> file_;
  size_t at_ = 0;
  uint64_t skipped_ = 0;
};

}  // namespace profd::format
