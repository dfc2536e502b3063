// Databases that SQLite itself has written, whole and torn.
#include "client/analyze/reading/sqlite_scan.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace profd::analyze {
namespace {

class SqliteScanTest : public testing::Test {
 protected:
  SqliteScanTest()
      : path_(std::filesystem::temp_directory_path() / ("sqlite_scan_" + std::to_string(getpid()) + ".db")) {}
  ~SqliteScanTest() override { std::filesystem::remove(path_); }

  void Make(const std::string& sql) const {
    std::filesystem::remove(path_);
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(db);
  }
  // "a|b" of each row.
  std::vector<std::string> Rows(std::string_view table, std::vector<std::string_view> columns,
                                SqliteScan::Outcome* outcome = nullptr) const {
    std::vector<std::string> rows;
    auto scan = SqliteScan::Open(path_);
    EXPECT_TRUE(scan.ok()) << scan.status().message();
    if (!scan.ok()) return rows;
    const auto got = (*scan)->Scan(table, columns, [&rows](std::span<const SqliteValue> row) {
      std::string text;
      for (const SqliteValue& value : row) {
        if (&value != &row.front()) text += "|";
        if (value.type == SqliteValue::Type::kText) text += value.text;
        if (value.type == SqliteValue::Type::kInteger) text += std::to_string(value.integer);
        if (value.type == SqliteValue::Type::kReal) text += std::to_string(value.real);
      }
      rows.push_back(std::move(text));
    });
    if (outcome != nullptr) *outcome = got;
    return rows;
  }
  void Overwrite(uint64_t at, const std::string& bytes) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file << bytes;
  }

  const std::string path_;
};

TEST_F(SqliteScanTest, ValuesOfEveryWidth) {
  Make(
      "CREATE TABLE T(a INTEGER, b NUMERIC, c TEXT); INSERT INTO T "
      "VALUES(0,1,'x'),(-1,127,''),(-129,32768,NULL),"
      "(8388608,-2147483649,'y'),(9223372036854775807,0.5,'z'),(-9223372036854775807,140737488355328,'w');");
  EXPECT_EQ(
      Rows("T", {"a", "b", "c"}),
      (std::vector<std::string>{"0|1|x", "-1|127|", "-129|32768|", "8388608|-2147483649|y",
                                "9223372036854775807|0.500000|z", "-9223372036854775807|140737488355328|w"}));
  EXPECT_EQ(Rows("T", {"c", "nobody", "a"})[3], "y||8388608");
  EXPECT_TRUE(Rows("U", {"a"}).empty());
}

TEST_F(SqliteScanTest, KeyColumnsAndOtherNamesOfColumns) {
  Make(
      "CREATE TABLE \"A b\"([x y] integer constraint k primary key, `Block Num` INTEGER DEFAULT (1+2), CHECK "
      "(`Block Num` > 0));"
      "INSERT INTO \"A b\" VALUES(7,8),(9,10);"
      "CREATE TABLE B(v TEXT, id INTEGER, PRIMARY KEY(id)); INSERT INTO B VALUES('q', 5);"
      "CREATE TABLE C(id INTEGER PRIMARY KEY AUTOINCREMENT, v); INSERT INTO C(v) VALUES(3);");
  EXPECT_EQ(Rows("A b", {"x y", "blockDim|block num"}), (std::vector<std::string>{"7|8", "9|10"}));
  EXPECT_EQ(Rows("B", {"id", "v"}), (std::vector<std::string>{"5|q"}));
  EXPECT_EQ(Rows("C", {"id", "v"}), (std::vector<std::string>{"1|3"}));
}

TEST_F(SqliteScanTest, ColumnsThatWereAddedLaterAreNull) {
  Make("CREATE TABLE T(a); INSERT INTO T VALUES(1); ALTER TABLE T ADD COLUMN b; INSERT INTO T VALUES(2,3);");
  EXPECT_EQ(Rows("T", {"b", "a"}), (std::vector<std::string>{"|1", "3|2"}));
}

TEST_F(SqliteScanTest, ManyPagesInOrder) {
  Make(
      "CREATE TABLE T(a INTEGER PRIMARY KEY, b TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
      "FROM n WHERE i < 200000) "
      "INSERT INTO T SELECT i, 'text ' || i FROM n;");
  const auto rows = Rows("T", {"a", "b"});
  ASSERT_EQ(rows.size(), 200000u);
  EXPECT_EQ(rows[123455], "123456|text 123456");
}

TEST_F(SqliteScanTest, TextsLongerThanAPage) {
  Make(
      "PRAGMA page_size=512; CREATE TABLE T(a, b TEXT); INSERT INTO T VALUES(1, printf('%.*c', 100000, 'x'));"
      "INSERT INTO T VALUES(2, printf('%.*c', 477, 'y')), (3, printf('%.*c', 478, 'z')), (4, printf('%.*c', "
      "2000, 'w'));");
  const auto rows = Rows("T", {"b"});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0], std::string(100000, 'x'));
  EXPECT_EQ(rows[1], std::string(477, 'y'));
  EXPECT_EQ(rows[2], std::string(478, 'z'));
  EXPECT_EQ(rows[3], std::string(2000, 'w'));
}

