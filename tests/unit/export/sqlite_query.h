// Asks a database with SQLite itself.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <vector>

namespace profd::client {

using Table = std::vector<std::vector<std::string>>;

// Rows of texts; "NULL" for a value that is none.
inline Table Query(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  Table table;
  char* error = nullptr;
  sqlite3_exec(
      db, sql.c_str(),
      [](void* to, int count, char** values, char**) {
        auto& row = static_cast<Table*>(to)->emplace_back();
        for (int i = 0; i < count; ++i) row.emplace_back(values[i] != nullptr ? values[i] : "NULL");
        return 0;
      },
      &table, &error);
  EXPECT_EQ(error, nullptr) << error;
  sqlite3_close(db);
  return table;
}

}  // namespace profd::client
