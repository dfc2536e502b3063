#include "client/lake/engine.h"

#include <utility>

#include "client/words/text.h"

namespace profd::lake {
namespace {

using base::Code;
using base::Status;

// Until Lock() forbids all files: no code is fetched, little memory is taken.
constexpr std::pair<const char*, const char*> kSettings[] = {
    {"autoinstall_known_extensions", "false"},
    {"autoload_known_extensions", "false"},
    {"allow_community_extensions", "false"},
    {"memory_limit", "512MB"},
    {"threads", "2"},
    {"preserve_insertion_order", "false"},
};

Status Failed(const char* why) {
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

}  // namespace

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

base::Result<std::unique_ptr<Engine>> Engine::Open() {
  PROFD_ASSIGN_OR_RETURN(const Library* library, LoadLibrary());
  std::unique_ptr<Engine> engine(new Engine(library));
  Handle config = nullptr;
  if (library->create_config(&config) != State::kSuccess) return Failed("no configuration");
  for (const auto& [name, value] : kSettings) {
    if (library->set_config(config, name, value) == State::kSuccess) continue;
    library->destroy_config(&config);
    return Failed(name);
  }
  char* error = nullptr;
  const State opened = library->open_ext(":memory:", &engine->database_, config, &error);
  library->destroy_config(&config);
  if (opened != State::kSuccess) {
    Status status = Failed(error);
    library->free(error);
    return status;
  }
  if (library->connect(engine->database_, &engine->connection_) != State::kSuccess)
    return Failed("no connection");
  PROFD_RETURN_IF_ERROR(engine->Do("SET temp_directory = ''; CREATE MACRO q95(x) AS quantile_cont(x, 0.95)"));
  return engine;
}

Engine::~Engine() {
  if (connection_ != nullptr) library_.disconnect(&connection_);
  if (database_ != nullptr) library_.close(&database_);
}

Status Engine::Do(const std::string& sql) {
  Held held(library_);
  if (library_.query(connection_, sql.c_str(), &held.result) == State::kSuccess) return {};
  return Failed(library_.result_error(&held.result));
}

Status Engine::Lock(const std::string& folder) {
  if (!folder.empty()) PROFD_RETURN_IF_ERROR(Do("SET allowed_directories = [" + Quoted(folder) + "]"));
  return Do("SET enable_external_access = false; SET lock_configuration = true");
}

base::Result<Answer> Engine::Ask(const std::string& sql) {
  // In brackets only one that reads has a place: COPY, SET, INSTALL, ATTACH are no queries.
  size_t end = sql.find_last_not_of("; \t\n");
  const std::string one = sql.substr(0, end == std::string::npos ? 0 : end + 1);
  const std::string asked = "FROM (\n" + one + "\n)";
  Handle statements = nullptr;
  const uint64_t count = library_.extract_statements(connection_, asked.c_str(), &statements);
  library_.destroy_extracted(&statements);
  if (count > 1)
    return Status(Code::kInvalidArgument, "SQL: expected one SELECT, and there are more statements");
  Held held(library_);
  if (library_.query(connection_, asked.c_str(), &held.result) != State::kSuccess)
    return Failed(library_.result_error(&held.result));
  Answer answer;
  const uint64_t columns = library_.column_count(&held.result), rows = library_.row_count(&held.result);
  for (uint64_t i = 0; i < columns; ++i) {
    const Type type = library_.column_type(&held.result, i);
    answer.columns.push_back({library_.column_name(&held.result, i),
                              (type >= Type::kTinyInt && type <= Type::kDouble) || type == Type::kHugeInt ||
                                  type == Type::kDecimal || type == Type::kUHugeInt,
                              type == Type::kBoolean});
  }
  answer.rows.resize(rows);
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t i = 0; i < columns; ++i) {
      char* text = library_.value_varchar(&held.result, i, row);
      answer.rows[row].push_back(text == nullptr ? std::nullopt : std::optional<std::string>(text));
      library_.free(text);
    }
  }
  return answer;
}

Rows::Rows(Engine& engine, const char* table) : library_(engine.library_) {
  failed_ = library_.appender_create(engine.connection_, "filled", table, &appender_) != State::kSuccess;
}

Rows::~Rows() {
  if (appender_ != nullptr) library_.appender_destroy(&appender_);
}

Rows& Rows::Number(int64_t value) {
  failed_ = failed_ || library_.append_int64(appender_, value) != State::kSuccess;
  return *this;
}

Rows& Rows::Text(std::string_view value) {
  failed_ =
      failed_ || library_.append_varchar_length(appender_, value.data(), value.size()) != State::kSuccess;
  return *this;
}

Rows& Rows::Null() {
  failed_ = failed_ || library_.append_null(appender_) != State::kSuccess;
  return *this;
}

void Rows::End() { failed_ = failed_ || library_.appender_end_row(appender_) != State::kSuccess; }

Status Rows::Finish() {
  if (!failed_ && library_.appender_close(appender_) == State::kSuccess) return {};
  return Failed(appender_ == nullptr ? nullptr : library_.appender_error(appender_));
}

}  // namespace profd::lake
