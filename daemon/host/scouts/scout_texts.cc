#include "daemon/host/scouts/scout_texts.h"

#include <cstring>
#include <type_traits>

#include "base/text.h"

namespace profd::host {

namespace {

constexpr size_t kMaxMessageBytes = 1024;

template <typename T>
void Add(std::string& text, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void Add(std::string& text, const std::string& part) {
  Add(text, static_cast<uint64_t>(part.size()));
  text += part;
}

// Takes it off the front.
template <typename T>
bool Take(std::string_view& text, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (text.size() < sizeof value) return false;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return true;
}
bool Take(std::string_view& text, std::string& part) {
  uint64_t bytes = 0;
  if (!Take(text, bytes) || text.size() < bytes) return false;
  part = text.substr(0, bytes);
  text.remove_prefix(bytes);
  return true;
}

}  // namespace

std::string ScoutCall::Text() const {
  std::string text;
  Add(text, what);
  Add(text, order);
  for (const auto& [pid, name] : members) {
    Add(text, pid);
    Add(text, name);
  }
  return text;
}

std::optional<ScoutCall> ScoutCall::Of(std::string_view text) {
  ScoutCall call;
  if (!Take(text, call.what) || !Take(text, call.order)) return std::nullopt;
  for (NamedPid member; Take(text, member.first) && Take(text, member.second);)
    call.members.push_back(member);
  return call;
}

std::string ScoutReport::Text() const {
  std::string text;
  Add(text, static_cast<uint8_t>(code));
  Add(text, message);
  Add(text, static_cast<uint8_t>(hangs));
  Add(text, static_cast<uint8_t>(last));
  Add(text, lines.lost);
  Add(text, lines.lost_from_ns);
  Add(text, lines.lost_to_ns);
  Add(text, lines.names);
  Add(text, lines.samples);
  return text;
}

std::optional<ScoutReport> ScoutReport::Of(std::string_view text) {
  ScoutReport report;
  ScoutLines& lines = report.lines;
  uint8_t code = 0, hangs = 0, last = 0;  // any byte may come
  if (!Take(text, code) || !Take(text, report.message) || !Take(text, hangs) || !Take(text, last) ||
      !Take(text, lines.lost) || !Take(text, lines.lost_from_ns) || !Take(text, lines.lost_to_ns) ||
      !Take(text, lines.names) || !Take(text, lines.samples))
    return std::nullopt;
  report.code = code <= static_cast<uint8_t>(base::Code::kUnauthenticated) ? static_cast<base::Code>(code)
                                                                           : base::Code::kInternal;
  report.message = base::OneLine(report.message, kMaxMessageBytes);
  report.hangs = hangs != 0;
  report.last = last != 0;
  return report;
}

}  // namespace profd::host
