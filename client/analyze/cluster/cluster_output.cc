#include "client/analyze/cluster/cluster_output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "base/calendar.h"
#include "base/join.h"
#include "client/analyze/cluster/collective_ops.h"
#include "client/analyze/cluster/rank_folder.h"
#include "client/analyze/cluster/rank_texts.h"
#include "client/analyze/cluster/vendor_tables.h"
#include "client/analyze/tables/tables.h"
#include "client/export/write/output_file.h"

namespace profd::analyze {
namespace {

using base::Result;
using base::Status;
using client::DbValue;

constexpr char kOutput[] = "cluster_analysis_output",
               kDatabase[] = "cluster_analysis_output/cluster_analysis.db";

constexpr char kDistributedArgs[] = "distributed_args";
constexpr size_t kStepColumns = 9;  // times of ClusterStepTraceTime

// Of parallel groups in Megatron's order: neighbours are a tensor's, then come those of the data, then
// stages.
struct Sizes {
  int64_t tensor = 1, pipeline = 1, world = 0;

  struct Place {
    int64_t dp = 0, pp = 0, tp = 0;
  };
  Place PlaceOf(int64_t rank) const {
    const int64_t in_stage = world / pipeline;
    return {rank % in_stage / tensor, rank / in_stage, rank % tensor};
  }
};
std::optional<Sizes> SizesOf(const Job& job) {
  Sizes sizes;
  for (const Rank& rank : job.ranks) {
    const auto args = rank.metadata.find(kDistributedArgs);
    if (args == rank.metadata.end()) continue;
    const auto json = nlohmann::ordered_json::parse(args->second, nullptr, false);
    const auto take = [&json](const char* name, int64_t& size) {
      const auto found = json.is_object() ? json.find(name) : json.end();
      if (found != json.end() && found->is_number_integer()) size = found->get<int64_t>();
    };
    sizes.world = static_cast<int64_t>(job.ranks.size());
    take("tensor_model_parallel_size", sizes.tensor);
    take("pipeline_model_parallel_size", sizes.pipeline);
    take("world_size", sizes.world);
    break;
  }
  constexpr int64_t kMost = 1 << 24;
  const auto is_size = [](int64_t size) { return size > 0 && size <= kMost; };
  if (!is_size(sizes.tensor) || !is_size(sizes.pipeline) || !is_size(sizes.world) ||
      sizes.world % (sizes.tensor * sizes.pipeline) != 0)
    return std::nullopt;
  const bool are_all_in = std::ranges::all_of(
      job.ranks, [&sizes](const Rank& rank) { return rank.number >= 0 && rank.number < sizes.world; });
  return are_all_in ? std::optional(sizes) : std::nullopt;
}

class Writer {
 public:
  Writer(const Analysis& analysis, const std::string& folder)
      : analysis_(analysis),
        job_(analysis.job()),
        folder_(folder),
        steps_(StepsTable(analysis)),
        database_(folder + "/" + kDatabase) {
    times_ = database_.Add(
        "ClusterCommunicationTime",
        "step TEXT,rank_id INTEGER,hccl_op_name TEXT,group_name TEXT,start_timestamp NUMERIC,elapsed_time "
        "NUMERIC,transit_time NUMERIC,wait_time NUMERIC,synchronization_time NUMERIC,idle_time NUMERIC,"
        "synchronization_time_ratio NUMERIC,wait_time_ratio NUMERIC");
    rates_ = database_.Add(
        "ClusterCommunicationBandwidth",
        "step TEXT,rank_id INTEGER,hccl_op_name TEXT,group_name TEXT,band_type TEXT,transit_size NUMERIC,"
        "transit_time NUMERIC,bandwidth NUMERIC,large_packet_ratio NUMERIC,package_size NUMERIC,count "
        "NUMERIC,"
        "total_duration NUMERIC");
    matrix_ = database_.Add(
        "ClusterCommunicationMatrix",
        "step TEXT,hccl_op_name TEXT,group_name TEXT,src_rank TEXT,dst_rank TEXT,transit_size NUMERIC,"
        "transit_time NUMERIC,bandwidth NUMERIC,transport_type TEXT,op_name TEXT");
  }

