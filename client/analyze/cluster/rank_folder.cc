#include "client/analyze/cluster/rank_folder.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/calendar.h"
#include "client/export/write/output_file.h"

namespace profd::analyze {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;
using Json = nlohmann::ordered_json;

Json MetadataJson(const Analysis& analysis, const Rank& of) {
  Json metadata = Json::object();
  if (!of.environment.empty()) metadata["ENV_VARIABLES"] = of.environment;
  for (const auto& [name, value] : of.metadata) {
    Json json = Json::parse(value, nullptr, false);
    metadata[name] = json.is_discarded() ? Json(value) : std::move(json);
  }
  Json groups = Json::object();
  for (const auto& [id, group] : analysis.context().groups) {
    const std::string name(analysis.job().Text(id));
    const std::vector<int64_t> ranks = RanksOf(analysis.job(), group, name);
    const auto own = std::ranges::find(ranks, of.number);
    if (own == ranks.end()) continue;
    groups[name] = {{"group_name", group.role}, {"group_rank", own - ranks.begin()}, {"global_ranks", ranks}};
  }
  metadata["parallel_group_info"] = std::move(groups);
  return metadata;
}

}  // namespace

std::string Dumped(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<int64_t> RanksOf(const Job& job, const GroupOf& group, const std::string& name) {
  for (const uint32_t r : group.ranks) {
    const auto known = job.ranks[r].groups.find(name);
    if (known == job.ranks[r].groups.end() || known->second.ranks.empty()) continue;
    std::vector<int64_t> ranks = known->second.ranks;
    std::ranges::sort(ranks);
    return ranks;
  }
  std::vector<int64_t> ranks;
  ranks.reserve(group.ranks.size());
  for (const uint32_t r : group.ranks) ranks.push_back(job.ranks[r].number);
  std::ranges::sort(ranks);
  return ranks;
}

std::string FolderName(const Rank& rank) {
  const uint64_t begin = rank.tasks.empty() ? 0 : static_cast<uint64_t>(rank.tasks.front().begin);
  std::string node = rank.node.empty() ? "node" : rank.node;
  // A name of a folder, whatever the node calls itself; the tool takes the stamp by its place between "_".
  for (char& c : node) {
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '.' && c != '-')
      c = '-';
  }
  return node.substr(0, 64) + "_" + std::to_string(rank.number) + "_" +
         base::UtcText(begin, "%Y%m%d%H%M%S000") + "_ascend_pt";
}

Status WriteFile(const std::string& path, std::string_view text, std::vector<std::string>& files) {
  PROFD_ASSIGN_OR_RETURN(const auto file, client::OutputFile::Create(path));
  file->Append(text);
  PROFD_RETURN_IF_ERROR(file->Finish());
  files.push_back(path);
  return {};
}

Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return {Code::kPermissionDenied, path + ": cannot be made: " + error.message()};
  return {};
}

Status MakeRankFolder(const Analysis& analysis, const Rank& rank, const std::string& folder,
                      std::vector<std::string>& files) {
  PROFD_RETURN_IF_ERROR(MakeFolder(folder + "/" + kRankResults));
  PROFD_RETURN_IF_ERROR(WriteFile(folder + "/profiler_info_" + std::to_string(rank.number) + ".json",
                                  Dumped({{"rank_id", rank.number}}), files));
  return WriteFile(folder + "/profiler_metadata.json", Dumped(MetadataJson(analysis, rank)), files);
}

}  // namespace profd::analyze
