#include "client/words/args.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "client/words/text.h"

namespace profd::client {

using base::Code;
using base::Status;

namespace {

constexpr char kDefaultSocket[] = "/run/profd/profd.sock";
constexpr double kMaxDurationNs = 30.0 * 24 * 3600 * 1e9;
constexpr uint64_t kMaxSteps = uint64_t{1} << 40;
constexpr uint64_t kMinStorageMb = 200;
constexpr uint64_t kMaxStorageMb = 4294967295;
constexpr double kMostBufferBytes = 1e15;  // profd says how much there is

Status Usage(std::string_view option, std::string_view text, std::string_view expected) {
  std::string message(option);
  message += " '";
  message += Excerpt(text);
  message += "': ";
  message += expected;
  return {Code::kInvalidArgument, std::move(message)};
}

struct Quantity {
  double value = 0;
  std::string_view unit;
};

// "1.5GB" → 1.5 and "GB".
std::optional<Quantity> ParseQuantity(std::string_view text) {
  Quantity quantity;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), quantity.value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(quantity.value)) return std::nullopt;
  quantity.unit = text.substr(static_cast<size_t>(end - text.data()));
  return quantity;
}

struct Unit {
  std::string_view name;
  double factor;
};

template <size_t N>
std::optional<double> Factor(const std::array<Unit, N>& units, std::string_view name) {
  const auto it =
      std::find_if(units.begin(), units.end(), [name](const Unit& unit) { return unit.name == name; });
  if (it == units.end()) return std::nullopt;
  return it->factor;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool BeginsWithDigit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

// The items of --collect. No kind begins with a digit: a comma in front of one stands within a mode
// ("aicore:Custom:0x8,10").
std::vector<std::string_view> SplitKinds(std::string_view text) {
  std::vector<std::string_view> items;
  for (const std::string_view part : Split(text, ',')) {
    const bool more = BeginsWithDigit(part) && !items.empty() &&
                      items.back().find(':') != std::string_view::npos &&
                      items.back().find('=') == std::string_view::npos;
    if (more) {
      items.back() = {items.back().data(), static_cast<size_t>(part.end() - items.back().begin())};
    } else {
      items.push_back(part);
    }
  }
  return items;
}

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsWord(std::string_view text, std::string_view also) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [also](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           also.find(c) != std::string_view::npos;
  });
}

}  // namespace

base::Result<std::vector<v1::KindRequest>> ParseCollect(std::string_view text) {
  static constexpr std::array<Unit, 3> kUnits{{{"Hz", 1}, {"hz", 1}, {"kHz", 1000}}};
  std::vector<v1::KindRequest> kinds;
  for (std::string_view item : SplitKinds(text)) {
    const bool is_wish = item.ends_with('?');
    if (is_wish) item.remove_suffix(1);
    const size_t equals = item.find('=');
    const std::string_view what = item.substr(0, equals);
    const size_t colon = what.find(':');
    const std::string_view kind = what.substr(0, colon);
    const bool has_mode = colon != std::string_view::npos;
    const std::string_view mode = has_mode ? what.substr(colon + 1) : std::string_view();
    if (!IsWord(kind, "-_") || BeginsWithDigit(kind) || (has_mode && !IsWord(mode, "-_:;,+"))) {
      return Usage("--collect", item,
                   "expected KIND[:MODE][=RATE][?], e.g. hbm, pcie=100Hz, llc:write=50Hz, task?");
    }
    if (const auto rate = ParseQuantity(mode);
        rate && equals == std::string_view::npos && (rate->unit.empty() || Factor(kUnits, rate->unit))) {
      return Usage("--collect", item,
                   "a rate stands behind '=': " + std::string(kind) + "=" + std::string(mode));
    }
    v1::KindRequest request;
    request.set_kind(std::string(kind));
    request.set_mode(std::string(mode));
    request.set_by_default(is_wish);
    if (equals != std::string_view::npos) {
      const std::optional<Quantity> rate = ParseQuantity(item.substr(equals + 1));
      const std::optional<double> factor = !rate                ? std::nullopt
                                           : rate->unit.empty() ? std::optional(1.0)
                                                                : Factor(kUnits, rate->unit);
      if (!factor || rate->value * *factor <= 0) {
        return Usage("--collect", item,
                     "expected a positive rate after '=', e.g. " + std::string(kind) + "=50Hz");
      }
      request.set_hz(rate->value * *factor);
    }
    for (const v1::KindRequest& earlier : kinds) {
      if (earlier.kind() == request.kind() && earlier.mode() == request.mode()) {
        return Usage("--collect", item, std::string(what) + " is named twice: leave one");
      }
    }
    kinds.push_back(std::move(request));
  }
  return kinds;
}

