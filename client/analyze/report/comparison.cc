#include "client/analyze/report/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/version.h"
#include "client/analyze/report/text.h"
#include "client/words/text.h"

namespace profd::analyze {
namespace {

using client::OneLine;
using Json = nlohmann::ordered_json;

constexpr size_t kLongestName = 44;
constexpr size_t kWithInterval = 104;  // columns of a part with its interval
constexpr double kLeastFall = 0.005;   // ms: less is not shown
constexpr double kLeastOfRank = 0.03;

template <typename... Values>
std::string Text(const char* format, Values... values) {
  char text[192];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string Padded(const std::string& text, size_t width) {
  const size_t wide = client::Width(text);
  return wide >= width ? text : text + std::string(width - wide, ' ');
}

std::string Name(const KindRow& row) {
  std::string shapes = row.kind.shapes;
  if (!row.new_shapes.empty()) shapes += " -> " + row.new_shapes;
  const std::string name = OneLine(shapes.empty() ? row.kind.type : row.kind.type + " (" + shapes + ")");
  return client::Width(name) > kLongestName ? base::Excerpt(name, kLongestName) : name;
}

std::string Head(const char* side, const Runs& runs, size_t middle) {
  const Run& run = *runs[middle];
  const Job& job = run.job();
  std::string text =
      std::string(side) + std::to_string(job.ranks.size()) + (job.ranks.size() == 1 ? " rank" : " ranks");
  const size_t steps = run.context().steps();
  if (job.has_steps) {
    text += " · steps " + std::to_string(job.steps[run.context().first]) + "-" +
            std::to_string(job.steps.back()) + " (" + std::to_string(steps) + ")";
  } else {
    text += " · no steps: " + std::to_string(steps) + (steps == 1 ? " window" : " windows");
  }
  if (runs.size() > 1) {
    text += " · " + std::to_string(runs.size()) + " runs, number " + std::to_string(middle + 1) +
            " in the middle of them";
  }
  return text + "\n";
}

std::string DifferenceText(const Difference& difference, bool with_interval) {
  return Text("%9.3f %9.3f %+9.3f %+7.1f %%", difference.base, difference.now, difference.change(),
              difference.percent()) +
         (with_interval ? Text("  %+9.3f to %+.3f", difference.low, difference.high) : "") + "  " +
         std::string(JudgementName(difference.judgement)) + "\n";
}

bool IsWorthARow(const KindRow& row) {
  return row.difference.judgement == Judgement::kSlower || row.difference.judgement == Judgement::kFaster;
}

// Of one: how long and how many, where that differs.
std::string Each(const KindRow& row) {
  if (row.base_count == 0) return Text("new: %.1f us x %.1f", row.new_us, row.new_count);
  if (row.new_count == 0) return Text("gone: %.1f us x %.1f", row.base_us, row.base_count);
  std::string text = Text("%.1f -> %.1f us", row.base_us, row.new_us);
  return text + (std::abs(row.new_count - row.base_count) < 0.05
                     ? Text(" x %.1f", row.base_count)
                     : Text(" x %.1f -> %.1f", row.base_count, row.new_count));
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
    text += "  " + Padded(Name(row), kLongestName) +
            Text("%9.3f %9.3f %+9.3f  ", row.difference.base, row.difference.now, row.difference.change()) +
            Each(row) + "\n";
  }
  if (text.empty()) return "";
  return "\n" + Padded(heading, kLongestName + 2) +
         "     base       new    change  each x number in a step\n" + text +
         (more > 0 ? "  and " + std::to_string(more) + " more: --top, --json\n" : "");
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
    if (!row.new_shapes.empty()) entry[std::string("new_") + of] = row.new_shapes;
    entry.update(DifferenceJson(row.difference));
    entry.update(Json{{"base_count", Rounded(row.base_count)},
                      {"new_count", Rounded(row.new_count)},
                      {"base_us", Rounded(row.base_us)},
                      {"new_us", Rounded(row.new_us)}});
    list.push_back(std::move(entry));
  }
  return list;
}

Json SideJson(const Runs& runs, size_t middle) {
  const Run& run = *runs[middle];
  Json notes = Json::array();
  for (const auto& one : runs) {
    for (const Note& note : one->job().notes)
      notes.push_back({{"where", note.where}, {"text", note.text}, {"lost", note.lost}});
  }
  return {{"runs", runs.size()},
          {"run", middle + 1},
          {"ranks", run.job().ranks.size()},
          {"steps", run.context().steps()},
          {"unit", run.job().has_steps ? "step" : "window"},
          {"simulated", run.job().simulated},
          {"notes", std::move(notes)}};
}

}  // namespace

