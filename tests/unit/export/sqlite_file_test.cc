// What SqliteFile writes is what SQLite itself reads, and finds nothing wrong with.
#include "client/export/db/sqlite_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "client/export/db/db_connection.h"
#include "tests/unit/export/sqlite_query.h"

namespace profd::client {
namespace {

class SqliteFileTest : public testing::Test {
 protected:
  SqliteFileTest() {
    folder_ = std::filesystem::temp_directory_path() / ("sqlite_file_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(path()).flush();
  }
  ~SqliteFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "a.db"; }
  Table Query(const std::string& sql) { return client::Query(path(), sql); }
  std::string Only(const std::string& sql) {
    const Table table = Query(sql);
    return table.size() == 1 && table[0].size() == 1 ? table[0][0] : std::to_string(table.size()) + " rows";
  }

  std::filesystem::path folder_;
};

TEST_F(SqliteFileTest, EveryNumberComesBack) {
  std::vector<int64_t> numbers;
  for (int bit = 0; bit < 64; ++bit) {
    for (const int64_t more : {-1, 0, 1}) {
      const auto number = static_cast<int64_t>((uint64_t{1} << bit) + static_cast<uint64_t>(more));
      numbers.push_back(number);
      numbers.push_back(static_cast<int64_t>(~static_cast<uint64_t>(number)));
    }
  }
  SqliteFile file(path());
  SqliteFile::Table* table = file.Add("T", "CREATE TABLE T (a INTEGER, b NUMERIC)", -1);
  for (const int64_t number : numbers) {
    const DbValue row[] = {number, static_cast<double>(number) / 3};
    file.Append(*table, table->last_key() + 1, row);
  }
  ASSERT_TRUE(file.Finish().ok());
  EXPECT_EQ(Only("PRAGMA integrity_check"), "ok");
  const Table rows = Query("SELECT a, b FROM T ORDER BY rowid");
  ASSERT_EQ(rows.size(), numbers.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], std::to_string(numbers[i]));
    EXPECT_NEAR(std::stod(rows[i][1]), static_cast<double>(numbers[i]) / 3,
                std::abs(std::stod(rows[i][1])) * 1e-14);
  }
}