base::Result<uint64_t> ParseDurationNs(std::string_view option, std::string_view text) {
  static constexpr std::array<Unit, 5> kUnits{
      {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}}};
  const std::optional<Quantity> quantity = ParseQuantity(text);
  if (!quantity) return Usage(option, text, "expected a time, e.g. 500ms, 10s, 5m, 1h");
  const std::optional<double> factor = Factor(kUnits, quantity->unit);
  if (!factor && quantity->unit.empty() && quantity->value > 0) {
    return Usage(option, text, "the unit is missing, e.g. " + std::string(text) + "s (ms, s, m, h or d)");
  }
  if (!factor && !quantity->unit.empty())
    return Usage(option, text, "expected one number and one unit, e.g. 90m (ms, s, m, h or d)");
  const double ns = quantity->value * factor.value_or(0);
  if (ns < 1e6 || ns > kMaxDurationNs) return Usage(option, text, "must be between 1ms and 30d");
  return static_cast<uint64_t>(std::llround(ns));
}

base::Result<size_t> ParseCount(std::string_view option, std::string_view text, size_t most) {
  size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > most) {
    return Usage(option, text, "must be a number from 1 to " + std::to_string(most));
  }
  return count;
}

base::Result<double> ParsePercent(std::string_view option, std::string_view text) {
  const std::string_view number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() || !(value >= 0) ||
      value > 100) {
    return Usage(option, text, "expected a share, e.g. 5%");
  }
  return value;
}

base::Result<uint64_t> ParseInstant(std::string_view text, uint64_t now_wall_ns) {
  constexpr uint64_t kHourNs = 3600ull * 1'000'000'000;
  uint64_t at_ns = 0;
  if (text.starts_with('+')) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--at", text.substr(1)));
    at_ns = now_wall_ns + ns;
  } else if (text.starts_with('@')) {
    const std::optional<Quantity> quantity = ParseQuantity(text.substr(1));
    if (!quantity || !quantity->unit.empty() || quantity->value > 1e10) {
      return Usage("--at", text, "expected @SECONDS since 1970");
    }
    at_ns = static_cast<uint64_t>(quantity->value * 1e9);
  } else {
    return Usage("--at", text, "expected +3s or @SECONDS since 1970");
  }
  if (at_ns <= now_wall_ns) return Usage("--at", text, "is over");
  if (at_ns - now_wall_ns > kHourNs) return Usage("--at", text, "is more than an hour ahead");
  return at_ns;
}

base::Result<v1::OnFull> ParseOnFull(std::string_view text) {
  if (text == "age") return v1::ON_FULL_AGE;
  if (text == "pause") return v1::ON_FULL_PAUSE;
  if (text == "stop") return v1::ON_FULL_STOP;
  return Usage("--on-full", text, "must be age, pause or stop");
}

base::Result<v1::SnapshotOn> ParseSnapshotOn(std::string_view text) {
  if (text == "exit") return v1::SNAPSHOT_ON_EXIT;
  if (text == "crash") return v1::SNAPSHOT_ON_CRASH;
  return Usage("--snapshot-on", text, "must be exit or crash");
}

namespace {

std::optional<double> ParseSize(std::string_view text) {
  static constexpr std::array<Unit, 8> kUnits{{{"KB", 1e3},
                                               {"MB", 1e6},
                                               {"GB", 1e9},
                                               {"TB", 1e12},
                                               {"KiB", 0x1p10},
                                               {"MiB", 0x1p20},
                                               {"GiB", 0x1p30},
                                               {"TiB", 0x1p40}}};
  const std::optional<Quantity> quantity = ParseQuantity(text);
  const std::optional<double> factor = quantity ? Factor(kUnits, quantity->unit) : std::nullopt;
  return factor ? std::optional(quantity->value * *factor) : std::nullopt;
}

}  // namespace

