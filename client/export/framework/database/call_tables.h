// The framework's calls as tables: PYTORCH_API and what its rows refer to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/export/db/sqlite_engine.h"
#include "client/export/framework/database/launches.h"
#include "client/export/framework/input/calls.h"

namespace profd::client::framework {

// Numbers of texts, from one on that msprof does not use. A row of STRING_IDS is written when a text is first
// asked for. **Thread:** one.
class StringIds {
 public:
  static constexpr int64_t kOfCalls = int64_t{1} << 28, kOfMemory = int64_t{2} << 28;
  static constexpr int64_t kNoText = 4'294'967'295;

  StringIds(SqliteEngine& engine, int64_t first);
  int64_t Of(std::string_view text);  // of "" kNoText

 private:
  int64_t next_;
  SqliteEngine::Insert rows_;
  std::unordered_map<std::string, int64_t> ids_;
};

// `is_linked`: there were calls of CANN. As the vendor's: stamps are texts, and all rows are of the process
// of the first operator; without calls of CANN operators stand as in their file, else by their begins.
void WriteCallTables(const Calls& calls, const Linked& linked, bool is_linked, bool as_vendor,
                     SqliteEngine& engine);

}  // namespace profd::client::framework
