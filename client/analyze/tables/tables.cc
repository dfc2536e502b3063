#include "client/analyze/tables/tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "client/words/formula.h"

namespace profd::analyze {
namespace {

constexpr Report kReports[] = {
    {"steps", "where each step's time goes on each rank, us", StepsTable},
    {"summary", "the same, with copies, and what ranks wait for each other, us", SummaryTable},
    {"stragglers", "each rank's speed against the best rank and against its own best step", StragglersTable},
    {"overlap", "how much of each role's communication is hidden behind kernels", OverlapTable},
    {"kernels", "kernels by type: of all ranks, and of each", KernelsTable},
    {"kernels-by-shape", "kernels by name, type and shapes, of each rank", KernelsByShapeTable},
    {"experts", "tokens of grouped matrix products, of each rank", ExpertsTable},
    {"collectives", "collectives by type: of all ranks, and of each", CollectivesTable},
    {"collective-top", "collectives by name, the longest first, and the ranks of least and most",
     CollectiveTopTable},
    {"groups", "groups of ranks that communicate", GroupsTable},
    {"bandwidth", "how fast each group's collectives carry their data, by type and size", BandwidthTable},
    {"matrix", "what went from each rank to each other one", MatrixTable},
    {"p2p", "sends and their receives", PairsTable},
    {"pipeline", "what each stage does between its messages", PipelineTable},
    {"modules", "kernels by the range of the program that launches them", ModulesTable, true},
    {"mfu", "what kernels and ranges compute, against what their device can", MfuTable, true},
    {"api", "calls of the host by name: of all ranks, and of each", ApiTable, true},
    {"launches", "how the host launches, of each rank", LaunchesTable},
    {"gaps", "the longest pauses of each device, and what its host did", GapsTable},
    {"graph", "what the host does before compiled graphs run, in each step", GraphTable, true},
    {"frequency", "clocks of the devices while they compute", FrequencyTable},
    {"host", "where the launching process waited and computed", HostTable},
    {"memory", "memory of the device by who holds it", MemoryTable},
};

// A field of a file of commas (RFC 4180), which a spreadsheet may open.
std::string Field(const std::string& text) {
  const bool is_formula = client::IsFormula(text);
  if (!is_formula && text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = is_formula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string NumberText(double value) {
  if (!std::isfinite(value)) return "";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string CellText(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* text = std::get_if<std::string>(&cell)) return Field(*text);
  return NumberText(std::get<double>(cell));
}

}  // namespace

std::span<const Report> Reports() { return kReports; }

const Report* FindReport(std::string_view name) {
  const auto found = std::ranges::find(kReports, name, &Report::name);
  return found == std::end(kReports) ? nullptr : found;
}

std::string TableCsv(const Table& table) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) text += (i == 0 ? "" : ",") + table.columns[i];
  text += "\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + CellText(row[i]);
    text += "\n";
  }
  return text;
}

std::string TablesJson(std::span<const Table> tables) {
  using Json = nlohmann::ordered_json;
  Json all = Json::object();
  for (const Table& table : tables) {
    Json rows = Json::array();
    for (const auto& cells : table.rows) {
      Json row = Json::object();
      for (size_t i = 0; i < cells.size(); ++i) {
        std::visit([&](const auto& value) { row[table.columns[i]] = value; }, cells[i]);
      }
      rows.push_back(std::move(row));
    }
    all[table.name] = std::move(rows);
  }
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace profd::analyze
