#include "client/export/db/db_connection.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/unique_fd.h"

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

// SQLite, with a file that nobody else sees yet: nothing has to be undone. The first error stays, what
// follows is ignored. **Thread:** one.
class Engine {
 public:
  explicit Engine(const std::string& path) : path_(path) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    Check(sqlite3_open_v2(path.c_str(), &db_, kFlags, nullptr));
    // 16 MiB of pages are kept.
    for (const char* pragma :
         {"journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-16384"})
      Run("PRAGMA " + std::string(pragma));
  }
  ~Engine() {
    for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void Run(const std::string& sql) {
    if (status_.ok()) Check(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr));
  }
  sqlite3_stmt* Prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (!status_.ok()) return nullptr;
    Check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr));
    statements_.push_back(statement);
    return statement;
  }
  void Attach(const std::string& path, const char* name) {
    sqlite3_stmt* attach = Prepare("ATTACH ? AS " + std::string(name));
    sqlite3_bind_text(attach, 1, path.c_str(), -1, SQLITE_STATIC);
    if (const int step = sqlite3_step(attach); status_.ok() && step != SQLITE_DONE) Check(step);
  }
  // Rows of late.`rows`, by key, into the table itself.
  void Insert(const DbConnection::Rows& rows) {
    std::string places = "?";
    for (size_t i = 1; i < rows.columns.size(); ++i) places += ",?";
    const std::string key(rows.columns[static_cast<size_t>(rows.key)].name);
    sqlite3_stmt* from = Prepare("SELECT * FROM late." + rows.name + " ORDER BY " + key);
    sqlite3_stmt* to = Prepare("INSERT INTO main." + rows.name + " VALUES (" + places + ")");
    int64_t spare = 0;  // a key that nobody has
    while (status_.ok()) {
      const int step = sqlite3_step(from);
      if (step == SQLITE_DONE) return;
      if (step != SQLITE_ROW) return Check(step);
      for (int i = 0; i < static_cast<int>(rows.columns.size()); ++i)
        sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
      int done = sqlite3_step(to);
      sqlite3_reset(to);
      if (done == SQLITE_CONSTRAINT) {  // its key is taken
        if (spare == 0) spare = std::max(LastKey("main", rows.name, key), LastKey("late", rows.name, key));
        sqlite3_bind_int64(to, rows.key + 1, ++spare);
        done = sqlite3_step(to);
        sqlite3_reset(to);
      }
      if (done != SQLITE_DONE) Check(done);
    }
  }
  const base::Status& status() const { return status_; }

 private:
  int64_t LastKey(const std::string& database, const std::string& table, const std::string& column) {
    sqlite3_stmt* last = Prepare("SELECT max(" + column + ") FROM " + database + "." + table);
    return last != nullptr && sqlite3_step(last) == SQLITE_ROW ? sqlite3_column_int64(last, 0) : 0;
  }
  void Check(int result) {
    if (result == SQLITE_OK || !status_.ok()) return;
    const char* why = db_ != nullptr ? sqlite3_errmsg(db_) : "no memory";
    status_ =
        base::Status((result & 0xFF) == SQLITE_FULL ? base::Code::kResourceExhausted : base::Code::kInternal,
                     "writing " + path_ + ": " + why);
  }

  const std::string path_;
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  base::Status status_;
};

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
  Engine engine(part());
  if (late_) {
    if (status_ = late_->Finish(); !status_.ok()) return;
    engine.Attach(late_part(), "late");
  }
  engine.Run("BEGIN");
  for (const auto& rows : rows_)
    if (rows->late != nullptr) engine.Insert(*rows);
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
