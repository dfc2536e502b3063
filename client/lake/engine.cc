#include "client/lake/engine.h"

#include <algorithm>
#include <utility>

#include "base/join.h"
#include "client/words/ascii.h"
#include "client/words/text.h"

namespace profd::lake {
namespace {

using base::Code;
using base::Status;

// No code is fetched, little memory is taken. Rows stay in the order in which they were given.
constexpr std::pair<const char*, const char*> kSettings[] = {
    {"autoinstall_known_extensions", "false"},
    {"autoload_known_extensions", "false"},
    {"allow_community_extensions", "false"},
    {"memory_limit", "384MB"},  // with what it does not count some 512 MB
    {"threads", "2"},
};

// Statements that begin with these do not read, or not only.
constexpr std::string_view kWriting[] = {"alter",  "attach", "begin",    "call",   "checkpoint", "commit",
                                         "copy",   "create", "delete",   "detach", "drop",       "export",
                                         "import", "insert", "install",  "load",   "merge",      "pragma",
                                         "reset",  "set",    "truncate", "update", "use",        "vacuum"};

std::string FirstWord(std::string_view sql) {
  sql.remove_prefix(std::min(sql.find_first_not_of(" \t\n\r"), sql.size()));
  const auto end =
      std::ranges::find_if(sql, [](char c) { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z'); });
  return client::Lower(sql.substr(0, static_cast<size_t>(end - sql.begin())));
}

Status Error(const char* why) {
  const std::string text = why == nullptr ? "no answer" : why;
  return {Code::kInvalidArgument, "SQL: " + client::OneLine(text.substr(0, text.find('\n')))};
}

// **Owns:** a result.
class Held {
 public:
  explicit Held(const Library& library) : library_(library) {}
  ~Held() { library_.destroy_result(&result); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  duckdb::Result result = {};

 private:
  const Library& library_;
};

// What a column of the type is to JSON.
Answer::Column ColumnOf(std::string name, const std::string& type) {
  constexpr std::string_view kNumbers[] = {"TINYINT", "SMALLINT", "INTEGER",   "BIGINT",
                                           "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
                                           "UBIGINT", "UHUGEINT", "FLOAT",     "DOUBLE"};
  const bool is_number = type.starts_with("DECIMAL(") || std::ranges::count(kNumbers, type) > 0;
  return {std::move(name), is_number && !type.ends_with(']'), type == "BOOLEAN"};
}

}  // namespace

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

base::Result<std::unique_ptr<Engine>> Engine::Open() {
  PROFD_ASSIGN_OR_RETURN(const Library* library, LoadLibrary());
  PROFD_ASSIGN_OR_RETURN(client::TemporaryFolder folder, client::TemporaryFolder::Make("sql"));
  std::unique_ptr<Engine> engine(new Engine(library, std::move(folder)));
  Handle config = nullptr;
  if (library->create_config(&config) != State::kSuccess) return Error("no configuration");
  for (const auto& [name, value] : kSettings) {
    if (library->set_config(config, name, value) == State::kSuccess) continue;
    library->destroy_config(&config);
    return Error(name);
  }
  char* error = nullptr;
  const State opened = library->open_ext(":memory:", &engine->database_, config, &error);
  library->destroy_config(&config);
  if (opened != State::kSuccess) {
    Status status = Error(error);
    library->free(error);
    return status;
  }
  if (library->connect(engine->database_, &engine->connection_) != State::kSuccess)
    return Error("no connection");
  PROFD_RETURN_IF_ERROR(engine->Do("SET temp_directory = " + Quoted(engine->folder_.path() + "/spill") +
                                   "; CREATE MACRO q95(x) AS quantile_cont(x, 0.95)"));
  return engine;
}

Engine::~Engine() {
  if (connection_ != nullptr) library_.disconnect(&connection_);
  if (database_ != nullptr) library_.close(&database_);
}

Status Engine::Failed(const char* why) const {
  return interrupted_ ? Status(Code::kCancelled, "interrupted") : Error(why);
}

void Engine::Interrupt() {
  interrupted_ = true;
  library_.interrupt(connection_);
}

Status Engine::Do(const std::string& sql) {
  Held held(library_);
  if (!interrupted_ && library_.query(connection_, sql.c_str(), &held.result) == State::kSuccess) return {};
  return Failed(library_.result_error(&held.result));
}

// As a file: compressed, and never all of it in memory. Nobody opens it again, so nothing is tidied up at
// the end.
Status Engine::MakeRoom(const std::string& name) {
  return Do("ATTACH " + Quoted(folder_.path() + "/" + name) + " AS " + name +
            "; PRAGMA disable_checkpoint_on_shutdown");
}

// Version 2 writes numbers as what they differ by, which needs few bytes where a dictionary of them is large.
Status Engine::Write(const std::string& table, const std::string& path) {
  return Do("COPY " + table + " TO " + Quoted(path) +
            " (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, DICTIONARY_SIZE_LIMIT 1000)");
}

Status Engine::Lock(const std::vector<std::string>& folders) {
  const std::string list = base::Joined(folders, ", ", Quoted);
  if (!list.empty()) PROFD_RETURN_IF_ERROR(Do("SET allowed_directories = [" + list + "]"));
  return Do("SET enable_external_access = false; SET lock_configuration = true");
}

base::Result<Answer> Engine::Ask(const std::string& sql) {
  // In brackets only one that reads has a place: COPY, SET, INSTALL, ATTACH are no queries.
  size_t end = sql.find_last_not_of("; \t\n");
  const std::string one = sql.substr(0, end == std::string::npos ? 0 : end + 1);
  const std::string asked = "FROM (\n" + one + "\n)";
  const std::string word = FirstWord(one);
  if (std::ranges::find(kWriting, word) != std::end(kWriting))
    return Status(Code::kInvalidArgument,
                  "SQL: expected a query that reads (SELECT …, WITH …), and " + word + " does not");
  Handle statements = nullptr;
  const uint64_t count = library_.extract_statements(connection_, asked.c_str(), &statements);
  library_.destroy_extracted(&statements);
  if (count > 1)
    return Status(Code::kInvalidArgument, "SQL: expected one SELECT, and there are more statements");
  Answer answer;
  PROFD_ASSIGN_OR_RETURN(const auto types, Texts("DESCRIBE " + asked));
  // A text is what the library makes of every type; it hands out only some.
  std::string texts;
  for (const auto& row : types) {
    answer.columns.push_back(ColumnOf(row[0].value_or(""), row[1].value_or("")));
    base::AddTo(texts, "#" + std::to_string(answer.columns.size()) + "::VARCHAR");
  }
  PROFD_ASSIGN_OR_RETURN(answer.rows, Texts("SELECT " + texts + " " + asked));
  return answer;
}

base::Result<std::vector<Row>> Engine::Texts(const std::string& sql) {
  Held held(library_);
  if (interrupted_ || library_.query(connection_, sql.c_str(), &held.result) != State::kSuccess)
    return Failed(library_.result_error(&held.result));
  const uint64_t columns = library_.column_count(&held.result);
  std::vector<Row> rows(library_.row_count(&held.result));
  for (uint64_t i = 0; i < rows.size(); ++i) {
    rows[i].reserve(columns);
    for (uint64_t column = 0; column < columns; ++column) {
      char* text = library_.value_varchar(&held.result, column, i);
      rows[i].push_back(text == nullptr ? std::nullopt : std::optional<std::string>(text));
      library_.free(text);
    }
  }
  return rows;
}

Rows::Rows(Engine& engine, const char* table) : engine_(engine), library_(engine.library_) {
  failed_ = library_.appender_create_ext(engine.connection_, "filled", "main", table, &appender_) !=
            State::kSuccess;
  if (failed_) return;
  std::vector<Handle> types(library_.appender_column_count(appender_));
  for (size_t i = 0; i < types.size(); ++i) {
    types[i] = library_.appender_column_type(appender_, i);
    columns_.push_back({library_.get_type_id(types[i])});
  }
  chunk_ = library_.create_data_chunk(types.data(), types.size());
  for (Handle& type : types) library_.destroy_logical_type(&type);
  Begin();
}

Rows::~Rows() {
  if (chunk_ != nullptr) library_.destroy_data_chunk(&chunk_);
  if (appender_ != nullptr) library_.appender_destroy(&appender_);
}

void Rows::Begin() {
  library_.data_chunk_reset(chunk_);
  row_ = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.vector = library_.data_chunk_get_vector(chunk_, i);
    column.values = library_.vector_get_data(column.vector);
    library_.vector_ensure_validity_writable(column.vector);
    column.valid = library_.vector_get_validity(column.vector);
  }
}

void Rows::HandOver() {
  library_.data_chunk_set_size(chunk_, row_);
  failed_ = failed_ || library_.append_data_chunk(appender_, chunk_) != State::kSuccess;
  if (!failed_) Begin();
}

Rows::Column* Rows::Next(Type type) {
  failed_ = failed_ || column_ >= columns_.size() || columns_[column_].type != type;
  return failed_ ? nullptr : &columns_[column_++];
}

Rows& Rows::Number(int64_t value) {
  if (const Column* const column = Next(Type::kBigInt)) static_cast<int64_t*>(column->values)[row_] = value;
  return *this;
}

Rows& Rows::Real(std::optional<double> value) {
  if (!value) return Null();
  if (const Column* const column = Next(Type::kDouble)) static_cast<double*>(column->values)[row_] = *value;
  return *this;
}

Rows& Rows::Text(std::string_view value) {
  if (const Column* const column = Next(Type::kVarchar))
    library_.vector_assign_string_element_len(column->vector, row_, value.data(), value.size());
  return *this;
}

Rows& Rows::Null() {
  constexpr size_t kBits = 64;
  failed_ = failed_ || column_ >= columns_.size();
  if (!failed_) columns_[column_++].valid[row_ / kBits] &= ~(uint64_t{1} << row_ % kBits);
  return *this;
}

void Rows::End() {
  failed_ = failed_ || column_ != columns_.size();
  column_ = 0;
  if (!failed_ && ++row_ == library_.vector_size()) HandOver();
}

Status Rows::Finish() {
  if (!failed_ && row_ > 0) HandOver();
  if (!failed_ && library_.appender_close(appender_) == State::kSuccess) return {};
  return engine_.Failed(appender_ == nullptr ? nullptr : library_.appender_error(appender_));
}

}  // namespace profd::lake
