#include "client/lake/files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>

#include "base/join.h"
#include "client/lake/manifest.h"
#include "client/lake/schema.h"
#include "client/words/text.h"

namespace profd::lake {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;

constexpr std::string_view kTrees[] = {"hot/v1", "cold/v1"};

struct Files {
  std::vector<std::string> hot, others;  // by name
};

// What is still written has a name with a dot in front. Links are not followed.
Status FindBelow(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code error;
  if (!fs::exists(folder, error)) return {};
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    std::error_code gone;
    const bool is_whole = !path.filename().string().starts_with('.') && path.extension() != ".part";
    if (at->is_regular_file(gone) && !at->is_symlink(gone) && is_whole) files.push_back(path.string());
  }
  return error ? NotReadable(folder, error) : Status();
}

// Names of files whose rows stand in others. What a merge is writing, or wrote by half, is none.
std::set<std::string> MergedIn(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder / kManifests, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".json" || at->is_symlink(error)) continue;
    (void)AddMerged(at->path(), &names);  // of a damaged one the inputs are read, too: no row counts twice
  }
  return names;
}

Status FindIn(const fs::path& folder, const std::string& table, const std::set<std::string>& merged,
              Files& files) {
  std::vector<std::string> hot, cold;
  PROFD_RETURN_IF_ERROR(FindBelow(folder / kTrees[0] / table, hot));
  const size_t above = folder.native().size() + 1;
  std::ranges::copy_if(hot, std::back_inserter(files.hot), [&](const std::string& path) {
    return path.ends_with(kParquetEnd) && !merged.contains(path.substr(above));
  });
  PROFD_RETURN_IF_ERROR(FindBelow(folder / kTrees[1] / table, cold));
  std::ranges::copy_if(cold, std::back_inserter(files.others),
                       [](const std::string& path) { return path.ends_with(kParquetEnd); });
  std::error_code error;
  const fs::path own = folder / (table + std::string(kParquetEnd));
  if (fs::is_regular_file(own, error)) files.others.push_back(own.string());
  std::ranges::sort(files.hot);
  std::ranges::sort(files.others);
  return {};
}

std::string Read(const std::vector<std::string>& files) {
  return "read_parquet([" + base::Joined(files, ", ", Quoted) +
         "], union_by_name = true, hive_partitioning = false, filename = true)";
}

// A file of an older schema lacks columns, one of a newer has more. Who a row of hot/ is of, says the name
// that the store let its node write, not the row.
std::string AllRowsOf(const TableSchema& table, const Files& files) {
  std::string rows = "SELECT ";
  for (const auto& set : {Common(), table.columns}) {
    for (const Column& column : set)
      rows += "NULL::" + std::string(column.type) + " AS \"" + std::string(column.name) + "\", ";
  }
  rows += "NULL::VARCHAR AS filename WHERE false";
  if (!files.others.empty()) rows += " UNION ALL BY NAME SELECT * FROM " + Read(files.others);
  if (!files.hot.empty())
    rows +=
        " UNION ALL BY NAME SELECT * REPLACE (regexp_extract(filename, '([^/]*)_[^/_]*_[^/_]*$', 1) AS node) "
        "FROM " +
        Read(files.hot);
  return rows;
}

// Whether the same row may lie in two of the files, as the numbers of each one's rows say.
base::Result<bool> MayRepeat(Engine& engine, const std::string& rows) {
  PROFD_ASSIGN_OR_RETURN(const Answer answer,
                         engine.Ask("SELECT count(*) FROM (SELECT first, max(last) OVER (PARTITION BY node, "
                                    "instance ORDER BY first, last "
                                    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM "
                                    "(SELECT node, instance, min(seq) AS "
                                    "first, max(seq) AS last FROM (" +
                                    rows + ") GROUP BY node, instance, filename)) WHERE first <= before"));
  return answer.rows.front().front() != "0";
}

}  // namespace

std::span<const std::string_view> Trees() { return kTrees; }

base::Result<std::vector<std::string>> FilesBelow(const std::string& folder, const std::string& beginning) {
  std::vector<std::string> paths, names;
  PROFD_RETURN_IF_ERROR(FindBelow(fs::path(folder) / fs::path(beginning).parent_path(), paths));
  for (const std::string& path : paths) {
    std::string name = fs::path(path).lexically_relative(folder);
    if (name.starts_with(beginning)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

std::string RowsOf(const TableSchema& table, const std::vector<std::string>& hot) {
  return AllRowsOf(table, {hot, {}});
}

Status NotReadable(const fs::path& path, const std::error_code& error) {
  const bool is_denied = error == std::errc::permission_denied;
  return {is_denied ? Code::kPermissionDenied : Code::kNotFound,
          client::OneLine(path.string()) + ": " + error.message()};
}

bool IsLake(const std::string& folder) {
  std::error_code error;
  const auto is_tree = [&](std::string_view tree) {
    return fs::is_directory(fs::path(folder) / tree, error);
  };
  if (std::ranges::any_of(kTrees, is_tree)) return true;
  return std::ranges::any_of(Tables(), [&](const TableSchema& table) {
    return fs::is_regular_file(fs::path(folder) / (std::string(table.name) + std::string(kParquetEnd)),
                               error);
  });
}

Status ViewsOf(Engine& engine, const std::vector<std::string>& given, const std::string& query) {
  std::set<std::string> folders;  // each once
  for (const std::string& folder : given) {
    std::error_code error;
    folders.insert(fs::canonical(folder, error).string());
    if (error) return NotReadable(folder, error);
  }
  PROFD_RETURN_IF_ERROR(engine.Lock({folders.begin(), folders.end()}));
  std::map<std::string, std::set<std::string>> merged;
  for (const std::string& folder : folders) merged[folder] = MergedIn(folder);
  for (const TableSchema& table : Tables()) {
    Files files;
    for (const std::string& folder : folders)
      PROFD_RETURN_IF_ERROR(FindIn(folder, std::string(table.name), merged[folder], files));
    const std::string rows = AllRowsOf(table, files);
    // To look for repeated rows takes long: not in a table that nobody asks.
    bool repeats = files.hot.size() + files.others.size() > 1;
    if (repeats && query.find(table.name) != std::string::npos) {
      PROFD_ASSIGN_OR_RETURN(repeats, MayRepeat(engine, rows));
    }
    const char* const which = repeats ? "DISTINCT ON (node, instance, seq) * " : "* ";
    const char* const order = repeats ? " ORDER BY node, instance, seq, ver DESC" : "";
    PROFD_RETURN_IF_ERROR(engine.Do("CREATE VIEW " + std::string(table.name) + " AS SELECT " + which +
                                    "EXCLUDE (filename) FROM (" + rows + ")" + order));
  }
  return {};
}

}  // namespace profd::lake
