#include "client/export/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>

#include "base/edit_distance.h"
#include "base/text.h"
#include "format/decode/catalogue.h"
#include "format/decode/host/cpu_profile.h"
#include "format/events/agent_blocks.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr double kNsPerSecond = 1e9;
constexpr double kLatestSecond = 9e9;  // the year 2255

Status Usage(std::string_view option, std::string_view text, std::string_view expected) {
  return {Code::kInvalidArgument,
          std::string(option) + " '" + base::Excerpt(text) + "': " + std::string(expected)};
}

std::vector<std::string_view> Items(std::string_view text) {
  std::vector<std::string_view> items;
  for (;;) {
    const size_t comma = text.find(',');
    items.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

// The number at the front of `text`, which is taken off it.
template <typename T>
std::optional<T> TakeNumber(std::string_view& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// "2026-11-22 05:10:20", what is behind stays in `text`.
std::optional<uint64_t> TakeDate(std::string_view& text) {
  std::array<int, 6> fields{};
  constexpr std::string_view kBehind = "-- ::";
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto number = TakeNumber<unsigned>(text);
    if (!number || *number > 9999) return std::nullopt;
    fields[i] = static_cast<int>(*number);
    if (i == kBehind.size()) break;
    const bool separated = text.starts_with(kBehind[i]) || (kBehind[i] == ' ' && text.starts_with('T'));
    if (!separated) return std::nullopt;
    text.remove_prefix(1);
  }
  std::tm tm{};
  tm.tm_year = fields[0] - 1900;
  tm.tm_mon = fields[1] - 1;
  tm.tm_mday = fields[2];
  tm.tm_hour = fields[3];
  tm.tm_min = fields[4];
  tm.tm_sec = fields[5];
  tm.tm_isdst = -1;
  const std::tm asked = tm;
  const std::time_t seconds = std::mktime(&tm);
  const bool exists = tm.tm_mon == asked.tm_mon && tm.tm_mday == asked.tm_mday && tm.tm_min == asked.tm_min;
  return seconds > 0 && exists ? std::optional(static_cast<uint64_t>(seconds)) : std::nullopt;
}

// ".5" → 500000000.
std::optional<uint64_t> Fraction(std::string_view text) {
  if (text.empty()) return 0;
  const std::string_view digits = text.substr(1);
  if (text[0] != '.' || digits.empty() || digits.size() > 9) return std::nullopt;
  uint64_t ns = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    ns = ns * 10 + static_cast<uint64_t>(c - '0');
  }
  for (size_t i = digits.size(); i < 9; ++i) ns *= 10;
  return ns;
}

}  // namespace

Result<std::vector<ExportFormat>> ParseFormats(std::string_view text) {
  std::vector<ExportFormat> formats;
  const auto add = [&formats](ExportFormat format) {
    if (std::ranges::count(formats, format) == 0) formats.push_back(format);
  };
  for (const std::string_view item : Items(text)) {
    if (item == "text") {  // the frameworks' word
      add(ExportFormat::kChrome);
      add(ExportFormat::kCsv);
      continue;
    }
    std::optional<ExportFormat> found;
    for (size_t i = 0; i < kExportFormats; ++i) {
      if (FormatName(static_cast<ExportFormat>(i)) == item) found = static_cast<ExportFormat>(i);
    }
    if (!found)
      return Usage("--format", item,
                   "expected some of chrome, perfetto, csv, json, db, collapsed, pprof, text");
    add(*found);
  }
  return formats;
}

Result<TimePoint> ParseTimePoint(std::string_view option, std::string_view text) {
  constexpr char kExpected[] =
      "expected +SECONDS behind the begin (+1.5s), a local time (2026-11-22 05:10:20.5) or @SECONDS since "
      "1970";
  TimePoint point;
  std::string_view rest = text;
  if (text.starts_with('+')) {
    rest.remove_prefix(1);
    const double number = TakeNumber<double>(rest).value_or(-1);
    const double unit = rest.empty() || rest == "s" ? 1
                        : rest == "ms"              ? 1e-3
                        : rest == "m"               ? 60
                        : rest == "h"               ? 3600
                                                    : 0;
    if (unit == 0 || !(number >= 0 && number * unit <= kLatestSecond)) return Usage(option, text, kExpected);
    point.behind_begin = true;
    point.ns = static_cast<uint64_t>(std::llround(number * unit * kNsPerSecond));
    return point;
  }
  const bool since_1970 = text.starts_with('@');
  if (since_1970) rest.remove_prefix(1);
  const auto seconds = since_1970 ? TakeNumber<uint64_t>(rest) : TakeDate(rest);
  const auto fraction = Fraction(rest);
  if (!seconds || !fraction || static_cast<double>(*seconds) > kLatestSecond)
    return Usage(option, text, kExpected);
  point.ns = *seconds * 1'000'000'000 + *fraction;
  return point;
}

Result<uint64_t> ParseSplit(std::string_view text) {
  constexpr uint64_t kLeastNs = 1'000'000;
  const auto length = ParseTimePoint("--split", "+" + std::string(text));
  if (!length.ok() || length->ns < kLeastNs)
    return Usage("--split", text, "expected how long each file is: 60s, 500ms, 5m");
  return length->ns;
}

std::vector<std::string> ExportKinds() {
  std::set<std::string> kinds = {
      std::string(NameOf(format::Kind::kTask)),       std::string(NameOf(format::Kind::kApi)),
      std::string(NameOf(format::Kind::kAiCoreTask)), std::string(NameOf(format::Kind::kAiVectorTask)),
      std::string(format::kCpuProfileKind),           std::string(format::kOffCpuKind)};  // of several files
  for (size_t i = 0; i < format::kAgentKinds; ++i) {
    kinds.emplace(format::AgentKindName(static_cast<format::AgentKind>(i)));
  }
  for (const format::DecoderEntry& entry : format::DecoderEntries()) kinds.emplace(NameOf(entry.kind));
  return {kinds.begin(), kinds.end()};
}

Result<std::set<std::string, std::less<>>> ParseKinds(std::string_view text) {
  const std::vector<std::string> known = ExportKinds();
  std::set<std::string, std::less<>> kinds;
  for (const std::string_view item : Items(text)) {
    if (std::ranges::count(known, item) > 0) {
      kinds.emplace(item);
      continue;
    }
    if (const std::string_view nearest = base::Nearest(item, known); !nearest.empty())
      return Usage("--kinds", item, "did you mean " + std::string(nearest) + "?");
    std::string all;
    for (const std::string& kind : known) all += (all.empty() ? "" : " ") + kind;
    return Usage("--kinds", item, "there are: " + all);
  }
  return kinds;
}

Result<IterationAsked> ParseIteration(std::string_view model, std::string_view iteration) {
  IterationAsked asked;
  std::string_view rest = model;
  if (!model.empty()) {
    asked.model = TakeNumber<uint32_t>(rest);
    if (!asked.model || !rest.empty())
      return Usage("--model", model, "expected a number from 0 to 4294967295");
  }
  if (iteration.empty()) return asked;
  rest = iteration;
  const auto number = TakeNumber<uint64_t>(rest);
  if (!number || !rest.empty()) return Usage("--iteration", iteration, "expected the number of an iteration");
  asked.number = *number;
  return asked;
}

Result<unsigned> ParseJobs(std::string_view text) {
  std::string_view rest = text;
  const auto jobs = TakeNumber<unsigned>(rest);
  if (!jobs || !rest.empty() || *jobs < 1 || *jobs > 64) return Usage("--jobs", text, "expected 1 to 64");
  return *jobs;
}

}  // namespace profd::client
