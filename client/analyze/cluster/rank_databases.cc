#include "client/analyze/cluster/rank_databases.h"

#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "client/analyze/cluster/collective_ops.h"
#include "client/analyze/cluster/rank_folder.h"
#include "client/analyze/cluster/rank_texts.h"
#include "client/analyze/cluster/vendor_tables.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;
using base::Status;
using client::DbValue;

std::string_view TypeOf(const Op& op) { return op.is_pair ? "p2p" : "collective"; }

constexpr char kFolder[] = "analyze", kDatabase[] = "communication_analyzer.db";

void AddTimes(VendorTables& database, const std::vector<Op>& ops) {
  auto* times = database.Add(
      "CommAnalyzerTime",
      "hccl_op_name TEXT,group_name TEXT,start_timestamp NUMERIC,elapse_time NUMERIC,transit_time "
      "NUMERIC,wait_time NUMERIC,synchronization_time NUMERIC,idle_time NUMERIC,step TEXT,type TEXT");
  auto* rates = database.Add(
      "CommAnalyzerBandwidth",
      "hccl_op_name TEXT,group_name TEXT,transport_type TEXT,transit_size NUMERIC,transit_time NUMERIC,"
      "bandwidth NUMERIC,large_packet_ratio NUMERIC,package_size NUMERIC,count NUMERIC,total_duration "
      "NUMERIC,step TEXT,type TEXT");
  for (const Op& op : ops) {
    const double wait = static_cast<double>(op.wait) / kMs, transit = static_cast<double>(op.transit) / kMs,
                 mb = static_cast<double>(op.bytes) / kMb;
    const std::string_view name = op.name, group = op.group, step = op.step, type = TypeOf(op);
    database.Append(times, {name, group, static_cast<double>(op.begin) / kUs,
                            static_cast<double>(op.elapsed) / kMs, transit, wait, wait, 0.0, step, type});
    database.Append(rates, {name, group, std::string_view(op.transport), mb, transit,
                            transit > 0 ? mb / transit : 0.0, mb > 0 ? 1 : 0, mb, 1, transit, step, type});
  }
}

// Whose database it is like: a collector's names each collective, a framework's the sort of them and one that
// stands for it.
enum class NamesOf : bool { kCollector, kFramework };

// Who sent what to whom is known of pairs only. By the row of itself, of each sort of collective one, the
// analyser knows which of the group's ranks this one is.
void AddLinks(VendorTables& database, const std::vector<Op>& ops, NamesOf names) {
  const bool of_framework = names == NamesOf::kFramework;
  auto* links = database.Add(
      "CommAnalyzerMatrix",
      "hccl_op_name TEXT,group_name TEXT,src_rank TEXT,dst_rank TEXT,transit_size NUMERIC,transit_time "
      "NUMERIC,bandwidth NUMERIC,transport_type TEXT,step TEXT,type TEXT" +
          std::string(of_framework ? ",op_name TEXT" : ""));
  const auto add = [&](const Op& op, std::string_view link, double mb, double transit,
                       std::string_view transport) {
    const size_t dash = link.find('-');
    const std::string name = of_framework ? op.type + "-total" : op.name;
    const DbValue row[] = {std::string_view(name),
                           std::string_view(op.group),
                           link.substr(0, dash),
                           link.substr(dash + 1),
                           mb,
                           transit,
                           transit > 0 ? mb / transit : 0.0,
                           transport,
                           std::string_view(op.step),
                           TypeOf(op),
                           std::string_view(op.name)};
    database.Append(links, std::span(row).first(std::size(row) - (of_framework ? 0 : 1)));
  };
  std::set<std::pair<std::string_view, std::string_view>> told;
  for (const Op& op : ops) {
    if (told.emplace(op.group, op.type).second) add(op, op.own, 0, 0, "LOCAL");
    if (!op.link.empty())
      add(op, op.link, static_cast<double>(op.bytes) / kMb, static_cast<double>(op.transit) / kMs,
          op.transport);
  }
}

