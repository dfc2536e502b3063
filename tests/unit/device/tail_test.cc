#include "daemon/device/streams/tail.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::device {
namespace {

constexpr uint64_t kBeat = 300'000'000;

const std::byte* Bytes(const std::string& text) { return reinterpret_cast<const std::byte*>(text.data()); }
std::string TextOf(const Tail& tail) {
  return {reinterpret_cast<const char*>(tail.bytes().data()), tail.bytes().size()};
}

struct TailTest : testing::Test {
  void Take(const std::string& text) {
    now_ns += kBeat;
    tail.Take(Bytes(text), static_cast<uint32_t>(text.size()), now_ns);
  }

  const format::StreamFormat format{.file = "test", .record_bytes = 4};  // 256 records: 1 KiB
  Tail tail{format};
  uint64_t now_ns = 1;
};

TEST_F(TailTest, SmallPiecesFollowEachOther) {
  Take("aaaa");
  Take("bbbbcccc");
  EXPECT_EQ(TextOf(tail), "aaaabbbbcccc");
}

TEST_F(TailTest, KeepsTheNewestRecordsThatFit) {
  for (int i = 0; i < 300; ++i) Take({char('a' + i % 26), '1', '2', '3'});
  const std::string kept = TextOf(tail);
  EXPECT_EQ(kept.size(), 1024u);
  EXPECT_EQ(kept.substr(0, 4), std::string({char('a' + 44 % 26), '1', '2', '3'}));
  EXPECT_EQ(kept.substr(1020), std::string({char('a' + 299 % 26), '1', '2', '3'}));
}

TEST_F(TailTest, OfAPieceThatIsTooLargeItsEndOnARecordsEdge) {
  std::string large;
  for (int i = 0; i < 1000; ++i) large += {char('a' + i % 26), '1', '2', '3'};
  Take("zzzz");
  Take(large);
  EXPECT_EQ(TextOf(tail), large.substr(large.size() - 1024));
}

TEST_F(TailTest, WhatFollowsAGapIsNotJoinedToWhatWasBefore) {
  Take("aaaa");
  tail.Take(Bytes("bbbb"), 4, now_ns + 1);  // too soon
  EXPECT_EQ(TextOf(tail), "aaaa");
  Take("cccc");
  EXPECT_EQ(TextOf(tail), "cccc");
}

TEST(TailOfLines, IsCutAtLineEnds) {
  const format::StreamFormat format{.file = "test", .framing = format::Framing::kLines};
  Tail tail(format);
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += std::to_string(i) + " abc\n";
  tail.Take(Bytes(lines), static_cast<uint32_t>(lines.size()), kBeat);
  const std::string kept = TextOf(tail);
  EXPECT_LE(kept.size(), 16384u);
  EXPECT_GT(kept.size(), 16384u - 20);
  ASSERT_TRUE(lines.ends_with(kept));
  EXPECT_EQ(lines[lines.size() - kept.size() - 1], '\n');
}

TEST(TailOfBytes, WithoutStructureThereIsNone) {
  const format::StreamFormat format{.file = "test", .framing = format::Framing::kOpaque};
  Tail tail(format);
  tail.Take(Bytes("abcd"), 4, kBeat);
  EXPECT_TRUE(tail.bytes().empty());
}

}  // namespace
}  // namespace profd::device