base::Result<uint64_t> ParseStorageLimit(std::string_view text) {
  constexpr char kOption[] = "--storage-limit";
  const std::optional<double> bytes = ParseSize(text);
  if (!bytes) return Usage(kOption, text, "expected a size with its unit, e.g. 500MB, 2GB, 1GiB");
  if (*bytes < static_cast<double>(kMinStorageMb) * 1e6 ||
      *bytes > static_cast<double>(kMaxStorageMb) * 1e6) {
    return Usage(kOption, text,
                 "must be between " + std::to_string(kMinStorageMb) + "MB and " +
                     std::to_string(kMaxStorageMb) + "MB");
  }
  return static_cast<uint64_t>(std::llround(*bytes));
}

base::Result<v1::MemoryBuffer> ParseBuffer(std::string_view text) {
  constexpr std::string_view kFirst = ":first";
  v1::MemoryBuffer buffer;
  const size_t equals = text.rfind('=');
  std::string_view size = equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  buffer.set_keeps_first(size.ends_with(kFirst));
  if (buffer.keeps_first()) size.remove_suffix(kFirst.size());
  const std::optional<double> bytes = ParseSize(size);
  if (!bytes || *bytes < 1 || *bytes > kMostBufferBytes)
    return Usage("--buffer", text, "expected kinds and a size, e.g. hbm,pcie=16MB, or host-cpu=1MiB:first");
  buffer.set_bytes(static_cast<uint64_t>(std::llround(*bytes)));
  for (const std::string_view kind : Split(text.substr(0, equals), ',')) buffer.add_kinds(std::string(kind));
  return buffer;
}

base::Result<std::vector<int32_t>> ParsePids(std::string_view text) {
  std::vector<int32_t> pids;
  for (const std::string_view item : Split(text, ',')) {
    const std::optional<int32_t> pid = ParseWhole<int32_t>(item);
    if (!pid || *pid <= 0) return Usage("--pid", item, "expected process ids, e.g. 1234 or 1234,5678");
    if (std::find(pids.begin(), pids.end(), *pid) == pids.end()) pids.push_back(*pid);
  }
  return pids;
}

base::Result<DeviceList> ParseDevices(std::string_view text) {
  DeviceList list;
  if (text == "all") {
    list.all = true;
    return list;
  }
  for (const std::string_view item : Split(text, ',')) {
    const std::optional<uint32_t> device = ParseWhole<uint32_t>(item);
    if (!device) return Usage("--devices", item, "expected 'all' or device numbers, e.g. 0 or 0,1");
    list.devices.push_back(*device);
  }
  std::sort(list.devices.begin(), list.devices.end());
  list.devices.erase(std::unique(list.devices.begin(), list.devices.end()), list.devices.end());
  return list;
}

base::Result<std::pair<std::string, std::string>> ParseLabel(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals > 63 || !IsWord(text.substr(0, equals), "-_./")) {
    return Usage("--label", text, "expected KEY=VALUE, the key of letters, digits and -_./ (at most 63)");
  }
  PROFD_RETURN_IF_ERROR(CheckName("--label", text.substr(equals + 1)));
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

base::Result<v1::StepSchedule> ParseSteps(std::string_view text) {
  constexpr char kExpected[] =
      "expected e.g. skip_first=2,wait=1,warmup=1,active=3,repeat=2, skip_first_wait=1, round_up=100, with "
      "active "
      "at least 1";
  v1::StepSchedule steps;
  std::set<std::string_view> seen;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    at = comma + 1;
    const size_t equals = std::min(item.find('='), item.size());
    const std::string_view key = item.substr(0, equals);
    uint64_t number = 0;
    const std::string_view digits = item.substr(std::min(equals + 1, item.size()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
        number > kMaxSteps || !seen.insert(key).second) {
      return Usage("--steps", text, kExpected);
    }
    if (key == "skip_first") {
      steps.set_skip_first(number);
    } else if (key == "wait") {
      steps.set_wait(number);
    } else if (key == "warmup") {
      steps.set_warmup(number);
    } else if (key == "active") {
      steps.set_active(number);
    } else if (key == "repeat") {
      steps.set_repeat(number);
    } else if (key == "skip_first_wait") {
      steps.set_skip_first_wait(number != 0);
    } else if (key == "round_up") {
      steps.set_round_up(number);
    } else {
      return Usage("--steps", text, kExpected);
    }
  }
  if (steps.active() == 0) return Usage("--steps", text, kExpected);
  return steps;
}

