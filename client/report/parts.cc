#include "client/report/parts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/version.h"
#include "client/analyze/report/text.h"
#include "client/analyze/rules/rules.h"
#include "client/report/text.h"

namespace profd::report {
namespace {

using analyze::Finding;
using analyze::Pattern;

constexpr size_t kColours = 6;

bool IsOnce(const Finding& finding) { return finding.cost.pattern == Pattern::kOnce && !finding.is_fact; }
bool HasCost(const Finding& finding) {
  return finding.cost.method != analyze::Method::kNone && !finding.is_fact;
}
double CostMs(const Finding& finding) {
  return IsOnce(finding) ? finding.cost.total_ms : finding.cost.ms_per_step;
}

std::string Capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string CostText(const View& view, const Finding& finding) {
  if (!HasCost(finding))
    return "<b>" + Capital(std::string(analyze::SeverityName(finding.severity))) + "</b>";
  const std::string severity(analyze::SeverityName(finding.severity));
  if (IsOnce(finding)) {
    std::vector<int64_t> steps;
    for (const uint32_t step : finding.steps) steps.push_back(view.job.steps[step]);
    return "<b>" + Length(finding.cost.total_ms) + "</b> once · step " + Runs(steps);
  }
  const std::string unit = view.job.has_steps ? " per step" : " per second";
  return "<b>" + Length(finding.cost.ms_per_step) + "</b>" + unit + " · " + Percent(finding.cost.percent) +
         " · " + severity;
}

// `most`: the cost of the longest bar.
std::string CostBar(const Finding& finding, size_t number, double most) {
  if (!HasCost(finding) || most <= 0) return "";
  const double scale = 96 / most;
  const double value = CostMs(finding) * scale;
  std::string text = "<svg class=\"bar f" + std::to_string(std::min(number, kColours)) +
                     "\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                     "<rect class=\"rest\" width=\"100\" height=\"8\"/><rect class=\"value\" width=\"" +
                     Coordinate(std::max(value, 0.6)) + "\" height=\"8\"/>";
  if (!IsOnce(finding) && finding.cost.high > finding.cost.low) {
    text += "<path class=\"range\" d=\"M" + Coordinate(std::min(finding.cost.low * scale, 100.0)) + " 4H" +
            Coordinate(std::min(finding.cost.high * scale, 100.0)) + "\"/>";
  }
  return text + "</svg>";
}

std::string WhereText(const View& view, const Finding& finding) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : " · ") + part; };
  std::vector<int64_t> ranks = finding.where.ranks;
  std::ranges::sort(ranks);
  if (ranks.size() == view.job.ranks.size() && ranks.size() > 1) {
    add("all ranks");
  } else if (!ranks.empty()) {
    add((ranks.size() == 1 ? "rank " : "ranks ") + Runs(ranks));
  }
  const std::set<std::string> nodes(finding.where.nodes.begin(), finding.where.nodes.end());
  if (!nodes.empty() && nodes.size() <= 3) {
    std::string list;
    for (const std::string& node : nodes) list += (list.empty() ? "" : ", ") + node;
    add(Escaped(list));
  }
  if (HasCost(finding) && !IsOnce(finding))
    add(analyze::HowOften(view.job, finding) + (finding.cost.pattern == Pattern::kEvery ? "" : " steps"));
  for (const analyze::CauseShare& cause : finding.causes) {
    std::string share;
    if (finding.causes.size() > 1 && cause.share > 0) share = " " + Percent(100 * cause.share);
    add("<code>" + Escaped(cause.id) + "</code>" + share);
  }
  return text;
}

std::string SureText(const Finding& finding) {
  const std::string level(finding.confidence());
  const int dots = level == "high" ? 3 : level == "medium" ? 2 : 1;
  std::string text = "<span class=\"dots\" aria-hidden=\"true\">";
  for (int i = 0; i < 3; ++i) text += i < dots ? "●" : "○";
  return text + "</span> " + level;
}

