#include "daemon/fabric/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/join.h"

namespace profd::fabric {

using base::Code;
using base::Result;
using base::Status;

namespace {

enum class Shape : uint8_t { kSwitch, kOne, kList, kNames, kNumber, kRanks };

constexpr std::string_view
    kActivities[] = {"CPU", "NPU"},
    kTypes[] = {"Text", "Db"}, kLevels[] = {"Level_none", "Level0", "Level1", "Level2"},
    kMetrics[] = {"AiCoreNone", "PipeUtilization", "ArithmeticUtilization", "Memory",      "MemoryL0",
                  "MemoryUB",   "L2Cache",         "ResourceConflictRatio", "MemoryAccess"},
    kHost[] = {"cpu", "mem", "disk", "network", "osrt"};

// `usual`: "" leaves the line out until somebody asks.
struct Option {
  std::string_view word;
  Shape shape;
  std::span<const std::string_view> values;
  const char* monitor;  // nullptr: the family does not have it
  const char* monitor_usual;
  const char* kineto;
  const char* kineto_usual;
};

constexpr char kLevel[] = "profiler-level", kMetric[] = "aic-metrics", kRankList[] = "rank-list";

// In the order of both texts.
constexpr Option kOptions[] = {
    {"record-shapes",
     Shape::kSwitch,
     {},
     "PROFILE_RECORD_SHAPES",
     "false",
     "PROFILE_REPORT_INPUT_SHAPES",
     "false"},
    {"profile-memory", Shape::kSwitch, {}, "PROFILE_PROFILE_MEMORY", "false", "PROFILE_PROFILE_MEMORY", ""},
    {"with-stack", Shape::kSwitch, {}, "PROFILE_WITH_STACK", "false", "PROFILE_WITH_STACK", "false"},
    {"with-flops", Shape::kSwitch, {}, "PROFILE_WITH_FLOPS", "false", "PROFILE_WITH_FLOPS", "false"},
    {"with-modules", Shape::kSwitch, {}, "PROFILE_WITH_MODULES", "false", "PROFILE_WITH_MODULES", "false"},
    {"max-buffer-mb", Shape::kNumber, {}, nullptr, "", "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB", ""},
    // It must be there: without it every rank drops the whole of it.
    {"activities", Shape::kList, kActivities, "PROFILE_ACTIVITIES", "CPU,NPU", nullptr, ""},
    {"analyse", Shape::kSwitch, {}, "PROFILE_ANALYSE", "false", nullptr, ""},
    {"async-mode", Shape::kSwitch, {}, "PROFILE_ASYNC_MODE", "false", nullptr, ""},
    {kLevel, Shape::kOne, kLevels, "PROFILE_PROFILER_LEVEL", "Level1", nullptr, ""},
    {kMetric, Shape::kOne, kMetrics, "PROFILE_AIC_METRICS", "PipeUtilization", nullptr, ""},
    {"l2-cache", Shape::kSwitch, {}, "PROFILE_L2_CACHE", "false", nullptr, ""},
    {"op-attr", Shape::kSwitch, {}, "PROFILE_OP_ATTR", "false", nullptr, ""},
    {"msprof-tx", Shape::kSwitch, {}, "PROFILE_MSPROF_TX", "false", nullptr, ""},
    {"gc-detect-threshold", Shape::kNumber, {}, "PROFILE_GC_DETECT_THRESHOLD", "None", nullptr, ""},
    {"data-simplification", Shape::kSwitch, {}, "PROFILE_DATA_SIMPLIFICATION", "true", nullptr, ""},
    {"export-type", Shape::kOne, kTypes, "PROFILE_EXPORT_TYPE", "Text", nullptr, ""},
    {"host-sys", Shape::kList, kHost, "PROFILE_HOST_SYS", "None", nullptr, ""},
    {"sys-io", Shape::kSwitch, {}, "PROFILE_SYS_IO", "false", nullptr, ""},
    {"sys-interconnection", Shape::kSwitch, {}, "PROFILE_SYS_INTERCONNECTION", "false", nullptr, ""},
    {"mstx-domain-include", Shape::kNames, {}, "PROFILE_MSTX_DOMAIN_INCLUDE", "None", nullptr, ""},
    {"mstx-domain-exclude", Shape::kNames, {}, "PROFILE_MSTX_DOMAIN_EXCLUDE", "None", nullptr, ""},
    {kRankList, Shape::kRanks, {}, "PROFILE_RANK_LIST", "None", nullptr, ""},
};

constexpr char kName[] = "--framework-options ";

std::vector<std::string_view> Apart(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t plus = std::min(text.find('+', at), text.size());
    parts.push_back(text.substr(at, plus - at));
    at = plus + 1;
  }
  return parts;
}

bool IsNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number) && number >= 0;
}

