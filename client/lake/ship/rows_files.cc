#include "client/lake/ship/rows_files.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/crc32c.h"
#include "base/files/whole_file.h"
#include "client/lake/files.h"
#include "client/lake/schema.h"
#include "client/words/text.h"
#include "format/directory/rows_file.h"

namespace profd::lake {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;
using base::Status;

constexpr size_t kMostOfFile = 256 << 20;
constexpr char kTable[] = "rows_of_file";

// Ten minutes, by their begin: "20261129T1420".
std::string SlotOf(uint64_t wall_ns) {
  const auto seconds = static_cast<time_t>(wall_ns / 1'000'000'000 / 600 * 600);
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M", &utc)};
}

const TableSchema* TableOf(std::string_view name) {
  const auto found = std::ranges::find(Tables(), name, &TableSchema::name);
  return found == Tables().end() ? nullptr : &*found;
}

const Column* ColumnOf(const TableSchema& table, std::string_view name) {
  for (const std::span<const Column> set : {Common(), table.columns}) {
    const auto found = std::ranges::find(set, name, &Column::name);
    if (found != set.end()) return &*found;
  }
  return nullptr;
}

// Of the line that names them: plain words in quotes.
std::vector<std::string> ColumnsIn(std::string_view line) {
  std::vector<std::string> names;
  while (!line.empty()) {
    std::string_view word = line.substr(0, line.find(','));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (word.size() > 2 && word.front() == '"' && word.back() == '"') word = word.substr(1, word.size() - 2);
    names.emplace_back(word);
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> RowsFilesIn(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    std::error_code gone;
    // What profd makes is no pipe that one would wait for, and no link.
    const bool is_file = at->symlink_status(gone).type() == fs::file_type::regular;
    if (is_file && name.ends_with(format::kRowsEnd) && !name.starts_with('.')) names.push_back(name);
  }
  if (error) return NotReadable(folder, error);
  std::ranges::sort(names);
  return names;
}

Result<RowsFile> ReadRowsFile(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  PROFD_ASSIGN_OR_RETURN(const std::string text, base::ReadWhole(path, kMostOfFile));
  return ParseRowsFile(path, text);
}

Result<RowsFile> ParseRowsFile(const std::string& path, const std::string& text) {
  RowsFile file;
  file.path = path;
  file.name = path.substr(path.rfind('/') + 1);
  const auto damaged = [&file](const std::string& what) {
    return Status(Code::kDataLoss, client::OneLine(file.path) + ": " + what);
  };
  const std::string head = text.substr(0, text.find('\n'));
  const size_t last = text.rfind(format::kRowsLast);
  if (!head.starts_with(format::kRowsHead) || last == text.npos || last < head.size())
    return damaged("no whole file of rows: move it away; its rows are lost");
  const std::string end = text.substr(last + 1, text.find('\n', last + 1) - last - 1);
  const auto sequence = format::RowsNumber(head, "sequence"), rows = format::RowsNumber(end, "rows"),
             first_ns = format::RowsNumber(end, "first_ns"), crc = format::RowsNumber(end, "crc32c", 16);
  if (crc != base::Crc32c(text.data(), last + 1))
    return damaged("damaged: its check sum is not that of its rows; move it away");
  file.table = format::RowsWord(head, "table");
  file.node = format::RowsWord(head, "node");
  file.instance = format::RowsWord(head, "instance");
  const bool is_named = sequence && file.name == format::NameOf({file.table, file.instance, *sequence});
  if (!is_named || !rows || !first_ns ||
      file.instance.find_first_not_of("0123456789abcdef") != std::string::npos)
    return damaged("its first line does not say what its name says");
  if (!IsNode(file.node)) return damaged("'" + client::OneLine(file.node) + "' is no name for a node");
  file.sequence = *sequence;
  file.rows = *rows;
  file.first_ns = *first_ns;
  file.body = text.substr(head.size() + 1, last - head.size());
  return file;
}

Result<Shipment> ShipmentOf(const RowsFile& file) {
  if (TableOf(file.table) == nullptr)
    return Status(Code::kUnimplemented, client::OneLine(file.path) + ": this profctl knows no table '" +
                                            client::OneLine(file.table) + "': it is older than the file");
  return Shipment{.table = file.table,
                  .rows = kTable,
                  .folder = FolderOf(file.table, SlotOf(file.first_ns), file.node),
                  .name = file.node + "_" + file.instance + "_" + std::to_string(file.sequence) + ".parquet"};
}

Status FillFrom(Engine& engine, const RowsFile& file, const client::TemporaryFolder& scratch) {
  const TableSchema& table = *TableOf(file.table);
  const std::string copy = scratch.path() + "/rows.csv";
  if (std::ofstream out(copy, std::ios::binary); !(out << file.body).flush())
    return Status::FromErrno("write " + copy);
  const std::vector<std::string> names = ColumnsIn(file.body.substr(0, file.body.find('\n')));
  std::string types, select;
  for (const std::string& name : names) {
    const Column* const column = ColumnOf(table, name);
    const bool is_time = column != nullptr && column->type == "TIMESTAMP_NS";
    types += (types.empty() ? "" : ", ") + Quoted(name) + ": " +
             Quoted(column == nullptr ? "VARCHAR"
                    : is_time         ? "BIGINT"
                                      : std::string(column->type));
  }
  for (const std::span<const Column> set : {Common(), table.columns}) {
    for (const Column& column : set) {
      const std::string own = "\"" + std::string(column.name) + "\"";
      select += select.empty() ? "" : ", ";
      if (column.name == "node" || column.name == "instance") {
        select += Quoted(column.name == "node" ? file.node : file.instance) + " AS " + own;
      } else if (std::ranges::find(names, column.name) == names.end()) {
        select += "NULL::" + std::string(column.type) + " AS " + own;
      } else {
        select += column.type == "TIMESTAMP_NS" ? "make_timestamp_ns(" + own + ") AS " + own : own;
      }
    }
  }
  // An open row and the one that closes it have one number: the closed one counts.
  const Status read = engine.Do(
      "CREATE OR REPLACE TABLE " + std::string(kTable) + " AS SELECT DISTINCT ON (seq) " + select +
      " FROM read_csv(" + Quoted(copy) +
      ", auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', columns = {" + types +
      "}) ORDER BY seq, ver DESC");
  if (!read.ok()) return {Code::kDataLoss, client::OneLine(file.path) + ": " + read.message()};
  return {};
}

}  // namespace profd::lake