TEST_F(SqliteFileTest, WholeAndMissingNumbers) {
  SqliteFile file(path());
  SqliteFile::Table* table = file.Add("T", "CREATE TABLE T (a NUMERIC)", -1);
  for (const double value : {4.0, -0.0, 0.5, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    const DbValue row[] = {value};
    file.Append(*table, table->last_key() + 1, row);
  }
  ASSERT_TRUE(file.Finish().ok());
  EXPECT_EQ(
      Query("SELECT a, typeof(a) FROM T"),
      (Table{{"4", "integer"}, {"0", "integer"}, {"0.5", "real"}, {"1.0e+300", "real"}, {"NULL", "null"}}));
}

// A leaf each, so that the first level above is full at some 260 rows, and one with three levels.
TEST_F(SqliteFileTest, TreesOfAllSizes) {
  constexpr uint64_t kMost = 400'000, kFar = uint64_t{1} << 60;
  SqliteFile file(path());
  std::vector<uint64_t> counts{0, 1, 2, 3, kMost};
  for (uint64_t count = 255; count < 275; ++count) counts.push_back(count);
  for (uint64_t count = 515; count < 540; ++count) counts.push_back(count);
  for (const uint64_t count : counts) {
    const std::string name = "T" + std::to_string(count);
    const std::string sql = "CREATE TABLE " + name + " (k INTEGER PRIMARY KEY, a TEXT)";
    SqliteFile::Table* table = file.Add(name, sql, 0);
    const std::string text(count == kMost ? 10 : 3000, 'x');
    for (uint64_t i = 0; i < count; ++i) {
      const DbValue row[] = {kFar + i * i, std::string_view(text)};
      file.Append(*table, static_cast<int64_t>(kFar + i * i), row);
    }
  }
  ASSERT_TRUE(file.Finish().ok()) << file.status().message();
  EXPECT_EQ(Only("PRAGMA integrity_check"), "ok");
  for (const uint64_t count : counts) {
    const std::string table = "T" + std::to_string(count);
    EXPECT_EQ(Only("SELECT count(*) FROM " + table), std::to_string(count));
    if (count == 0) continue;
    const std::string last = std::to_string(kFar + (count - 1) * (count - 1));
    EXPECT_EQ(Only("SELECT max(k) FROM " + table), last);
    EXPECT_EQ(Only("SELECT count(*) FROM " + table + " WHERE k = " + last), "1");
  }
}

// Around every length at which one page more is needed.
TEST_F(SqliteFileTest, LongTexts) {
  SqliteFile file(path());
  SqliteFile::Table* table = file.Add("T", "CREATE TABLE T (size INTEGER, a TEXT)", -1);
  std::vector<size_t> sizes{0, 1, 57, 58, 1'000'000};
  for (size_t page = 1; page <= 4; ++page)
    for (size_t size = page * 4092 - 600; size < page * 4092 + 100; ++size) sizes.push_back(size);
  for (const size_t size : sizes) {
    const std::string text(size, static_cast<char>('a' + size % 26));
    const DbValue row[] = {size, std::string_view(text)};
    file.Append(*table, table->last_key() + 1, row);
  }
  ASSERT_TRUE(file.Finish().ok());
  EXPECT_EQ(Only("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(Only("SELECT count(*) FROM T"), std::to_string(sizes.size()));
  EXPECT_EQ(Only("SELECT count(*) FROM T WHERE length(a) <> size OR (size > 0 AND "
                 "trim(a, char(97 + size % 26)) <> '')"),
            "0");
}

// The page that locks are on, a GiB into the file, is left out.
TEST_F(SqliteFileTest, MoreThanAGibibyte) {
  if (std::getenv("PROFD_FULL") == nullptr) GTEST_SKIP() << "writes more than a GiB: with PROFD_FULL only";
  SqliteFile file(path());
  SqliteFile::Table* table = file.Add("T", "CREATE TABLE T (a TEXT)", -1);
  const std::string text(8 << 20, 'x');
  const DbValue row[] = {std::string_view(text)};
  for (int i = 0; i < 130; ++i) file.Append(*table, i + 1, row);
  ASSERT_TRUE(file.Finish().ok()) << file.status().message();
  EXPECT_GT(std::filesystem::file_size(path()), uint64_t{1} << 30);
  EXPECT_EQ(Only("PRAGMA quick_check"), "ok");
  EXPECT_EQ(Only("SELECT count(*) FROM T WHERE length(a) = " + std::to_string(text.size())), "130");
}

TEST_F(SqliteFileTest, LateRowsFindTheirPlaceAndNoKeyComesTwice) {
  auto made = DbConnection::Create(path());
  ASSERT_TRUE(made.ok());
  DbConnection& db = **made;
  const DbColumn columns[] = {{"a", "INTEGER"}, {"k", "INTEGER PRIMARY KEY"}};
  DbConnection::Rows* rows = db.CreateTable("T", columns);
  db.CreateIndex("CREATE INDEX I ON T (a)");
  for (const int64_t key : {0, 10, 5, 20, 10, 30, 5, 31, 7}) {
    const DbValue row[] = {key * 100, key};
    db.Append(*rows, row);
  }
  ASSERT_TRUE(db.Finish().ok()) << db.status().message();
  EXPECT_EQ(Only("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(Query("SELECT k, a FROM T"), (Table{{"0", "0"},
                                                {"5", "500"},
                                                {"7", "700"},
                                                {"10", "1000"},
                                                {"20", "2000"},
                                                {"30", "3000"},
                                                {"31", "3100"},
                                                {"32", "500"},
                                                {"33", "1000"}}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace profd::client
