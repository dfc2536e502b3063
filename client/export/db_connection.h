// The only user of SQLite: a database that is written once, table by table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace profd::client {

struct DbValue {
  enum class Type : uint8_t { kNull, kInteger, kReal, kText } type = Type::kNull;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;

  DbValue() = default;
  DbValue(std::integral auto value)  // NOLINT(google-explicit-constructor)
      : type(Type::kInteger), integer(static_cast<int64_t>(value)) {}
  DbValue(double value) : type(Type::kReal), real(value) {}            // NOLINT(google-explicit-constructor)
  DbValue(std::string_view value) : type(Type::kText), text(value) {}  // NOLINT(google-explicit-constructor)
};

// A file under a temporary name until Finish(); removed when it never comes to that. Everything is one
// transaction. The first error stays in status(), what follows is ignored. **Thread:** one.
class DbConnection {
 public:
  static base::Result<std::unique_ptr<DbConnection>> Create(const std::string& path);
  ~DbConnection();
  DbConnection(const DbConnection&) = delete;
  DbConnection& operator=(const DbConnection&) = delete;

  void Run(const std::string& sql);
  // One row at a time. False: a row with its primary key is there.
  using Statement = sqlite3_stmt*;
  Statement Prepare(const std::string& sql);
  bool Insert(Statement statement, std::span<const DbValue> values);

  // Rows of numbers, of which some wait for others: together they cost less than half.
  struct Rows {
    Statement one = nullptr, many = nullptr;
    size_t columns = 0;
    std::vector<DbValue> waiting;
  };
  Rows* PrepareRows(std::string_view table, size_t columns);
  void Append(Rows& rows, std::span<const DbValue> values);
  void Flush(Rows& rows);

  const base::Status& status() const { return status_; }
  uint64_t bytes() const;
  base::Status Finish();

 private:
  explicit DbConnection(std::string path) : path_(std::move(path)) {}
  static constexpr size_t kTogether = 16;

  void Fail(std::string_view what);
  void Bind(Statement statement, std::span<const DbValue> values);
  bool Step(Statement statement);
  void Close();
  std::string part() const { return path_ + ".part"; }

  std::string path_;
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  std::vector<std::unique_ptr<Rows>> rows_;
  base::Status status_;
  bool finished_ = false;
};

}  // namespace profd::client
