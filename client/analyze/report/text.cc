#include "client/analyze/report/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <span>
#include <vector>

#include "base/join.h"
#include "client/words/text.h"

namespace profd::analyze {
namespace {

using base::Code;
using base::Result;
using base::Status;
using client::OneLine;

constexpr size_t kMostOnce = 3;
constexpr size_t kMostNotes = 8;
constexpr size_t kMostLeftOut = 3;
constexpr double kMs = 1e6;

// Three digits that count, one behind the point at most.
std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 99.95 ? "%.0f" : "%.1f", value);
  return text;
}

std::string Percent(double percent) {
  char text[16];
  std::snprintf(text, sizeof text, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
  return text;
}

std::string Padded(const std::string& text, size_t width) {
  const size_t wide = client::Width(text);
  return wide >= width ? text : std::string(width - wide, ' ') + text;
}

}  // namespace

std::vector<LeftOut> LeftOutSteps(const Job& job, size_t first) {
  std::vector<LeftOut> left_out;
  for (size_t i = 0; i < std::min(first, job.steps.size()); ++i) left_out.push_back({job.steps[i], "first"});
  for (const int64_t step : job.unfinished) {
    if (!std::ranges::binary_search(job.steps, step)) left_out.push_back({step, "unfinished"});
  }
  return left_out;
}

std::string DataText(const Analysis& analysis) {
  const Level level = analysis.level();
  if (level == Level::kNothing) return "no tasks";
  if (level == Level::kTasks) return "tasks without names";
  const bool has_collectives =
      std::ranges::any_of(analysis.job().ranks, [](const Rank& rank) { return !rank.collectives.empty(); });
  std::vector<std::string> told = {"kernels"}, lacking;
  (has_collectives ? told : lacking).push_back("collectives");
  (level >= Level::kLaunches ? told : lacking).push_back("calls");
  if (level == Level::kFramework) told.push_back("ranges");
  std::string text = base::Joined(std::span(told).first(told.size() - 1));
  base::AddTo(text, told.back(), " and ");
  for (const std::string& each : lacking) text += ", no " + each;
  return text;
}

namespace {

std::string StepList(const Job& job, size_t first) {
  if (first >= job.steps.size()) return "none";
  const int64_t from = job.steps[first], to = job.steps.back();
  const std::string count = std::to_string(job.steps.size() - first);
  std::string text = std::to_string(from) + (to == from ? "" : "-" + std::to_string(to)) + " (" + count + ")";
  const std::vector<LeftOut> left_out = LeftOutSteps(job, first);
  for (size_t i = 0; i < std::min(left_out.size(), kMostLeftOut); ++i)
    text += (i == 0 ? " without " : ", ") + std::to_string(left_out[i].step) + " (" + left_out[i].why + ")";
  if (left_out.size() > kMostLeftOut)
    text += ", and " + std::to_string(left_out.size() - kMostLeftOut) + " more";
  return text;
}

std::string Head(const Analysis& analysis) {
  const Job& job = analysis.job();
  const Context& context = analysis.context();
  const Summary& summary = analysis.verdict().summary;
  std::set<std::string> nodes;
  for (const Rank& rank : job.ranks) nodes.insert(rank.node);
  const auto count = [](size_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
  };
  std::string text = count(job.ranks.size(), "rank", "ranks") + ", " + count(nodes.size(), "node", "nodes") +
                     (job.simulated ? ", simulated devices · " : " · ");
  if (job.has_steps) {
    text += "steps " + StepList(job, context.first) + " · " + Number(summary.step_ms_mean) +
            " ms/step (p95 " + Number(summary.step_ms_p95) + ")";
  } else {
    text += "no steps: " + count(job.steps.size(), "window", "windows") + " of " + Time(context.step_ns);
  }
  text += "\n  data: " + DataText(analysis);
  if (analysis.clocks().from_data)
    text +=
        " · clocks of nodes from their collectives, ± " + Time(static_cast<double>(analysis.clocks().bound));
  if (!summary.knows_devices)
    return text + "\n  what its devices did is not known: their times make no sense\n";
  text += "\n  compute " + Number(summary.compute_ms) + " · communication not hidden " +
          Number(summary.exposed_ms);
  if (summary.waiting_ms >= 0.05)
    text += " (" + Number(summary.waiting_ms) + " of it waiting for late ranks)";
  return text + " · idle " + Number(summary.idle_ms) + " ms\n";
}

}  // namespace

