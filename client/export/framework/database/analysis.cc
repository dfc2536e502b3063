#include "client/export/framework/database/analysis.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "client/export/framework/input/trace_file.h"
#include "client/export/framework/output/matrix.h"
#include "client/export/framework/output/results.h"

namespace profd::client::framework {
namespace {

// A row of one of msprof's tables, with texts of its own: they stay where they are when it moves.
struct Row {
  std::vector<DbValue> values;
  std::vector<std::string> texts;

  Row(const SqliteEngine::Row& row, int columns) {
    texts.reserve(static_cast<size_t>(columns));
    for (int i = 0; i < columns; ++i) {
      DbValue value = row.Value(i);
      if (value.type == DbValue::Type::kText)
        value = DbValue(std::string_view(texts.emplace_back(row.Text(i))));
      values.push_back(value);
    }
  }
  Row(Row&&) = default;
  Row& operator=(Row&&) = default;
};
std::string TextOf(const DbValue& value) {
  if (value.type == DbValue::Type::kText) return {value.text, value.size};
  return value.type == DbValue::Type::kInteger ? std::to_string(value.integer) : "";
}
Json JsonOf(const DbValue& value) {
  if (value.type == DbValue::Type::kInteger) return value.integer;
  if (value.type == DbValue::Type::kReal) return value.real;
  return value.type == DbValue::Type::kText ? Json(TextOf(value)) : Json();
}
DbValue ValueOf(const Json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return std::string_view(json.get_ref<const std::string&>());
  return {};
}

std::vector<Row> ReadTable(SqliteEngine& analyzer, const std::string& table, const std::string& columns,
                           int count) {
  std::vector<Row> rows;
  if (!analyzer.HasTable(table)) return rows;
  analyzer.ForEach("SELECT " + columns + " FROM " + table,
                   [&](const SqliteEngine::Row& row) { rows.emplace_back(row, count); });
  return rows;
}

std::string OperationOf(const Row& row) { return TextOf(row.values[0]) + "@" + TextOf(row.values[1]); }

// ns of a stamp in µs, a number or a text.
std::optional<int64_t> NsOf(const DbValue& value) {
  if (value.type == DbValue::Type::kInteger) return NsOfMicroseconds(std::to_string(value.integer));
  if (value.type == DbValue::Type::kText) return NsOfMicroseconds(TextOf(value));
  if (value.type != DbValue::Type::kReal) return std::nullopt;
  std::array<char, 64> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value.real, std::chars_format::fixed);
  return NsOfMicroseconds(std::string_view(digits.data(), static_cast<size_t>(end.ptr - digits.data())));
}

// Where an operation belongs.
struct Belongs {
  std::string step;
  std::string_view sort;  // "p2p", "collective"
};

// "step3"; without steps "step".
std::string NameOf(const Step& step) {
  return step.number < 0 ? "step" : "step" + std::to_string(step.number);
}

std::string_view SortOf(const std::string& operation) {
  switch (ClassOf(operation)) {
    case Class::kPair:
      return "p2p";
    case Class::kCollective:
      return "collective";
    case Class::kNone:
      break;
  }
  return "";
}

void AppendWith(SqliteEngine::Insert& table, const Row& row, const Belongs& belongs) {
  std::vector<DbValue> values = row.values;
  values.emplace_back(std::string_view(belongs.step));
  values.emplace_back(belongs.sort);
  table.Append(values);
}

// Of every step and sort the links of its operations: the fastest, the slowest and all.
void WriteMatrix(const std::vector<Row>& rows, const std::unordered_map<std::string, Belongs>& belongs,
                 const std::vector<std::string>& order, SqliteEngine::Insert& table) {
  std::unordered_map<std::string, std::vector<const Row*>> of_operation;
  for (const Row& row : rows) of_operation[OperationOf(row)].push_back(&row);
  // By step, as the first of its operations comes; in it by sort and operation.
  struct OfStep {
    std::string step;
    std::array<std::vector<std::pair<std::string, Json>>, 2> operations;
  };
  std::vector<OfStep> steps;
  for (const std::string& operation : order) {
    const Belongs& its = belongs.at(operation);
    const auto links = of_operation.find(operation);
    if (links == of_operation.end() || its.sort.empty()) continue;
    auto step = std::ranges::find(steps, its.step, &OfStep::step);
    if (step == steps.end()) step = steps.insert(steps.end(), OfStep{its.step, {}});
    Json json = Json::object();
    for (const Row* link : links->second)
      json[TextOf(link->values[2]) + "-" + TextOf(link->values[3])] = {
          {kTransportType, JsonOf(link->values[4])},
          {kTransitSize, JsonOf(link->values[5])},
          {kTransitTime, JsonOf(link->values[6])},
          {kBandwidthRate, JsonOf(link->values[7])}};
    step->operations[its.sort == "p2p" ? 0 : 1].emplace_back(operation, std::move(json));
  }
  const auto member = [](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? Json() : *found;
  };
  for (const OfStep& step : steps) {
    for (size_t sort = 0; sort < step.operations.size(); ++sort) {
      std::vector<std::pair<std::string, const Json*>> operations;
      for (const auto& [name, json] : step.operations[sort]) operations.emplace_back(name, &json);
      const Json matrix = MatrixOf(operations);
      for (const auto& [name, links] : matrix.items()) {
        const size_t at = std::min(name.rfind('@'), name.size() - 1);
        for (const auto& [link, carried] : links.items()) {
          const size_t dash = std::min(link.find('-'), link.size() - 1);
          const Json transport = member(carried, kTransportType), size = member(carried, kTransitSize),
                     time = member(carried, kTransitTime), rate = member(carried, kBandwidthRate),
                     op = member(carried, kOpName);
          table.Append({std::string_view(name).substr(0, at), std::string_view(name).substr(at + 1),
                        std::string_view(link).substr(0, dash), std::string_view(link).substr(dash + 1),
                        ValueOf(transport), ValueOf(size), ValueOf(time), ValueOf(rate),
                        std::string_view(step.step), sort == 0 ? std::string_view("p2p") : "collective",
                        op.is_string() ? ValueOf(op) : DbValue(std::string_view())});
        }
      }
    }
  }
}

}  // namespace

