// The reader's lanes.
#include "tests/unit/agent_ring/by_hand.h"

namespace profd::agent {
namespace {

TEST_F(RingReaderTest, SaysWhatIsInABlock) {
  lane()->owner_tid = 41;
  Begin();
  Put(abi::kMark, 1);
  Put(abi::kRangePush, 2, 3);
  Put(abi::kThread, 42);
  Put(abi::kLost, 9);
  Put(abi::kKernel, 3, 1);
  const auto blocks = Read();
  ASSERT_EQ(blocks.size(), 1U);
  const format::BlockHeader& block = blocks[0].header;
  EXPECT_EQ(block.type, static_cast<uint16_t>(format::BlockType::kLane));
  EXPECT_EQ(block.bytes, 9U * 32);
  EXPECT_EQ(block.tid, 41U);
  EXPECT_EQ(block.records, 3U);
  EXPECT_EQ(block.first_stamp, 1001U);
  EXPECT_EQ(block.last_stamp, 1003U);
  EXPECT_EQ(block.kind_records[static_cast<size_t>(format::AgentKind::kRange)], 1U);
  EXPECT_EQ(block.kind_slots[static_cast<size_t>(format::AgentKind::kRange)], 4U);
  EXPECT_EQ(block.kind_slots[static_cast<size_t>(format::AgentKind::kKernel)], 2U);
  EXPECT_EQ(lane()->tail, lane()->head);
  Put(abi::kMark, 4);
  const auto next = Read();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].header.tid, 42U);
  EXPECT_EQ(next[0].header.seq, 1U);
  Put(abi::kThread, 43);
  EXPECT_EQ(Read().at(0).header.tid, 43U);
}

TEST_F(RingReaderTest, WhatDescribesRecordsCountsAsNone) {
  Begin();
  Put(abi::kMark, 1);
  Put(abi::kTensors, 2, 3);
  Put(abi::kTensors, 3, 3);
  const auto blocks = Read();
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].header.records, 1U);
  EXPECT_EQ(blocks[0].header.bytes, 9U * 32);
}

TEST_F(RingReaderTest, TheWriterCountsByLaneAndKind) {
  Begin();
  Put(abi::kMark, 1, 2);
  Put(abi::kThread, 42);
  Put(abi::kApi, 2);
  PutName("name");
  Read();
  std::vector<std::byte> all;  // as a chunk with several blocks would have them
  for (const std::vector<std::byte>& block : chunks_) {
    format::BlockHeader header;
    std::memcpy(&header, block.data(), sizeof(header));
    all.insert(all.end(), block.begin(), block.begin() + header.header_bytes + header.bytes);
  }
  stats_->Written(all.data(), all.size(), true);
  stats_->Written(all.data(), all.size(), false);
  const RecordingStats::Kind& marks = stats_->kinds[static_cast<size_t>(format::AgentKind::kMark)];
  EXPECT_EQ(marks.stored_records, 1U);
  EXPECT_EQ(marks.stored_bytes, 96U);
  EXPECT_EQ(marks.write_lost_records, 1U);
  EXPECT_EQ(stats_->kinds[static_cast<size_t>(format::AgentKind::kApi)].stored_bytes, 32U);
  EXPECT_EQ(stats_->lanes[0].stored_records, 2U);
  EXPECT_EQ(stats_->lanes[0].write_lost_records, 2U);
  EXPECT_EQ(stats_->lanes[1].stored_records, 0U);
}

TEST_F(RingReaderTest, EveryKindIsKnown) {
  Begin();
  for (const int kind : {1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x11, 0x12, 0x13}) {
    Put(static_cast<abi::RecordKind>(kind), 1);
  }
  const auto blocks = Read();
  ASSERT_EQ(blocks.size(), 1U);
  const uint32_t expected[] = {4, 1, 1, 2, 1, 1, 1, 1};
  for (size_t i = 0; i < format::kAgentKinds; ++i)
    EXPECT_EQ(blocks[0].header.kind_records[i], expected[i]) << i;
  EXPECT_EQ(damaged(), 0U);
}

TEST_F(RingReaderTest, WrapsAndCutsOnARecordsEdge) {
  Begin();
  uint64_t sent = 0;
  uint64_t got = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 30; ++i) Put(abi::kMark, ++sent, static_cast<uint8_t>(i % 7));
    for (const format::Block& block : Read(RingReader::kMinRoom)) {
      EXPECT_LE(block.header.bytes, RingReader::kMinRoom - sizeof(format::BlockHeader));
      for (size_t i = 0; i < block.payload.size() / 32;) {
        const abi::Record record = At(block, i);
        EXPECT_EQ(record.kind, abi::kMark);
        EXPECT_EQ(record.value, ++got);
        i += 1U + record.more;
      }
    }
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(damaged(), 0U);
  EXPECT_EQ(lane()->tail, lane()->head);
}