base::Result<std::map<std::string, std::string>> ParseFrameworkOptions(std::string_view text) {
  std::map<std::string, std::string> options;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    at = comma + 1;
    const size_t equals = std::min(item.find('='), item.size());
    const std::string word(item.substr(0, equals));
    if (!IsWord(word, "-"))
      return Usage("--framework-options", item,
                   "expected e.g. with-stack,profiler-level=Level2,host-sys=cpu+mem");
    if (!options.emplace(word, item.substr(std::min(equals + 1, item.size()))).second)
      return Usage("--framework-options", item, word + " is named twice: leave one");
  }
  return options;
}

base::Result<v1::DomainFilter> ParseDomains(std::string_view only, std::string_view exclude) {
  constexpr size_t kMaxNames = 32;
  constexpr size_t kMaxBytes = 127;
  constexpr char kOnly[] = "--agent-domains", kExclude[] = "--agent-domains-exclude";
  if (!only.empty() && !exclude.empty()) {
    return Status(base::Code::kInvalidArgument,
                  std::string(kOnly) + " and " + kExclude + ": give one of them");
  }
  v1::DomainFilter filter;
  filter.set_exclude(!exclude.empty());
  const std::string_view text = only.empty() ? exclude : only;
  if (text.empty()) return filter;
  const char* const option = only.empty() ? kExclude : kOnly;
  for (const std::string_view name : Split(text, ',')) {
    if (name.empty() || name.size() > kMaxBytes || !IsPlainText(name)) {
      return Usage(option, text, "expected names of domains with commas between, of at most 127 bytes each");
    }
    filter.add_names(std::string(name));
  }
  if (static_cast<size_t>(filter.names_size()) > kMaxNames) return Usage(option, text, "more than 32 names");
  return filter;
}

base::Result<std::string> WithEnvironment(std::string_view option, std::string_view text) {
  constexpr std::string_view kBegin = "%q{";
  std::string result;
  for (size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin)) {
    const size_t end = text.find('}', at);
    if (end == std::string_view::npos) return Usage(option, text, "%q{ has no end: expected %q{NAME}");
    const std::string name(text.substr(at + kBegin.size(), end - at - kBegin.size()));
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return Usage(option, text, "the environment has no variable '" + name + "'");
    result += std::string(text.substr(0, at)) + value;
    text.remove_prefix(end + 1);
  }
  return result + std::string(text);
}

constexpr int kMostNumbers = 100'000;

base::Result<std::string> WithNames(std::string_view option, std::string_view given, int32_t pid) {
  PROFD_ASSIGN_OR_RETURN(std::string text, WithEnvironment(option, given));
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const auto replace = [&text](std::string_view what, const std::string& by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
  };
  if (pid == 0 && text.find("%p") != std::string::npos)
    return Usage(option, given, "%p stands for the first process of --pid: name one");
  replace("%p", std::to_string(pid));
  replace("%h", host);
  if (text.find("%n") == std::string::npos) return text;
  const std::string numbered = text;
  std::error_code error;
  for (int number = 1; number <= kMostNumbers; ++number) {
    text = numbered;
    replace("%n", std::to_string(number));
    if (!std::filesystem::exists(text, error)) return text;
  }
  return Usage(option, given, "every number for %n up to " + std::to_string(kMostNumbers) + " is taken");
}

Status CheckName(std::string_view option, std::string_view text) {
  if (text.size() > 128) return Usage(option, text, "longer than 128 bytes");
  if (!IsPlainText(text)) return Usage(option, text, "must be UTF-8 text without control characters");
  return Status::Ok();
}

base::Result<std::string> SocketPath(std::string_view option, const char* environment) {
  std::string_view path = option;
  std::string_view name = "--socket";
  if (path.empty() && environment != nullptr && *environment != '\0') {
    path = environment;
    name = "PROFD_ADDRESS";
  }
  if (path.empty()) return std::string(kDefaultSocket);
  const std::string_view given = path;
  if (path.starts_with("unix://")) {
    path.remove_prefix(7);
  } else if (path.starts_with("unix:")) {
    path.remove_prefix(5);
  }
  if (path.empty() || path.find("://") != std::string_view::npos) {
    return Usage(name, given, "expected the path of profd's socket, e.g. " + std::string(kDefaultSocket));
  }
  std::error_code error;
  std::string absolute = std::filesystem::absolute(path, error);
  if (error) return Usage(name, given, "cannot be resolved: " + error.message());
  return absolute;
}

}  // namespace profd::client
