// A database of this process alone, that only reads what it was given. It takes little memory: what has no
// place in it lies in a private folder among the temporary files, which goes with the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/files/temporary_folder.h"
#include "client/lake/library.h"

namespace profd::lake {

using Row = std::vector<std::optional<std::string>>;  // none: NULL
struct Answer {
  struct Column {
    std::string name;
    bool is_number = false, is_truth = false;
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
};

// "it's" → "'it''s'"
std::string Quoted(const std::string& text);

// **Thread:** one, but for Interrupt(). **Owns:** the database and the folder.
class Engine {
 public:
  static base::Result<std::unique_ptr<Engine>> Open();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Ends what runs, and all that comes, with an error. From any thread.
  void Interrupt();
  bool interrupted() const { return interrupted_; }

  // Statements of ours.
  base::Status Do(const std::string& sql);
  // A database of that name for more rows than memory has place for.
  base::Status MakeRoom(const std::string& name);
  // A table as a Parquet file.
  base::Status Write(const std::string& table, const std::string& path);
  // From here on no file is read or written but below `folders`, and nothing can be set.
  base::Status Lock(const std::vector<std::string>& folders);
  // Of somebody: one statement that reads.
  base::Result<Answer> Ask(const std::string& sql);

 private:
  friend class Rows;
  Engine(const Library* library, client::TemporaryFolder folder)
      : folder_(std::move(folder)), library_(*library) {}
  base::Status Failed(const char* why) const;
  base::Result<std::vector<Row>> Texts(const std::string& sql);

  const client::TemporaryFolder folder_;  // outlives the database
  const Library& library_;
  std::atomic<bool> interrupted_ = false;
  Handle database_ = nullptr, connection_ = nullptr;
};

// Fills a table of the database `filled` (MakeRoom), some thousand rows at a time. Values in the order of its
// columns, then End(). The first error is what Finish() says.
class Rows {
 public:
  Rows(Engine& engine, const char* table);
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  Rows& Number(int64_t value);
  Rows& Number(std::optional<int64_t> value) { return value ? Number(*value) : Null(); }
  Rows& Real(std::optional<double> value);
  Rows& Text(std::string_view value);
  Rows& TextOrNull(const std::optional<std::string>& value) { return value ? Text(*value) : Null(); }
  Rows& Null();
  void End();
  base::Status Finish();

 private:
  // Of the rows that are not handed over yet. **Owns:** nothing: it is the chunk's.
  struct Column {
    duckdb::Type type;
    Handle vector = nullptr;
    void* values = nullptr;
    uint64_t* valid = nullptr;  // a bit for each row
  };

  void Begin();
  void HandOver();
  // The next column, if it has that type.
  Column* Next(duckdb::Type type);

  const Engine& engine_;
  const Library& library_;
  Handle appender_ = nullptr, chunk_ = nullptr;
  std::vector<Column> columns_;
  size_t column_ = 0, row_ = 0;
  bool failed_ = false;
};

}  // namespace profd::lake
