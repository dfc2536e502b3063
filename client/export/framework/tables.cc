#include "client/export/framework/tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "client/export/framework/input/csv_rows.h"
#include "client/export/framework/input/trace_file.h"

namespace profd::client::framework {
namespace {

using base::Status;

// As msprof's op_summary has them, and as kernel_details has.
struct Renamed {
  std::string_view from, to;
};
constexpr Renamed kKernelColumns[] = {{"Device_id", "Device_id"},
                                      {"Op Name", "Name"},
                                      {"OP Type", "Type"},
                                      {"Task Type", "Accelerator Core"},
                                      {"Task Start Time(us)", "Start Time(us)"},
                                      {"Task Duration(us)", "Duration(us)"},
                                      {"Task Wait Time(us)", "Wait Time(us)"},
                                      {"Block Num", "Block Num"}};
constexpr std::string_view kShapeColumns[] = {"Input Shapes",  "Input Data Types",  "Input Formats",
                                              "Output Shapes", "Output Data Types", "Output Formats"};

// Sums of floating-point numbers have digits that nobody measured.
void WriteUs(CsvFile& table, bool has_any, double us, bool as_vendor) {
  if (!has_any) return table.Int(0);
  as_vendor ? table.Shortest(us) : table.Rounded(us);
}

std::string Header(const std::vector<std::string>& names, std::string_view step = "") {
  std::string header(step);
  for (const std::string& name : names) {
    if (!header.empty()) header += ',';
    header += name;
  }
  return header;
}

// What kernel_details takes of op_summary: numbers of columns, and their new names.
struct KernelColumns {
  std::vector<size_t> from;
  std::vector<std::string> names;
};
KernelColumns ColumnsOf(const CsvRows& rows, const Folder& folder) {
  KernelColumns columns;
  const bool is_level0 = folder.IsLevel0() && !folder.is_mindspore;
  const auto add = [&columns](size_t from, std::string_view name) {
    columns.from.push_back(from);
    columns.names.emplace_back(name);
  };
  if (is_level0) {
    for (const Renamed& renamed : kKernelColumns) add(rows.Column(renamed.from), renamed.to);
    for (const std::string_view name : kShapeColumns) {
      if (rows.Column(name) < rows.header().size()) add(rows.Column(name), name);
    }
    return columns;
  }
  static constexpr std::string_view kNotAtLevel0[] = {
      "Mix Block Num", "Mix Block Dim", "HF32 Eligible",  "Input Shapes",      "Input Data Types",
      "Input Formats", "Output Shapes", "Output Formats", "Output Data Types", "Context ID"};
  for (size_t i = 0; i < rows.header().size(); ++i) {
    const std::string_view column = rows.header()[i];
    if (folder.is_mindspore &&
        (column == "Device_id" || (folder.IsLevel0() && std::ranges::count(kNotAtLevel0, column) > 0)))
      continue;
    const auto renamed =
        std::ranges::find(kKernelColumns, std::string_view(rows.header()[i]), &Renamed::from);
    add(i, renamed == std::end(kKernelColumns) ? std::string_view(rows.header()[i]) : renamed->to);
  }
  return columns;
}

// The first step that has it. In the vendor's eyes one that ends at that moment is over, as it compares texts
// and a tab is behind the kernel's.
const Step* StepAt(const std::vector<Step>& steps, int64_t ns, bool as_vendor) {
  const auto has = [ns, as_vendor](const Step& step) {
    return step.device_begin <= ns && (as_vendor ? ns < step.device_end : ns <= step.device_end);
  };
  const auto found = std::ranges::find_if(steps, has);
  return found == steps.end() ? nullptr : &*found;
}

// Times of one device in one step, in µs: as_vendor as floating-point numbers since 1970, of which a quarter
// of a µs is the least part, else from a moment nearby.
struct StepTimes {
  std::array<double, 5> sums{};  // by Piece::Of
  std::array<bool, 5> has{};
  std::optional<double> begin, end, first;