void WriteStepTimes(const std::vector<StepTime>& times, SqliteEngine& analysis) {
  analysis.Run(
      "CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, computing NUMERIC, "
      "communication_not_overlapped "
      "NUMERIC, overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
      "communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC)");
  SqliteEngine::Insert rows = analysis.Into("StepTraceTime", 11);
  for (const StepTime& time : times) {
    const std::string step = std::to_string(time.step);
    rows.Append({time.device, time.step < 0 ? DbValue() : DbValue(std::string_view(step)), Us(time.computing),
                 Us(time.not_overlapped), Us(time.communication - time.not_overlapped),
                 Us(time.communication), Us(time.idle), Us(time.stage), Us(time.bubble),
                 Us(std::max<int64_t>(time.not_overlapped - time.bubble, 0)), Us(time.preparing)});
  }
}

uint64_t WriteCommunicationTables(SqliteEngine& analyzer, const std::vector<Step>& steps, bool as_vendor,
                                  SqliteEngine& analysis) {
  const int64_t slack = as_vendor ? 0 : kStampSlackNs;
  const std::vector<Row> bandwidths =
      ReadTable(analyzer, "CommAnalyzerBandwidth",
                "hccl_op_name, group_name, transport_type, transit_size, transit_time, bandwidth, "
                "large_packet_ratio, package_size, count, total_duration",
                10);
  const std::vector<Row> links = ReadTable(analyzer, "CommAnalyzerMatrix",
                                           "hccl_op_name, group_name, src_rank, dst_rank, transport_type, "
                                           "transit_size, transit_time, bandwidth",
                                           8);
  const std::vector<Row> times =
      ReadTable(analyzer, "CommAnalyzerTime",
                "hccl_op_name, group_name, start_timestamp, elapse_time, transit_time, "
                "wait_time, synchronization_time, idle_time",
                8);
  analysis.Run(
      "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, "
      "transit_size "
      "NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, "
      "count "
      "NUMERIC, total_duration NUMERIC, step TEXT, type TEXT)");
  analysis.Run(
      "CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, "
      "transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type "
      "TEXT, "
      "op_name TEXT)");
  analysis.Run(
      "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, "
      "elapse_time "
      "NUMERIC, transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, "
      "step "
      "TEXT, type TEXT)");
  SqliteEngine::Insert of_bandwidths = analysis.Into("CommAnalyzerBandwidth", 12),
                       of_links = analysis.Into("CommAnalyzerMatrix", 11),
                       of_times = analysis.Into("CommAnalyzerTime", 10);
  std::unordered_map<std::string, std::vector<const Row*>> of_operation;
  for (const Row& row : bandwidths) of_operation[OperationOf(row)].push_back(&row);
  std::unordered_map<std::string, Belongs> belongs;
  std::vector<std::string> order;
  uint64_t outside = 0;
  for (const Row& row : times) {
    const std::string operation = OperationOf(row);
    const std::optional<int64_t> ns = NsOf(row.values[2]);
    const auto holds = [&ns, slack](const Step& step) {
      return ns && step.device_begin - slack <= *ns && *ns - slack <= step.device_end;
    };
    const auto step = std::ranges::find_if(steps, holds);
    if (step == steps.end()) {
      ++outside;
      continue;
    }
    const Belongs its{NameOf(*step), SortOf(operation)};
    AppendWith(of_times, row, its);
    if (belongs.emplace(operation, its).second) order.push_back(operation);
    for (const Row* bandwidth : of_operation[operation]) AppendWith(of_bandwidths, *bandwidth, its);
  }
  WriteMatrix(links, belongs, order, of_links);
  return outside;
}

}  // namespace profd::client::framework