// "mean_us" → "mean, µs".
std::string ColumnName(std::string name) {
  for (const auto& [suffix, unit] : {std::pair("_us", "µs"), std::pair("_ms", "ms"),
                                     std::pair("_percent", "%"), std::pair("_mhz", "MHz")}) {
    if (name.ends_with(suffix)) name = name.substr(0, name.size() - std::string(suffix).size()) + ", " + unit;
  }
  if (name == "at_ns") return "at, s";
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string CellText(const View& view, const std::string& column, const analyze::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return Escaped(*text);
  if (const auto* number = std::get_if<int64_t>(&cell)) {
    if (column == "at_ns") {
      char text[32];
      std::snprintf(text, sizeof text, "%.6f", static_cast<double>(*number - view.begin) / 1e9);
      return text;
    }
    return std::to_string(*number);
  }
  const double value = std::get<double>(cell);
  char text[48];
  std::snprintf(text, sizeof text, std::abs(value) >= 100 ? "%.1f" : "%.3g", value);
  return text;
}

std::string TableHtml(const View& view, const analyze::Table& table) {
  constexpr size_t kMostRows = 50;
  std::string text = "<div class=\"scroll\"><table class=\"sortable\"><caption>" +
                     Escaped(Capital(table.name)) + "</caption><thead><tr>";
  const auto is_number = [&](size_t column) {
    return !table.rows.empty() && column < table.rows[0].size() &&
           !std::holds_alternative<std::string>(table.rows[0][column]);
  };
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text += std::string("<th scope=\"col\"") + (is_number(i) ? " class=\"n\"" : "") + ">" +
            Escaped(ColumnName(table.columns[i])) + "</th>";
  }
  text += "</tr></thead><tbody>";
  for (size_t r = 0; r < std::min(table.rows.size(), kMostRows); ++r) {
    text += "<tr>";
    for (size_t i = 0; i < table.rows[r].size(); ++i) {
      text += (is_number(i) ? "<td class=\"n\">" : "<td>") +
              CellText(view, i < table.columns.size() ? table.columns[i] : "", table.rows[r][i]) + "</td>";
    }
    text += "</tr>";
  }
  text += "</tbody></table></div>";
  if (table.rows.size() > kMostRows) {
    text += "<p class=\"quiet\">" + std::to_string(kMostRows) + " of " + std::to_string(table.rows.size()) +
            " rows. <code>profctl analyze --json</code> has more.</p>";
  }
  return text;
}

std::string Quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string Seconds(Ns at) {
  const std::string rest = std::to_string(1'000'000'000 + at % 1'000'000'000).substr(1);
  return "@" + std::to_string(at / 1'000'000'000) + "." + rest;
}

std::string PlacesHtml(const View& view, size_t finding) {
  std::string text;
  for (const Place& place : view.places[finding]) {
    const analyze::Rank& rank = view.job.ranks[place.rank];
    text += "<li><button type=\"button\" class=\"go\" data-rank=\"" + std::to_string(place.rank) +
            "\" data-from=\"" + std::to_string(place.from - view.begin) + "\" data-to=\"" +
            std::to_string(place.to - view.begin) + "\" data-finding=\"" + std::to_string(finding + 1) +
            "\">step " + std::to_string(place.step) + ", rank " + std::to_string(rank.number) + "</button> " +
            Escaped(place.what) + ", " + Length(static_cast<double>(place.to - place.from) / 1e6) + "</li>";
  }
  if (text.empty()) return "";
  text = "<h4>On the time axis</h4><ul class=\"places\">" + text + "</ul>";
  const Place& first = view.places[finding].front();
  const std::string& source = view.job.ranks[first.rank].source;
  const size_t name = source.rfind('/');
  if (source.substr(name == source.npos ? 0 : name + 1).starts_with("PROF_") && !source.ends_with(".db")) {
    const Ns around = (first.to - first.from) / 10;
    text += "<h4>In a viewer</h4><p class=\"command\"><code>" +
            Escaped("profctl export " + Quoted(source) + " --from " + Seconds(first.from - around) +
                    " --to " + Seconds(first.to + around)) +
            "</code> <button type=\"button\" class=\"copy\">copy</button></p>";
  }
  return text;
}

std::string EvidenceHtml(const View& view, const Finding& finding, size_t index) {
  const analyze::Cost& cost = finding.cost;
  std::string left, right;
  for (const analyze::Table& table : finding.evidence) left += TableHtml(view, table);
  right += PlacesHtml(view, index);
  if (!finding.advice.empty()) {
    right += "<h4>What to do</h4><ul>";
    for (const std::string& advice : finding.advice) right += "<li>" + Escaped(Capital(advice)) + "</li>";
    right += "</ul>";
  }
  if (HasCost(finding)) {
    right += "<h4>What it costs</h4><p>";
    if (cost.method == analyze::Method::kReplay) {
      right += "Removing this cause alone saves " + Length(cost.alone) +
               " of a step, removing it after all the others " + Length(cost.last) + "; over the " +
               std::to_string(cost.of) + " steps " + Length(cost.total_ms) + ".";
      if (!IsOnce(finding) && cost.high > cost.low)
        right += " Between " + Length(cost.low) + " and " + Length(cost.high) + ".";
    } else {
      right += "Up to " + Length(cost.total_ms) + " over the " + std::to_string(cost.of) +
               " steps: a bound, no replay.";
    }
    right += "</p>";
  }
  if (!finding.factors.empty()) {
    right += "<h4>How sure: " + std::string(finding.confidence()) + "</h4><table class=\"factors\"><tbody>";
    std::vector<analyze::Factor> factors = finding.factors;
    std::ranges::stable_sort(factors, {}, &analyze::Factor::score);
    for (const analyze::Factor& factor : factors) {
      right += "<tr><th scope=\"row\">" + Escaped(factor.name) +
               "</th><td><svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" role=\"img\" "
               "aria-label=\"" +
               std::to_string(static_cast<int>(100 * factor.score)) +
               " of 100\"><rect class=\"rest\" width=\"100\" height=\"8\"/><rect class=\"plain\" width=\"" +
               Coordinate(100 * std::clamp(factor.score, 0.0, 1.0)) + "\" height=\"8\"/></svg></td><td>" +
               Escaped(factor.why) + "</td></tr>";
    }
    right += "</tbody></table>";
  }
  return "<div class=\"evidence\"><div>" + left + "</div><div>" + right + "<p class=\"quiet\">Rule <code>" +
         Escaped(finding.id) + "</code>, key <code>" + Escaped(finding.key) + "</code></p></div></div>";
}

}  // namespace