  Result<std::vector<std::string>> Write() {
    files_.push_back(folder_ + "/" + kDatabase);
    AddBase();
    AddGroups();
    AddSteps();
    AddRanks();
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      const std::vector<Op> ops = OpsOf(analysis_, r);
      const Matrix matrix = MatrixOf(analysis_, r, ops);
      PROFD_RETURN_IF_ERROR(WriteRank(r, ops, matrix));
      AddTimes(job_.ranks[r].number, ops);
      AddMatrix(matrix);
    }
    PROFD_RETURN_IF_ERROR(database_.Finish());
    return std::move(files_);
  }

 private:
  Status WriteRank(size_t r, const std::vector<Op>& ops, const Matrix& matrix) {
    const Rank& rank = job_.ranks[r];
    const std::string folder = folder_ + "/" + FolderName(rank), results = folder + "/" + kRankResults;
    PROFD_RETURN_IF_ERROR(MakeRankFolder(analysis_, rank, folder, files_));
    return WriteRankTexts(rank, steps_, ops, matrix, results, files_);
  }

  void AddSteps() {
    auto* table = database_.Add("ClusterStepTraceTime",
                                "step TEXT,type TEXT,\"index\" TEXT,computing "
                                "NUMERIC,communication_not_overlapped NUMERIC,overlapped "
                                "NUMERIC,communication NUMERIC,free NUMERIC,stage NUMERIC,bubble NUMERIC,"
                                "communication_not_overlapped_and_exclude_receive NUMERIC,preparing "
                                "NUMERIC,dp_index INTEGER,pp_index "
                                "INTEGER,tp_index INTEGER");
    const std::optional<Sizes> sizes = SizesOf(job_);
    std::map<std::pair<std::string, int>, std::array<double, kStepColumns>> stages;
    for (const auto& row : steps_.rows) {
      std::array<double, kStepColumns> values{};
      for (size_t i = 0; i < kStepColumns; ++i) values[i] = std::get<double>(row[i + 3]);
      const int64_t number = std::get<int64_t>(row[0]);
      const std::string step = std::to_string(std::get<int64_t>(row[1])), rank = std::to_string(number);
      AppendStep(table, step, "rank", rank, values,
                 sizes ? std::optional(sizes->PlaceOf(number)) : std::nullopt);
      const auto found = std::ranges::find(job_.ranks, number, &Rank::number);
      const int stage = found == job_.ranks.end()
                            ? -1
                            : analysis_.context().stage[static_cast<size_t>(found - job_.ranks.begin())];
      if (stage < 0) continue;
      // Of its ranks the most of each column by itself, so that a row is no rank's and does not add up.
      auto& most = stages[{step, stage}];
      for (size_t i = 0; i < kStepColumns; ++i) most[i] = std::max(most[i], values[i]);
    }
    for (const auto& [key, values] : stages)
      AppendStep(table, key.first, "stage", RanksOfStage(key.second), values, std::nullopt);
  }

  void AppendStep(VendorTables::Table* table, std::string_view step, std::string_view type,
                  std::string_view index, const std::array<double, kStepColumns>& values,
                  const std::optional<Sizes::Place>& place) {
    std::vector<DbValue> row{step, type, index};
    row.insert(row.end(), values.begin(), values.end());
    if (place) {
      row.insert(row.end(), {place->dp, place->pp, place->tp});
    } else {
      row.insert(row.end(), {DbValue(), DbValue(), DbValue()});
    }
    database_.Append(table, row);
  }

  // "(0,1)"
  std::string RanksOfStage(int stage) const {
    std::vector<int64_t> ranks;
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      if (analysis_.context().stage[r] == stage) ranks.push_back(job_.ranks[r].number);
    }
    std::ranges::sort(ranks);
    return "(" + base::Joined(ranks, ",") + ")";
  }

  // As the framework said them: those of a job, not of one rank.
  void AddBase() {
    for (const Rank& rank : job_.ranks) {
      const auto args = rank.metadata.find(kDistributedArgs);
      if (args == rank.metadata.end()) continue;
      auto json = nlohmann::ordered_json::parse(args->second, nullptr, false);
      if (!json.is_object()) continue;
      json.erase("rank");
      const std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
      auto* table = database_.Add("ClusterBaseInfo", "key TEXT,value TEXT");
      database_.Append(table, {std::string_view(kDistributedArgs), std::string_view(text)});
      return;
    }
  }