TEST_F(SqliteScanTest, ATornPageCostsItsRowsOnly) {
  Make(
      "CREATE TABLE T(a INTEGER PRIMARY KEY, b TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
      "FROM n WHERE i < 20000) "
      "INSERT INTO T SELECT i, 'text ' || i FROM n;");
  Overwrite(4096 * 10, std::string(4096, '\xFF'));
  SqliteScan::Outcome outcome;
  const auto rows = Rows("T", {"a"}, &outcome);
  EXPECT_EQ(outcome.bad_pages, 1u);
  EXPECT_GT(rows.size(), 19000u);
  EXPECT_LT(rows.size(), 20000u);
}

TEST_F(SqliteScanTest, AFileThatEndsTooSoon) {
  Make(
      "CREATE TABLE T(a INTEGER PRIMARY KEY, b TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
      "FROM n WHERE i < 20000) "
      "INSERT INTO T SELECT i, 'text ' || i FROM n;");
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2 + 1);
  SqliteScan::Outcome outcome;
  const auto rows = Rows("T", {"a"}, &outcome);
  EXPECT_GT(outcome.bad_pages, 0u);
  EXPECT_GT(rows.size(), 5000u);
  EXPECT_GT((*SqliteScan::Open(path_))->missing_pages(), 0u);
  // Also where not even the list of its tables is left.
  std::filesystem::resize_file(path_, 400);
  EXPECT_GT((*SqliteScan::Open(path_))->missing_pages(), 0u);
  EXPECT_TRUE(Rows("T", {"a"}).empty());
}

TEST_F(SqliteScanTest, APageOfAnotherTableIsNoneOfThisOne) {
  const std::string numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000) ";
  Make("CREATE TABLE T(a INTEGER PRIMARY KEY, b TEXT); CREATE TABLE U(a INTEGER PRIMARY KEY, b TEXT);" +
       numbers + "INSERT INTO T SELECT i, 'own ' || i FROM n;" + numbers +
       "INSERT INTO U SELECT i, 'other ' || i FROM n;");
  // The second page of T's tree becomes the last one of the file, which is U's.
  const uint64_t pages = std::filesystem::file_size(path_) / 4096;
  std::string child(4, '\0');
  for (size_t i = 0; i < 4; ++i) child[i] = static_cast<char>(pages >> (8 * (3 - i)));
  std::ifstream file(path_, std::ios::binary);
  std::string root(4096, '\0');
  file.seekg(4096);
  file.read(root.data(), 4096);
  ASSERT_EQ(root[0], 5);
  const auto cell =
      static_cast<unsigned char>(root[12 + 2]) * 256u + static_cast<unsigned char>(root[12 + 3]);
  Overwrite(4096 + cell, child);
  SqliteScan::Outcome outcome;
  const auto rows = Rows("T", {"b"}, &outcome);
  EXPECT_GT(outcome.bad_rows, 0u);
  EXPECT_GT(rows.size(), 19000u);
  for (const std::string& row : rows) EXPECT_TRUE(row.starts_with("own ")) << row;
}

TEST_F(SqliteScanTest, WhatIsNoDatabaseIsRefused) {
  std::ofstream(path_) << "SQLite format 2";
  EXPECT_EQ(SqliteScan::Open(path_).status().code(), base::Code::kInvalidArgument);
  std::ofstream(path_) << std::string("SQLite format 3\0\x7F\xFF", 18) + std::string(200, '\0');
  EXPECT_EQ(SqliteScan::Open(path_).status().code(), base::Code::kInvalidArgument);
  EXPECT_EQ(SqliteScan::Open(path_ + "nobody").status().code(), base::Code::kNotFound);
  Make("PRAGMA encoding='UTF-16'; CREATE TABLE T(a);");
  EXPECT_EQ(SqliteScan::Open(path_).status().code(), base::Code::kInvalidArgument);
}

// Bytes anywhere may be anything: rows or none, but an end.
TEST_F(SqliteScanTest, AnyBytes) {
  Make(
      "PRAGMA page_size=512; CREATE TABLE T(a INTEGER PRIMARY KEY, b TEXT); WITH RECURSIVE n(i) AS (SELECT 1 "
      "UNION ALL SELECT i+1 FROM n "
      "WHERE i < 400) INSERT INTO T SELECT i, printf('%.*c', i * 5, 'x') FROM n;");
  std::ifstream file(path_, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), {});
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 40; ++i) bytes[100 + random() % (bytes.size() - 100)] = static_cast<char>(random());
    std::ofstream(path_, std::ios::binary) << bytes;
    if (auto scan = SqliteScan::Open(path_); scan.ok()) {
      const std::array<std::string_view, 2> columns{"a", "b"};
      uint64_t bytes_seen = 0;
      (*scan)->Scan("T", columns, [&](std::span<const SqliteValue> row) {
        for (const char c : row[1].text) bytes_seen += static_cast<unsigned char>(c);
      });
    }
  }
}

}  // namespace
}  // namespace profd::analyze
