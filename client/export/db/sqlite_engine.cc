#include "client/export/db/sqlite_engine.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace profd::client {

SqliteEngine::SqliteEngine(std::string path, For what)
    : path_(std::move(path)), is_read_(what == For::kReading) {
  // What is only read has no journal that were to be played back.
  const std::string name = is_read_ ? "file:" + path_ + "?immutable=1" : path_;
  const int flags = is_read_ ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE;
  Check(sqlite3_open_v2(name.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, nullptr));
  if (!status_.ok()) return;
  for (const int option : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                           SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION})
    sqlite3_db_config(db_, option, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  Run("PRAGMA cache_size=-16384");
  if (is_read_) return;
  for (const char* pragma : {"journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"})
    Run("PRAGMA " + std::string(pragma));
}

SqliteEngine::~SqliteEngine() {
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

void SqliteEngine::Check(int result) {
  if (result == SQLITE_OK || !status_.ok()) return;
  const char* why = db_ != nullptr ? sqlite3_errmsg(db_) : "no memory";
  const int sort = result & 0xFF;
  const base::Code code = sort == SQLITE_FULL        ? base::Code::kResourceExhausted
                          : sort == SQLITE_INTERRUPT ? base::Code::kCancelled
                                                     : base::Code::kInternal;
  status_ = base::Status(code, (is_read_ ? "reading " : "writing ") + path_ + ": " + why);
}

void SqliteEngine::Run(const std::string& sql) {
  if (status_.ok()) Check(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr));
}

sqlite3_stmt* SqliteEngine::Prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (status_.ok()) Check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr));
  return statement;
}

void SqliteEngine::Attach(const std::string& path, const char* name) {
  sqlite3_stmt* attach = Prepare("ATTACH ? AS " + std::string(name));
  if (attach == nullptr) return;
  sqlite3_bind_text(attach, 1, path.c_str(), -1, SQLITE_STATIC);
  if (const int step = sqlite3_step(attach); step != SQLITE_DONE) Check(step);
  sqlite3_finalize(attach);
}

void SqliteEngine::ForEach(const std::string& sql, const std::function<void(const Row&)>& give) {
  sqlite3_stmt* statement = Prepare(sql);
  if (statement == nullptr) return;
  int step = SQLITE_ROW;
  while (status_.ok() && (step = sqlite3_step(statement)) == SQLITE_ROW) give(Row(statement));
  if (step != SQLITE_DONE && step != SQLITE_ROW) Check(step);
  sqlite3_finalize(statement);
}

bool SqliteEngine::HasTable(std::string_view name) {
  bool has = false;
  ForEach("SELECT name FROM sqlite_master WHERE type='table'",
          [&](const Row& row) { has = has || row.Text(0) == name; });
  return has;
}

bool SqliteEngine::HasColumn(const std::string& table, std::string_view name) {
  bool has = false;
  ForEach("PRAGMA table_info(" + table + ")", [&](const Row& row) { has = has || row.Text(1) == name; });
  return has;
}

SqliteEngine::Insert SqliteEngine::Into(const std::string& table, size_t columns) {
  std::string places = "?";
  for (size_t i = 1; i < columns; ++i) places += ",?";
  sqlite3_stmt* statement = Prepare("INSERT INTO " + table + " VALUES (" + places + ")");
  if (statement != nullptr) statements_.push_back(statement);
  return {*this, statement};
}

void SqliteEngine::EndWhen(const std::atomic<bool>& cancelled) {
  constexpr int kSteps = 1 << 16;  // of its virtual machine, between two looks
  const auto look = [](void* at) { return static_cast<const std::atomic<bool>*>(at)->load() ? 1 : 0; };
  if (db_ != nullptr) sqlite3_progress_handler(db_, kSteps, look, const_cast<std::atomic<bool>*>(&cancelled));
}

bool SqliteEngine::Row::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
int64_t SqliteEngine::Row::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double SqliteEngine::Row::Real(int column) const { return sqlite3_column_double(statement_, column); }
std::string_view SqliteEngine::Row::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}
DbValue SqliteEngine::Row::Value(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return Int(column);
    case SQLITE_FLOAT:
      return Real(column);
    default:
      return Text(column);
  }
}

int SqliteEngine::Insert::Step(std::span<const DbValue> values) {
  int index = 0;
  for (const DbValue& value : values) {
    ++index;
    switch (value.type) {
      case DbValue::Type::kNull:
        sqlite3_bind_null(statement_, index);
        break;
      case DbValue::Type::kInteger:
        sqlite3_bind_int64(statement_, index, value.integer);
        break;
      case DbValue::Type::kReal:
        sqlite3_bind_double(statement_, index, value.real);
        break;
      case DbValue::Type::kText:
        sqlite3_bind_text(statement_, index, value.text == nullptr ? "" : value.text,
                          static_cast<int>(value.size), SQLITE_STATIC);
        break;
    }
  }
  const int step = sqlite3_step(statement_);
  sqlite3_reset(statement_);
  return step;
}

void SqliteEngine::Insert::Append(std::span<const DbValue> values) {
  if (statement_ == nullptr || !engine_.status_.ok()) return;
  if (const int step = Step(values); step != SQLITE_DONE) engine_.Check(step);
}

bool SqliteEngine::Insert::TryAppend(std::span<const DbValue> values) {
  if (statement_ == nullptr || !engine_.status_.ok()) return true;
  const int step = Step(values);
  if (step == SQLITE_CONSTRAINT) return false;
  if (step != SQLITE_DONE) engine_.Check(step);
  return true;
}

}  // namespace profd::client
