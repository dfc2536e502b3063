// SQLite itself: for what has to be looked up, and for rows that come in no order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/export/db/sqlite_file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace profd::client {

// A file that nobody else sees yet, so nothing has to be undone; or that is only read. What its schema says
// is not run: no triggers, no views. The first error stays in status(), what follows is ignored. **Thread:**
// one.
// **Owns:** the connection, 16 MiB of pages.
class SqliteEngine {
 public:
  enum class For : bool { kWriting, kReading };
  // A file that is there; an empty one is a database without tables.
  explicit SqliteEngine(std::string path, For what = For::kWriting);
  ~SqliteEngine();
  SqliteEngine(const SqliteEngine&) = delete;
  SqliteEngine& operator=(const SqliteEngine&) = delete;

  // A row that ForEach() gives. Texts are good until the next one.
  class Row {
   public:
    explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
    bool IsNull(int column) const;
    int64_t Int(int column) const;
    double Real(int column) const;
    std::string_view Text(int column) const;
    DbValue Value(int column) const;

   private:
    sqlite3_stmt* statement_;
  };
  // Puts rows into one table.
  class Insert {
   public:
    void Append(std::span<const DbValue> values);
    void Append(std::initializer_list<DbValue> values) { Append(std::span(values.begin(), values.size())); }
    // false: its key is there already.
    bool TryAppend(std::span<const DbValue> values);

   private:
    friend class SqliteEngine;
    Insert(SqliteEngine& engine, sqlite3_stmt* statement) : engine_(engine), statement_(statement) {}
    int Step(std::span<const DbValue> values);

    SqliteEngine& engine_;
    sqlite3_stmt* statement_;
  };

  void Run(const std::string& sql);
  void Attach(const std::string& path, const char* name);
  bool HasTable(std::string_view name);
  bool HasColumn(const std::string& table, std::string_view name);
  void ForEach(const std::string& sql, const std::function<void(const Row&)>& give);
  // `table` may have the names of its columns behind it.
  Insert Into(const std::string& table, size_t columns);
  // Whatever runs ends when this becomes true.
  void EndWhen(const std::atomic<bool>& cancelled);

  const base::Status& status() const { return status_; }

 private:
  sqlite3_stmt* Prepare(const std::string& sql);
  void Check(int result);

  const std::string path_;
  const bool is_read_;
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;  // of Into()
  base::Status status_;
};

}  // namespace profd::client
