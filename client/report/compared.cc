#include "client/report/compared.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "client/report/text.h"

namespace profd::report {
namespace {

using analyze::Comparison;
using analyze::Difference;
using analyze::Judgement;

constexpr size_t kMostRows = 20;
constexpr double kLeastFall = 0.005;  // ms: less is not shown
constexpr double kLeastOfRank = 0.03;

std::string Number(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}
std::string Cell(const std::string& text) { return "<td class=\"n\">" + text + "</td>"; }
std::string Milliseconds(double ms) { return Cell(Number("%.3f", ms)); }
std::string Change(double ms) { return Cell(Number("%+.3f", ms)); }

std::string Head(const char* side, const analyze::Runs& runs, size_t middle) {
  const analyze::Run& run = *runs[middle];
  return std::string(side) + Count(run.job().ranks.size(), "rank", "ranks") + ", " +
         Count(run.context().steps(), run.job().has_steps ? "step" : "window",
               run.job().has_steps ? "steps" : "windows") +
         (runs.size() > 1 ? ", the middle one of " + std::to_string(runs.size()) + " runs" : "");
}

std::string PartsTable(const Comparison& comparison) {
  std::string text =
      "<div class=\"scroll\"><table><caption>A step, ms, mean of ranks</caption><thead><tr><th></th><th "
      "class=\"n\">before</th><th class=\"n\">now</th><th class=\"n\">change</th><th class=\"n\">%</th><th "
      "class=\"n\">95 % of the change</th><th>verdict</th></tr></thead><tbody>";
  for (size_t i = 0; i < comparison.parts.size(); ++i) {
    const Difference& part = comparison.parts[i];
    text += "<tr><th scope=\"row\">" + std::string(analyze::ShareName(static_cast<analyze::Share>(i))) +
            "</th>" + Milliseconds(part.base) + Milliseconds(part.now) + Change(part.change()) +
            Cell(Number("%+.1f", part.percent())) +
            Cell(Number("%+.3f", part.low) + " to " + Number("%+.3f", part.high)) + "<td>" +
            std::string(analyze::JudgementName(part.judgement)) + "</td></tr>";
  }
  return text + "</tbody></table></div>";
}

// Each fall as a bar from where the one before ends.
std::string WaterfallTable(const analyze::Waterfall& waterfall) {
  double low = std::min(waterfall.base_ms, waterfall.new_ms),
         high = std::max(waterfall.base_ms, waterfall.new_ms);
  double at = waterfall.base_ms;
  for (const analyze::Fall& fall : waterfall.falls) {
    at += fall.ms;
    low = std::min(low, at);
    high = std::max(high, at);
  }
  // What all have in common would leave no room for what differs.
  const double from = std::max(0.0, low - (high - low)), width = std::max(high - from, 1e-9);
  const auto bar = [&](double a, double b, const char* css) {
    return "<td class=\"fall\"><svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
           "aria-hidden=\"true\"><rect class=\"" +
           std::string(css) + "\" x=\"" + Coordinate(100 * (std::min(a, b) - from) / width) + "\" width=\"" +
           Coordinate(std::max(0.4, 100 * std::abs(b - a) / width)) + "\" height=\"8\"/></svg></td>";
  };
  std::string text =
      "<div class=\"scroll\"><table class=\"falls\"><caption>Where it comes from, ms of a "
      "step</caption><tbody>";
  text += "<tr><th scope=\"row\">before</th>" + Milliseconds(waterfall.base_ms) +
          bar(from, waterfall.base_ms, "k1") + "</tr>";
  at = waterfall.base_ms;
  for (const analyze::Fall& fall : waterfall.falls) {
    const double to = at + fall.ms;
    if (std::abs(fall.ms) >= kLeastFall || &fall == &waterfall.falls.back())
      text += "<tr><td>" + Escaped(fall.what) + "</td>" + Change(fall.ms) +
              bar(at, to, fall.ms > 0 ? "wait" : "comm") + "</tr>";
    at = to;
  }
  return text + "<tr><th scope=\"row\">now</th>" + Milliseconds(waterfall.new_ms) +
         bar(from, waterfall.new_ms, "k1") + "</tr></tbody></table></div>";
}

std::string KindsTable(const char* caption, const std::vector<analyze::KindRow>& rows) {
  std::string body;
  size_t shown = 0, more = 0;
  for (const analyze::KindRow& row : rows) {
    if (row.difference.judgement != Judgement::kSlower && row.difference.judgement != Judgement::kFaster)
      continue;
    if (shown++ >= kMostRows) {
      ++more;
      continue;
    }
    body += "<tr><td>" + Escaped(row.kind.type) + "</td><td>" +
            Escaped(row.new_shapes.empty() ? row.kind.shapes : row.kind.shapes + " → " + row.new_shapes) +
            "</td>" + Milliseconds(row.difference.base) + Milliseconds(row.difference.now) +
            Change(row.difference.change()) + Cell(Number("%.1f", row.base_us)) +
            Cell(Number("%.1f", row.new_us)) + Cell(Number("%.1f", row.base_count)) +
            Cell(Number("%.1f", row.new_count)) + "</tr>";
  }
  if (body.empty()) return "";
  return "<div class=\"scroll\"><table class=\"sortable\"><caption>" + std::string(caption) +
         "</caption><thead><tr><th scope=\"col\">type</th><th scope=\"col\">shapes</th><th scope=\"col\" "
         "class=\"n\">ms "
         "before</th><th scope=\"col\" class=\"n\">ms now</th><th scope=\"col\" class=\"n\">change</th><th "
         "scope=\"col\" "
         "class=\"n\">µs each before</th><th scope=\"col\" class=\"n\">now</th><th scope=\"col\" "
         "class=\"n\">number "
         "before</th><th scope=\"col\" class=\"n\">now</th></tr></thead><tbody>" +
         body + "</tbody></table></div>" +
         (more > 0 ? "<p class=\"quiet\">" + std::to_string(more) +
                         " more: <code>profctl compare --json</code></p>"
                   : "");
}

std::string RanksTable(const Comparison& comparison) {
  std::string body;
  size_t shown = 0;
  for (const analyze::RankRow& row : comparison.ranks) {
    const double change = row.new_compute - row.base_compute;
    if (shown >= kMostRows || std::abs(change) < kLeastOfRank * std::max(row.base_compute, row.new_compute))
      break;
    ++shown;
    body += "<tr>" + Cell(std::to_string(row.base)) + Cell(std::to_string(row.now)) +
            Milliseconds(row.base_compute) + Milliseconds(row.new_compute) + Milliseconds(row.base_waiting) +
            Milliseconds(row.new_waiting) + "</tr>";
  }
  if (body.empty()) return "";
  return "<div class=\"scroll\"><table class=\"sortable\"><caption>Ranks by their places, ms of a "
         "step</caption><thead><tr><th "
         "scope=\"col\" class=\"n\">rank before</th><th scope=\"col\" class=\"n\">now</th><th scope=\"col\" "
         "class=\"n\">compute before</th><th scope=\"col\" class=\"n\">now</th><th scope=\"col\" "
         "class=\"n\">waiting "
         "before</th><th scope=\"col\" class=\"n\">now</th></tr></thead><tbody>" +
         body + "</tbody></table></div>";
}

}  // namespace

std::string ComparedPart(const Comparison& comparison, const analyze::Runs& base, const analyze::Runs& now) {
  const Difference& step = comparison.parts.front();
  std::string text = "<section id=\"compared\"><h2>Before and now</h2><p class=\"sub\">A step takes " +
                     Length(step.now) + " where it took " + Length(step.base) + ": ";
  text += !comparison.has_verdict                ? "too few steps to tell that from noise"
          : step.judgement == Judgement::kSlower ? "it has become slower"
          : step.judgement == Judgement::kFaster ? "it has become faster"
                                                 : "no more than noise";
  text +=
      ". " + Head("Before: ", base, comparison.base) + "; " + Head("now: ", now, comparison.now) + ".</p>";
  for (const std::string& remark : comparison.remarks)
    text += "<p class=\"quiet\">" + Escaped(remark) + "</p>";
  return text + "<div class=\"columns\"><div>" + PartsTable(comparison) + "</div><div>" +
         WaterfallTable(comparison.waterfall) + "</div></div>" +
         KindsTable("Kernels that differ, of a step", comparison.kernels) +
         KindsTable("Collectives that differ, without waiting", comparison.collectives) +
         RanksTable(comparison) + "</section>";
}

base::Result<std::string> ComparedPart(const std::vector<std::vector<std::string>>& before,
                                       const analyze::Request& now) {
  analyze::Runs earlier, newest;
  for (const std::vector<std::string>& paths : before) {
    PROFD_ASSIGN_OR_RETURN(auto run, analyze::Run::Read(paths, now.settings, now.jobs));
    earlier.push_back(std::move(run));
  }
  PROFD_ASSIGN_OR_RETURN(auto run, analyze::Run::Read(now.paths, now.settings, now.jobs));
  newest.push_back(std::move(run));
  return ComparedPart(analyze::Compare(earlier, newest, {.jobs = now.jobs}), earlier, newest);
}

}  // namespace profd::report