void AddSteps(VendorTables& database, const Table& steps, const Rank& rank) {
  auto* table = database.Add(
      "StepTraceTime",
      "deviceId INTEGER,step TEXT,computing NUMERIC,communication_not_overlapped NUMERIC,overlapped NUMERIC,"
      "communication NUMERIC,free NUMERIC,stage NUMERIC,bubble NUMERIC,"
      "communication_not_overlapped_and_exclude_receive NUMERIC,preparing NUMERIC");
  for (const auto& row : steps.rows) {
    if (std::get<int64_t>(row[0]) != rank.number) continue;
    const auto number = [&row](size_t i) { return std::get<double>(row[i]); };
    const std::string step = std::to_string(std::get<int64_t>(row[1]));
    database.Append(table, {rank.device, std::string_view(step), number(3), number(4), number(5), number(6),
                            number(7), number(8), number(9), number(10), number(11)});
  }
}

Status WriteDatabase(const Rank& rank, const std::vector<Op>& ops, const Table& steps, NamesOf names,
                     const std::string& path) {
  // Its rows come from start to end, into a file that is there and empty.
  std::vector<std::string> made;
  PROFD_RETURN_IF_ERROR(WriteFile(path, "", made));
  VendorTables database(path);
  AddTimes(database, ops);
  AddLinks(database, ops, names);
  AddSteps(database, steps, rank);
  return database.Finish();
}

// The timeline that was exported beside the database; "": none was, or in several pieces.
fs::path TimelineIn(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory / "mindstudio_profiler_output", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("msprof_") && name.ends_with(".json")) found.push_back(entry.path());
  }
  return found.size() == 1 ? found.front() : fs::path();
}

Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return {};
  return {Code::kFailedPrecondition, to.string() + ": cannot be made: " + error.message() +
                                         "; if an earlier export made it, choose another --out"};
}

}  // namespace

Result<std::vector<std::string>> WriteRankDatabases(const Analysis& analysis) {
  const Table steps = StepsTable(analysis);
  std::vector<std::string> files;
  for (size_t r = 0; r < analysis.job().ranks.size(); ++r) {
    const std::string folder = (fs::path(analysis.job().ranks[r].source).parent_path() / kFolder).string();
    PROFD_RETURN_IF_ERROR(MakeFolder(folder));
    files.push_back(folder + "/" + kDatabase);
    PROFD_RETURN_IF_ERROR(
        WriteDatabase(analysis.job().ranks[r], OpsOf(analysis, r), steps, NamesOf::kCollector, files.back()));
  }
  return files;
}

Result<std::vector<std::string>> WriteRankFolders(const Analysis& analysis, const std::string& out) {
  const Table steps = StepsTable(analysis);
  std::vector<std::string> files;
  for (size_t r = 0; r < analysis.job().ranks.size(); ++r) {
    const Rank& rank = analysis.job().ranks[r];
    const std::string folder = out + "/" + FolderName(rank), results = folder + "/" + kRankResults;
    PROFD_RETURN_IF_ERROR(MakeRankFolder(analysis, rank, folder, files));
    const fs::path database(rank.source), directory = database.parent_path();
    const auto take = [&](const fs::path& from, const std::string& name) {
      files.push_back(results + "/" + name);
      return Move(from, files.back());
    };
    PROFD_RETURN_IF_ERROR(take(database, "ascend_pytorch_profiler_" + std::to_string(rank.number) + ".db"));
    if (const fs::path timeline = TimelineIn(directory); !timeline.empty())
      PROFD_RETURN_IF_ERROR(take(timeline, "trace_view.json"));
    PROFD_RETURN_IF_ERROR(Move(directory, fs::path(folder) / directory.filename()));
    const std::vector<Op> ops = OpsOf(analysis, r);
    files.push_back(results + "/analysis.db");
    PROFD_RETURN_IF_ERROR(WriteDatabase(rank, ops, steps, NamesOf::kFramework, files.back()));
    PROFD_RETURN_IF_ERROR(WriteRankTexts(rank, steps, ops, MatrixOf(analysis, r, ops), results, files));
  }
  return files;
}

}  // namespace profd::analyze
