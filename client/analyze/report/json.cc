#include "client/analyze/report/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/version.h"
#include "client/analyze/report/text.h"

namespace profd::analyze {
namespace {

using Json = nlohmann::ordered_json;

// What nobody can tell apart is not written: six digits that count.
double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json CellJson(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return *integer;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return Rounded(std::get<double>(cell));
}

Json JobJson(const Analysis& analysis) {
  const Job& job = analysis.job();
  const Context& context = analysis.context();
  const Summary& summary = analysis.verdict().summary;
  std::set<std::string> nodes;
  std::map<std::string, Json> groups;
  for (const Rank& rank : job.ranks) {
    nodes.insert(rank.node);
    std::set<TextId> used;
    for (const Collective& collective : rank.collectives) used.insert(collective.group);
    for (const TextId group : used) {
      const std::string name(job.Text(group));
      Json& entry = groups[name];
      if (entry.is_null()) {
        entry = Json{{"name", name}, {"role", ""}, {"ranks", Json::array()}, {"absent", 0}};
        if (const auto absent = analysis.matches().absent.find(group);
            absent != analysis.matches().absent.end())
          entry["absent"] = absent->second;
      }
      if (const auto known = rank.groups.find(name); known != rank.groups.end())
        entry["role"] = known->second.role;
      entry["ranks"].push_back(rank.number);
    }
  }
  Json list = Json::array();
  for (auto& [name, entry] : groups) list.push_back(std::move(entry));
  Json steps{
      {"first", nullptr}, {"last", nullptr}, {"analysed", context.steps()}, {"excluded", Json::array()}};
  if (context.first < job.steps.size()) {
    steps["first"] = job.steps[context.first];
    steps["last"] = job.steps.back();
  }
  for (const LeftOut& one : LeftOutSteps(job, context.first))
    steps["excluded"].push_back(Json{{"step", one.step}, {"why", one.why}});
  const auto of_devices = [&summary](double ms) {
    return summary.knows_devices ? Json(Rounded(ms)) : Json();
  };
  return Json{{"ranks", job.ranks.size()},
              {"nodes", nodes.size()},
              {"simulated", job.simulated},
              {"groups", list},
              {"steps", steps},
              {"unit", job.has_steps ? "step" : "window"},
              {"level", "L" + std::to_string(static_cast<int>(analysis.level()))},
              {"step_ms", Json{{"p50", Rounded(summary.step_ms_p50)},
                               {"p95", Rounded(summary.step_ms_p95)},
                               {"mean", Rounded(summary.step_ms_mean)}}},
              {"compute_ms", of_devices(summary.compute_ms)},
              {"exposed_ms", of_devices(summary.exposed_ms)},
              {"waiting_ms", of_devices(summary.waiting_ms)},
              {"idle_ms", of_devices(summary.idle_ms)},
              {"ideal_ms", Rounded(summary.ideal_ms)},
              {"unexplained_ms", of_devices(summary.unexplained_ms)},
              {"replay_error", Rounded(summary.replay_error)},
              {"replay_exact", summary.exact}};
}

Json CostJson(const Job& job, const Finding& finding) {
  const Cost& cost = finding.cost;
  Json steps = Json::array();
  for (const uint32_t step : finding.steps) {
    if (steps.size() < 50) steps.push_back(job.steps[step]);
  }
  const bool is_once = cost.pattern == Pattern::kOnce && !finding.is_fact;
  Json json{{"method", MethodName(cost.method)},
            {"pattern", PatternName(cost.pattern)},
            {"hit", cost.hit},
            {"of", cost.of},
            {"steps", steps}};
  if (cost.method == Method::kNone) return json;
  // What happened once is not spread over steps: that would tell of the recording's length.
  json["ms_per_step"] = is_once ? Json() : Json(Rounded(cost.ms_per_step));
  json["percent"] = is_once ? Json() : Json(Rounded(cost.percent));
  json["alone"] = Rounded(cost.alone);
  json["last"] = Rounded(cost.last);
  json["low"] = Rounded(cost.low);
  json["high"] = Rounded(cost.high);
  json["total_ms"] = Rounded(cost.total_ms);
  return json;
}

Json FindingJson(const Analysis& analysis, const Finding& finding) {
  Json when = Json::array(), causes = Json::array(), evidence = Json::array(), advice = Json::array(),
       why = Json::array();
  for (const When& one : finding.when)
    when.push_back(Json{{"rank", one.rank},
                        {"from_ns", one.from},
                        {"to_ns", one.to},
                        {"step", one.step},
                        {"what", one.what}});
  for (const CauseShare& cause : finding.causes)
    causes.push_back(Json{{"id", cause.id}, {"share", Rounded(cause.share)}});
  for (const Table& table : finding.evidence) {
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json cells = Json::array();
      for (const Cell& cell : row) cells.push_back(CellJson(cell));
      rows.push_back(std::move(cells));
    }
    evidence.push_back(
        Json{{"kind", "table"}, {"name", table.name}, {"columns", table.columns}, {"rows", std::move(rows)}});
  }
  for (const std::string& text : finding.advice) advice.push_back(Json{{"text", text}});
  std::vector<Factor> factors = finding.factors;
  std::ranges::stable_sort(factors, {}, &Factor::score);
  for (const Factor& factor : factors) why.push_back(factor.why);
  return Json{{"id", finding.id},
              {"key", finding.key},
              {"severity", SeverityName(finding.severity)},
              {"title", finding.title},
              {"cost", CostJson(analysis.job(), finding)},
              {"where", Json{{"ranks", finding.where.ranks},
                             {"nodes", finding.where.nodes},
                             {"devices", finding.where.devices},
                             {"groups", finding.where.groups}}},
              {"when", std::move(when)},
              {"cause", std::move(causes)},
              {"evidence", std::move(evidence)},
              {"do", std::move(advice)},
              {"confidence", Json{{"level", finding.confidence()},
                                  {"score", Rounded(finding.score())},
                                  {"weakest", factors.empty() ? "" : factors.front().name},
                                  {"why", std::move(why)}}}};
}

}  // namespace

std::string FindingsJson(const Analysis& analysis) {
  Json findings = Json::array(), not_run = Json::array(), notes = Json::array();
  for (const Finding& finding : analysis.verdict().findings)
    findings.push_back(FindingJson(analysis, finding));
  for (const NotRun& one : analysis.verdict().not_run)
    not_run.push_back(Json{{"rule", one.rule}, {"why", one.why}});
  for (const Note& note : analysis.job().notes)
    notes.push_back(Json{{"where", note.where}, {"text", note.text}, {"lost", note.lost}});
  const Json json{
      {"schema", "profd.findings/1"},
      {"tool", Json{{"name", "profctl"}, {"version", base::kVersion}}},
      {"job", JobJson(analysis)},
      {"data", Json{{"complete", analysis.is_whole() && !analysis.has_losses()},
                    {"notes", notes},
                    {"unmatched_collectives", analysis.matches().unmatched},
                    {"clock", Json{{"bound_ns", analysis.clocks().bound},
                                   {"source", analysis.clocks().from_data ? "collectives" : "none"}}}}},
      {"findings", findings},
      {"not_run", not_run}};
  // Names come from the job: what is no UTF-8 becomes a mark for that.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace profd::analyze
