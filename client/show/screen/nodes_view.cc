#include "client/show/screen/nodes_view.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "client/show/screen/fit.h"
#include "client/show/screen/live_words.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using live_words::BytesPerSecond;
using live_words::Count;
using live_words::Percent;
using live_words::Use;

constexpr uint64_t kSilentNs = 5'000'000'000;
constexpr char kKeys[] = "q quit  nodes: n name  a AI core  h HBM  c CPU  m memory  l lost   R reverse";

std::optional<double> MemoryUse(const LiveSet& live) {
  const auto total = live.Now("profd_host_memory_bytes", {{"part", "total"}});
  const auto available = live.Now("profd_host_memory_bytes", {{"part", "available"}});
  if (!total || !available || *total <= 0) return {};
  return (*total - *available) / *total;
}

std::optional<double> Hbm(const LiveSet& live) { return live.Now("profd_device_hbm_bytes_per_second"); }
std::optional<double> Cpu(const LiveSet& live) { return live.Now("profd_host_cpu_utilization_ratio"); }
std::optional<double> Lost(const LiveSet& live) { return live.Now("profd_lost_records_total"); }

}  // namespace

NodesView::NodesView(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    by_host_[host] = nodes_.size();
    nodes_.push_back({.host = host});
  }
}

void NodesView::Take(const std::string& host, const v1::LiveValues& values, uint64_t now_ns) {
  Node& node = nodes_[by_host_.at(host)];
  node.live.Take(values);
  node.taken_ns = now_ns;
  node.why.clear();
}

void NodesView::Fail(const std::string& host, const std::string& why) { nodes_[by_host_.at(host)].why = why; }

base::Status NodesView::SortBy(const std::string& what) {
  for (const char* known : {"name", "aicore", "hbm", "cpu", "memory", "lost"}) {
    if (what != known) continue;
    sort_ = what;
    return base::Status::Ok();
  }
  return {base::Code::kInvalidArgument,
          "--sort '" + what + "' is not one of name, aicore, hbm, cpu, memory and lost, which --hosts has"};
}

bool NodesView::OnKey(char key) {
  const std::map<char, const char*> sorts = {{'n', "name"}, {'a', "aicore"}, {'h', "hbm"},
                                             {'c', "cpu"},  {'m', "memory"}, {'l', "lost"}};
  if (key == 'R') {
    reversed_ = !reversed_;
    return true;
  }
  const auto found = sorts.find(key);
  return found != sorts.end() && SortBy(found->second).ok();
}

std::vector<NodesView::Row> NodesView::Rows(uint64_t now_ns) const {
  std::vector<Row> rows;
  for (const Node& node : nodes_) {
    Row& row = rows.emplace_back();
    row.node = &node;
    row.devices = SumOfDevices(node.live);
    if (!node.why.empty()) {
      row.state = OneLine(node.why);
    } else if (node.taken_ns == 0) {
      row.state = "no answer yet";
    } else if (now_ns > node.taken_ns + kSilentNs) {
      row.state = "silent for " + std::to_string((now_ns - node.taken_ns) / 1'000'000'000) + " s";
    } else if (row.devices.working < row.devices.devices) {
      row.state = std::to_string(row.devices.devices - row.devices.working) + " of " +
                  std::to_string(row.devices.devices) + " devices not ok";
    }
  }
  const auto by = [this](const Row& row) -> double {
    const LiveSet& live = row.node->live;
    if (sort_ == "aicore") return -row.devices.mean.value_or(-1);
    if (sort_ == "hbm") return -Hbm(live).value_or(-1);
    if (sort_ == "cpu") return -Cpu(live).value_or(-1);
    if (sort_ == "memory") return -MemoryUse(live).value_or(-1);
    if (sort_ == "lost") return -Lost(live).value_or(-1);
    return 0;  // as they were given
  };
  std::ranges::stable_sort(rows, {}, by);
  if (reversed_) std::ranges::reverse(rows);
  std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return !row.state.empty(); });
  return rows;
}

std::string NodesView::SumLine(const std::vector<Row>& rows) {
  size_t answering = 0, devices = 0, working = 0, with_mean = 0;
  double mean = 0;
  std::optional<double> least, most;
  for (const Row& row : rows) {
    answering += row.node->taken_ns != 0 && row.node->why.empty() ? 1 : 0;
    devices += row.devices.devices;
    working += row.devices.working;
    if (!row.devices.mean) continue;
    ++with_mean;
    mean += *row.devices.mean;
    least = std::min(least.value_or(*row.devices.least), *row.devices.least);
    most = std::max(most.value_or(*row.devices.most), *row.devices.most);
  }
  std::string line = std::to_string(rows.size()) + " nodes, " +
                     (answering == rows.size() ? "all answer" : std::to_string(answering) + " answer") +
                     "; " + std::to_string(devices) + " devices, " +
                     (working == devices ? "all" : std::to_string(working)) + " ok";
  if (with_mean > 0) {
    line += "; AI core " + Percent(mean / static_cast<double>(with_mean)) + " (" + Percent(least) + " to " +
            Percent(most) + ")";
  }
  return line;
}

std::string NodesView::Text(size_t rows, const Look& look, uint64_t now_ns) const {
  const std::vector<Row> all = Rows(now_ns);
  Table table({"HOST", ">DEVICES", ">AI CORE", ">LEAST", ">HBM", ">CPU", "?>MEMORY", "?>AGENTS", "?>SESSIONS",
               ">LOST", "~STATE"});
  for (const Row& row : all) {
    const LiveSet& live = row.node->live;
    const auto lost = Lost(live);
    const bool says = row.node->taken_ns != 0;
    const size_t sessions = live.Of("profd_session_stored_bytes", {"session"}).size();
    table.Add({OneLine(row.node->host),
               says ? std::to_string(row.devices.devices) : "-",
               Use(row.devices.mean),
               Percent(row.devices.least),
               BytesPerSecond(Hbm(live)),
               Use(Cpu(live)),
               Use(MemoryUse(live)),
               Count(live.Now("profd_agents")),
               says ? std::to_string(sessions) : "-",
               {Count(lost), lost && *lost > 0 ? Colour::kBad : Colour::kNone},
               row.state.empty() ? Table::Cell("ok", Colour::kGood) : Table::Cell(row.state, Colour::kBad)});
  }
  return FitScreen(Wrapped(SumLine(all), look.columns) + "\n\n" + table.Text(look), rows, look, kKeys);
}

}  // namespace profd::client
