#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "client/analyze/model/statistics.h"
#include "client/report/heat.h"
#include "client/report/lanes.h"
#include "client/report/parts.h"
#include "client/report/text.h"

namespace profd::report {
namespace {

constexpr size_t kMostRows = 48, kMostColumns = 10;

// Collectives that can be compared: of one type, size and number of ranks.
using Class = std::tuple<analyze::TextId, uint64_t, size_t>;

std::string ClassName(const View& view, const Class& one) {
  const auto& [type, bytes, members] = one;
  std::string text(view.job.Text(type));
  if (bytes >= 1u << 20) {
    text += " " + std::to_string(bytes >> 20) + " MiB";
  } else if (bytes > 0) {
    text += " " + std::to_string((bytes + 1023) >> 10) + " KiB";
  }
  return text + ", " + std::to_string(members) + " ranks";
}

// Stronger is worse.
std::string Shade(double part) {
  return "s" + std::to_string(static_cast<int>(std::lround(6 * std::clamp(part, 0.0, 1.0))));
}

struct Group {
  std::map<Class, std::vector<double>> us;  // transfers
  double wait_ms = 0;                       // of a rank and step
  size_t members = 0;
  double worst = 0;  // ratio to other groups
  std::string name;
};

std::string TransfersTable(const View& view) {
  const analyze::Context& context = view.analysis.context();
  std::map<analyze::TextId, Group> groups;
  std::map<Class, double> totals;
  const auto& matches = view.analysis.matches().all;
  const auto steps = static_cast<double>(std::max<size_t>(context.steps(), 1));
  for (size_t m = 0; m < matches.size(); ++m) {
    const analyze::Match& match = matches[m];
    if (match.step < context.first || match.members.empty()) continue;
    Group& group = groups[match.group];
    const double us = static_cast<double>(context.replay.Transfer(m)) / 1e3;
    const Class one{match.type, match.bytes, match.members.size()};
    group.us[one].push_back(us);
    totals[one] += us;
    group.members = std::max(group.members, match.members.size());
    const analyze::Rank& rank = view.job.ranks[match.members.front().rank];
    if (group.name.empty()) group.name = GroupName(view, match.group, rank);
    for (const auto& member : match.members) {
      const auto& collective = view.job.ranks[member.rank].collectives[member.collective];
      const Ns waited = std::min(context.replay.LastArrival(m), collective.end) - collective.begin;
      group.wait_ms += static_cast<double>(std::max<Ns>(waited, 0)) / 1e6 / steps /
                       static_cast<double>(match.members.size());
    }
  }
  if (groups.empty()) {
    return "<p>No collective was found on more than one rank, so there is nothing to compare.</p>";
  }
  std::vector<Class> columns;
  for (const auto& [one, total] : totals) columns.push_back(one);
  std::ranges::stable_sort(columns, std::greater<>(), [&](const Class& one) { return totals[one]; });
  const size_t all_columns = columns.size();
  columns.resize(std::min(columns.size(), kMostColumns));
  std::map<Class, double> usual;
  for (const Class& one : columns) {
    std::vector<double> medians;
    for (const auto& [id, group] : groups) {
      if (const auto at = group.us.find(one); at != group.us.end())
        medians.push_back(analyze::Median(at->second));
    }
    // Half of the groups may be slow.
    usual[one] = analyze::Early(std::move(medians));
  }
  std::vector<Group*> rows;
  for (auto& [id, group] : groups) {
    for (const auto& [one, us] : group.us) {
      if (usual.contains(one) && usual[one] > 0)
        group.worst = std::max(group.worst, analyze::Median(us) / usual[one]);
    }
    rows.push_back(&group);
  }
  const size_t all_rows = rows.size();
  if (all_rows > kMostRows) {
    std::ranges::stable_sort(rows, std::greater<>(), &Group::worst);
    rows.resize(kMostRows);
  }
  std::ranges::stable_sort(rows, {}, [](const Group* group) {
    return std::tuple(-static_cast<int64_t>(group->members), group->name);
  });
  std::string text =
      "<h3>Transfers by group</h3><p class=\"sub\">Median time of the data alone, µs: from the last rank's "
      "coming to the "
      "end. Shaded from 1.1 × the quicker groups of the class on.</p><div class=\"scroll\"><table "
      "class=\"matrix "
      "sortable\"><thead><tr><th scope=\"col\">group</th>";
  for (const Class& one : columns)
    text += "<th scope=\"col\" class=\"n\">" + Escaped(ClassName(view, one)) + "</th>";
  text += "<th scope=\"col\" class=\"n\">waiting, ms of a step</th></tr></thead><tbody>";
  for (const Group* group : rows) {
    text += "<tr><th scope=\"row\">" + Escaped(group->name) + "</th>";
    for (const Class& one : columns) {
      const auto at = group->us.find(one);
      if (at == group->us.end()) {
        text += "<td></td>";
        continue;
      }
      const double us = analyze::Median(at->second);
      const double ratio = usual[one] > 0 ? us / usual[one] : 1;
      const double bytes = static_cast<double>(std::get<1>(one));
      char title[96];
      std::snprintf(title, sizeof title, "%zu of them, %.2f × the quicker groups%s", at->second.size(), ratio,
                    "");
      text += "<td class=\"n " + Shade(ratio < 1.1 ? 0 : (ratio - 1) / 1.5) + "\" title=\"" + title;
      if (bytes > 0 && us > 0) text += ", " + Ms(bytes / us / 1e3) + " GB/s";
      text += "\">" + Ms(us) + "</td>";
    }
    text += "<td class=\"n\">" + Ms(group->wait_ms) + "</td></tr>";
  }
  text += "</tbody></table></div>";
  if (all_rows > rows.size() || all_columns > columns.size()) {
    text += "<p class=\"quiet\">" + std::to_string(rows.size()) + " of " + std::to_string(all_rows) +
            " groups, " + std::to_string(columns.size()) + " of " + std::to_string(all_columns) +
            " classes: those that stand out.</p>";
  }
  return text;
}

std::string WaitsTable(const View& view, const Blame& blame) {
  const Waits waits = WaitsOf(view, blame);
  if (waits.ms.empty() || waits.all_ms <= 0) return "";
  const double most = *std::ranges::max_element(waits.ms);
  std::string text =
      "<h3>Who waits for whom</h3><p class=\"sub\">ms of a step that the rank on the left waits in "
      "collectives because of the rank above: it took longer than the others on its way there, or on the "
      "way to one that delayed the last. The mean rank waits " +
      Length(waits.all_ms) +
      " of a step.</p><div class=\"scroll\"><table class=\"matrix small\"><thead><tr><th "
      "scope=\"col\">waits \\ for</th>";
  for (const size_t column : waits.waited_for)
    text += "<th scope=\"col\" class=\"n\">" + std::to_string(view.job.ranks[column].number) + "</th>";
  text += "</tr></thead><tbody>";
  size_t at = 0;
  for (const size_t row : waits.waiting) {
    text += "<tr><th scope=\"row\">rank " + std::to_string(view.job.ranks[row].number) + "</th>";
    for (size_t i = 0; i < waits.waited_for.size(); ++i) {
      const double ms = waits.ms[at++];
      text += "<td class=\"n " + Shade(std::sqrt(ms / most) * (ms < 0.02 * most ? 0 : 1)) + "\">" +
              (ms < 0.005 ? std::string("·") : Ms(ms)) + "</td>";
    }
    text += "</tr>";
  }
  text += "</tbody></table></div>";
  if (!waits.is_whole) {
    text += "<p class=\"quiet\">The " + std::to_string(waits.waiting.size()) +
            " ranks that wait most, for the " + std::to_string(waits.waited_for.size()) +
            " that are waited for most.</p>";
  }
  return text;
}

// Rates of sends and receives.
std::string PairsTable(const View& view) {
  const analyze::Context& context = view.analysis.context();
  std::map<std::pair<int64_t, int64_t>, std::vector<double>> rates;
  const auto& matches = view.analysis.matches().all;
  for (size_t m = 0; m < matches.size(); ++m) {
    const analyze::Match& match = matches[m];
    if (!match.is_pair || match.members.size() != 2 || match.bytes == 0) continue;
    int64_t from = -1, to = -1;
    for (const auto& member : match.members) {
      const analyze::Rank& rank = view.job.ranks[member.rank];
      const std::string_view type = view.job.Text(rank.collectives[member.collective].type);
      (type.starts_with("send") || type.starts_with("Send") ? from : to) = rank.number;
    }
    const auto ns = static_cast<double>(context.replay.Transfer(m));
    if (from >= 0 && to >= 0 && ns > 0) rates[{from, to}].push_back(static_cast<double>(match.bytes) / ns);
  }
  if (rates.empty()) return "";
  std::vector<double> medians;
  for (const auto& [pair, all] : rates) medians.push_back(analyze::Median(all));
  const double usual = analyze::Median(medians);
  std::vector<std::tuple<double, int64_t, int64_t, size_t>> rows;
  for (const auto& [pair, all] : rates)
    rows.emplace_back(analyze::Median(all), pair.first, pair.second, all.size());
  std::ranges::sort(rows);
  const size_t count = rows.size();
  rows.resize(std::min(rows.size(), kMostRows));
  std::string text =
      "<h3>Links of pairs</h3><p class=\"sub\">Median rate of sends, the slowest first; usual are " +
      Ms(usual) +
      " GB/s.</p><div class=\"scroll\"><table class=\"sortable\"><thead><tr><th scope=\"col\" "
      "class=\"n\">from</th><th scope=\"col\" class=\"n\">to</th><th scope=\"col\" class=\"n\">GB/s</th><th "
      "scope=\"col\" class=\"n\">sends</th></tr></thead><tbody>";
  for (const auto& [rate, from, to, n] : rows) {
    text += "<tr><td class=\"n\">" + std::to_string(from) + "</td><td class=\"n\">" + std::to_string(to) +
            "</td><td class=\"n " + Shade(rate >= 0.9 * usual ? 0 : (1 - rate / usual) * 1.5) + "\">" +
            Ms(rate) + "</td><td class=\"n\">" + std::to_string(n) + "</td></tr>";
  }
  text += "</tbody></table></div>";
  if (count > rows.size())
    text += "<p class=\"quiet\">The slowest " + std::to_string(rows.size()) + " of " + std::to_string(count) +
            " pairs.</p>";
  return text;
}

}  // namespace

std::string GroupsPart(const View& view, const Blame& blame) {
  std::string text = "<section id=\"groups\"><h2>Groups and links</h2>";
  if (view.job.ranks.size() < 2)
    return text + "<p>One rank was recorded: who waits for whom cannot be told.</p></section>";
  return text + "<div class=\"columns\"><div>" + TransfersTable(view) + PairsTable(view) + "</div><div>" +
         WaitsTable(view, blame) + "</div></div></section>";
}

}  // namespace profd::report