std::string HowOften(const Job& job, const Finding& finding) {
  const Cost& cost = finding.cost;
  if (!job.has_steps) return "";
  if (cost.pattern == Pattern::kEvery) return "every step";
  return std::to_string(cost.hit) + " of " + std::to_string(cost.of);
}

// How sure, in the way it is said.
std::string Title(const Finding& finding) {
  const std::string_view sure = finding.confidence();
  return sure == "high" ? finding.title : (sure == "medium" ? "probably " : "perhaps ") + finding.title;
}

std::string Advice(const Finding& finding) {
  return finding.advice.empty() ? "no known remedy" : finding.advice.front();
}

namespace {

std::string CellText(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* text = std::get_if<std::string>(&cell)) return OneLine(text->substr(0, 60));
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", std::get<double>(cell));
  const double value = std::get<double>(cell);
  if (std::abs(value) >= 100) std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string RuleText(const Rule& rule) {
  std::string text = std::string(rule.id) + "\n  fires when  " + std::string(rule.fires) +
                     "\n  needs       " + std::string(rule.needs) + "\n  cost        " +
                     std::string(rule.cost) + "\n  what to do  " + std::string(rule.advice) + "\n";
  for (const Setting& setting : DefaultSettings()) {
    if (rule.fires.find(setting.key) == rule.fires.npos) continue;
    char value[32];
    std::snprintf(value, sizeof value, "%g", setting.value);
    text += "  " + std::string(setting.key) + " = " + value + "  " + std::string(setting.what) + "\n";
  }
  return text;
}

}  // namespace

std::string TableText(const Table& table, std::string_view indent) {
  std::vector<size_t> widths;
  std::vector<std::vector<std::string>> rows{table.columns};
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    cells.reserve(row.size());
    for (const Cell& cell : row) cells.push_back(CellText(cell));
    rows.push_back(std::move(cells));
  }
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i >= widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], client::Width(row[i]));
    }
  }
  std::string text = std::string(indent) + table.name + "\n";
  for (const auto& row : rows) {
    std::string line(indent);
    for (size_t i = 0; i < row.size(); ++i) line += "  " + Padded(row[i], widths[i]);
    text += line + "\n";
  }
  return text;
}

std::string Screen(const Analysis& analysis, size_t top, bool coloured) {
  const Verdict& verdict = analysis.verdict();
  const Summary& summary = verdict.summary;
  std::string text = Head(analysis);
  const auto strong = [coloured](const std::string& part) {
    return coloured ? "\033[1m" + part + "\033[0m" : part;
  };
  size_t number = 0, shown = 0, once = 0;
  for (const Finding& finding : verdict.findings) {
    ++number;
    const bool is_once = finding.cost.pattern == Pattern::kOnce && !finding.is_fact;
    if (is_once ? once++ >= kMostOnce : shown++ >= top) continue;
    std::string line = Padded(std::to_string(number), 2) + "  ";
    if (finding.cost.method == Method::kNone) {
      line += Padded(std::string(SeverityName(finding.severity)), 8) + "  ";
    } else if (is_once) {
      std::string steps;
      for (const uint32_t step : finding.steps) {
        if (steps.size() < 24)
          steps += (steps.empty() ? "" : ",") + std::to_string(analysis.job().steps[step]);
      }
      line += "once: step " + steps + "  " + strong("+" + Time(finding.cost.total_ms * kMs)) + "  ";
    } else {
      line += strong(Padded(Time(finding.cost.ms_per_step * kMs), 8)) + " " +
              Padded(Percent(finding.cost.percent), 6) + "  " + HowOften(analysis.job(), finding) + "  ";
    }
    text += line + OneLine(Title(finding)) + "  [" + std::string(finding.confidence()) + "]\n";
    std::string advice = "      -> " + OneLine(Advice(finding));
    if (finding.cost.last >= 2 * finding.cost.alone && !is_once && finding.cost.method == Method::kReplay) {
      advice += " (gains " + Time(finding.cost.alone * kMs) + " now, " + Time(finding.cost.last * kMs) +
                " once the other causes are gone)";
    }
    text += advice + "\n";
  }
  if (verdict.findings.empty()) {
    const double share = summary.step_ms_mean > 0 ? 100 * summary.unexplained_ms / summary.step_ms_mean : 0;
    text += " no cause above " + Percent(analysis.request().settings.Get("general.min_cost_percent")) +
            " of the step was found; " + Percent(share) + " of it is neither work nor explained\n";
  } else {
    if (shown > top || once > kMostOnce) {
      text += " and " +
              std::to_string((shown > top ? shown - top : 0) + (once > kMostOnce ? once - kMostOnce : 0)) +
              " more: --top, --json\n";
    }
    const double gain = summary.step_ms_mean > 0 ? 100 * (1 - summary.ideal_ms / summary.step_ms_mean) : 0;
    text += " without these causes: " + Number(summary.ideal_ms) + " ms/step (-" +
            Percent(std::max(0.0, gain)) + ") · unexplained " + Number(summary.unexplained_ms) + " ms\n";
  }
  if (!verdict.not_run.empty()) {
    text += " not examined:";
    for (size_t i = 0; i < verdict.not_run.size(); ++i)
      text += std::string(i == 0 ? " " : "; ") + verdict.not_run[i].rule + ": " + verdict.not_run[i].why;
    text += "\n";
  }
  if (analysis.job().simulated) text += " note: " + std::string(kSimulated) + "\n";
  const std::vector<Note>& notes = analysis.job().notes;
  for (size_t i = 0; i < std::min(notes.size(), kMostNotes); ++i)
    text += " note: " + OneLine((notes[i].where.empty() ? "" : notes[i].where + ": ") + notes[i].text) + "\n";
  if (notes.size() > kMostNotes)
    text += " and " + std::to_string(notes.size() - kMostNotes) + " more notes: --json\n";
  return text;
}

