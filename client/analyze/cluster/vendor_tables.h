// Databases that the vendor's analyser reads and makes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>

#include "base/status.h"
#include "client/export/db/sqlite_file.h"

namespace profd::analyze {

// A database of tables in the vendor's columns. **Thread:** one.
class VendorTables {
 public:
  using Table = client::SqliteFile::Table;
  explicit VendorTables(const std::string& path) : file_(path) {}

  Table* Add(const std::string& name, const std::string& columns) {
    return file_.Add(name, "CREATE TABLE " + name + "(" + columns + ")", -1);
  }
  void Append(Table* table, std::span<const client::DbValue> row) {
    file_.Append(*table, ++keys_[table], row);
  }
  void Append(Table* table, std::initializer_list<client::DbValue> row) {
    Append(table, std::span(row.begin(), row.size()));
  }
  base::Status Finish() { return file_.Finish(); }

 private:
  client::SqliteFile file_;
  std::map<Table*, int64_t> keys_;
};

}  // namespace profd::analyze
