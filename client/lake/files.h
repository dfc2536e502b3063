// A lake on a folder: Parquet files by table. TABLE.parquet, as export --format parquet writes them, and the
// tree of a fleet: hot/v1/TABLE/…, cold/v1/TABLE/….
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/status.h"
#include "client/lake/engine.h"
#include "client/lake/schema.h"

namespace profd::lake {

// "hot/v1", "cold/v1"
std::span<const std::string_view> Trees();
inline constexpr std::string_view kParquetEnd = ".parquet";

base::Status NotReadable(const std::filesystem::path& path, const std::error_code& error);
// Names below the folder of files whose names begin with that, sorted; what is still written, and links, are
// none.
base::Result<std::vector<std::string>> FilesBelow(const std::string& folder, const std::string& beginning);
// The rows of files of hot/, with their file's name (filename) and the node that the name says: what stands
// behind FROM, in brackets.
std::string RowsOf(const TableSchema& table, const std::vector<std::string>& hot);
bool IsLake(const std::string& folder);
// Views of all tables of the schema, over all of these; of rows with one name the last version counts. Locks
// the engine to them. `query`: what will be asked of them.
base::Status ViewsOf(Engine& engine, const std::vector<std::string>& folders, const std::string& query);

}  // namespace profd::lake
