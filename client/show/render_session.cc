// Sessions: one with its kinds, and the list of them.
#include <algorithm>
#include <map>

#include "base/calendar.h"
#include "base/clock.h"
#include "client/show/expected.h"
#include "client/show/kinds/kind_lines.h"
#include "client/show/render.h"
#include "client/verify/perturbations.h"
#include "client/words/alike.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

Colour ColourOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_STARTED:
      return Colour::kGood;
    case v1::VERDICT_PENDING:
      return Colour::kWarn;
    case v1::VERDICT_FAILED:
      return Colour::kBad;
    default:
      return Colour::kDim;
  }
}

Colour ColourOf(const v1::SessionInfo& info) {
  if (info.state() == v1::SESSION_STATE_FAILED) return Colour::kBad;
  if (info.lost() > 0 || info.degraded_size() > 0) return Colour::kWarn;
  return info.state() == v1::SESSION_STATE_SEALED ? Colour::kNone : Colour::kGood;
}

std::string Rate(uint64_t bytes, uint64_t elapsed_ns) {
  if (elapsed_ns == 0) return "-";
  return FormatBytes(static_cast<double>(bytes) * 1e9 / static_cast<double>(elapsed_ns)) + "/s";
}

std::string StateText(const v1::SessionInfo& info) {
  const bool paused = info.state() == v1::SESSION_STATE_RUNNING && !info.paused().empty();
  std::string text = paused ? "paused" : StateName(info.state());
  if (info.end_reason() != v1::END_REASON_UNSPECIFIED && info.state() != v1::SESSION_STATE_FAILED) {
    text += std::string(" (") + EndReasonName(info.end_reason()) + ")";
  }
  if (info.pinned()) text += " pinned";
  return text;
}

// "on disk 198.0 MB of 200.0 MB  the last 2.4 s  aged 512.0 MB"
std::string StorageLine(const v1::SessionInfo& info) {
  std::string text = "on disk " + FormatBytes(static_cast<double>(info.used_bytes()));
  if (info.storage_limit_bytes() > 0) {
    text += " of " + FormatBytes(static_cast<double>(info.storage_limit_bytes()));
  }
  if (info.window_ns() > 0) text += "  the last " + FormatDuration(info.window_ns());
  return text + "  aged " + FormatBytes(static_cast<double>(info.aged_bytes()));
}

// "14:38:59" of the last hours, "11-25 14:38" of the last months, else the day.
std::string ShortTime(uint64_t wall_ns, uint64_t now_ns) {
  constexpr uint64_t kHour = 3'600'000'000'000, kHours = 20, kDays = 300;
  if (wall_ns == 0) return "-";
  const uint64_t age = now_ns - std::min(now_ns, wall_ns);
  return base::LocalText(wall_ns, age < kHours * kHour       ? "%H:%M:%S"
                                  : age < kDays * 24 * kHour ? "%m-%d %H:%M"
                                                             : "%Y-%m-%d");
}

