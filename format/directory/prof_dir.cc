#include "format/directory/prof_dir.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/calendar.h"

namespace profd::format {

namespace {

using base::Code;
using base::Status;
using nlohmann::ordered_json;

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint32_t kSeqLimit = 999'999;

std::string ZeroFilled(uint64_t value, int digits) {
  std::array<char, 32> text;
  const int length = std::snprintf(text.data(), text.size(), "%0*" PRIu64, digits, value);
  return {text.data(), static_cast<size_t>(length)};
}

std::string LocalDate(uint64_t wall_ns) {
  return base::LocalText(wall_ns) + '.' + ZeroFilled(wall_ns % kNsPerSecond / 1000, 6);
}

std::string CollectionTimes(const ClockPair& at, bool is_end) {
  const std::string time = std::to_string(at.wall_ns / 1000);
  const std::string date = LocalDate(at.wall_ns);
  ordered_json json;
  json["clockMonotonicRaw"] = std::to_string(at.host_raw_ns);
  json["collectionTimeEnd"] = is_end ? time : "";
  json["collectionTimeBegin"] = is_end ? "" : time;
  json["collectionDateEnd"] = is_end ? date : "";
  json["collectionDateBegin"] = is_end ? "" : date;
  return json.dump();
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsDigits(std::string_view text, size_t min, size_t max) {
  return text.size() >= min && text.size() <= max && std::all_of(text.begin(), text.end(), IsDigit);
}

// The whole of `text` as a number written the way we write it: no sign, no blanks, no leading zeros.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  if (text.empty() || !IsDigit(text[0]) || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view TakeLine(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

// Splits off what stands before the next `separator`; nullopt when there is none.
std::optional<std::string_view> TakeUntil(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return part;
}

}  // namespace

std::string ProfDirName(uint32_t seq, uint64_t wall_ns, pid_t pid, uint64_t salt) {
  std::string letters(8, 'A');
  for (char& letter : letters) {
    letter = static_cast<char>('A' + salt % 18);
    salt /= 18;
  }
  // The number of a seq beyond the limit starts again at 1, as the vendor's does.
  const uint32_t number = seq == 0 ? 1 : (seq - 1) % kSeqLimit + 1;
  return "PROF_" + ZeroFilled(number, 6) + '_' + base::LocalText(wall_ns, "%Y%m%d%H%M%S") +
         ZeroFilled(wall_ns % kNsPerSecond / 1'000'000, 3) + '_' +
         ZeroFilled(static_cast<uint64_t>(std::max<pid_t>(pid, 0)) % 100'000'000, 8) + letters;
}

std::string SliceName(std::string_view file, int device, uint64_t slice) {
  std::string name(file);
  if (device >= 0) name += '.' + std::to_string(device);
  return name + ".slice_" + std::to_string(slice);
}

std::string SliceDone(uint64_t bytes) {
  return "filesize:" + std::to_string(bytes) + "\nstarttime:0\nendtime  :0\n";
}

std::string ControlDone(uint64_t bytes, bool blank_after_colon) {
  return (blank_after_colon ? "filesize: " : "filesize:") + std::to_string(bytes) + '\n';
}

std::string StartInfo(const ClockPair& at) { return CollectionTimes(at, false); }
std::string EndInfo(const ClockPair& at) { return CollectionTimes(at, true); }

std::string HostStartLog(const ClockPair& at, int device) {
  return (device < 0 ? "[Host]" : "[Device" + std::to_string(device) + ']') +
         "\nclock_monotonic_raw: " + std::to_string(at.host_raw_ns) +
         "\ncntvct: " + std::to_string(at.host_counter) + "\ncntvct_diff: 0\n";
}

std::string DevStartLog(const ClockPair& at) {
  return "clock_monotonic_raw: " + std::to_string(at.device_raw_ns) +
         "\ncntvct: " + std::to_string(at.device_counter) + '\n';
}

base::Result<StartLogs> ParseStartLog(std::string_view text) {
  StartLogs logs;
  bool has_raw = false;
  bool has_counter = false;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      logs.section = line.substr(1, line.size() - 2);
      continue;
    }
    std::string_view value = line;
    const auto key = TakeUntil(value, ':');
    if (!key || (*key != "clock_monotonic_raw" && *key != "cntvct")) continue;
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    const auto number = ParseNumber<uint64_t>(value);
    if (!number) {
      return Status(Code::kInvalidArgument, "start log: '" + std::string(*key) + "' has no number");
    }
    const bool is_raw = *key == "clock_monotonic_raw";
    (is_raw ? logs.clock_monotonic_raw : logs.cntvct) = *number;
    (is_raw ? has_raw : has_counter) = true;
  }
  if (!has_raw || !has_counter) {
    return Status(Code::kInvalidArgument, "start log: clock_monotonic_raw or cntvct is missing");
  }
  return logs;
}

base::Result<CollectionTime> ParseCollectionTime(std::string_view text) {
  // The vendor's reader looks at the first line only, so nothing else counts here either.
  const nlohmann::json json = nlohmann::json::parse(TakeLine(text), nullptr, false);
  if (!json.is_object())
    return Status(Code::kInvalidArgument, "collection times: the first line is no JSON object");
  const auto number = [&json](const char* key) -> std::optional<uint64_t> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return std::nullopt;
    return ParseNumber<uint64_t>(found->get_ref<const std::string&>());
  };
  const auto begin = number("collectionTimeBegin");
  const auto end = number("collectionTimeEnd");
  const auto raw = number("clockMonotonicRaw");
  if (begin.has_value() == end.has_value() || !raw) {
    return Status(Code::kInvalidArgument,
                  "collection times: clockMonotonicRaw and exactly one of collectionTimeBegin and "
                  "collectionTimeEnd must be numbers in text");
  }
  return CollectionTime{begin ? *begin : *end, *raw, end.has_value()};
}

std::optional<ParsedSlice> ParseSliceName(std::string_view name) {
  constexpr std::string_view kMark = ".slice_";
  const size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  const auto slice = ParseNumber<uint64_t>(name.substr(mark + kMark.size()));
  if (!slice) return std::nullopt;
  ParsedSlice parsed;
  parsed.slice = *slice;
  std::string_view file = name.substr(0, mark);
  // No file of the host ends in a number, so a number before the mark is the device's.
  if (const size_t dot = file.rfind('.'); dot != std::string_view::npos) {
    if (const auto device = ParseNumber<int>(file.substr(dot + 1))) {
      parsed.device = *device;
      file = file.substr(0, dot);
    }
  }
  if (file.empty() || file.find('/') != std::string_view::npos) return std::nullopt;
  parsed.file = file;
  return parsed;
}

bool IsProfDirName(std::string_view name) {
  const auto prefix = TakeUntil(name, '_');
  const auto seq = TakeUntil(name, '_');
  const auto stamp = TakeUntil(name, '_');
  return prefix == "PROF" && seq && IsDigits(*seq, 1, 10) && stamp && IsDigits(*stamp, 1, 20) &&
         name.size() >= 5 && name.size() <= 20 &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsDigit(c) || (c >= 'A' && c <= 'Z'); });
}

}  // namespace profd::format
