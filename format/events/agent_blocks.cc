#include "format/events/agent_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/crc32c.h"
#include "format/kind.h"

namespace profd::format {

namespace {

static_assert(std::endian::native == std::endian::little, "headers are copied as they are");

constexpr size_t kUnit = 8;
constexpr size_t kSlotBytes = 32;
constexpr size_t kMaxHeaderBytes = 4096;  // of a younger profd

uint32_t BlockCrc(const std::byte* block, size_t header_bytes, size_t bytes) {
  BlockHeader header;
  std::memcpy(&header, block, sizeof(header));
  header.crc32c = 0;
  const uint32_t crc = base::Crc32c(&header, sizeof(header));
  return base::Crc32c(block + sizeof(header), header_bytes - sizeof(header) + bytes, crc);
}

// Looks like a header whose block fits into `left` bytes.
bool Plausible(const BlockHeader& header, size_t left) {
  if (header.magic != kBlockMagic || header.header_bytes < sizeof(BlockHeader) ||
      header.header_bytes > kMaxHeaderBytes || header.header_bytes % kUnit != 0) {
    return false;
  }
  const bool lane = header.type == static_cast<uint16_t>(BlockType::kLane);
  if (header.bytes % (lane ? kSlotBytes : kUnit) != 0) return false;
  return header.header_bytes <= left && header.bytes <= left - header.header_bytes;
}

}  // namespace

const char* AgentKindName(AgentKind kind) {
  static_assert(static_cast<size_t>(Kind::kAgentMemory) - static_cast<size_t>(Kind::kAgentRange) + 1 ==
                kAgentKinds);
  const auto index = static_cast<size_t>(kind);
  constexpr auto kFirst = static_cast<size_t>(Kind::kAgentRange);
  return index < kAgentKinds ? kKinds[kFirst + index].name.data() : "agent-unknown";
}

void SealBlock(std::byte* block) {
  BlockHeader header;
  std::memcpy(&header, block, sizeof(header));
  header.crc32c = BlockCrc(block, header.header_bytes, header.bytes);
  std::memcpy(block, &header, sizeof(header));
}

bool BlockReader::Next(Block& block) {
  // Blocks are aligned within the file, so magics elsewhere are payload.
  while (file_.size() - at_ >= sizeof(BlockHeader)) {
    const std::byte* at = file_.data() + at_;
    std::memcpy(&block.header, at, sizeof(BlockHeader));
    const BlockHeader& header = block.header;
    if (Plausible(header, file_.size() - at_) &&
        BlockCrc(at, header.header_bytes, header.bytes) == header.crc32c) {
      block.payload = file_.subspan(at_ + header.header_bytes, header.bytes);
      at_ += header.header_bytes + size_t{header.bytes};
      return true;
    }
    at_ += kUnit;
    skipped_ += kUnit;
  }
  skipped_ += file_.size() - at_;
  at_ = file_.size();
  return false;
}

}  // namespace profd::format