std::string RenderKinds(const v1::SessionInfo& info, bool with_data, const Look& look) {
  Reasons skipped, idle;
  std::vector<const v1::KindState*> shown;
  for (const v1::KindState& kind : info.kinds()) {
    const bool is_idle = with_data && kind.verdict() == v1::VERDICT_STARTED && kind.bytes() == 0 &&
                         kind.lost() == 0 && kind.reason().empty();
    if (!look.all && kind.verdict() == v1::VERDICT_SKIPPED) {
      skipped.Add(OneLine(kind.kind()), OneLine(kind.unit()), OneLine(kind.reason()));
    } else if (!look.all && is_idle) {
      idle.Add(OneLine(kind.kind()), OneLine(kind.unit()), "");
    } else {
      shown.push_back(&kind);
    }
  }
  std::vector<std::string> columns{"KIND", "UNIT", ">ASKED", ">EFFECTIVE", "VERDICT"};
  if (with_data) columns.insert(columns.end(), {">BYTES", "?>RATE", ">RECORDS", ">LOST"});
  columns.emplace_back("~REASON");
  Table table(columns);
  for (const KindLine& line : KindLines(shown, !look.all)) {
    const v1::KindState& kind = line.sum;
    const bool as_asked = kind.requested_hz() == kind.effective_hz() && !look.all;
    std::vector<Table::Cell> row{OneLine(kind.kind()),
                                 OneLine(UnitsText(line.units)),
                                 as_asked ? "" : FormatHz(kind.requested_hz()),
                                 FormatHz(kind.effective_hz()),
                                 {VerdictName(kind.verdict()), ColourOf(kind.verdict())}};
    if (with_data) {
      row.emplace_back(FormatBytes(static_cast<double>(kind.bytes())));
      row.emplace_back(Rate(kind.bytes(), info.elapsed_ns()));
      row.emplace_back(std::to_string(kind.records()));
      row.emplace_back(std::to_string(kind.lost()), kind.lost() > 0 ? Colour::kBad : Colour::kNone);
    }
    row.emplace_back(OneLine(kind.reason()));
    table.Add(std::move(row));
  }
  const std::string more = with_data ? "--all" : "profctl status " + OneLine(info.session()) + " --all";
  // What a flight recorder has is in no file yet.
  const char* const nothing = info.held_bytes() > 0   ? "in memory only:"
                              : info.elapsed_ns() > 0 ? "no data from"
                                                      : "no data yet from";
  return (shown.empty() ? "" : table.Text(look)) + idle.Text(nothing, look) +
         skipped.Text("skipped", look, more);
}

}  // namespace

namespace {

// On as many lines as it takes.
std::string HeadOf(const v1::SessionInfo& info, bool with_data, const Look& look) {
  std::vector<std::pair<std::string, Colour>> parts = {{OneLine(info.session()), Colour::kBold},
                                                       {StateText(info), ColourOf(info)}};
  if (!info.name().empty()) parts.emplace_back("\"" + OneLine(info.name()) + "\"", Colour::kNone);
  if (with_data) {
    parts.emplace_back(FormatDuration(info.elapsed_ns()) + " of " + FormatDuration(info.duration_ns()),
                       Colour::kNone);
    parts.emplace_back(FormatBytes(static_cast<double>(info.bytes())), Colour::kNone);
    parts.emplace_back("lost " + std::to_string(info.lost()), Colour::kNone);
  }
  std::string text = "session ";
  size_t width = text.size();
  for (const auto& [part, colour] : parts) {
    const bool is_first = &part == &parts.front().first;
    const size_t more = Width(part) + (is_first ? 0 : 2);
    const bool fits = is_first || look.columns == 0 || width + more <= look.columns;
    if (!is_first) text += fits ? "  " : "\n  ";
    width = fits ? width + more : Width(part) + 2;
    text += Paint(part, colour, look);
  }
  return text + "\n";
}

}  // namespace