  void AddTimes(int64_t rank, const std::vector<Op>& ops) {
    std::map<std::pair<std::string, std::string>, Op> totals;
    const auto add = [&](const Op& op, std::string_view name) {
      const double wait = static_cast<double>(op.wait) / kMs, transit = static_cast<double>(op.transit) / kMs,
                   mb = static_cast<double>(op.bytes) / kMb;
      database_.Append(times_, {std::string_view(op.step), rank, name, std::string_view(op.group),
                                static_cast<double>(op.begin) / kUs, static_cast<double>(op.elapsed) / kMs,
                                transit, wait, wait, 0.0, Ratio(wait, transit), Ratio(wait, transit)});
      database_.Append(rates_, {std::string_view(op.step), rank, name, std::string_view(op.group),
                                std::string_view(op.transport), mb, transit, transit > 0 ? mb / transit : 0.0,
                                mb > 0 ? 1 : 0, mb, 1, transit});
    };
    for (const Op& op : ops) {
      add(op, op.name);
      const auto [total, is_first] = totals.try_emplace({op.step, op.group}, op);
      if (!is_first) total->second.Add(op);
    }
    for (const auto& [key, total] : totals) add(total, "Total Op Info");
  }

  void AddMatrix(const Matrix& matrix) {
    for (const auto& [step, of_step] : matrix) {
      for (const auto& [key, links] : of_step) {
        const std::vector<int64_t>& ranks = ranks_of_[key.second];
        const auto number = [&ranks](std::string_view within) {
          size_t at = 0;
          std::from_chars(within.data(), within.data() + within.size(), at);
          return std::to_string(at < ranks.size() ? ranks[at] : static_cast<int64_t>(at));
        };
        for (const auto& [link, sum] : links) {
          if (sum.transport == "LOCAL" && sum.mb == 0) continue;
          const size_t dash = link.find('-');
          const std::string from = number(std::string_view(link).substr(0, dash)),
                            to = number(std::string_view(link).substr(dash + 1));
          database_.Append(matrix_, {std::string_view(step), std::string_view(key.first),
                                     std::string_view(key.second), std::string_view(from),
                                     std::string_view(to), sum.mb, sum.ms, sum.ms > 0 ? sum.mb / sum.ms : 0.0,
                                     std::string_view(sum.transport), std::string_view(sum.op)});
        }
      }
    }
  }

  void AddGroups() {
    auto* table = database_.Add("CommunicationGroupMapping",
                                "type TEXT,rank_set TEXT,group_name TEXT,group_id TEXT,pg_name TEXT");
    std::set<TextId> pairs;
    for (const Match& match : analysis_.matches().all) {
      if (match.is_pair) pairs.insert(match.group);
    }
    for (const auto& [id, group] : analysis_.context().groups) {
      const std::string name(job_.Text(id)), hash = GroupHash(name);
      ranks_of_[hash] = RanksOf(job_, group, name);
      const std::string ranks = "(" + base::Joined(ranks_of_[hash], ",") + ")";
      database_.Append(table,
                       {std::string_view(pairs.contains(id) ? "p2p" : "collective"), std::string_view(ranks),
                        std::string_view(hash), std::string_view(name), std::string_view(group.role)});
    }
  }

  void AddRanks() {
    auto* hosts = database_.Add("HostInfo", "hostUid TEXT,hostName TEXT");
    auto* ranks =
        database_.Add("RankDeviceMap", "rankId INTEGER,deviceId INTEGER,hostUid TEXT,profilePath TEXT");
    std::set<std::string> nodes;
    for (const Rank& rank : job_.ranks) {
      if (nodes.insert(rank.node).second)
        database_.Append(hosts, {std::string_view(rank.node), std::string_view(rank.node)});
      const std::string path = folder_ + "/" + FolderName(rank);
      database_.Append(ranks,
                       {rank.number, rank.device, std::string_view(rank.node), std::string_view(path)});
    }
  }

  const Analysis& analysis_;
  const Job& job_;
  const std::string folder_;
  const Table steps_;
  VendorTables database_;
  VendorTables::Table *times_ = nullptr, *rates_ = nullptr, *matrix_ = nullptr;
  std::map<std::string, std::vector<int64_t>> ranks_of_;  // of groups, by hash
  std::vector<std::string> files_;
};

}  // namespace

Result<std::vector<std::string>> WriteClusterOutput(const Analysis& analysis, const std::string& folder) {
  PROFD_RETURN_IF_ERROR(MakeFolder(folder + "/" + kOutput));
  // Its rows come from start to end, into a file that is there and empty.
  std::vector<std::string> files;
  PROFD_RETURN_IF_ERROR(WriteFile(folder + "/" + kDatabase, "", files));
  return Writer(analysis, folder).Write();
}

}  // namespace profd::analyze
