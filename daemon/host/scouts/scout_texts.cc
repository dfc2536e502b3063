#include "daemon/host/scouts/scout_texts.h"

#include "base/text.h"
#include "daemon/host/process/values.h"

namespace profd::host {

namespace {

constexpr size_t kMaxMessageBytes = 1024;

}  // namespace

std::string ScoutCall::Text() const {
  std::string text;
  AppendValue(text, what);
  AppendValue(text, order);
  for (const auto& [pid, name] : members) {
    AppendValue(text, pid);
    AppendValue(text, name);
  }
  return text;
}

std::optional<ScoutCall> ScoutCall::Of(std::string_view text) {
  ScoutCall call;
  if (!TakeValue(text, call.what) || !TakeValue(text, call.order)) return std::nullopt;
  for (NamedPid member; TakeValue(text, member.first) && TakeValue(text, member.second);)
    call.members.push_back(member);
  return call;
}

std::string ScoutReport::Text() const {
  std::string text;
  AppendValue(text, static_cast<uint8_t>(code));
  AppendValue(text, message);
  AppendValue(text, static_cast<uint8_t>(hangs));
  AppendValue(text, static_cast<uint8_t>(last));
  AppendValue(text, lines.lost);
  AppendValue(text, lines.lost_from_ns);
  AppendValue(text, lines.lost_to_ns);
  AppendValue(text, lines.names);
  AppendValue(text, lines.samples);
  return text;
}

std::optional<ScoutReport> ScoutReport::Of(std::string_view text) {
  ScoutReport report;
  ScoutLines& lines = report.lines;
  uint8_t code = 0, hangs = 0, last = 0;  // any byte may come
  if (!TakeValue(text, code) || !TakeValue(text, report.message) || !TakeValue(text, hangs) ||
      !TakeValue(text, last) || !TakeValue(text, lines.lost) || !TakeValue(text, lines.lost_from_ns) ||
      !TakeValue(text, lines.lost_to_ns) || !TakeValue(text, lines.names) || !TakeValue(text, lines.samples))
    return std::nullopt;
  report.code = code <= static_cast<uint8_t>(base::Code::kUnauthenticated) ? static_cast<base::Code>(code)
                                                                           : base::Code::kInternal;
  report.message = base::OneLine(report.message, kMaxMessageBytes);
  report.hangs = hangs != 0;
  report.last = last != 0;
  return report;
}

}  // namespace profd::host
