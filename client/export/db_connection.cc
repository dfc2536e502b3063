#include "client/export/db_connection.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/unique_fd.h"

namespace profd::client {

base::Result<std::unique_ptr<DbConnection>> DbConnection::Create(const std::string& path) {
  std::unique_ptr<DbConnection> connection(new DbConnection(path));
  unlink(connection->part().c_str());  // of a run that was killed
  const base::UniqueFd file(
      open(connection->part().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!file) return base::Status::FromErrno("creating " + connection->part());
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(connection->part().c_str(), &connection->db_, kFlags, nullptr) != SQLITE_OK)
    connection->Fail("creating");
  // Nobody sees the file before it is complete, so nothing has to be undone; 16 MiB of pages are kept.
  for (const char* pragma :
       {"journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-16384"})
    connection->Run("PRAGMA " + std::string(pragma));
  connection->Run("BEGIN");
  if (!connection->status().ok()) return connection->status();
  return connection;
}

DbConnection::~DbConnection() {
  Close();
  if (!finished_) unlink(part().c_str());
}

void DbConnection::Close() {
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
  statements_.clear();
  sqlite3_close(db_);
  db_ = nullptr;
}

void DbConnection::Fail(std::string_view what) {
  if (!status_.ok()) return;
  const char* why = db_ != nullptr ? sqlite3_errmsg(db_) : "no memory";
  const bool full = db_ != nullptr && sqlite3_errcode(db_) == SQLITE_FULL;
  status_ = base::Status(full ? base::Code::kResourceExhausted : base::Code::kInternal,
                         std::string(what) + " " + part() + ": " + why);
}

void DbConnection::Run(const std::string& sql) {
  if (status_.ok() && sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) Fail("writing");
}

DbConnection::Statement DbConnection::Prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (!status_.ok()) return nullptr;
  if (sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    Fail("writing");
    return nullptr;
  }
  statements_.push_back(statement);
  return statement;
}

void DbConnection::Bind(Statement statement, std::span<const DbValue> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const DbValue& value = values[i];
    const int at = static_cast<int>(i) + 1;
    switch (value.type) {
      case DbValue::Type::kNull:
        sqlite3_bind_null(statement, at);
        break;
      case DbValue::Type::kInteger:
        sqlite3_bind_int64(statement, at, value.integer);
        break;
      case DbValue::Type::kReal:
        sqlite3_bind_double(statement, at, value.real);
        break;
      case DbValue::Type::kText:
        sqlite3_bind_text64(statement, at, value.text.data(), value.text.size(), SQLITE_STATIC, SQLITE_UTF8);
        break;
    }
  }
}

bool DbConnection::Step(Statement statement) {
  const int result = sqlite3_step(statement);
  if (result != SQLITE_DONE && result != SQLITE_CONSTRAINT) Fail("writing");
  sqlite3_reset(statement);
  return result != SQLITE_CONSTRAINT;
}

bool DbConnection::Insert(Statement statement, std::span<const DbValue> values) {
  if (!status_.ok() || statement == nullptr) return true;
  Bind(statement, values);
  return Step(statement);
}

DbConnection::Rows* DbConnection::PrepareRows(std::string_view table, size_t columns) {
  std::string row = "(?";
  for (size_t i = 1; i < columns; ++i) row += ",?";
  row += ")";
  std::string sql = "INSERT INTO " + std::string(table) + " VALUES " + row;
  auto rows = std::make_unique<Rows>();
  rows->columns = columns;
  rows->one = Prepare(sql);
  for (size_t i = 1; i < kTogether; ++i) sql += "," + row;
  rows->many = Prepare(sql);
  rows_.push_back(std::move(rows));
  return rows_.back().get();
}

void DbConnection::Append(Rows& rows, std::span<const DbValue> values) {
  if (!status_.ok()) return;
  rows.waiting.insert(rows.waiting.end(), values.begin(), values.end());
  if (rows.waiting.size() < kTogether * rows.columns) return;
  Insert(rows.many, rows.waiting);
  rows.waiting.clear();
}

void DbConnection::Flush(Rows& rows) {
  for (size_t at = 0; at < rows.waiting.size(); at += rows.columns)
    Insert(rows.one, std::span(rows.waiting).subspan(at, rows.columns));
  rows.waiting.clear();
}

uint64_t DbConnection::bytes() const {
  struct stat file {};
  return stat(finished_ ? path_.c_str() : part().c_str(), &file) == 0 ? static_cast<uint64_t>(file.st_size)
                                                                      : 0;
}

base::Status DbConnection::Finish() {
  if (finished_) return status_;
  for (const auto& rows : rows_) Flush(*rows);
  Run("COMMIT");
  Close();
  if (status_.ok() && rename(part().c_str(), path_.c_str()) != 0)
    status_ = base::Status::FromErrno("renaming " + part());
  finished_ = status_.ok();
  return status_;
}

}  // namespace profd::client
