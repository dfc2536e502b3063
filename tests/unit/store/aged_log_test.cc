#include "daemon/store/aged_log.h"

#include <gmock/gmock.h>

#include "tests/unit/store/writer_harness.h"

namespace profd::store {
using mend::AgedEntry;
using mend::kAgedEntryBytes;
using mend::kAgedLog;
using mend::ParseAgedEntry;
using mend::ParseAgedLog;
using mend::WriteAgedEntry;

namespace {

AgedEntry Entry(uint64_t slices, const std::string& path = "device_0/hbm.data.0") {
  AgedEntry entry;
  entry.path = path;
  entry.part = 1;
  entry.aged = {slices, slices * 1000, slices * 10, 5, UINT64_MAX};
  return entry;
}

TEST(AgedEntry, IsReadAsItWasWritten) {
  const auto text = WriteAgedEntry(Entry(UINT64_MAX / 1000, "profd/agent 1.lanes"));
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), kAgedEntryBytes);
  const auto entry = ParseAgedEntry(*text);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->path, "profd/agent 1.lanes");
  EXPECT_EQ(entry->part, 1U);
  EXPECT_EQ(entry->aged.slices, UINT64_MAX / 1000);
  EXPECT_EQ(entry->aged.from_ns, 5U);
  EXPECT_EQ(entry->aged.to_ns, UINT64_MAX);
}

TEST(AgedEntry, OneWrongByteMakesItNone) {
  const std::string text = *WriteAgedEntry(Entry(7));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string wrong = text;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_FALSE(ParseAgedEntry(wrong)) << i;
  }
  EXPECT_FALSE(ParseAgedEntry(text.substr(1)));
  EXPECT_FALSE(ParseAgedEntry(""));
}

TEST(AgedEntry, NamesThatDoNotFitAreRefused) {
  EXPECT_FALSE(WriteAgedEntry(Entry(1, std::string(250, 'x'))));
  EXPECT_FALSE(WriteAgedEntry(Entry(1, "")));
}

TEST(AgedLog, KeepsTheLastOfEveryStream) {
  TempDir dir;
  const base::UniqueFd fd = dir.Open();
  OpenFiles open(4);
  AgedLog log(PosixFileSystem(), open, fd.get());
  ASSERT_TRUE(log.Open(3).ok());
  for (uint64_t slices = 1; slices < 5; ++slices) {
    ASSERT_TRUE(log.Note(40, Entry(slices)).ok());
    ASSERT_TRUE(log.Note(41, Entry(10 * slices, "host/host_cpu.data")).ok());
  }
  const auto entries = ParseAgedLog(ReadFile(dir.path() / kAgedLog) + "torn");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].aged.slices, 4U);
  EXPECT_EQ(entries[1].aged.slices, 40U);
  EXPECT_EQ(entries[1].path, "host/host_cpu.data");
  ASSERT_TRUE(log.Remove().ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace profd::store
