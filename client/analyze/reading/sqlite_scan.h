// Reads tables of SQLite's file format (sqlite.org/fileformat2.html) from start to end. The engine takes five
// times as long for a row, and gives up a whole file for one torn page; here such a page is left out and
// counted. Nothing is written, no journal is replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::analyze {

// A value of a row. `text` is good until the next row.
struct SqliteValue {
  enum class Type : uint8_t { kNull, kInteger, kReal, kText } type = Type::kNull;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;

  bool is_null() const { return type == Type::kNull; }
  // Of a number in any form; else `otherwise`.
  int64_t Integer(int64_t otherwise = 0) const;
  double Real(double otherwise = 0) const;
};

// **Thread:** one. **Owns:** the open file, a window of it.
class SqliteScan {
 public:
  // kNotFound: not there. kInvalidArgument: no database, or of a form that nobody here reads.
  static base::Result<std::unique_ptr<SqliteScan>> Open(const std::string& path);

  bool Has(std::string_view table) const { return tables_.find(table) != tables_.end(); }
  bool HasColumn(std::string_view table, std::string_view column) const;
  // Changes lie beside it in a journal, which is not read.
  bool has_journal() const { return has_journal_; }
  // Pages that its header counts, and that are not there: the file was cut off.
  uint64_t missing_pages() const { return missing_pages_; }

  struct Outcome {
    uint64_t rows = 0, bad_rows = 0, bad_pages = 0;
    uint64_t removed = 0;  // between those that are there, of a table that is numbered by itself
    bool whole() const { return bad_rows == 0 && bad_pages == 0; }
  };
  using Visitor = std::function<void(std::span<const SqliteValue> row)>;
  // Rows in the order of their keys. `columns`: names, "blockNum|blockDim" for the first that is there; one
  // that is not there is null. No such table: no row. A row whose key is not in its page's range is bad, and
  // so is a page of another table: a pointer to it is torn.
  Outcome Scan(std::string_view table, std::span<const std::string_view> columns, const Visitor& visit);

 private:
  struct Table {
    uint32_t root = 0;
    int key_column = -1;  // that is the row's key, and null in the row itself
    std::vector<std::string> columns;
  };
  struct Plan {
    std::vector<int> slot_of;  // by column of the table: index in the row that is given out, -1 = not wanted
    int last = -1;             // column that is wanted
    int key_slot = -1;
  };

  explicit SqliteScan(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::Status ReadHeader(const std::string& path);
  void ReadSchema();
  void AddTable(std::string_view name, uint32_t root, std::string_view sql);
  // A copy of the page; false: it is not in the file.
  bool ReadPage(uint32_t number, unsigned char* page);
  // Keys of a page's rows.
  struct Keys {
    int64_t above = INT64_MIN, upto = INT64_MAX;
  };
  Outcome Walk(uint32_t root, const Plan& plan, size_t slots, const Visitor& visit);
  void ReadLeaf(std::span<const unsigned char> page, size_t header, const Keys& keys, const Plan& plan,
                std::vector<SqliteValue>& row, const Visitor& visit, Outcome& outcome);
  bool ReadRow(std::span<const unsigned char> payload, const Plan& plan, int64_t key,
               std::vector<SqliteValue>& row) const;
  bool Assemble(std::span<const unsigned char> local, uint64_t size, uint32_t page);

  base::UniqueFd fd_;
  uint32_t page_size_ = 0, usable_ = 0, pages_ = 0;
  uint64_t missing_pages_ = 0;
  int64_t last_key_ = 0;  // of the row before
  bool has_journal_ = false;
  std::map<std::string, Table, std::less<>> tables_;
  std::vector<uint32_t> owner_;  // by page: root of the table that it is of, 0 = not known yet
  std::vector<unsigned char> window_;
  uint64_t window_at_ = 0;
  std::vector<unsigned char> leaf_, overflow_page_, payload_;
};

}  // namespace profd::analyze