  void Add(const Piece& piece, double at) {
    sums[static_cast<size_t>(piece.of)] += piece.us;
    has[static_cast<size_t>(piece.of)] = true;
    begin = std::min(begin.value_or(at), at);
    end = std::max(end.value_or(at + piece.us), at + piece.us);
    if (piece.of == Piece::Of::kComputing || piece.of == Piece::Of::kCommunication)
      first = std::min(first.value_or(at), at);
  }
};

}  // namespace

namespace {

constexpr char kOperators[] = "operator_details.csv";

Status WriteShapes(const Calls& calls, Results& results) {
  PROFD_ASSIGN_OR_RETURN(const std::unique_ptr<CsvFile> table,
                         results.OpenTable(kOperators, "Name,Input Shapes"));
  for (const Shapes& one : calls.shapes) {
    table->Text(calls.texts.Get(one.name));
    table->Text(calls.texts.Get(one.shapes));
    table->End();
  }
  return results.Finish(*table, kOperators);
}

}  // namespace

Status WriteOperatorDetails(const Folder& folder, const Calls& calls, const Tree& tree, const Links& links,
                            Results& results) {
  if (folder.is_mindspore) return WriteShapes(calls, results);
  const char* const kName = kOperators;
  PROFD_ASSIGN_OR_RETURN(
      const std::unique_ptr<CsvFile> table,
      results.OpenTable(
          kName,
          "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),Device Self "
          "Duration(us),Device Total Duration(us),Device Self Duration With AICore(us),Device Total "
          "Duration With AICore(us)"));
  const auto of = [](const std::unordered_map<Ref, DeviceTime>& times, Ref op) {
    const auto found = times.find(op);
    return found == times.end() ? DeviceTime() : found->second;
  };
  Lines lines(calls.texts);
  for (const Ref i : tree.order) {
    const Op& op = calls.ops[i];
    const std::string_view name = calls.NameOf(op);
    if (name.find("ProfilerStep#") != name.npos) continue;
    table->Text(name);
    table->Text(lines.Get(calls.RestOf(op).dims));
    table->Text(lines.Get(calls.RestOf(op).stack));
    table->Shortest(Us(op.ns() - tree.InsideNs(i)));
    table->Shortest(Us(op.ns()));
    const DeviceTime own = of(links.own, i), total = of(links.total, i);
    WriteUs(*table, own.has_any, own.us, results.as_vendor());
    WriteUs(*table, total.has_any, total.us, results.as_vendor());
    WriteUs(*table, own.has_core, own.core_us, results.as_vendor());
    WriteUs(*table, total.has_core, total.core_us, results.as_vendor());
    table->End();
  }
  return results.Finish(*table, kName);
}

Status WriteKernelDetails(const Folder& folder, const CannFiles& cann, const Calls& calls,
                          const DeviceSide& device, const Links& links, Results& results, Report& report) {
  constexpr char kName[] = "kernel_details.csv";
  const std::vector<Step>& steps = links.steps;
  std::unordered_map<int64_t, Ref> operators;  // by the begins of their kernels
  if (folder.is_mindspore) {
    for (const Link& link : links.links) operators.emplace(device.kernels[link.kernel].ns, link.op);
  }
  std::unique_ptr<CsvFile> table;
  for (const std::string& name : cann.Of("op_summary")) {
    CsvRows rows(cann, name, report);
    const KernelColumns columns = ColumnsOf(rows, folder);
    const size_t start = rows.Column("Task Start Time(us)"), named = rows.Column("Op Name");
    if (!table) {
      const char* const step = steps.empty() ? "" : folder.is_mindspore ? "Step ID" : "Step Id";
      PROFD_ASSIGN_OR_RETURN(table, results.OpenTable(kName, Header(columns.names, step)));
    }
    while (rows.Next()) {
      const auto ns = NsOfMicroseconds(rows.Cell(start));
      if (!steps.empty()) {
        const Step* step = ns ? StepAt(steps, *ns, results.as_vendor()) : nullptr;
        step == nullptr ? table->Plain("") : table->Int(step->number);
      }
      const auto op = ns ? operators.find(*ns) : operators.end();
      for (const size_t column : columns.from) {
        if (column == named && op != operators.end()) {
          table->Text(std::string(calls.NameOf(calls.ops[op->second])) + "/" +
                      std::string(rows.Cell(column)));
        } else {
          table->Text(rows.Cell(column));
        }
      }
      table->End();
    }
  }
  return table ? results.Finish(*table, kName) : Status();
}

Status WriteStepTrace(const Folder& folder, const Calls& calls, const std::vector<Piece>& pieces,
                      const std::vector<Step>& steps, Results& results) {
  constexpr char kName[] = "step_trace_time.csv";
  const auto is_overlap = [](const Piece& piece) { return piece.of != Piece::Of::kReceive; };
  if (std::ranges::none_of(pieces, is_overlap)) return {};
  int64_t base = 0;
  if (!results.as_vendor()) base = std::ranges::min_element(pieces, {}, &Piece::ns)->ns;
  const auto at = [base](int64_t ns) { return Us(ns - base); };
  std::map<std::pair<int, size_t>, StepTimes> times;  // by device and step; without steps all is one
  for (const Piece& piece : pieces) {
    const auto holds = [&](const Step& step) {
      const double begin = at(piece.ns);
      return at(step.device_begin) <= begin && begin < at(step.device_end);
    };
    const auto step = std::ranges::find_if(steps, holds);
    if (step == steps.end() && !steps.empty()) continue;
    times[{piece.device, static_cast<size_t>(step - steps.begin())}].Add(piece, at(piece.ns));
  }
  std::vector<std::pair<std::pair<int, size_t>, StepTimes>> rows(times.begin(), times.end());
  std::ranges::stable_sort(rows, {}, [&steps](const auto& row) {
    const auto& [device, step] = row.first;
    return std::pair(device, step < steps.size() ? steps[step].number : 0);
  });
  std::optional<int64_t> first_call;
  for (const Op& op : calls.ops) first_call = std::min(first_call.value_or(op.begin), op.begin);
  PROFD_ASSIGN_OR_RETURN(
      const std::unique_ptr<CsvFile> table,
      results.OpenTable(
          kName, std::string(folder.is_mindspore ? "" : "Device_id,") +
                     "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,"
                     "Bubble,Communication(Not Overlapped and Exclude Receive),Preparing"));
  // The vendor's has 0 for what no piece was of.
  const auto write = [&table, &results](bool has, double us) {
    if (!results.as_vendor()) return table->Rounded(us);
    has ? table->Shortest(us) : table->Int(0);
  };
  for (const auto& [key, row] : rows) {
    const bool has_step = key.second < steps.size();
    if (!folder.is_mindspore) table->Int(key.first);
    has_step ? table->Int(steps[key.second].number) : table->Plain("");
    using Of = Piece::Of;
    const auto sum = [&row = row](Of of) { return row.sums[static_cast<size_t>(of)]; };
    const auto has = [&row = row](Of of) { return row.has[static_cast<size_t>(of)]; };
    const double receive = sum(Of::kReceive), alone = sum(Of::kNotOverlapped) - receive;
    write(has(Of::kComputing), sum(Of::kComputing));
    write(has(Of::kNotOverlapped), sum(Of::kNotOverlapped));
    write(has(Of::kCommunication) || has(Of::kNotOverlapped),
          sum(Of::kCommunication) - sum(Of::kNotOverlapped));
    write(has(Of::kCommunication), sum(Of::kCommunication));
    write(has(Of::kFree), sum(Of::kFree));
    write(true, row.end.value_or(0) - row.begin.value_or(0) - receive);
    write(has(Of::kReceive), receive);
    write((has(Of::kNotOverlapped) || has(Of::kReceive)) && alone >= 0, std::max(alone, 0.0));
    const std::optional<int64_t> begin = has_step ? std::optional(steps[key.second].begin) : first_call;
    // Without a task that it waits for the vendor's has -1 in its place.
    const double first = row.first ? *row.first : results.as_vendor() ? -1.0 : begin ? at(*begin) : 0;
    write(begin.has_value(), begin ? first - at(*begin) : 0);
    table->End();
  }
  return results.Finish(*table, kName);
}

Status PassOn(const Folder& folder, const CannFiles& cann, Results& results, Report& report) {
  const bool level1 = folder.info.level == "Level1", level2 = folder.info.level == "Level2";
  const bool of_mindspore = folder.is_mindspore;  // passes on whatever there is
  const bool any = !of_mindspore && (folder.IsLevel0() || level1 || level2);
  struct Passed {
    std::string_view stem;
    std::string name;
    bool is_wanted;
  };
  const Passed all[] = {{"aicpu", "data_preprocess.csv", level2 || of_mindspore},
                        {"op_statistic", "op_statistic.csv", level1 || level2 || of_mindspore},
                        {"api_statistic", "api_statistic.csv", level1 || level2 || of_mindspore},
                        {"static_op_mem", "static_op_mem.csv", of_mindspore},
                        {"hbm", "hbm.csv", of_mindspore},
                        {"npu_module_mem", "npu_module_mem.csv", any},
                        {"task_time", "task_time.csv", any},
                        {"l2_cache", "l2_cache.csv", folder.info.l2_cache || of_mindspore},
                        {"soc_pmu", "soc_pmu.csv", folder.info.l2_cache},
                        {"nic", "nic.csv", folder.info.sys_io || of_mindspore},
                        {"roce", "roce.csv", folder.info.sys_io || of_mindspore},
                        {"pcie", "pcie.csv", folder.info.sys_interconnection || of_mindspore},
                        {"hccs", "hccs.csv", folder.info.sys_interconnection || of_mindspore}};
  for (const Passed& passed : all) {
    if (!passed.is_wanted) continue;
    std::unique_ptr<CsvFile> table;
    for (const std::string& name : cann.Of(passed.stem)) {
      CsvRows rows(cann, name, report);
      const size_t kb =
          passed.stem == "npu_module_mem" ? rows.Column("Total Reserved(KB)") : rows.header().size();
      std::vector<std::string> header = rows.header();
      if (kb < header.size()) header[kb] = "Total Reserved(MB)";
      if (!table) {
        PROFD_ASSIGN_OR_RETURN(table, results.OpenTable(passed.name, Header(header)));
      }
      while (rows.Next()) {
        for (size_t i = 0; i < header.size(); ++i) {
          i == kb ? table->Shortest(Number(rows.Cell(i)) / 1024) : table->Text(rows.Cell(i));
        }
        table->End();
      }
    }
    if (table) PROFD_RETURN_IF_ERROR(results.Finish(*table, passed.name));
  }
  return {};
}

}  // namespace profd::client::framework
