#include "client/analyze/cluster/rank_texts.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "client/analyze/cluster/cluster_output.h"
#include "client/analyze/cluster/rank_folder.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

using base::Status;
using Json = nlohmann::ordered_json;

Json TimesOf(const Op& op) {
  const double wait = static_cast<double>(op.wait) / kMs, transit = static_cast<double>(op.transit) / kMs;
  return {{"Start Timestamp(us)", static_cast<double>(op.begin) / kUs},
          {"Elapse Time(ms)", static_cast<double>(op.elapsed) / kMs},
          {"Transit Time(ms)", transit},
          {"Wait Time(ms)", wait},
          {"Synchronization Time(ms)", wait},
          {"Idle Time(ms)", 0.0},
          {"Wait Time Ratio", Ratio(wait, transit)},
          {"Synchronization Time Ratio", Ratio(wait, transit)}};
}

Json BandwidthOf(const Op& op) {
  Json all = Json::object();
  for (const char* transport : {"RDMA", "HCCS", "PCIE", "SDMA", "SIO"}) {
    const bool is_own = std::string_view(transport) == op.transport;
    const double size = is_own ? static_cast<double>(op.bytes) / kMb : 0,
                 ms = is_own ? static_cast<double>(op.transit) / kMs : 0;
    Json sizes = Json::object();
    if (size > 0) {
      char text[32];
      sizes[std::string(text, std::to_chars(text, text + sizeof text, size).ptr)] = {1, ms};
    }
    all[transport] = {{"Transit Size(MB)", size},
                      {"Transit Time(ms)", ms},
                      {"Bandwidth(GB/s)", ms > 0 ? size / ms : 0.0},
                      {"Large Packet Ratio", size > 0 ? 1 : 0},
                      {"Size Distribution", sizes}};
  }
  return all;
}

// Sums of all of a step, which the vendor's comparison wants.
Json TotalOf(const std::vector<const Op*>& ops) {
  Op sum;
  for (const Op* op : ops) {
    sum.Add(*op);
    sum.transport = op->transport;
  }
  Json times = TimesOf(sum);
  times.erase("Start Timestamp(us)");
  return {{"Communication Time Info", times}, {"Communication Bandwidth Info", BandwidthOf(sum)}};
}

Json CommunicationJson(const std::vector<Op>& ops) {
  Json all = Json::object();
  std::map<std::string, std::vector<const Op*>> collectives;
  for (const Op& op : ops) {
    Json& step = all[op.step];
    if (step.is_null()) step = {{"p2p", Json::object()}, {"collective", Json::object()}};
    step[op.is_pair ? "p2p" : "collective"][op.name + "@" + op.group] = {
        {"Communication Time Info", TimesOf(op)}, {"Communication Bandwidth Info", BandwidthOf(op)}};
    if (!op.is_pair) collectives[op.step].push_back(&op);
  }
  for (auto& [step, of] : collectives) all[step]["collective"]["Total Op Info"] = TotalOf(of);
  return all;
}

Json MatrixJson(const Matrix& matrix) {
  Json all = Json::object();
  for (const auto& [step, of_step] : matrix) {
    all[step] = {{"p2p", Json::object()}, {"collective", Json::object()}};
    for (const auto& [key, links] : of_step) {
      const bool is_pair = key.first.starts_with("hcom_send") || key.first.starts_with("hcom_rec");
      Json& to = all[step][is_pair ? "p2p" : "collective"][key.first + "@" + key.second];
      for (const auto& [link, sum] : links)
        to[link] = {{"Transport Type", sum.transport},
                    {"Transit Time(ms)", sum.ms},
                    {"Transit Size(MB)", sum.mb},
                    {"Bandwidth(GB/s)", sum.ms > 0 ? sum.mb / sum.ms : 0.0},
                    {"Op Name", sum.op}};
    }
  }
  return all;
}

// The rows of report `steps` of one rank, with the vendor's header.
std::string StepCsv(const Table& steps, const Rank& rank) {
  std::string text =
      "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
      "Communication(Not Overlapped and Exclude Receive),Preparing\n";
  Table own{"", {}, {}};
  for (const auto& row : steps.rows) {
    if (std::get<int64_t>(row[0]) != rank.number) continue;
    std::vector<Cell> cells{int64_t{rank.device}, row[1]};
    cells.insert(cells.end(), row.begin() + 3, row.end());
    own.rows.push_back(std::move(cells));
  }
  const std::string rows = TableCsv(own);
  return text + rows.substr(rows.find('\n') + 1);
}

}  // namespace

Matrix MatrixOf(const Analysis& analysis, size_t r, const std::vector<Op>& ops) {
  Matrix matrix;
  // By this row the vendor's analyser knows which of the group's ranks is this one: without it, it drops all
  // links of the group.
  const auto set_own = [](std::map<std::string, LinkSum>& links, const std::string& own) {
    if (LinkSum& local = links[own]; local.transport.empty()) local.transport = "LOCAL";
  };
  for (const Op& op : ops) {
    std::map<std::string, LinkSum>& links = matrix[op.step][{op.type + "-total", op.group}];
    set_own(links, op.own);
    if (op.link.empty()) continue;
    LinkSum& sum = links[op.link];
    sum.mb += static_cast<double>(op.bytes) / kMb;
    sum.ms += static_cast<double>(op.transit) / kMs;
    sum.op = op.name + "@" + op.group;
    sum.transport = op.transport;
  }
  for (const auto& [link, carried] : analysis.job().ranks[r].links) {
    std::map<std::string, LinkSum>& links =
        matrix["step"][{"hcom_collective-total", GroupHash(analysis.job().Text(link.group))}];
    LinkSum& sum = links[std::to_string(link.from) + "-" + std::to_string(link.to)];
    sum.mb += static_cast<double>(carried.bytes) / kMb;
    sum.ms += static_cast<double>(carried.ns) / kMs;
    sum.transport = std::string(analysis.job().Text(link.transport));
    set_own(links, OwnLink(analysis, r, link.group));
  }
  return matrix;
}

Status WriteRankTexts(const Rank& rank, const Table& steps, const std::vector<Op>& ops, const Matrix& matrix,
                      const std::string& folder, std::vector<std::string>& files) {
  PROFD_RETURN_IF_ERROR(WriteFile(folder + "/step_trace_time.csv", StepCsv(steps, rank), files));
  PROFD_RETURN_IF_ERROR(WriteFile(folder + "/communication.json", Dumped(CommunicationJson(ops)), files));
  return WriteFile(folder + "/communication_matrix.json", Dumped(MatrixJson(matrix)), files);
}

}  // namespace profd::analyze
