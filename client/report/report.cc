#include "client/report/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "client/analyze/model/parallel.h"
#include "client/report/heat.h"
#include "client/report/lanes.h"
#include "client/report/pack.h"
#include "client/report/page.h"
#include "client/report/parts.h"
#include "client/report/recorded.h"
#include "client/report/text.h"
#include "client/words/text.h"

namespace profd::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostEvents = 700'000;

std::string Dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Names of the job, as they are shown anywhere: short, in one line.
std::string Name(std::string_view text) { return client::Excerpt(text, 160); }

std::string TitleOf(const analyze::Analysis& analysis, const Options& options) {
  if (!options.title.empty()) return options.title;
  std::string path = analysis.request().paths.front();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t at = path.rfind('/');
  std::string name = at == path.npos || at + 1 == path.size() ? path : path.substr(at + 1);
  if (analysis.request().paths.size() > 1)
    name += " and " + std::to_string(analysis.request().paths.size() - 1) + " more";
  return name;
}

Json RanksJson(const View& view) {
  Json ranks = Json::array();
  for (size_t r = 0; r < view.job.ranks.size(); ++r) {
    const analyze::Rank& rank = view.job.ranks[r];
    ranks.push_back(Json::array({rank.number, Name(rank.node), rank.device, view.reference[r]}));
  }
  return ranks;
}

Json FindingsJson(const View& view) {
  Json findings = Json::array();
  const auto& all = view.analysis.verdict().findings;
  for (size_t i = 0; i < all.size(); ++i) {
    Json places = Json::array(), ranks = Json::array(), steps = Json::array();
    for (const Place& place : view.places[i])
      places.push_back(
          Json::array({place.rank, place.from - view.begin, place.to - view.begin, Name(place.what)}));
    for (const int64_t rank : all[i].where.ranks) ranks.push_back(view.IndexOf(rank));
    const bool is_some = all[i].cost.pattern != analyze::Pattern::kEvery && all[i].steps.size() <= 200;
    if (is_some) steps = all[i].steps;
    findings.push_back(
        Json{{"title", Name(all[i].title)}, {"ranks", ranks}, {"steps", steps}, {"places", places}});
  }
  return findings;
}

// Values as the square of a 16-bit number: what is small stays exact.
Json AddHeat(const View& view, const Heat& heat, Pack& pack) {
  Json measures = Json::array();
  std::vector<uint16_t> cells;
  for (const Measure& measure : heat.measures) {
    const float most = measure.ms.empty() ? 0 : *std::ranges::max_element(measure.ms);
    cells.clear();
    for (const float ms : measure.ms)
      cells.push_back(most > 0 ? static_cast<uint16_t>(std::lround(std::sqrt(ms / most) * 65535)) : 0);
    pack.Add("heat." + measure.id, std::span<const uint16_t>(cells));
    measures.push_back(
        Json{{"id", measure.id}, {"title", measure.title}, {"what", measure.what}, {"most", most}});
  }
  std::vector<double> steps;
  for (const StepTime& step : view.steps) {
    steps.push_back(static_cast<double>(step.begin - view.begin));
    steps.push_back(static_cast<double>(step.end - view.begin));
  }
  pack.Add("steps", std::span<const double>(steps));
  std::vector<float> times;
  for (const Ns time : view.analysis.context().step_lengths)
    times.push_back(static_cast<float>(static_cast<double>(time) / 1e6));
  pack.Add("times", std::span<const float>(times));
  return Json{{"columns", heat.columns}, {"each", heat.steps_each}, {"measures", measures}};
}