std::string Badge(size_t finding) {
  return "<span class=\"no f" + std::to_string(std::min(finding, kColours)) + "\">" +
         std::to_string(finding) + "</span>";
}

std::string JobLine(const View& view) {
  const analyze::Context& context = view.analysis.context();
  std::set<std::string> nodes;
  for (const analyze::Rank& rank : view.job.ranks) nodes.insert(rank.node);
  std::string text =
      Count(view.job.ranks.size(), "rank", "ranks") + " on " + Count(nodes.size(), "node", "nodes");
  if (!view.job.has_steps)
    return text + " · " + Count(view.job.steps.size(), "window", "windows") + ", no steps are known";
  if (context.first < view.job.steps.size()) {
    text += " · steps " + std::to_string(view.job.steps[context.first]);
    if (context.first + 1 < view.job.steps.size()) text += "–" + std::to_string(view.job.steps.back());
  }
  return text;
}

std::string HeadPart(const View& view) {
  const analyze::Analysis& analysis = view.analysis;
  const analyze::Summary& summary = analysis.verdict().summary;
  const std::vector<Finding>& findings = analysis.verdict().findings;
  const std::string unit = view.job.has_steps ? "step" : "window";
  const double step = summary.step_ms_mean, avoidable = std::max(0.0, step - summary.ideal_ms);
  const double share = step > 0 ? 100 * avoidable / step : 0;
  const bool has_gain = share >= 0.5;
  std::string text = "<section id=\"head\"><div>";
  if (view.job.simulated) text += "<p class=\"simulated\">" + Escaped(analyze::kSimulated) + ".</p>";
  text += "<h1>A " + unit + " takes " + Length(step) + ". <span>";
  text += has_gain ? Length(summary.ideal_ms) + " is possible." : "No cause above a percent of it is found.";
  text += "</span></h1>";
  if (step > 0 && summary.knows_devices) {
    // Parts of the mean step, and what of it is avoidable.
    const double compute = summary.compute_ms,
                 transfer = std::max(0.0, summary.exposed_ms - summary.waiting_ms);
    struct Bit {
      const char* css;
      const char* name;
      double ms;
    };
    const Bit bits[] = {{"k2", "compute", compute},
                        {"k1", "communication not hidden", transfer},
                        {"wait", "waiting for late ranks", summary.waiting_ms},
                        {"idle", "idle", summary.idle_ms}};
    text +=
        "<svg class=\"parts\" viewBox=\"0 0 1000 30\" preserveAspectRatio=\"none\" role=\"img\" "
        "aria-label=\"parts of a "
        "step\">";
    double at = 0, all = 0;
    for (const Bit& bit : bits) all += bit.ms;
    for (const Bit& bit : bits) {
      const double width = all > 0 ? 1000 * bit.ms / all : 0;
      text += "<rect class=\"" + std::string(bit.css) + "\" x=\"" + Coordinate(at) + "\" width=\"" +
              Coordinate(width) + "\" height=\"18\"/>";
      at += width;
    }
    const double needed = 1000 * std::clamp(summary.ideal_ms / step, 0.0, 1.0);
    text += "<rect class=\"need\" y=\"21\" width=\"" + Coordinate(needed) +
            "\" height=\"5\"/><rect class=\"avoid\" x=\"" + Coordinate(needed) + "\" y=\"21\" width=\"" +
            Coordinate(1000 - needed) + "\" height=\"5\"/></svg><p class=\"key\">";
    for (const Bit& bit : bits) {
      if (bit.ms >= 0.005 * all)
        text += "<span><i class=\"" + std::string(bit.css) + "\"></i>" + bit.name + " <b>" + Length(bit.ms) +
                "</b></span> ";
    }
    if (has_gain)
      text += "<span><i class=\"avoid\"></i>avoidable <b>" + Length(avoidable) + ", " + Percent(share) +
              "</b></span>";
    text += "</p>";
  }
  // What has cost most of the recording, be it in every step or at once.
  const auto weight = [](const Finding& finding) {
    return std::tuple(!finding.advice.empty(), HasCost(finding), finding.confidence() != "low",
                      finding.cost.total_ms);
  };
  auto first = std::ranges::max_element(findings, {}, weight);
  if (first != findings.end() && first->advice.empty()) first = findings.end();
  if (first != findings.end()) {
    text += "<p class=\"first\"><b>Do this first:</b> " + Escaped(analyze::Advice(*first)) + ".";
    if (HasCost(*first)) {
      text +=
          IsOnce(*first)
              ? " It cost " + Length(first->cost.total_ms) + " once."
              : " It saves " +
                    Length(first->cost.alone >= first->cost.last / 2 ? first->cost.alone : first->cost.last) +
                    " of a " + unit +
                    (first->cost.alone >= first->cost.last / 2 ? "."
                                                               : " once the other causes are gone, too.");
    }
    text += "</p>";
  } else {
    text += "<p class=\"first\">" + Percent(step > 0 ? 100 * summary.unexplained_ms / step : 0) + " of a " +
            unit + " is neither work nor explained.</p>";
  }
  text += "<p class=\"quiet\">Mean of " +
          Count(analysis.context().steps(), unit.c_str(), (unit + "s").c_str()) + "; median " +
          Length(summary.step_ms_p50) + ", 95th percentile " + Length(summary.step_ms_p95) +
          ". Data: " + analyze::DataText(analysis) +
          (analysis.is_whole() ? "" : ", <b>not all of it could be used</b>");
  if (analysis.clocks().from_data)
    text += "; clocks of nodes agree to " + Length(static_cast<double>(analysis.clocks().bound) / 1e6);
  text += summary.exact ? "" : "; the replay is inexact";
  text += ". <a href=\"#data\">What could not be examined</a></p></div>";
  return text + "<figure id=\"step-chart\" class=\"script\"><figcaption><b>Time of each " + unit +
         "</b>, ms<span></span></figcaption><div></div></figure></section>";
}

