// The reader's name table.
#include "tests/unit/agent_ring/by_hand.h"

namespace profd::agent {
namespace {

TEST_F(RingReaderTest, NamesFromWhereWeWere) {
  Begin();
  EXPECT_TRUE(Read().empty());  // the process has not attached
  PutName("one");
  PutName(std::string(abi::kMaxNameBytes, 'x'));
  auto blocks = Read(RingReader::kMinRoom);
  ASSERT_EQ(blocks.size(), 2U);  // no room for both in one
  EXPECT_EQ(blocks[0].header.records, 1U);
  EXPECT_EQ(blocks[0].header.lost_before, uint64_t{abi::kFirstNameOffset});
  EXPECT_EQ(blocks[1].header.lost_before, blocks[0].header.lost_before + blocks[0].header.bytes);
  EXPECT_EQ(blocks[1].header.seq, 1U);
  EXPECT_TRUE(Read().empty());
  PutName("");
  PutName("three");
  EXPECT_EQ(Records(Read()), 2U);
  header()->names_lost = 3;
  Read();
  EXPECT_EQ(stats_->names_lost, 3U);
  EXPECT_FALSE(stats_->names_damaged);
  // For another trace, all over.
  reader_->Begin(stats_);
  EXPECT_EQ(Records(Read()), 4U);
}

TEST_F(RingReaderTest, ADamagedTableIsReadUpToTheDamage) {
  const auto damage = [this](auto how) {
    std::memset(names(), 0, 1 << 16);
    header()->names_used = 0;
    Begin();
    PutName("good");
    const uint32_t at = header()->names_used;
    PutName("bad");
    how(reinterpret_cast<abi::NameEntry*>(names() + at));
    EXPECT_EQ(Records(Read()), 1U);
    EXPECT_TRUE(stats_->names_damaged);
    PutName("later");
    EXPECT_TRUE(Read().empty());
  };
  damage([](abi::NameEntry* entry) { entry->bytes = abi::kMaxNameBytes + 1; });
  damage([](abi::NameEntry* entry) { entry->bytes = UINT32_MAX; });
  damage([](abi::NameEntry* entry) { entry->type = 0; });
  damage([](abi::NameEntry* entry) { entry->type = 99; });
  damage([](abi::NameEntry* entry) { entry->bytes = 100; });  // behind the end
  damage([](abi::NameEntry* entry) { entry->bytes = 2; });    // no zero behind it
  damage([this](abi::NameEntry*) { header()->names_used -= 3; });
  // What the table can't be at all.
  for (const uint32_t used : {1U << 30, UINT32_MAX, 5U}) {
    header()->names_used = 0;
    Begin();
    header()->names_used = used;
    EXPECT_TRUE(Read().empty());
    EXPECT_TRUE(stats_->names_damaged);
  }
  // Backwards.
  std::memset(names(), 0, 1 << 16);
  header()->names_used = 0;
  Begin();
  PutName("one");
  EXPECT_EQ(Records(Read()), 1U);
  header()->names_used = abi::kFirstNameOffset;
  EXPECT_TRUE(Read().empty());
  EXPECT_TRUE(stats_->names_damaged);
}

}  // namespace
}  // namespace profd::agent
