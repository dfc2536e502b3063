// One database in memory, that only reads what it was given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/lake/library.h"

namespace profd::lake {

struct Answer {
  struct Column {
    std::string name;
    bool is_number = false, is_truth = false;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::optional<std::string>>> rows;
};

// "it's" → "'it''s'"
std::string Quoted(const std::string& text);

// **Thread:** one. **Owns:** the database.
class Engine {
 public:
  static base::Result<std::unique_ptr<Engine>> Open();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Statements of ours.
  base::Status Do(const std::string& sql);
  // From here on no file is read or written but below `folder` ("" = none), and nothing can be set.
  base::Status Lock(const std::string& folder);
  // Of somebody: one statement that reads.
  base::Result<Answer> Ask(const std::string& sql);

 private:
  friend class Rows;
  explicit Engine(const Library* library) : library_(*library) {}

  const Library& library_;
  Handle database_ = nullptr, connection_ = nullptr;
};

// Fills a table. Values in the order of its columns, then End(). The first error is what Finish() says.
class Rows {
 public:
  Rows(Engine& engine, const char* table);
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  Rows& Number(int64_t value);
  Rows& Number(std::optional<int64_t> value) { return value ? Number(*value) : Null(); }
  Rows& Text(std::string_view value);
  Rows& Null();
  void End();
  base::Status Finish();

 private:
  const Library& library_;
  Handle appender_ = nullptr;
  bool failed_ = false;
};

}  // namespace profd::lake