std::string FindingsPart(const View& view) {
  const std::vector<Finding>& findings = view.analysis.verdict().findings;
  std::string text = "<section id=\"findings\"><h2>";
  text += findings.empty() ? "No findings" : Capital(Count(findings.size(), "finding", "findings"));
  text += "</h2><p class=\"sub\">";
  if (findings.empty()) {
    return text + "Nothing costs " +
           Percent(view.analysis.request().settings.Get("general.min_cost_percent")) +
           " of a step or more. What was examined is <a href=\"#data\">below</a>.</p></section>";
  }
  text +=
      "By severity and cost. Costs overlap, so do not add them up: without all these causes a step takes " +
      Length(view.analysis.verdict().summary.ideal_ms) + ".</p>";
  double most = 0, most_once = 0;
  for (const Finding& finding : findings) {
    if (!HasCost(finding)) continue;
    double& longest = IsOnce(finding) ? most_once : most;
    longest = std::max({longest, CostMs(finding), IsOnce(finding) ? 0 : finding.cost.high});
  }
  text +=
      "<div class=\"row heads\" aria-hidden=\"true\"><span></span><span>What is wrong</span><span>What it "
      "costs</span><span>What to do</span><span>How sure</span><span></span></div>";
  constexpr size_t kMostOpen = 100;  // with evidence
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    text += "<details class=\"finding\" id=\"finding-" + std::to_string(i + 1) + "\" data-key=\"" +
            Escaped(finding.key) + "\"><summary class=\"row\">" + Badge(i + 1) + "<span class=\"what\"><b>" +
            Escaped(Capital(analyze::Title(finding))) + "</b><small>" + WhereText(view, finding) +
            "</small></span><span class=\"cost\"><span>" + CostText(view, finding) + "</span>" +
            CostBar(finding, i + 1, IsOnce(finding) ? most_once : most) + "</span><span class=\"do\">" +
            Escaped(Capital(analyze::Advice(finding))) + "</span><span class=\"sure\">" + SureText(finding) +
            "</span><span class=\"fold\" aria-hidden=\"true\"></span></summary>" +
            (i < kMostOpen ? EvidenceHtml(view, finding, i)
                           : "<p class=\"quiet\">Evidence: <code>profctl analyze --explain " +
                                 std::to_string(i + 1) + "</code></p>") +
            "</details>";
  }
  return text + "</section>";
}

