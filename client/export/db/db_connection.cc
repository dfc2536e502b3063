#include "client/export/db/db_connection.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/unique_fd.h"
#include "client/export/db/sqlite_engine.h"

namespace profd::client {

namespace {

base::Status MakeEmpty(const std::string& path) {
  unlink(path.c_str());  // of a run that was killed
  const base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640));
  return file ? base::Status::Ok() : base::Status::FromErrno("creating " + path);
}

constexpr std::string_view kKey = " PRIMARY KEY";

std::string CreateSql(const DbConnection::Rows& rows, bool with_key) {
  std::string columns;
  for (const DbColumn& column : rows.columns) {
    if (!columns.empty()) columns += ", ";
    std::string_view type = column.type;
    if (!with_key && type.ends_with(kKey)) type.remove_suffix(kKey.size());
    columns += std::string(column.name) + " " + std::string(type);
    if (!column.unit.empty()) columns += " /* " + std::string(column.unit) + " */";
  }
  return "CREATE TABLE " + rows.name + " (" + columns + ")";
}

int64_t LastKey(SqliteEngine& engine, const std::string& table, const std::string& column) {
  int64_t last = 0;
  engine.ForEach("SELECT max(" + column + ") FROM " + table,
                 [&last](const SqliteEngine::Row& row) { last = row.Int(0); });
  return last;
}

// Rows of late.`rows`, by key, into the table itself. One whose key is taken gets another one.
void InsertLate(SqliteEngine& engine, const DbConnection::Rows& rows) {
  const std::string key(rows.columns[static_cast<size_t>(rows.key)].name);
  SqliteEngine::Insert to = engine.Into("main." + rows.name, rows.columns.size());
  int64_t spare = 0;  // a key that nobody has
  std::vector<DbValue> values(rows.columns.size());
  engine.ForEach("SELECT * FROM late." + rows.name + " ORDER BY " + key, [&](const SqliteEngine::Row& row) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = row.Value(static_cast<int>(i));
    if (to.TryAppend(values)) return;
    if (spare == 0)
      spare = std::max(LastKey(engine, "main." + rows.name, key), LastKey(engine, "late." + rows.name, key));
    values[static_cast<size_t>(rows.key)] = ++spare;
    to.Append(values);
  });
}

}  // namespace

base::Result<std::unique_ptr<DbConnection>> DbConnection::Create(const std::string& path) {
  std::unique_ptr<DbConnection> connection(new DbConnection(path));
  if (const base::Status made = MakeEmpty(connection->part()); !made.ok()) return made;
  connection->file_.emplace(connection->part());
  if (!connection->status().ok()) return connection->status();
  return connection;
}

DbConnection::~DbConnection() {
  if (!finished_) unlink(part().c_str());
  if (late_) unlink(late_part().c_str());  // Finish() did not come
}

DbConnection::Rows* DbConnection::CreateTable(std::string_view name, std::span<const DbColumn> columns) {
  auto rows = std::make_unique<Rows>();
  rows->name = name;
  rows->columns.assign(columns.begin(), columns.end());
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].type.ends_with(kKey)) rows->key = static_cast<int>(i);
  rows->table = file_->Add(rows->name, CreateSql(*rows, true), rows->key);
  rows_.push_back(std::move(rows));
  return rows_.back().get();
}

void DbConnection::AppendLate(Rows& rows, std::span<const DbValue> values) {
  if (!late_) {
    const base::Status made = MakeEmpty(late_part());
    if (!made.ok() && status_.ok()) status_ = made;
    late_.emplace(late_part());
  }
  // Keys are values like others there: they may come twice.
  if (rows.late == nullptr) rows.late = late_->Add(rows.name, CreateSql(rows, false), -1);
  late_->Append(*rows.late, rows.late->last_key() + 1, values);
}

void DbConnection::AddViews() {
  for (const DbView& view : DbViews()) {
    const bool has_all = std::ranges::all_of(view.tables, [this](std::string_view table) {
      return std::ranges::any_of(rows_, [table](const auto& rows) { return rows->name == table; });
    });
    if (has_all)
      file_->AddView(std::string(view.name),
                     "CREATE VIEW " + std::string(view.name) + " AS " + std::string(view.select));
  }
}

void DbConnection::FinishWithEngine() {
  SqliteEngine engine(part());
  if (late_) {
    if (status_ = late_->Finish(); !status_.ok()) return;
    engine.Attach(late_part(), "late");
  }
  engine.Run("BEGIN");
  for (const auto& rows : rows_)
    if (rows->late != nullptr) InsertLate(engine, *rows);
  for (const std::string& index : indices_) engine.Run(index);
  engine.Run("COMMIT");
  status_ = engine.status();
}

uint64_t DbConnection::bytes() const {
  struct stat file {};
  if (!finished_) return file_->bytes();
  return stat(path_.c_str(), &file) == 0 ? static_cast<uint64_t>(file.st_size) : 0;
}

base::Status DbConnection::Finish() {
  if (finished_) return status_;
  AddViews();
  if (status_.ok()) status_ = file_->Finish();
  if (status_.ok() && (late_ || !indices_.empty())) FinishWithEngine();
  if (late_) unlink(late_part().c_str());
  late_.reset();
  if (status_.ok() && rename(part().c_str(), path_.c_str()) != 0)
    status_ = base::Status::FromErrno("renaming " + part());
  finished_ = status_.ok();
  return status_;
}

}  // namespace profd::client
