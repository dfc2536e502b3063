// SQLite's file format (sqlite.org/fileformat2.html), written from start to end. Rows that come in the order
// of their keys need no engine: a row costs its bytes, where INSERT costs fifteen times as much.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::client {

struct DbValue {
  enum class Type : uint8_t { kNull, kInteger, kReal, kText } type = Type::kNull;
  uint32_t size = 0;  // of a text
  union {
    int64_t integer = 0;
    double real;
    const char* text;
  };

  DbValue() = default;
  DbValue(std::integral auto value)  // NOLINT(google-explicit-constructor)
      : type(Type::kInteger), integer(static_cast<int64_t>(value)) {}
  DbValue(double value) : type(Type::kReal), real(value) {}  // NOLINT(google-explicit-constructor)
  DbValue(std::string_view value)                            // NOLINT(google-explicit-constructor)
      : type(Type::kText), size(static_cast<uint32_t>(value.size())), text(value.data()) {}
};

// Any number of tables, filled at the same time. What fails is kept in status(), and what follows is ignored.
// **Thread:** one. **Owns:** the file, a buffer, two pages and more of each table.
class SqliteFile {
 public:
  static constexpr size_t kPage = 4096;

  // A table of which the rows come. Its pages are made when they are full.
  class Table {
   public:
    // 0 of no rows; of a table with a key column the lowest number there is.
    int64_t last_key() const { return last_key_; }

   private:
    friend class SqliteFile;
    struct Child {
      uint32_t page = 0;
      int64_t last_key = 0;
    };
    // The page of one level above the leaves that is being filled.
    struct Level {
      std::string cells;
      std::vector<uint16_t> offsets;
      Child latest;  // has no cell yet
      Child before;  // whose cell is the last one
    };

    std::string name_, sql_;
    int key_column_ = -1;
    int64_t last_key_ = 0;
    std::unique_ptr<char[]> cells_;  // of the leaf that is being filled
    size_t used_ = 0;
    std::vector<uint16_t> offsets_;
    std::vector<Level> levels_;
  };

  // `path` must be a file that is there, and empty.
  explicit SqliteFile(std::string path);

  // `sql`: its CREATE TABLE. `key_column`: which one is INTEGER PRIMARY KEY, -1 if none is.
  Table* Add(std::string name, std::string sql, int key_column);
  // `sql`: its CREATE VIEW.
  void AddView(std::string name, std::string sql) { views_.emplace_back(std::move(name), std::move(sql)); }
  // `key`: above that of the row before. The value of the key column is of no meaning.
  void Append(Table& table, int64_t key, std::span<const DbValue> values);
  // Nothing may follow.
  base::Status Finish();

  const base::Status& status() const { return status_; }
  uint64_t bytes() const { return uint64_t{pages_} * kPage; }

 private:
  char* NewPage(uint32_t& number);
  void Flush();
  void WriteAll(const char* bytes, size_t size, uint64_t at);
  // The part of a payload that does not fit the leaf; the number of its first page.
  uint32_t Overflow(std::string_view rest);
  void EndLeaf(Table& table);
  void AddChild(Table& table, size_t level, Table::Child child);
  uint32_t EndLevel(const Table::Level& level);
  uint32_t EndTable(Table& table);
  void WriteFirstPage(const Table::Level& schema);

  const std::string path_;
  base::UniqueFd fd_;
  base::Status status_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<std::pair<std::string, std::string>> views_;  // name, SQL
  std::string head_, body_;                                 // of the row that is being written
  std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;       // of the buffer
  uint64_t flushed_ = 0;  // bytes
  uint32_t pages_ = 1;    // the first one comes last
};

}  // namespace profd::client