Json AddEvents(const Detail& detail, Pack& pack, const View& view) {
  constexpr const char* kKinds[] = {"kernels", "collectives", "copies", "calls", "ranges"};
  Json ranks = Json::array();
  for (const RankLanes& rank : detail.ranks) {
    Json lanes = Json::array(), windows = Json::array();
    for (size_t i = 0; i < rank.lanes.size(); ++i) {
      const Lane& lane = rank.lanes[i];
      const std::string name = "ev." + std::to_string(rank.rank) + "." + std::to_string(i);
      pack.Add(name, std::span<const uint8_t>(lane.events));
      lanes.push_back(
          Json::array({kKinds[static_cast<size_t>(lane.kind)], Name(lane.title), lane.count, name}));
    }
    for (const auto& [from, to] : rank.windows)
      windows.push_back(Json::array({from - view.begin, to - view.begin}));
    ranks.push_back(
        Json{{"rank", rank.rank}, {"whole", rank.is_whole}, {"windows", windows}, {"lanes", lanes}});
  }
  return ranks;
}

Json AddCharts(const View& view, const Recorded& recorded, Pack& pack) {
  Json charts = Json::array();
  std::vector<double> at;
  size_t number = 0;
  for (const Chart& chart : recorded.charts) {
    Json curves = Json::array();
    for (const Curve& curve : chart.curves) {
      const std::string name = "c." + std::to_string(number++);
      at.clear();
      for (const Ns time : curve.at) at.push_back(static_cast<double>(time - view.begin));
      pack.Add(name + ".at", std::span<const double>(at));
      pack.Add(name + ".value", std::span<const float>(curve.value));
      curves.push_back(Json::array({Name(curve.label), name}));
    }
    charts.push_back(Json{{"title", Name(chart.title)},
                          {"unit", Name(chart.unit)},
                          {"rank", chart.rank},
                          {"node", Name(chart.node)},
                          {"curves", curves}});
  }
  return charts;
}

Json FrameJson(const Flame::Node& node) {
  Json called = Json::array();
  for (const auto& [name, child] : node.called) called.push_back(FrameJson(child));
  Json json = Json::array({Name(node.name), std::round(node.all)});
  if (!called.empty()) json.push_back(std::move(called));
  return json;
}

Json FlamesJson(const Recorded& recorded) {
  Json flames = Json::array();
  for (const Flame& flame : recorded.flames) {
    Flame::Node root = flame.root;
    std::string title = flame.rank >= 0 ? "rank " + std::to_string(flame.rank) : flame.process;
    title += flame.rank >= 0 ? ", " + flame.process : "";
    root.name = title;
    flames.push_back(Json{{"title", Name(title + " (pid " + std::to_string(flame.pid) + ")")},
                          {"rank", flame.rank},
                          {"waiting", flame.is_waiting},
                          {"unit", flame.is_cycles ? "cycles" : "ns"},
                          {"samples", flame.samples},
                          {"tree", FrameJson(root)}});
  }
  return flames;
}

std::string Kept(const Detail& detail, const Shares& shares, const Recorded& recorded) {
  std::string text =
      detail.events == detail.of
          ? "All " + std::to_string(detail.of) + " events."
          : std::to_string(detail.events) + " of " + std::to_string(detail.of) + " events, of " +
                Count(detail.ranks.size(), "rank", "ranks") +
                ": where findings are, of a usual step and of the longest one, then as many as there is "
                "room for.";
  text += " Elsewhere the axis shows shares of time, of all ranks, in pieces of " +
          Length(static_cast<double>(shares.bucket) / 1e6) + ".";
  if (recorded.charts.empty()) {
    text += " No counters: they are in PROF directories of sessions with device or host kinds.";
  }
  if (recorded.charts_left_out > 0)
    text += " " + Count(recorded.charts_left_out, "counter is", "counters are") + " left out for room.";
  if (recorded.flames.empty())
    text += " No stacks: record with <code>--collect host-cpu-profile,host-off-cpu</code>.";
  return text;
}

std::string Block(const std::string& id, const char* type, std::string_view text) {
  return "<script id=\"" + id + "\" type=\"" + type + "\">" + std::string(text) + "</script>\n";
}

