#include "client/show/screen/nodes_view.h"

#include <algorithm>
#include <cstdio>
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
using live_words::StepTime;
using live_words::Use;

constexpr uint64_t kSilentNs = 5'000'000'000;
constexpr char kKeys[] =
    "q quit  nodes: n name  a AI core  h HBM  c CPU  m memory  s step  l lost   R reverse";
constexpr char kStepSeconds[] = "profd_process_step_seconds";
constexpr size_t kSlowRanks = 5;  // as many are shown, with --all every one
constexpr double kSlow = 1.1;     // times the median

std::optional<double> MemoryUse(const LiveSet& live) {
  const auto total = live.Now("profd_host_memory_bytes", {{"part", "total"}});
  const auto available = live.Now("profd_host_memory_bytes", {{"part", "available"}});
  if (!total || !available || *total <= 0) return {};
  return (*total - *available) / *total;
}

std::optional<double> Hbm(const LiveSet& live) { return live.Now("profd_device_hbm_bytes_per_second"); }
std::optional<double> Cpu(const LiveSet& live) { return live.Now("profd_host_cpu_utilization_ratio"); }
// Of the slowest of its processes.
std::optional<double> Step(const LiveSet& live) {
  std::optional<double> slowest;
  for (const LiveSet::Labels& labels : live.Of(kStepSeconds, {"pid"})) {
    const auto seconds = live.Now(kStepSeconds, labels);
    if (seconds) slowest = std::max(slowest.value_or(0), *seconds);
  }
  return slowest;
}
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
  for (const char* known : {"name", "aicore", "hbm", "cpu", "memory", "step", "lost"}) {
    if (what != known) continue;
    sort_ = what;
    return base::Status::Ok();
  }
  return {
      base::Code::kInvalidArgument,
      "--sort '" + what + "' is not one of name, aicore, hbm, cpu, memory, step and lost, which --hosts has"};
}

bool NodesView::OnKey(char key) {
  const std::map<char, const char*> sorts = {{'n', "name"},   {'a', "aicore"}, {'h', "hbm"}, {'c', "cpu"},
                                             {'m', "memory"}, {'s', "step"},   {'l', "lost"}};
  if (key == 'R') {
    reversed_ = !reversed_;
    return true;
  }
  const auto found = sorts.find(key);
  return found != sorts.end() && SortBy(found->second).ok();
}

bool NodesView::IsSilent(const Node& node, uint64_t now_ns) { return now_ns > node.taken_ns + kSilentNs; }

std::vector<NodesView::Row> NodesView::Rows(uint64_t now_ns) const {
  std::vector<Row> rows;
  for (const Node& node : nodes_) {
    Row& row = rows.emplace_back();
    row.node = &node;
    row.devices = SumOfDevices(node.live);
    row.step = Step(node.live);
    if (!node.why.empty()) {
      row.state = OneLine(node.why);
    } else if (node.taken_ns == 0) {
      row.state = "no answer yet";
    } else if (IsSilent(node, now_ns)) {
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
    if (sort_ == "step") return -row.step.value_or(-1);
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

std::vector<NodesView::Rank> NodesView::Ranks(uint64_t now_ns) const {
  std::vector<Rank> ranks;
  std::map<std::string, std::vector<double>> by_job;
  for (const Node& node : nodes_) {
    if (!node.why.empty() || IsSilent(node, now_ns)) continue;
    for (LiveSet::Labels& labels : node.live.Of(kStepSeconds, {"pid", "name", "job", "rank"})) {
      const double seconds = node.live.Now(kStepSeconds, {{"pid", labels.at("pid")}}).value_or(0);
      by_job[labels.at("job")].push_back(seconds);
      ranks.push_back({.host = &node.host, .labels = std::move(labels), .seconds = seconds});
    }
  }
  for (auto& [job, all] : by_job)
    std::ranges::nth_element(all, all.begin() + static_cast<ptrdiff_t>(all.size() / 2));
  for (Rank& rank : ranks) {
    const std::vector<double>& all = by_job.at(rank.labels.at("job"));
    const double median = all[all.size() / 2];
    if (median > 0) rank.of_usual = rank.seconds / median;
  }
  std::ranges::stable_sort(ranks, std::ranges::greater(), &Rank::of_usual);
  return ranks;
}

std::string NodesView::TableOf(const std::vector<Rank>& ranks, const Look& look) {
  Table table({">RANK", "?JOB", "HOST", ">PID", ">STEP", ">OF MEDIAN", "NAME"});
  for (const Rank& rank : ranks) {
    if (&rank - ranks.data() == kSlowRanks && !look.all) break;
    const std::string& number = rank.labels.at("rank");
    char times[32];
    std::snprintf(times, sizeof times, "%.2f x", rank.of_usual);
    table.Add({number.empty() ? "-" : OneLine(number),
               OneLine(rank.labels.at("job")),
               OneLine(*rank.host),
               OneLine(rank.labels.at("pid")),
               StepTime(rank.seconds),
               {times, rank.of_usual >= kSlow ? Colour::kWarn : Colour::kNone},
               OneLine(rank.labels.at("name"))});
  }
  return "\nslowest ranks, of " + std::to_string(ranks.size()) +
         " (their steps, and by the median of their job)\n" + table.Text(look);
}

std::string NodesView::Text(size_t rows, const Look& look, uint64_t now_ns) const {
  const std::vector<Row> all = Rows(now_ns);
  Table table({"HOST", ">DEVICES", ">AI CORE", ">LEAST", ">HBM", ">CPU", "?>MEMORY", "?>STEP", "?>AGENTS",
               "?>SESSIONS", ">LOST", "~STATE"});
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
               StepTime(row.step),
               Count(live.Now("profd_agents")),
               says ? std::to_string(sessions) : "-",
               {Count(lost), lost && *lost > 0 ? Colour::kBad : Colour::kNone},
               row.state.empty() ? Table::Cell("ok", Colour::kGood) : Table::Cell(row.state, Colour::kBad)});
  }
  std::string text = Wrapped(SumLine(all), look.columns) + "\n\n" + table.Text(look);
  if (const std::vector<Rank> ranks = Ranks(now_ns); !ranks.empty()) text += TableOf(ranks, look);
  return FitScreen(text, rows, look, kKeys);
}

}  // namespace profd::client