std::string ComparisonText(const Comparison& comparison, const Runs& base, const Runs& now, size_t top,
                           size_t columns) {
  std::string text = Head("base: ", base, comparison.base) + Head("new:  ", now, comparison.now);
  for (const std::string& remark : comparison.remarks) text += "  " + OneLine(remark) + "\n";
  const bool with_interval = columns == 0 || columns >= kWithInterval;
  const size_t names = with_interval ? 28 : 26;
  text += "\n" + Padded(with_interval ? "ms of a step, mean of ranks" : "ms of a step, mean rank", names) +
          "     base       new    change" + (with_interval ? "             95 % of the change\n" : "\n");
  for (size_t i = 0; i < comparison.parts.size(); ++i) {
    const std::string name(ShareName(static_cast<Share>(i)));
    text += Padded((i == 0 ? "" : "  ") + name, names) + DifferenceText(comparison.parts[i], with_interval);
  }
  const Waterfall& waterfall = comparison.waterfall;
  text += "\nwhere it comes from, ms of a step\n" + Text("  %9.3f  base\n", waterfall.base_ms);
  for (const Fall& fall : waterfall.falls) {
    if (std::abs(fall.ms) >= kLeastFall || &fall == &waterfall.falls.back())
      text += Text("  %+9.3f  ", fall.ms) + fall.what + "\n";
  }
  text += Text("  %9.3f  new\n", waterfall.new_ms) + Rows("kernels, ms of a step", comparison.kernels, top) +
          Rows("collectives, ms of a step without waiting", comparison.collectives, top);
  size_t shown = 0;
  for (const RankRow& row : comparison.ranks) {
    const double change = row.new_compute - row.base_compute;
    if (shown >= top || std::abs(change) < kLeastOfRank * std::max(row.base_compute, row.new_compute)) break;
    if (shown++ == 0) text += "\nranks by their places, ms of a step\n";
    text +=
        Text("  rank %lld%s: compute %.3f -> %.3f, waiting %.3f -> %.3f\n", static_cast<long long>(row.base),
             row.base == row.now ? "" : (", now " + std::to_string(row.now)).c_str(), row.base_compute,
             row.new_compute, row.base_waiting, row.new_waiting);
  }
  const auto is_simulated = [](const auto& run) { return run->job().simulated; };
  if (std::ranges::any_of(base, is_simulated) || std::ranges::any_of(now, is_simulated))
    text += "note: " + std::string(kSimulated) + "\n";
  for (const Runs* runs : {&base, &now}) {
    for (const auto& run : *runs) {
      for (const Note& note : run->job().notes) {
        if (note.lost) text += OneLine("note: " + note.Line()) + "\n";
      }
    }
  }
  return text;
}

std::string ComparisonJson(const Comparison& comparison, const Runs& base, const Runs& now) {
  constexpr const char* kNames[] = {"step", "compute", "transfer", "waiting", "idle"};
  Json parts = Json::object();
  for (size_t i = 0; i < comparison.parts.size(); ++i) parts[kNames[i]] = DifferenceJson(comparison.parts[i]);
  Json falls = Json::array(), ranks = Json::array();
  for (const Fall& fall : comparison.waterfall.falls)
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
                   {"tool", {{"name", "profctl"}, {"version", profd::base::kVersion}}},
                   {"base", SideJson(base, comparison.base)},
                   {"new", SideJson(now, comparison.now)},
                   {"sampled_by", comparison.runs_are_units ? "run" : "step"},
                   {"remarks", comparison.remarks},
                   {"parts", std::move(parts)},
                   {"waterfall",
                    {{"base_ms", Rounded(comparison.waterfall.base_ms)},
                     {"new_ms", Rounded(comparison.waterfall.new_ms)},
                     {"falls", std::move(falls)},
                     {"exact", comparison.waterfall.exact}}},
                   {"kernels", RowsJson(comparison.kernels, "shapes")},
                   {"collectives", RowsJson(comparison.collectives, "size")},
                   {"ranks", std::move(ranks)},
                   {"other_shapes_percent", Rounded(comparison.without_partner)}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace profd::analyze