Result<std::string> ExplainFinding(const Analysis& analysis, size_t number) {
  const std::vector<Finding>& findings = analysis.verdict().findings;
  if (number == 0 || number > findings.size())
    return Status(
        Code::kNotFound,
        "--explain " + std::to_string(number) + ": there " +
            (findings.size() == 1 ? "is 1 finding" : "are " + std::to_string(findings.size()) + " findings") +
            "; profctl analyze without --explain numbers them");
  const Finding& finding = findings[number - 1];
  const Cost& cost = finding.cost;
  std::string text = OneLine(Title(finding)) + "\n  " + finding.id;
  for (const CauseShare& cause : finding.causes) text += " · cause " + cause.id;
  text += " · " + std::string(SeverityName(finding.severity)) + "\n";
  if (cost.method != Method::kNone) {
    text += "  costs " + Time(cost.ms_per_step * kMs) + " of a step (" + Percent(cost.percent) + "; " +
            Time(cost.low * kMs) + " to " + Time(cost.high * kMs) + "), in " + std::to_string(cost.hit) +
            " of " + std::to_string(cost.of) + " steps: " + Time(cost.alone * kMs) +
            " if it is removed alone, " + Time(cost.last * kMs) + " if after all the others\n";
  }
  for (const std::string& advice : finding.advice) text += "  -> " + OneLine(advice) + "\n";
  text += "  confidence " + std::string(finding.confidence()) + "\n";
  std::vector<Factor> factors = finding.factors;
  std::ranges::stable_sort(factors, {}, &Factor::score);
  for (const Factor& factor : factors) text += "    " + factor.name + ": " + factor.why + "\n";
  for (const Table& table : finding.evidence) text += TableText(table, "  ");
  for (const analyze::When& when : finding.when) {
    text += "  rank " + std::to_string(when.rank) + " step " + std::to_string(when.step) + ": " + when.what +
            " for " + Time(static_cast<double>(when.to - when.from)) + ", --from @" +
            std::to_string(when.from / 1'000'000'000) + "." +
            (std::to_string(1'000'000'000 + when.from % 1'000'000'000)).substr(1) + "\n";
  }
  return text;
}

std::string ExplainRule(std::string_view id) {
  for (const Rule& rule : Rules()) {
    if (rule.id == id) return RuleText(rule);
  }
  return "";
}

std::string ListRules() {
  std::string text;
  for (const Rule& rule : Rules()) text += std::string(rule.id) + "\n  " + std::string(rule.fires) + "\n";
  text += "\nSettings (--set KEY=NUMBER):\n";
  for (const Setting& setting : DefaultSettings()) {
    char value[32];
    std::snprintf(value, sizeof value, "%g", setting.value);
    text += "  " + std::string(setting.key) + "=" + value + "  " + std::string(setting.what) + "\n";
  }
  return text;
}

}  // namespace profd::analyze