// Sections whose content the script makes.
std::string ScriptParts(const View& view, const Recorded& recorded) {
  std::string text =
      "<section id=\"steps\" class=\"script\"><div class=\"bar-of-controls\"><h2>Ranks and steps</h2><p "
      "class=\"sub\" "
      "id=\"heat-what\"></p><div class=\"choice\" id=\"heat-measures\" role=\"group\" "
      "aria-label=\"measure\"></div></div>"
      "<div class=\"frame\"><canvas id=\"heat\" tabindex=\"0\" role=\"img\"></canvas><p class=\"status\" "
      "id=\"heat-status\" "
      "aria-live=\"polite\"></p></div></section>\n"
      "<section id=\"time\" class=\"script\"><div class=\"bar-of-controls\"><h2>Time axis</h2><p "
      "class=\"sub\">Device, host "
      "and counters on one clock.</p><label>rank <select id=\"axis-rank\"></select></label><label>with "
      "<select "
      "id=\"axis-other\"></select></label><div class=\"choice\" id=\"axis-findings\" role=\"group\" "
      "aria-label=\"findings\"></div><div class=\"choice\" role=\"group\" aria-label=\"zoom\"><button "
      "type=\"button\" "
      "id=\"axis-out\" aria-label=\"zoom out\">−</button><button type=\"button\" id=\"axis-in\" "
      "aria-label=\"zoom "
      "in\">+</button><button type=\"button\" id=\"axis-all\">all</button></div></div><div "
      "class=\"frame\"><canvas id=\"axis\" "
      "tabindex=\"0\" role=\"img\"></canvas><div id=\"charts\"></div><p class=\"status\" id=\"axis-status\" "
      "aria-live=\"polite\"></p></div><p class=\"key\" id=\"axis-key\"><span><i "
      "class=\"k2\"></i>kernels</span><span><i "
      "class=\"comm\"></i>transfer</span><span><i class=\"wait\"></i>waiting for a late rank</span><span><i "
      "class=\"k1\"></i>host</span><span class=\"keys\"><kbd>+</kbd> <kbd>−</kbd> zoom <kbd>←</kbd> "
      "<kbd>→</kbd> move "
      "<kbd>[</kbd> <kbd>]</kbd> step <kbd>1</kbd>–<kbd>9</kbd> finding <kbd>0</kbd> all; drag moves, Ctrl "
      "and wheel zooms, "
      "Shift and drag measures</span></p></section>\n";
  static_cast<void>(view);
  if (!recorded.flames.empty()) {
    text +=
        "<section id=\"stacks\" class=\"script\"><div class=\"bar-of-controls\"><h2>Stacks</h2><p "
        "class=\"sub\">Width: time of "
        "the samples. Click a frame to enlarge it.</p><label>of <select "
        "id=\"flame-which\"></select></label><input "
        "id=\"flame-find\" type=\"search\" placeholder=\"find a frame\" aria-label=\"find a "
        "frame\"></div><div "
        "class=\"frame\"><canvas id=\"flame\" tabindex=\"0\" role=\"img\"></canvas><p class=\"status\" "
        "id=\"flame-status\" "
        "aria-live=\"polite\"></p></div></section>\n";
  }
  return text;
}

}  // namespace

