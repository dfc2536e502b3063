// Rows of many files, as few: one for each hour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/lake/engine.h"
#include "client/lake/schema.h"

namespace profd::lake {

struct Hour {
  std::string folder;  // "cold/v1/steps/day=2026-11-29/hour=14"
  std::string rows;    // "(SELECT …)": for Engine::Write
  uint64_t count = 0;
};

// Of files of hot/, whose rows become a table of the engine, in place of those of the call before: each row
// once, with the version that counts. Its node is that of the file's name.
base::Result<std::vector<Hour>> Merged(Engine& engine, const TableSchema& table,
                                       const std::vector<std::string>& files);

}  // namespace profd::lake