TEST_F(RingReaderTest, HundredsOfRecordsAreCounted) {
  Begin();
  for (uint64_t round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < kSlots; ++i) Put(abi::kCounter, i);
    const auto blocks = Read();
    EXPECT_EQ(Records(blocks), kSlots);
    EXPECT_EQ(blocks.at(0).header.kind_records[static_cast<size_t>(format::AgentKind::kCounter)], kSlots);
  }
}

TEST_F(RingReaderTest, DamageIsSkippedAndCounted) {
  Begin();
  Put(abi::kMark, 1);
  Put(static_cast<abi::RecordKind>(0x77), 0);  // no such kind
  Put(abi::kMark, 2);
  Put(abi::kValue, 0);  // payload of nobody
  Put(abi::kMark, 3, 2);
  slot(lane()->head - 1).stamp = 5;  // of another record: all three slots
  Put(abi::kMark, 4, 2);
  slot(lane()->head - 2).more = 7;  // likewise
  Put(abi::kThread, 5, 1);          // has no payload: two slots
  Put(abi::kMark, 6);
  slot(lane()->head - 1).more = 33;
  std::memset(&slot(lane()->head++), 0, 32);  // a hole
  Put(abi::kMark, 7, 1);
  Put(abi::kMark, 8);
  slot(lane()->head - 1).more = 4;  // goes on behind the head
  const auto blocks = Read();
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].header.records, 3U);
  ASSERT_EQ(blocks[0].payload.size(), 4U * 32);
  EXPECT_EQ(At(blocks[0], 0).value, 1U);
  EXPECT_EQ(At(blocks[0], 1).value, 2U);
  EXPECT_EQ(At(blocks[0], 2).value, 7U);
  EXPECT_EQ(damaged(), 1U + 1 + 3 + 3 + 2 + 1 + 1 + 1);
  EXPECT_EQ(reader_->TakeDamagedSlots(), damaged());
  EXPECT_EQ(lane()->tail, lane()->head);
  Put(abi::kMark, 9);
  EXPECT_EQ(Records(Read()), 1U);
}

TEST_F(RingReaderTest, NothingButDamage) {
  Begin();
  lane()->head = kSlots;
  EXPECT_TRUE(Read(RingReader::kMinRoom).empty());
  EXPECT_EQ(damaged(), kSlots);
  EXPECT_EQ(lane()->tail, kSlots);
}

TEST_F(RingReaderTest, AWildHeadIsFollowed) {
  Begin();
  for (const uint64_t head : {UINT64_MAX, uint64_t{3}, uint64_t{1} << 63, uint64_t{0}, UINT64_MAX - 5}) {
    lane()->head = head;
    EXPECT_TRUE(Read().empty());
    EXPECT_EQ(lane()->tail, head);
    Put(abi::kMark, 1);
    EXPECT_EQ(Records(Read()), 1U) << head;
  }
  Begin(RingMode::kOverwriteOldest);
  for (const uint64_t head : {UINT64_MAX, uint64_t{3}, uint64_t{1} << 63, uint64_t{0}}) {
    lane()->head = head;
    Read();
  }
}

TEST_F(RingReaderTest, TheTailIsOurs) {
  Begin();
  lane()->tail = 12345;
  Put(abi::kMark, 1);
  EXPECT_EQ(Records(Read()), 1U);
  EXPECT_EQ(lane()->tail, 1U);
}

TEST_F(RingReaderTest, LossesAreDifferences) {
  lane()->lost = 100;
  header()->lost_without_lane = 50;
  Begin();
  EXPECT_EQ(reader_->Mark().lost_records, 0U);
  lane()->lost = 103;
  header()->lost_without_lane = 54;
  EXPECT_EQ(reader_->Mark().lost_records, 7U);
  EXPECT_EQ(reader_->Mark().lost_records, 0U);
  lane()->lost = 2;  // backwards
  EXPECT_EQ(reader_->Mark().lost_records, 0U);
  lane()->lost = 4;
  EXPECT_EQ(reader_->Mark().lost_records, 2U);
  Put(abi::kMark, 1);
  EXPECT_EQ(Read().at(0).header.lost_before, 5U);
  for (int i = 0; i < 3; ++i) {
    lane()->lost = 0;
    reader_->Mark();
    lane()->lost = UINT64_MAX;
    reader_->Mark();
  }
  EXPECT_EQ(stats_->lanes[0].lost_records, UINT64_MAX);
  EXPECT_EQ(stats_->lost_without_lane, 4U);
}