std::string Page(const analyze::Analysis& analysis, const Options& options) {
  const unsigned jobs = analysis.request().jobs;
  const View view(analysis);
  const Blame blame(view);
  const std::string title = TitleOf(analysis, options);
  Heat heat;
  Shares shares;
  Detail detail;
  Recorded recorded;
  Pack overview("over"), events("events"), charts("charts");
  Json heat_json, shares_json, events_json, charts_json;
  // A third of the room is for what is not events.
  const size_t most_events = std::min(kMostEvents, options.most_bytes / 16);
  analyze::ForEach(3, jobs, [&](size_t part) {
    if (part == 0) {
      detail = DetailOf(view, most_events);
      events_json = AddEvents(detail, events, view);
      events.Close();
    } else if (part == 1) {
      heat = HeatOf(view, blame);
      heat_json = AddHeat(view, heat, overview);
      shares = SharesOf(view, 1);
      overview.Add("shares", std::span<const uint8_t>(shares.values));
      overview.Close();
    } else {
      recorded = ReadRecorded(view, 1);
      charts_json = AddCharts(view, recorded, charts);
      charts.Close();
    }
  });
  Json arrays = Json::object();
  for (const Pack* pack : {&overview, &events, &charts}) {
    for (const Pack::Array& array : pack->arrays())
      arrays[array.name] = Json::array({pack->name(), array.type, array.offset, array.count});
  }
  const Json meta{{"origin", std::to_string(view.begin)},
                  {"span", view.end - view.begin},
                  {"unit", view.job.has_steps ? "step" : "window"},
                  {"ranks", RanksJson(view)},
                  {"steps", view.job.steps},
                  {"first", analysis.context().first},
                  {"median", analysis.context().median_step_ns / 1e6},
                  {"findings", FindingsJson(view)},
                  {"heat", heat_json},
                  {"shares", Json{{"rows", kShares}, {"buckets", shares.buckets}, {"ns", shares.bucket}}},
                  {"events", events_json},
                  {"charts", charts_json},
                  {"arrays", arrays}};
  Json names = Json::array();
  for (const std::string& name : detail.names.texts()) names.push_back(Name(name));

  const std::string style = std::string(page::kChartStyle) + std::string(page::kStyle);
  std::string policy = "default-src 'none'; img-src data:; style-src 'sha256-" + Sha256(style) +
                       "'; script-src 'sha256-" + Sha256(page::kScript) + "' 'sha256-" +
                       Sha256(page::kChartScript) + "'; base-uri 'none'; form-action 'none'";
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" "
      "content=\"" +
      policy +
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
      "name=\"color-scheme\" "
      "content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>" +
      Escaped(title) + "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>" + style +
      "</style></head>\n<body>";
  html +=
      "<a class=\"skip\" href=\"#findings\">to the findings</a>\n<header><b>" + Escaped(title) +
      "</b><span>" + JobLine(view) +
      "</span><nav aria-label=\"parts\"><a href=\"#findings\">Findings</a><a class=\"script\" "
      "href=\"#steps\">Steps</a><a "
      "class=\"script\" href=\"#time\">Time</a>" +
      (recorded.flames.empty() ? "" : "<a class=\"script\" href=\"#stacks\">Stacks</a>") +
      (options.compared.empty() ? "" : "<a href=\"#compared\">Compared</a>") +
      "<a href=\"#groups\">Groups</a><a href=\"#data\">Data</a></nav><button type=\"button\" id=\"theme\" "
      "class=\"script\" "
      "aria-label=\"light or dark\">◐</button></header>\n<main><p id=\"broken\" role=\"alert\" hidden></p>\n";
  html += HeadPart(view) + "\n" + FindingsPart(view) + "\n" + options.compared + ScriptParts(view, recorded) +
          GroupsPart(view, blame) + "\n" + DataPart(view, Kept(detail, shares, recorded)) +
          "\n<noscript><p>Without script the heat map, the time axis and the stacks are not shown; nothing "
          "else is "
          "lost.</p></noscript></main>\n";
  html += Block("d-meta", "application/json", InBlock(Dumped(meta)));
  html += Block("d-names", "application/json", InBlock(Dumped(names)));
  if (!recorded.flames.empty())
    html += Block("d-flames", "application/json", InBlock(Dumped(FlamesJson(recorded))));
  for (const Pack* pack : {&overview, &events, &charts})
    html += Block("b-" + pack->name(), "text/plain", pack->text());
  html += "<script>" + std::string(page::kChartScript) + "</script>\n";
  html += "<script>" + std::string(page::kScript) + "</script>\n</body></html>\n";
  return html;
}

}  // namespace profd::report
