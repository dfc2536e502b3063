#include "format/events/agent_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace profd::format {
namespace {

using Bytes = std::vector<std::byte>;

Bytes BlockOf(BlockType type, uint32_t bytes, uint64_t seq, uint16_t header_bytes = sizeof(BlockHeader)) {
  BlockHeader header{};
  header.magic = kBlockMagic;
  header.type = static_cast<uint16_t>(type);
  header.header_bytes = header_bytes;
  header.bytes = bytes;
  header.seq = seq;
  Bytes block(header_bytes + bytes, std::byte{0x5a});
  std::memcpy(block.data(), &header, sizeof(header));
  SealBlock(block.data());
  return block;
}

Bytes Join(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<uint64_t> Sequence(const Bytes& file, uint64_t* skipped = nullptr) {
  std::vector<uint64_t> found;
  BlockReader reader(file);
  Block block;
  while (reader.Next(block)) found.push_back(block.header.seq);
  EXPECT_FALSE(reader.Next(block));
  EXPECT_EQ(reader.offset(), file.size());
  if (skipped != nullptr) *skipped = reader.skipped_bytes();
  return found;
}

TEST(AgentBlocks, OneAfterTheOther) {
  const Bytes file = Join(
      {BlockOf(BlockType::kLane, 64, 0), BlockOf(BlockType::kNames, 40, 1), BlockOf(BlockType::kLane, 0, 2)});
  BlockReader reader(file);
  Block block;
  ASSERT_TRUE(reader.Next(block));
  EXPECT_EQ(block.payload.size(), 64U);
  EXPECT_EQ(block.payload.data(), file.data() + sizeof(BlockHeader));
  uint64_t skipped = 1;
  EXPECT_EQ(Sequence(file, &skipped), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(skipped, 0U);
  EXPECT_TRUE(Sequence({}).empty());
}

// The bytes on disk, once and for ever.
TEST(AgentBlocks, KnownBytes) {
  Bytes block = BlockOf(BlockType::kLane, 32, 7);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(block.data()), 4), "PBLK");
  EXPECT_EQ(block[4], std::byte{1});
  EXPECT_EQ(block[6], std::byte{128});
  EXPECT_EQ(block[8], std::byte{32});
  EXPECT_EQ(block[24], std::byte{7});
  uint32_t crc = 0;
  std::memcpy(&crc, &block[12], sizeof(crc));
  EXPECT_EQ(crc, 0x366f8d08U);
}

TEST(AgentBlocks, AnyDamagedBitCostsItsBlockOnly) {
  const Bytes good = Join(
      {BlockOf(BlockType::kLane, 32, 0), BlockOf(BlockType::kLane, 32, 1), BlockOf(BlockType::kLane, 32, 2)});
  const size_t block = good.size() / 3;
  for (size_t bit = 8 * block; bit < 16 * block; ++bit) {
    Bytes file = good;
    file[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    uint64_t skipped = 0;
    ASSERT_EQ(Sequence(file, &skipped), (std::vector<uint64_t>{0, 2})) << "bit " << bit;
    ASSERT_EQ(skipped, block);
  }
}

TEST(AgentBlocks, ATornEndIsSkipped) {
  const Bytes good = Join({BlockOf(BlockType::kLane, 64, 0), BlockOf(BlockType::kLane, 64, 1)});
  for (size_t size = 0; size < good.size(); ++size) {
    uint64_t skipped = 0;
    const size_t whole = size / (good.size() / 2);
    ASSERT_EQ(Sequence(Bytes(good.begin(), good.begin() + static_cast<long>(size)), &skipped).size(), whole);
    ASSERT_EQ(skipped, size - whole * good.size() / 2);
  }
}

TEST(AgentBlocks, MagicsInPayloadAreNoBlocks) {
  Bytes inner = BlockOf(BlockType::kLane, 0, 99);
  Bytes outer = BlockOf(BlockType::kLane, 256, 0);
  std::memcpy(outer.data() + sizeof(BlockHeader) + 64, inner.data(), inner.size());
  SealBlock(outer.data());
  EXPECT_EQ(Sequence(Join({outer, BlockOf(BlockType::kLane, 32, 1)})), (std::vector<uint64_t>{0, 1}));
}

TEST(AgentBlocks, HeadersMayGrow) {
  const Bytes file = Join({BlockOf(BlockType::kLane, 32, 0, 160), BlockOf(BlockType::kLane, 32, 1)});
  EXPECT_EQ(Sequence(file), (std::vector<uint64_t>{0, 1}));
}

TEST(AgentBlocks, LanesHoldWholeSlots) {
  EXPECT_TRUE(Sequence(BlockOf(BlockType::kLane, 40, 0)).empty());
  EXPECT_TRUE(Sequence(BlockOf(BlockType::kNames, 33, 0)).empty());
}

TEST(AgentBlocks, KindsHaveNames) {
  EXPECT_STREQ(AgentKindName(AgentKind::kRange), "agent-range");
  EXPECT_STREQ(AgentKindName(AgentKind::kMemory), "agent-memory");
  EXPECT_STREQ(AgentKindName(static_cast<AgentKind>(8)), "agent-unknown");
}

}  // namespace
}  // namespace profd::format
