// The files of `msprof --analyze`.
#include <cstdio>
#include <memory>
#include <string_view>

#include "client/export/db/sqlite_engine.h"
#include "client/export/db/sqlite_file.h"
#include "client/export/framework/analyzer/collective_parts.h"
#include "client/export/write/output_file.h"
#include "client/files/own_folder.h"

namespace profd::client::framework {
namespace {

using base::Result;
using base::Status;

constexpr char kTimeInfo[] = "Communication Time Info", kBandwidthInfo[] = "Communication Bandwidth Info";

DbValue Value(const Json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return std::string_view(json.get_ref<const std::string&>());
  return {};
}

Status WriteJson(const Json& json, const std::string& path) {
  PROFD_ASSIGN_OR_RETURN(const auto file, OutputFile::Create(path));
  file->Append(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return file->Finish();
}

// "operation@group"
std::pair<std::string_view, std::string_view> Apart(std::string_view name) {
  const size_t at = name.find('@');
  return {name.substr(0, at), at == name.npos ? std::string_view() : name.substr(at + 1)};
}

void WriteTimes(const Json& all, SqliteEngine& engine) {
  engine.Run(
      "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, "
      "elapse_time "
      "NUMERIC, transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC)");
  engine.Run(
      "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, "
      "transit_size "
      "NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, "
      "count "
      "NUMERIC, total_duration NUMERIC)");
  SqliteEngine::Insert times = engine.Into("CommAnalyzerTime", 8),
                       rates = engine.Into("CommAnalyzerBandwidth", 10);
  for (const auto& [name, operation] : all.items()) {
    const auto [op, group] = Apart(name);
    std::vector<DbValue> row{op, group};
    for (const auto& [key, value] : operation[kTimeInfo].items())
      if (key.find("Ratio") == key.npos) row.push_back(Value(value));
    times.Append(row);
    for (const auto& [transport, carried] : operation[kBandwidthInfo].items()) {
      std::vector<DbValue> sums;
      double sum = 0;
      for (const auto& [key, value] : carried.items()) {
        if (!value.is_number()) continue;
        sums.push_back(Value(value));
        sum += value.get<double>();
      }
      if (sum == 0) continue;
      const auto append = [&, &op = op, &group = group, &transport = transport](
                              const DbValue& size, const DbValue& count, const DbValue& ms) {
        std::vector<DbValue> of_size{op, group, std::string_view(transport)};
        of_size.insert(of_size.end(), sums.begin(), sums.end());
        of_size.insert(of_size.end(), {size, count, ms});
        rates.Append(of_size);
      };
      const Json& sizes = carried["Size Distribution"];
      for (const auto& [size, packets] : sizes.items())
        append(std::string_view(size), Value(packets[0]), Value(packets[1]));
      if (sizes.empty()) append(0, 0, 0);
    }
  }
}

void WriteLinks(const Json& all, SqliteEngine& engine) {
  engine.Run(
      "CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, "
      "transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC)");
  SqliteEngine::Insert rows = engine.Into("CommAnalyzerMatrix", 8);
  for (const auto& [name, links] : all.items()) {
    const auto [op, group] = Apart(name);
    for (const auto& [link, carried] : links.items()) {
      const std::string_view ends = link;
      std::vector<DbValue> row{op, group, ends.substr(0, ends.find('-')), ends.substr(ends.find('-') + 1)};
      for (const auto& [key, value] : carried.items()) row.push_back(Value(value));
      rows.Append(row);
    }
  }
}

}  // namespace

Result<std::vector<std::string>> AnalyzeCollectives(const std::string& directory, Told told,
                                                    Progress& progress) {
  CollectiveParts parts(told);
  ExportOptions options;
  options.formats.clear();
  options.companions = {&parts};
  PROFD_ASSIGN_OR_RETURN(ExportResult result, Export(directory, options, progress));
  if (parts.empty()) return std::vector<std::string>();
  const std::string shown = directory.substr(0, directory.find_last_not_of('/') + 1) + "/" + kAnalyzeFolder;
  PROFD_ASSIGN_OR_RETURN(const base::UniqueFd way, OpenWay(directory, IfMissing::kFail));
  PROFD_ASSIGN_OR_RETURN(const base::UniqueFd folder,
                         OpenOwnFolder(way.get(), kAnalyzeFolder, shown, FolderOwner::kCallerOrParent));
  return WriteAnalysis(parts, folder, shown, result.report);
}

Result<std::vector<std::string>> WriteAnalysis(const CollectiveParts& parts, const base::UniqueFd& folder,
                                               const std::string& shown, Report& report) {
  const CollectiveParts::Analysis analysis = parts.Analyze();
  report.Note(kAnalyzeFolder, analysis.without_main, "collective has no task on its main plane",
              "collectives have no task on their main plane");
  if (parts.left_out() > 0)
    report.Skip({kAnalyzeFolder, 0, 0, parts.left_out(), "tasks of collectives are too many for the memory"});
  const std::string path = PathOf(folder) + "/";
  PROFD_RETURN_IF_ERROR(WriteJson(analysis.times, path + kCommunicationJson));
  PROFD_RETURN_IF_ERROR(WriteJson(analysis.matrix, path + kMatrixJson));
  const std::string database = path + kAnalyzerDatabase, part = database + ".part";
  {
    PROFD_ASSIGN_OR_RETURN(const auto empty, OutputFile::Create(part));
    PROFD_RETURN_IF_ERROR(empty->Finish());
  }
  SqliteEngine engine(part);
  engine.Run("BEGIN");
  WriteTimes(analysis.times, engine);
  WriteLinks(analysis.matrix, engine);
  engine.Run("COMMIT");
  Status status = engine.status();
  if (status.ok() && std::rename(part.c_str(), database.c_str()) != 0)
    status = Status::FromErrno("rename " + part);
  if (!status.ok()) {
    std::remove(part.c_str());
    return status;
  }
  std::vector<std::string> files;
  for (const char* const name : {kCommunicationJson, kMatrixJson, kAnalyzerDatabase})
    files.push_back(shown + "/" + name);
  return files;
}

}  // namespace profd::client::framework