std::string RenderSession(const v1::SessionInfo& info, bool with_data, const Look& look) {
  std::string text = HeadOf(info, with_data, look);
  if (with_data && (info.storage_limit_bytes() > 0 || info.aged_bytes() > 0))
    text += StorageLine(info) + "\n";
  if (with_data && info.held_bytes() > 0) {
    text += "in memory " + FormatBytes(static_cast<double>(info.held_bytes())) + ", the last " +
            FormatDuration(info.held_ns()) + "\n";
  }
  const auto say = [&](const std::string& line, Colour colour) {
    text += Paint(Wrapped(line, look.columns), colour, look) + "\n";
  };
  if (!info.error().empty()) say("failed: " + OneLine(info.error()), Colour::kBad);
  if (!info.paused().empty()) say("paused: " + OneLine(info.paused()), Colour::kBad);
  std::vector<std::string> notes;
  for (const std::string& warning : info.warnings()) notes.push_back("warning: " + OneLine(warning));
  for (const std::string& reason : info.degraded()) notes.push_back("degraded: " + OneLine(reason));
  for (const std::string& note : look.all ? notes : Counted(notes)) say(note, Colour::kWarn);
  const std::string happened =
      (with_data ? RenderPauses(info.pauses()) : "") + RenderPerturbations(info.perturbations());
  for (size_t at = 0; at < happened.size();) {
    const size_t end = happened.find('\n', at);
    say(happened.substr(at, end - at), Colour::kNone);
    at = end + 1;
  }
  for (const v1::Window& window : info.windows()) {
    const bool is_bad = window.state() == "failed" || window.state() == "refused";
    say("pid " + std::to_string(window.pid()) + " by the door " + OneLine(window.door()) +
            (window.state().empty() ? "" : ", " + OneLine(window.state())) + ": " + OneLine(window.text()) +
            (window.path().empty() ? "" : "; " + OneLine(window.path())),
        is_bad ? Colour::kWarn : Colour::kNone);
  }
  if (info.kinds_size() > 0) text += RenderKinds(info, with_data, look);
  if (!with_data) {
    std::string expected = ExpectedLine(info);
    if (!expected.empty()) expected.pop_back();
    if (!expected.empty()) say(expected, Colour::kNone);
  }
  if (!info.directory().empty()) text += "directory " + OneLine(info.directory()) + "\n";
  return text;
}

std::string RenderProgress(const v1::SessionInfo& info) {
  return OneLine(info.session()) + "  " + StateText(info) + "  " + FormatDuration(info.elapsed_ns()) +
         " of " + FormatDuration(info.duration_ns()) + "  " + FormatBytes(static_cast<double>(info.bytes())) +
         "  " + Rate(info.bytes(), info.elapsed_ns()) + "  lost " + std::to_string(info.lost());
}

Table SessionTable(const std::vector<v1::SessionInfo>& sessions, const Look& look) {
  Table table({"SESSION", "STATE", "?USER", "STARTED", ">ELAPSED", ">SIZE", ">LOST", "NAME", "?DIRECTORY"});
  const uint64_t now = base::WallNs();
  for (const v1::SessionInfo& info : sessions) {
    table.Add({OneLine(info.session()),
               {StateText(info), ColourOf(info)},
               OneLine(info.user()),
               {look.all ? FormatWallTime(info.start_wall_ns()) : ShortTime(info.start_wall_ns(), now),
                static_cast<double>(info.start_wall_ns())},
               {FormatDuration(info.elapsed_ns()), static_cast<double>(info.elapsed_ns())},
               {FormatBytes(static_cast<double>(info.used_bytes())), static_cast<double>(info.used_bytes())},
               {std::to_string(info.lost()), static_cast<double>(info.lost()),
                info.lost() > 0 ? Colour::kBad : Colour::kNone},
               OneLine(info.name()),
               OneLine(info.directory())});
  }
  return table;
}

std::string RenderList(const std::vector<v1::SessionInfo>& sessions, const Table& table, const Look& look) {
  if (sessions.empty()) return "no sessions\n";
  std::map<std::string, size_t> states;
  double bytes = 0;
  uint64_t lost = 0, losers = 0;
  for (const v1::SessionInfo& info : sessions) {
    ++states[StateName(info.state())];
    bytes += static_cast<double>(info.used_bytes());
    lost += info.lost();
    losers += info.lost() > 0 ? 1 : 0;
  }
  std::string text;
  if (sessions.size() > 1) {
    std::string line = std::to_string(sessions.size()) + " sessions:";
    for (const char* state : {"failed", "pending", "armed", "running", "stopping", "sealed"}) {
      if (const size_t count = states[state]; count > 0)
        line += (line.ends_with(':') ? " " : ", ") + std::to_string(count) + " " + state;
    }
    line += "; " + FormatBytes(bytes) + " on disk";
    if (lost > 0)
      line += "; " + std::to_string(losers) + " lost something, " + std::to_string(lost) + " records in all";
    text = Wrapped(line, look.columns) + "\n";
  }
  return text + table.Text(look);
}

}  // namespace profd::client
