// A database that is written once, table by table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/export/db/sqlite_file.h"
#include "client/export/views/db_tables.h"

namespace profd::client {

// A file under a temporary name until Finish(); removed when it never comes to that. Rows in the order of
// their keys go straight into the file, late ones wait in a second one until SQLite inserts them at the end.
// The first error stays in status(), what follows is ignored. **Thread:** one.
class DbConnection {
 public:
  static base::Result<std::unique_ptr<DbConnection>> Create(const std::string& path);
  ~DbConnection();
  DbConnection(const DbConnection&) = delete;
  DbConnection& operator=(const DbConnection&) = delete;

  struct Rows {
    SqliteFile::Table* table = nullptr;
    SqliteFile::Table* late = nullptr;  // made when it is needed
    std::string name;
    std::vector<DbColumn> columns;
    int key = -1;  // the column that is INTEGER PRIMARY KEY
  };
  Rows* CreateTable(std::string_view name, std::span<const DbColumn> columns);
  void Append(Rows& rows, std::span<const DbValue> values) {
    const int64_t last = rows.table->last_key();
    const int64_t key = rows.key < 0 ? last + 1 : values[static_cast<size_t>(rows.key)].integer;
    key <= last ? AppendLate(rows, values) : file_->Append(*rows.table, key, values);
  }
  // Comes after all others; where its key is taken it gets another one.
  void AppendLate(Rows& rows, std::span<const DbValue> values);
  // Of what is there in the end.
  void CreateIndex(std::string sql) { indices_.push_back(std::move(sql)); }

  base::Status status() const { return status_.ok() ? file_->status() : status_; }
  uint64_t bytes() const;
  base::Status Finish();

 private:
  explicit DbConnection(std::string path) : path_(std::move(path)) {}

  void AddViews();
  void FinishWithEngine();
  std::string part() const { return path_ + ".part"; }
  std::string late_part() const { return path_ + ".late.part"; }

  std::string path_;
  std::optional<SqliteFile> file_, late_;
  std::vector<std::unique_ptr<Rows>> rows_;
  std::vector<std::string> indices_;
  base::Status status_;
  bool finished_ = false;
};

}  // namespace profd::client