std::string DataPart(const View& view, const std::string& kept) {
  const analyze::Analysis& analysis = view.analysis;
  std::set<std::string_view> skipped;
  std::string text = "<section id=\"data\"><h2>Data</h2><div class=\"columns\"><div><h3>Not examined</h3>";
  if (analysis.verdict().not_run.empty()) {
    text += "<p>All rules could be examined.</p>";
  } else {
    text += "<table><tbody>";
    for (const analyze::NotRun& one : analysis.verdict().not_run) {
      skipped.insert(one.rule);
      text += "<tr><th scope=\"row\"><code>" + Escaped(one.rule) + "</code></th><td>" + Escaped(one.why) +
              "</td></tr>";
    }
    text += "</tbody></table>";
  }
  text += "<h3>Examined</h3><p class=\"quiet\">";
  for (const analyze::Rule& rule : analyze::Rules()) {
    if (!skipped.contains(rule.id))
      text += "<code title=\"" + Escaped(rule.fires) + "\">" + Escaped(rule.id) + "</code> ";
  }
  text += "</p></div><div><h3>Notes on the data</h3>";
  constexpr size_t kMostNotes = 50;
  const auto& notes = view.job.notes;
  if (notes.empty()) text += "<p>None.</p>";
  text += "<ul>";
  for (size_t i = 0; i < std::min(notes.size(), kMostNotes); ++i) {
    text += std::string("<li") + (notes[i].lost ? " class=\"lost\"" : "") + ">" +
            (notes[i].where.empty() ? "" : "<code>" + Escaped(notes[i].where) + "</code>: ") +
            Escaped(notes[i].text) + "</li>";
  }
  text += "</ul>";
  if (notes.size() > kMostNotes)
    text += "<p class=\"quiet\">and " + std::to_string(notes.size() - kMostNotes) +
            " more: <code>profctl analyze --json</code></p>";
  if (analysis.matches().unmatched > 0) {
    text += "<p>" + Count(analysis.matches().unmatched, "collective has", "collectives have") +
            " no partner on another rank, and count for nothing.</p>";
  }
  text += "<h3>What this page holds</h3><p>" + kept + "</p>";
  text += "<p class=\"quiet\">profctl " + std::string(base::kVersion) +
          ". Costs are replays of the recorded job without the cause; the page shows no percentage of "
          "confidence, since "
          "confidence is an order and no probability.</p>";
  return text + "</div></div></section>";
}

}  // namespace profd::report