TEST_F(RingReaderTest, OverwriteTakesOnlyWhatIsSound) {
  Begin(RingMode::kOverwriteOldest);
  const uint64_t tail = lane()->tail;
  for (uint64_t i = 1; i <= 1000; ++i) Put(abi::kMark, i, 2);
  auto blocks = Read();
  // The oldest kMaxRecordSlots may be overwritten any moment; of the next record the beginning may be
  // missing.
  EXPECT_EQ(Records(blocks), (kSlots - abi::kMaxRecordSlots) / 3);
  EXPECT_EQ(damaged(), 0U);
  EXPECT_EQ(At(blocks.back(), blocks.back().payload.size() / 32 - 3).value, 1000U);
  EXPECT_EQ(lane()->tail, tail);
  reader_->Rewind();
  EXPECT_EQ(Records(Read()), (kSlots - abi::kMaxRecordSlots) / 3);
  EXPECT_TRUE(Read().empty());
  // What another recording left is not taken.
  Begin(RingMode::kOverwriteOldest);
  Put(abi::kMark, 1, 2);
  reader_->Rewind();
  EXPECT_EQ(Records(Read()), 1U);
}

// A copy may end before the rest of a record whose beginning was written over. That takes a producer who is
// quicker than the copy; a payload that is longer than one does the same.
TEST_F(RingReaderTest, TheRestOfWhatIsWrittenOverIsNoDamage) {
  Begin(RingMode::kOverwriteOldest);
  for (uint64_t i = 1; i <= 100; ++i) Put(abi::kMark, i);
  Put(abi::kMark, 101, 230);
  Put(abi::kMark, 102);
  const auto blocks = Read(RingReader::kMinRoom);
  EXPECT_GT(chunks_.size(), 1U);
  EXPECT_EQ(damaged(), 0U);
  ASSERT_EQ(Records(blocks), 1U);
  EXPECT_EQ(At(blocks[0], 0).value, 102U);
}

TEST_F(RingReaderTest, TheOwnerIsNotTakenForThatOfOlderSlots) {
  lane()->owner_tid = 41;
  Begin(RingMode::kOverwriteOldest);
  for (uint64_t i = 1; i <= 1000; ++i) Put(abi::kMark, i);
  lane()->owner_since = 990;
  EXPECT_EQ(Read().at(0).header.tid, 0U);
  reader_->Rewind();
  lane()->owner_since = 500;
  EXPECT_EQ(Read().at(0).header.tid, 41U);
}

TEST_F(RingReaderTest, NewestOnlyByAnyClock) {
  Begin(RingMode::kOverwriteOldest);
  for (uint64_t i = 1; i <= 100; ++i) Put(abi::kMark, i);  // stamps 1001 … 1100
  const auto newest = [&](abi::LaneClock clock, uint64_t ns) {
    header()->clock = clock;
    reader_->Rewind();
    reader_->Mark();
    reader_->KeepNewest(ns);
    return Records(Read());
  };
  // One tick is 10 µs by the pairs, whatever the hardware says.
  abi::LaneClock clock{.sequence = 2,
                       .counter = abi::kCounterTsc,
                       .nominal_hz = 1,
                       .first = {100, 0, 0},
                       .latest = {1100, 10'000'001, 0}};
  clock.first = {.ticks = 100, .raw_ns = 0, .error_ns = 0};
  clock.latest = {.ticks = 1100, .raw_ns = 1'000'000'000, .error_ns = 0};
  EXPECT_EQ(newest(clock, 10'000'000), 11U);
  EXPECT_EQ(newest(clock, 0), 100U);
  EXPECT_EQ(newest(clock, UINT64_MAX), 100U);
  clock.sequence = 3;  // left in the middle
  EXPECT_EQ(newest(clock, 10'000'000), 11U);
  clock.first = clock.latest;
  clock.nominal_hz = 1'000'000;
  EXPECT_EQ(newest(clock, 10'000), 11U);
  clock.nominal_hz = 0;
  EXPECT_EQ(newest(clock, 10'000), 100U);
  clock.counter = abi::kCounterRawClock;
  EXPECT_EQ(newest(clock, 10), 11U);
  clock.latest = {.ticks = UINT64_MAX, .raw_ns = UINT64_MAX, .error_ns = 0};
  EXPECT_EQ(newest(clock, 1), 0U);
}

}  // namespace
}  // namespace profd::agent
