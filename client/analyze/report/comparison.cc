#include "client/analyze/report/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/version.h"
#include "client/words/text.h"

namespace profd::analyze {
namespace {

using client::OneLine;
using Json = nlohmann::ordered_json;

constexpr size_t kLongestName = 44;
constexpr double kLeastFall = 0.005;  // ms: less is not shown

template <typename... Values>
std::string Text(const char* format, Values... values) {
  char text[192];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string Padded(std::string text, size_t width) {
  const size_t wide = client::Width(text);
  return wide >= width ? text : text + std::string(width - wide, ' ');
}

std::string Name(const Kind& kind) {
  std::string name = kind.shapes.empty() ? kind.type : kind.type + " (" + kind.shapes + ")";
  if (name.size() > kLongestName) name = name.substr(0, kLongestName - 1) + "~";
  return OneLine(name);
}

std::string Head(const char* side, const Run& run, size_t runs) {
  const Job& job = run.job();
  std::string text =
      std::string(side) + std::to_string(job.ranks.size()) + (job.ranks.size() == 1 ? " rank" : " ranks");
  const size_t steps = run.context().steps();
  if (job.has_steps && steps > 0) {
    text += ", steps " + std::to_string(job.steps[run.context().first]) + "-" +
            std::to_string(job.steps.back()) + " (" + std::to_string(steps) + ")";
  } else {
    text += ", no steps: " + std::to_string(steps) + " windows";
  }
  if (runs > 1) text += ", the first of " + std::to_string(runs) + " runs";
  return text + "\n";
}

std::string DifferenceText(const Difference& difference) {
  return Text("%9.3f %9.3f %+9.3f %+7.1f %%  %+9.3f … %+.3f  ", difference.base, difference.now,
              difference.change(), difference.percent(), difference.low, difference.high) +
         std::string(JudgementName(difference.judgement)) + "\n";
}

bool IsWorthARow(const KindRow& row) {
  return row.difference.judgement == Judgement::kSlower || row.difference.judgement == Judgement::kFaster;
}

std::string Rows(const char* heading, const std::vector<KindRow>& rows, size_t top) {
  std::string text;
  size_t shown = 0, more = 0;
  for (const KindRow& row : rows) {
    if (!IsWorthARow(row)) continue;
    if (shown++ >= top) {
      ++more;
      continue;
    }
    text += "  " + Padded(Name(row.kind), kLongestName) +
            Text("%9.3f %9.3f %+9.3f ms  each %.1f -> %.1f us, %.1f -> %.1f a step  ", row.difference.base,
                 row.difference.now, row.difference.change(), row.base_us, row.new_us, row.base_count,
                 row.new_count) +
            std::string(JudgementName(row.difference.judgement)) + "\n";
  }
  if (text.empty()) return "";
  return heading + text + (more > 0 ? "  and " + std::to_string(more) + " more: --top, --json\n" : "");
}

// What nobody can tell apart is not written: six digits that count.
double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json DifferenceJson(const Difference& difference) {
  return {{"base_ms", Rounded(difference.base)},
          {"new_ms", Rounded(difference.now)},
          {"change_ms", Rounded(difference.change())},
          {"percent", Rounded(difference.percent())},
          {"low_ms", Rounded(difference.low)},
          {"high_ms", Rounded(difference.high)},
          {"verdict", JudgementName(difference.judgement)}};
}

Json RowsJson(const std::vector<KindRow>& rows, const char* of) {
  Json list = Json::array();
  for (const KindRow& row : rows) {
    Json entry{{"type", row.kind.type}, {of, row.kind.shapes}};
    entry.update(DifferenceJson(row.difference));
    entry.update(Json{{"base_count", Rounded(row.base_count)},
                      {"new_count", Rounded(row.new_count)},
                      {"base_us", Rounded(row.base_us)},
                      {"new_us", Rounded(row.new_us)}});
    list.push_back(std::move(entry));
  }
  return list;
}

Json SideJson(const Run& run, size_t runs) {
  Json notes = Json::array();
  for (const Note& note : run.job().notes)
    notes.push_back({{"where", note.where}, {"text", note.text}, {"lost", note.lost}});
  return {{"ranks", run.job().ranks.size()},
          {"steps", run.context().steps()},
          {"unit", run.job().has_steps ? "step" : "window"},
          {"runs", runs},
          {"notes", std::move(notes)}};
}

}  // namespace

std::string ComparisonText(const Comparison& comparison, const Run& base, const Run& now, size_t top) {
  std::string text = Head("base: ", base, comparison.base_runs) + Head("new:  ", now, comparison.new_runs);
  for (const std::string& remark : comparison.remarks) text += "  " + OneLine(remark) + "\n";
  text += "\n" + Padded("ms of a step, mean of ranks", 28) +
          "     base       new    change             95 % of the change\n";
  for (size_t i = 0; i < comparison.parts.size(); ++i) {
    const std::string name(ShareName(static_cast<Share>(i)));
    text += Padded((i == 0 ? "" : "  ") + name, 28) + DifferenceText(comparison.parts[i]);
  }
  text += "\nwhere it comes from, ms of a step\n" + Text("  %9.3f  base\n", comparison.parts.front().base);
  const double rest = comparison.waterfall.empty() ? 0 : comparison.waterfall.back().ms;
  for (const Fall& fall : comparison.waterfall) {
    if (std::abs(fall.ms) >= kLeastFall || (&fall == &comparison.waterfall.back() && rest != 0))
      text += Text("  %+9.3f  ", fall.ms) + fall.what + "\n";
  }
  text += Text("  %9.3f  new\n", comparison.parts.front().now);
  const std::string kernels = Rows("\nkernels, ms of a step: base, new, change\n", comparison.kernels, top);
  const std::string collectives =
      Rows("\ncollectives, ms of data of a step: base, new, change\n", comparison.collectives, top);
  text += kernels + collectives;
  size_t shown = 0;
  for (const RankRow& row : comparison.ranks) {
    const double change = row.new_compute - row.base_compute;
    if (shown >= top || std::abs(change) < 0.03 * std::max(row.base_compute, row.new_compute)) break;
    if (shown++ == 0) text += "\nranks by their places, compute and waiting in ms of a step\n";
    text +=
        Text("  rank %lld%s  compute %.3f -> %.3f, waiting %.3f -> %.3f\n", static_cast<long long>(row.base),
             row.base == row.now ? "" : (" and " + std::to_string(row.now)).c_str(), row.base_compute,
             row.new_compute, row.base_waiting, row.new_waiting);
  }
  for (const Run* run : {&base, &now}) {
    for (const Note& note : run->job().notes) {
      if (note.lost)
        text += OneLine("note: " + (note.where.empty() ? "" : note.where + ": ") + note.text) + "\n";
    }
  }
  return text;
}

std::string ComparisonJson(const Comparison& comparison, const Run& base, const Run& now) {
  Json parts = Json::object();
  constexpr const char* kNames[] = {"step", "compute", "transfer", "waiting", "idle"};
  for (size_t i = 0; i < comparison.parts.size(); ++i) parts[kNames[i]] = DifferenceJson(comparison.parts[i]);
  Json falls = Json::array(), ranks = Json::array();
  for (const Fall& fall : comparison.waterfall)
    falls.push_back({{"what", fall.what}, {"ms", Rounded(fall.ms)}});
  for (const RankRow& row : comparison.ranks) {
    ranks.push_back({{"base_rank", row.base},
                     {"new_rank", row.now},
                     {"base_compute_ms", Rounded(row.base_compute)},
                     {"new_compute_ms", Rounded(row.new_compute)},
                     {"base_waiting_ms", Rounded(row.base_waiting)},
                     {"new_waiting_ms", Rounded(row.new_waiting)}});
  }
  const Json whole{{"schema", "profd.compare/1"},
                   {"tool", {{"name", "profctl"}, {"version", base::kVersion}}},
                   {"base", SideJson(base, comparison.base_runs)},
                   {"new", SideJson(now, comparison.new_runs)},
                   {"sampled_by", comparison.runs_are_units ? "run" : "step"},
                   {"remarks", comparison.remarks},
                   {"parts", std::move(parts)},
                   {"waterfall", std::move(falls)},
                   {"kernels", RowsJson(comparison.kernels, "shapes")},
                   {"collectives", RowsJson(comparison.collectives, "size")},
                   {"ranks", std::move(ranks)},
                   {"other_shapes_percent", Rounded(comparison.without_partner)},
                   {"replay_exact", comparison.exact}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace profd::analyze