bool IsRank(std::string_view text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
}

// A line of the text ends at '=', '#' and the line's end, a list at ','.
bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](unsigned char c) {
    return c < ' ' || c == 0x7F ||
           std::string_view("=#,").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool Takes(const Option& option, std::string_view value) {
  const auto parts = Apart(value);
  switch (option.shape) {
    case Shape::kSwitch:
      return value == "true" || value == "false";
    case Shape::kOne:
      return std::ranges::count(option.values, value) > 0;
    case Shape::kList:
      return std::ranges::all_of(
          parts, [&](std::string_view part) { return std::ranges::count(option.values, part) > 0; });
    case Shape::kNames:
      return std::ranges::all_of(parts, IsName);
    case Shape::kNumber:
      return IsNumber(value);
    case Shape::kRanks:
      return std::ranges::all_of(parts, IsRank);
  }
  return false;
}

std::string Expected(const Option& option) {
  switch (option.shape) {
    case Shape::kSwitch:
      return "true or false";
    case Shape::kOne:
      return "one of " + base::Joined(option.values, ", ");
    case Shape::kList:
      return "some of " + base::Joined(option.values, "+");
    case Shape::kNames:
      return "names with + between them, without = # and ,";
    case Shape::kNumber:
      return "a number from 0";
    case Shape::kRanks:
      return "numbers of ranks with + between them";
  }
  return "";
}

}  // namespace

const char* FamilyName(Family family) { return family == Family::kKineto ? "kineto" : "msmonitor"; }

std::vector<Setting> SettingsOf(Family family, const Options& options) {
  const bool is_kineto = family == Family::kKineto;
  const auto level = options.find(kLevel);
  const bool counts = level == options.end() || level->second == "Level1" || level->second == "Level2";
  std::vector<Setting> settings;
  for (const Option& option : kOptions) {
    const char* const key = is_kineto ? option.kineto : option.monitor;
    if (key == nullptr) continue;
    const auto asked = options.find(option.word);
    std::string value = asked != options.end() ? asked->second
                        : is_kineto            ? option.kineto_usual
                                               : option.monitor_usual;
    if (option.word == kMetric && asked == options.end() && !counts) value = "AiCoreNone";
    if (option.word == kRankList)
      settings.push_back({"PROFILE_IS_RANK", asked == options.end() ? "false" : "true"});
    if (!value.empty()) settings.push_back({key, std::move(value)});
  }
  return settings;
}

Result<Options> ParseOptions(const std::map<std::string, std::string>& untrusted) {
  constexpr size_t kMostBytes = 512;
  Options options;
  for (const auto& [word, given] : untrusted) {
    const auto option = std::ranges::find(kOptions, std::string_view(word), &Option::word);
    if (option == std::end(kOptions)) {
      return Status(Code::kInvalidArgument, kName + word.substr(0, 64) + ": expected some of " +
                                                base::Joined(kOptions, ", ", [](const Option& one) {
                                                  return std::string(one.word);
                                                }));
    }
    std::string value = given.empty() && option->shape == Shape::kSwitch ? "true" : given;
    if (value.size() > kMostBytes || !Takes(*option, value))
      return Status(Code::kInvalidArgument,
                    kName + word + "=" + value.substr(0, 64) + ": expected " + Expected(*option));
    std::ranges::replace(value, '+', ',');
    options.emplace(word, std::move(value));
  }
  return options;
}

Status CheckOptions(Family family, const Options& options) {
  for (const auto& [word, value] : options) {
    const auto option = std::ranges::find(kOptions, std::string_view(word), &Option::word);
    const bool has = option != std::end(kOptions) &&
                     (family == Family::kKineto ? option->kineto : option->monitor) != nullptr;
    if (!has)
      return {Code::kInvalidArgument,
              kName + word + ": " + FamilyName(family) + " does not have it: leave it out"};
  }
  return {};
}

}  // namespace profd::fabric
