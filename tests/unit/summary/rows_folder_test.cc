#include "daemon/summary/rows_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/crc32c.h"

namespace profd::summary {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kSecond = 1'000'000'000;

class RowsFolderTest : public testing::Test {
 protected:
  RowsFolderTest() {
    std::string name = (fs::temp_directory_path() / "rowsXXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~RowsFolderTest() override { fs::remove_all(folder_); }

  RowsFolder Open(uint64_t keep_bytes = 1 << 20) {
    auto opened = RowsFolder::Open({.folder = folder_ / "rows",
                                    .acked = folder_ / "acked",
                                    .node = "n1",
                                    .seal_after_ns = 10 * kSecond,
                                    .keep_bytes = keep_bytes});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(opened).value();
  }
  static RowsOf Rows(uint64_t at_s, const std::string& text, uint64_t rows = 1) {
    return {1001, "\"ada\"", "steps", "\"seq\",\"t\"", text, rows, at_s * kSecond, at_s * kSecond};
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "rows"))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  std::string TextOf(const std::string& name) const {
    std::ifstream file(folder_ / "rows" / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // The last line is right about the others.
  static void ExpectWhole(const std::string& text) {
    const size_t last = text.rfind("# rows=");
    ASSERT_NE(last, std::string::npos) << text;
    char crc[16];
    std::snprintf(crc, sizeof crc, "crc32c=%08x", base::Crc32c(text.data(), last));
    EXPECT_NE(text.find(crc, last), std::string::npos) << text;
  }

  fs::path folder_;
};

TEST_F(RowsFolderTest, AFileIsSealedWhenItIsOldEnough) {
  RowsFolder rows = Open();
  ASSERT_TRUE(rows.Append(Rows(100, "0,100\n"), 100 * kSecond).ok());
  ASSERT_TRUE(rows.Append(Rows(105, "1,105\n2,105\n", 2), 105 * kSecond).ok());
  rows.SealDue(105 * kSecond);
  EXPECT_EQ(Names(), std::vector<std::string>{".steps_" + rows.instance() + "_0.rows"});
  rows.SealDue(110 * kSecond);
  const std::string name = "steps_" + rows.instance() + "_0.rows";
  ASSERT_EQ(Names(), std::vector<std::string>{name});
  const std::string text = TextOf(name);
  ExpectWhole(text);
  EXPECT_TRUE(
      text.starts_with("# profd rows 1 table=steps node=n1 instance=" + rows.instance() + " sequence=0"))
      << text;
  EXPECT_NE(
      text.find("\n\"seq\",\"t\"\n0,100\n1,105\n2,105\n# rows=3 first_ns=100000000000 last_ns=105000000000"),
      std::string::npos)
      << text;
  struct stat found {};
  ASSERT_EQ(::stat((folder_ / "rows" / name).c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640U);
  // The next has a number of its own.
  ASSERT_TRUE(rows.Append(Rows(111, "3,111\n"), 111 * kSecond).ok());
  rows.SealAll();
  EXPECT_EQ(Names().size(), 2U);
}

TEST_F(RowsFolderTest, WhatWasCutOffKeepsItsWholeLines) {
  {
    RowsFolder rows = Open();
    ASSERT_TRUE(rows.Append(Rows(100, "0,100\n1,100\n", 2), 100 * kSecond).ok());
    std::ofstream(folder_ / "rows" / Names().front(), std::ios::app) << "2,10";
  }
  RowsFolder rows = Open();
  ASSERT_EQ(Names().size(), 1U);
  const std::string text = TextOf(Names().front());
  ExpectWhole(text);
  EXPECT_NE(text.find("\n1,100\n# rows=2 first_ns=100000000000"), std::string::npos) << text;
  EXPECT_EQ(Names().front().find(rows.instance()), std::string::npos);
}

TEST_F(RowsFolderTest, OneWithoutARowIsNotKept) {
  {
    RowsFolder rows = Open();
    ASSERT_TRUE(rows.Append(Rows(100, "", 0), 100 * kSecond).ok());
  }
  Open();
  EXPECT_TRUE(Names().empty());
}

TEST_F(RowsFolderTest, BeyondTheQuotaTheOldestGoesAndIsCounted) {
  RowsFolder rows = Open(2000);
  const std::string line(600, 'x');
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(rows.Append(Rows(100 + 20 * i, line + "\n"), (100 + 20 * i) * kSecond).ok());
    rows.SealAll();
    const auto newest = folder_ / "rows" / ("steps_" + rows.instance() + "_" + std::to_string(i) + ".rows");
    fs::last_write_time(newest, fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  const auto removed = rows.Tidy();
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].table, "steps");
  EXPECT_EQ(removed[0].rows, 1U);
  EXPECT_EQ(removed[0].first_ns, 100 * kSecond);
  EXPECT_EQ(Names().size(), 2U);
}

TEST_F(RowsFolderTest, WhoeverHasMostLosesTheirOwn) {
  RowsFolder rows = Open(4000);
  const auto of = [](uint32_t uid, uint64_t at_s, size_t bytes) {
    RowsOf some = Rows(at_s, std::string(bytes, 'x') + "\n");
    some.uid = uid;
    return some;
  };
  // The other's rows are the oldest, and say that they are as old as can be.
  ASSERT_TRUE(rows.Append(of(1002, 0, 100), 100 * kSecond).ok());
  rows.SealAll();
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(rows.Append(of(1001, 110 + i, 900), (110 + i) * kSecond).ok());
    if (i < 4) rows.SealAll();
  }
  ASSERT_TRUE(rows.Append(of(1002, 120, 100), 120 * kSecond).ok());
  EXPECT_EQ(Names().size(), 7U);  // each has files of their own
  uint64_t lost = 0;
  for (const auto& removed : rows.Tidy()) {
    EXPECT_EQ(removed.uid, 1001U);
    lost += removed.rows;
  }
  EXPECT_EQ(lost, 8U);  // those in the open file, too, which alone is beyond the quota
  rows.SealAll();
  EXPECT_EQ(Names().size(), 2U);
  // Whose a file is that an earlier profd left, it says itself.
  RowsFolder next = std::move(rows);
  ASSERT_TRUE(next.Append(of(1001, 130, 4000), 130 * kSecond).ok());
  const auto removed = next.Tidy();
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].uid, 1001U);
}

TEST_F(RowsFolderTest, ManyUsersShareAFile) {
  RowsFolder rows = Open();
  for (uint32_t uid = 0; uid < 300; ++uid) {
    RowsOf some = Rows(100, "0,100\n");
    some.uid = uid;
    ASSERT_TRUE(rows.Append(some, 100 * kSecond).ok());
  }
  EXPECT_EQ(Names().size(), 129U);
  rows.SealAll();
  uint64_t lines = 0;
  for (const std::string& name : Names()) {
    const std::string text = TextOf(name);
    ExpectWhole(text);
    lines += static_cast<uint64_t>(std::ranges::count(text, '\n')) - 3;
  }
  EXPECT_EQ(lines, 300U);
}

TEST_F(RowsFolderTest, AFileIsNoLargerThanTheQuotaCanSpare) {
  RowsFolder rows = Open(8000);
  ASSERT_TRUE(rows.Append(Rows(100, std::string(500, 'x') + "\n"), 100 * kSecond).ok());
  rows.SealDue(100 * kSecond);
  EXPECT_TRUE(rows.writes());
  ASSERT_TRUE(rows.Append(Rows(100, std::string(500, 'x') + "\n"), 100 * kSecond).ok());
  rows.SealDue(100 * kSecond);
  EXPECT_FALSE(rows.writes());
}

TEST_F(RowsFolderTest, AFolderIsOneProfds) {
  {
    const RowsFolder first = Open();
    const auto second = RowsFolder::Open({.folder = folder_ / "rows", .acked = "", .node = "n1"});
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.status().message().find("used by another profd"), std::string::npos);
  }
  Open();
}

TEST_F(RowsFolderTest, WhatIsShippedGoesAndNothingElse) {
  std::ofstream(folder_ / "other") << "x";
  RowsFolder rows = Open();
  ASSERT_TRUE(rows.Append(Rows(100, "0,100\n"), 100 * kSecond).ok());
  rows.SealAll();
  ASSERT_TRUE(rows.Append(Rows(120, "1,120\n"), 120 * kSecond).ok());
  std::ofstream(folder_ / "acked") << "steps_" + rows.instance() + "_0.rows\n../other\n." + "steps_" +
                                          rows.instance() + "_1.rows\nsteps_00000000_0.rows\n";
  rows.Tidy();
  EXPECT_EQ(Names(), std::vector<std::string>{".steps_" + rows.instance() + "_1.rows"});
  EXPECT_TRUE(fs::exists(folder_ / "other"));
}

TEST_F(RowsFolderTest, TextsAreQuotedAndHarmless) { EXPECT_EQ(Quoted("a \"b\"\n\xff"), "\"a \"\"b\"\"??\""); }

}  // namespace
}  // namespace profd::summary
