#include "client/options/check.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "format/mspti.h"

namespace profd::options {

using base::Code;
using base::Status;

namespace {

constexpr size_t kMaxPath = 1024;
constexpr std::string_view kNotInPaths = "\n\f\r\b\t\v\x7f\"'\\%><|&$;`";
constexpr std::string_view kMegabyte = "MB";

Status Wrong(const Option& option, std::string_view value, const std::string& expected) {
  return {Code::kInvalidArgument,
          "--" + std::string(option.name) + "=" + std::string(value) + ": must be " + expected};
}

bool Has(std::string_view list, std::string_view word, char separator = ' ') {
  bool found = false;
  ForEachWord(
      list, [&](std::string_view one) { found = found || one == word; }, separator);
  return found;
}

// "Custom:" takes "Custom:0x8,0xa".
bool HasWord(std::string_view words, std::string_view value) {
  bool found = false;
  ForEachWord(words, [&](std::string_view word) {
    found = found || (word.ends_with(':') ? value.starts_with(word) : value == word);
  });
  return found;
}

std::string Listed(std::string_view words, const char* last) {
  std::vector<std::string> all;
  ForEachWord(words, [&](std::string_view word) {
    all.push_back(std::string(word) + (word.ends_with(':') ? "…" : ""));
  });
  std::string text;
  for (size_t i = 0; i < all.size(); ++i) text += (i == 0 ? "" : i + 1 == all.size() ? last : ", ") + all[i];
  return text;
}

std::optional<uint64_t> Number(std::string_view text, int base = 10) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string RangeText(const Values& values) {
  return "a whole number from " + std::to_string(values.min) + " to " + std::to_string(values.max);
}

Status CheckNumber(const Option& option, const Values& values, std::string_view value) {
  std::string_view digits = value;
  std::string expected = RangeText(values);
  if (option.about.starts_with("seconds")) expected += ", in seconds and without a unit";
  if (option.shape == Shape::kMegabytes) {
    expected += " with MB behind it, e.g. " + std::to_string(values.min) + "MB";
    if (!value.ends_with(kMegabyte)) return Wrong(option, value, expected);
    digits.remove_suffix(kMegabyte.size());
  }
  const std::optional<uint64_t> number = Number(digits);
  if (number && *number >= values.min && *number <= std::max(values.max, values.once_max)) return {};
  return Wrong(option, value, expected);
}

Status CheckWords(const Option& option, const Values& values, std::string_view value) {
  bool right = !value.empty();
  ForEachWord(
      value, [&](std::string_view word) { right = right && HasWord(values.words, word); }, ',');
  if (right) return {};
  return Wrong(option, value, "some of " + Listed(values.words, " and ") + ", with commas between");
}

// Counters by their numbers: "Custom:0x8,10".
Status CheckRegisters(const Option& option, std::string_view value, Chips chip) {
  constexpr uint64_t kMaxRegister = 0x7fffffff;
  constexpr size_t kMaxText = 70;
  size_t most = 0;
  for (const format::ChipTraits& traits : format::kChips)
    if (chip.Has(traits.chip)) most = traits.core_events;
  size_t count = 0;
  bool right = value.size() <= kMaxText && !value.ends_with(',');
  ForEachWord(
      value.substr(value.find(':') + 1),
      [&](std::string_view text) {
        const bool hex = text.starts_with("0x") || text.starts_with("0X");
        const std::optional<uint64_t> number = hex ? Number(text.substr(2), 16) : Number(text);
        right = right && number && *number >= 1 && *number <= kMaxRegister;
        ++count;
      },
      ',');
  if (right && count >= 1 && count <= most) return {};
  return Wrong(option, value,
               "1 to " + std::to_string(most) +
                   " numbers from 1 to 0x7fffffff behind Custom:, with commas between, 70 characters in all");
}

// Without "%n", "%h", "%p" and "%q{NAME}", which profctl puts something in place of.
std::string WithoutNames(std::string_view path) {
  std::string rest;
  for (size_t at = 0; at < path.size();) {
    const std::string_view left = path.substr(at);
    if (left.starts_with("%n") || left.starts_with("%h") || left.starts_with("%p")) {
      at += 2;
    } else if (const size_t end = left.find('}'); left.starts_with("%q{") && end != left.npos) {
      at += end + 1;
    } else {
      rest += path[at++];
    }
  }
  return rest;
}

Status CheckPath(const Option& option, std::string_view value) {
  if (value.size() > kMaxPath) return Wrong(option, value, "at most 1024 characters long");
  const std::string path = option.name == "output" ? WithoutNames(value) : std::string(value);
  if (path.find_first_of(kNotInPaths) == std::string::npos) return {};
  return Wrong(option, value,
               "a path in which there is no quote, no line end and none of \\ % < > | & $ ; `");
}

Status CheckValueOn(const Option& option, Chips chip, std::string_view value) {
  const Values& values = ValuesOn(option, chip);
  switch (option.shape) {
    case Shape::kSwitch:
    case Shape::kWord:
      if (!HasWord(values.words, value)) return Wrong(option, value, Listed(values.words, " or "));
      return value.find(':') == std::string_view::npos ? Status() : CheckRegisters(option, value, chip);
    case Shape::kWords:
      return CheckWords(option, values, value);
    case Shape::kNumber:
    case Shape::kMegabytes:
      return CheckNumber(option, values, value);
    case Shape::kPath:
      return CheckPath(option, value);
    case Shape::kText:
      return {};
  }
  return {};
}

Chips LowestOf(Chips chips) {
  Chips lowest;
  ForEachChip(chips, [&lowest](Chips chip) {
    if (lowest.empty()) lowest = chip;
  });
  return lowest;
}

// Right when one of the chips takes it; the others get what they can (WishesOf). Where no chip is known a
// 910B speaks for all.
Status CheckValue(const Option& option, std::string_view value, Chips chips) {
  const Chips asked = chips & option.chips;
  Status verdict = CheckValueOn(option, asked.empty() ? k910B : LowestOf(asked), value);
  ForEachChip(asked.empty() ? kEveryChip : asked, [&](Chips chip) {
    if (!verdict.ok() && CheckValueOn(option, chip, value).ok()) verdict = {};
  });
  if (verdict.ok() || chips.empty() || option.values.size() == 1) return verdict;
  return {verdict.code(), verdict.message() + " (" + ChipNames(chips) + ")"};
}

// "ai-core=on" or "output": given, with that value where one is named. "task-time=l0" wants just that.
bool IsGiven(const Given& given, std::string_view need) {
  const size_t equals = need.find('=');
  const auto found = given.find(need.substr(0, equals));
  if (found == given.end()) return false;
  return equals == std::string_view::npos ? IsOn(found->second) : found->second == need.substr(equals + 1);
}

Status CheckCompany(const Option& option, const Given& given) {
  Status status;
  ForEachWord(option.needs, [&](std::string_view need) {
    if (!status.ok() || IsGiven(given, need)) return;
    const std::string name = "--" + std::string(option.name);
    status = need == kProcess
                 ? Status(Code::kInvalidArgument,
                          name + " is of a process: give a program to run, or name a running process")
                 : Status(Code::kInvalidArgument, name + " needs --" + std::string(need) + ": add it");
  });
  ForEachWord(option.excludes, [&](std::string_view other) {
    if (!status.ok() || !IsGiven(given, other)) return;
    status = {Code::kInvalidArgument,
              "--" + std::string(option.name) + " and --" + std::string(other) + ": give one of them"};
  });
  return status;
}

// What a rate option says for the kinds of `of`, else the vendor's default. 0 = they have no rate.
double RateFor(const Option& of, const Given& given, Chips chips, std::vector<Remark>* remarks) {
  for (const Option& option : Table()) {
    if (option.becomes != Becomes::kRate || option.what != of.name) continue;
    const auto found = given.find(option.name);
    uint64_t most = 0;
    std::optional<uint64_t> number;
    ForEachChip(chips.empty() ? option.chips : chips, [&](Chips chip) {
      const Values& values = ValuesOn(option, chip);
      most = std::max(most, values.max);
      if (!number) number = Number(found == given.end() ? values.preset : std::string_view(found->second));
    });
    if (!number) return 0;
    if (*number > most) {
      remarks->push_back({&option,
                          "brought down from " + std::to_string(*number) + " to " + std::to_string(most) +
                              ", which is the most these chips take",
                          false});
      number = most;
    }
    return static_cast<double>(*number);
  }
  return 0;
}

void Add(Wish wish, std::vector<Wish>* kinds) {
  const auto same =
      std::find_if(kinds->begin(), kinds->end(), [&](const Wish& other) { return other.kind == wish.kind; });
  if (same == kinds->end()) return kinds->push_back(std::move(wish));
  // Of UB, which ports and links both have, the later is the vendor's (UpdateParams() of its collector).
  same->hz = wish.kind == "ub" ? wish.hz : std::max(same->hz, wish.hz);
}

// "blocks" of "all:blocks on:few-blocks" for "all"; "" for what is not in the list.
std::string_view WordBehind(std::string_view pairs, std::string_view word) {
  std::string_view behind;
  ForEachWord(pairs, [&](std::string_view pair) {
    const size_t colon = pair.find(':');
    if (pair.substr(0, colon) == word) behind = pair.substr(colon + 1);
  });
  return behind;
}

bool IsServed(const Option& option, std::string_view value) {
  return option.served.empty() || HasWord(option.served, value);
}

// Of several that say it, what the last of the table says: it is the closer one.
std::string ModeOf(std::string_view kind, const Given& given) {
  std::string mode, parts;
  for (const Option& option : Table()) {
    const auto found = given.find(option.name);
    if (found == given.end() || !Has(option.what, kind) || !IsServed(option, found->second)) continue;
    if (option.becomes == Becomes::kMode) mode = std::string(option.before) + found->second;
    if (option.becomes != Becomes::kModePart) continue;
    const std::string_view part = WordBehind(option.before, found->second);
    // As the chips' modes have them: the later option of the table in front.
    if (!part.empty()) parts = std::string(part) + (parts.empty() ? "" : "+") + parts;
  }
  return mode.empty() ? parts : mode;
}

void AddWordKinds(const Option& option, const Given& given, std::string_view value, double hz,
                  Wishes* wishes) {
  ForEachWord(
      value,
      [&](std::string_view word) {
        bool known = false;
        ForEachWord(option.what, [&](std::string_view pair) {
          const size_t colon = pair.find(':');
          if (colon != std::string_view::npos && pair.substr(0, colon) != word) return;
          known = true;
          const std::string_view kind = pair.substr(colon + 1);  // all of it without a colon
          Add({kind, ModeOf(kind, given), hz, &option}, &wishes->kinds);
        });
        if (known) return;
        wishes->remarks.push_back(
            {&option, std::string(word) + " is not collected: " + std::string(option.because), true});
      },
      ',');
}

// Kinds that count by task in the place of those that sample, where an option says so, or nobody does and a
// program is collected with.
void TakeTwins(const Given& given, Wishes* wishes) {
  for (const Option& option : Table()) {
    if (option.becomes != Becomes::kTwins) continue;
    const auto of = given.find(option.needs.substr(0, option.needs.find('=')));
    if (of == given.end() || !IsOn(of->second)) continue;
    const auto found = given.find(option.name);
    const bool with_program = given.contains(kProcess) && !given.contains("host-sys-pid");
    const std::string_view says = found != given.end() ? std::string_view(found->second)
                                  : with_program       ? ValuesOn(option, k910B).preset
                                                       : "sample-based";
    if (says != "task-based") continue;
    const Option* taken_by = nullptr;
    for (Wish& wish : wishes->kinds) {
      const std::string_view twin = WordBehind(option.what, wish.kind);
      if (twin.empty()) continue;
      wish.kind = twin;
      wish.hz = 0;
      taken_by = wish.option;
    }
    if (!with_program || taken_by == nullptr) continue;
    ForEachWord(option.before, [&](std::string_view kind) { Add({kind, "", 0, taken_by}, &wishes->kinds); });
  }
}

// Modes that ask for what CANN's modules report.
void AskForReports(const Given& given, Wishes* wishes) {
  const auto time = given.find("task-time");
  const bool attributes = time != given.end() && (time->second == "l2" || time->second == "l3");
  const bool only_tasks = time != given.end() && time->second == "l0";
  for (Wish& wish : wishes->kinds) {
    if (wish.kind == "agent-kernel")
      wish.mode = attributes ? "attributes" : only_tasks ? "tasks" : "operators";
    if (wish.kind == "agent-comm") wish.mode = "parts";
    if (wish.kind == "agent-memory") wish.mode = "operators";
  }
}

}  // namespace

Status Check(const Given& given, Chips chips) {
  for (const auto& [name, value] : given) {
    const Option* option = Find(name);
    if (option == nullptr) continue;                                         // kProcess
    if (!chips.empty() && (option->chips & chips).empty() && IsOn(value)) {  // off is right on every chip
      return {Code::kInvalidArgument,
              "--" + name + ": a " + ChipNames(chips) + " does not have it" +
                  (option->chips.empty() ? ": " + std::string(option->because)
                                         : ", these do: " + ChipNames(option->chips))};
    }
    PROFD_RETURN_IF_ERROR(CheckValue(*option, value, chips));
    if (IsOn(value)) PROFD_RETURN_IF_ERROR(CheckCompany(*option, given));
  }
  return {};
}

// Beside profctl's own words only for what MSPTI does not tell of: its recordings are for hours.
bool TakesReports(const Given& given, Chips chips) {
  const bool mspti_knows = chips.empty() || !(chips & format::kKnownToMspti).empty();
  if (!given.contains(kProcess)) return false;
  if (mspti_knows && given.contains(kByMspti)) return false;
  if (IsGiven(given, "hccl=on") || IsGiven(given, "task-memory=on")) return true;
  if (given.contains(kWholeLine)) return IsGiven(given, "task-time");
  return IsGiven(given, "task-time=l2") || IsGiven(given, "task-time=l3");
}

Wishes WishesOf(const Given& asked, Chips chips) {
  Wishes wishes;
  Given given = asked;
  if (chips == k950 && given.contains(kWholeLine)) given.emplace("sys-lp", "on");
  const bool reports = TakesReports(given, chips);
  for (const Option& option : Table()) {
    const auto found = given.find(option.name);
    if (found == given.end() || !IsOn(found->second)) continue;
    for (const LeftOut& part : option.left_out) {
      if (part.by_mspti && reports) continue;
      if (part.of_msprof && !given.contains(kWholeLine)) continue;
      if (!part.told_by.empty() && IsGiven(given, part.told_by)) continue;
      if (HasWord(part.words, found->second))
        wishes.remarks.push_back({&option, "not collected: " + std::string(part.because), true});
    }
    const bool missing = option.standing == Standing::kMissing || option.standing == Standing::kImpossible;
    if (missing || !IsServed(option, found->second)) {
      wishes.remarks.push_back({&option, "not collected: " + std::string(option.because), true});
    } else if (option.becomes == Becomes::kKinds) {
      const double hz = RateFor(option, given, chips, &wishes.remarks);
      ForEachWord(option.what, [&](std::string_view kind) {
        Add({kind, ModeOf(kind, given), hz, &option}, &wishes.kinds);
      });
    } else if (option.becomes == Becomes::kModePart) {
      Add({option.what, ModeOf(option.what, given), 0, &option}, &wishes.kinds);
    } else if (option.becomes == Becomes::kTwins) {
      continue;  // below
    } else if (option.becomes == Becomes::kKindMode) {
      // Events that no unit is named for are of HA.
      const bool of_units = found->second.find(':') != std::string::npos;
      Add({option.what, (of_units ? "" : "HA:") + found->second, 0, &option}, &wishes.kinds);
    } else if (option.becomes == Becomes::kWordKinds) {
      AddWordKinds(option, given, found->second, RateFor(option, given, chips, &wishes.remarks), &wishes);
    } else if (option.standing == Standing::kDifferent && option.what.empty() && option.served.empty() &&
               option.becomes != Becomes::kProgram) {
      wishes.remarks.push_back({&option, std::string(option.because), false});
    }
  }
  TakeTwins(given, &wishes);
  if (reports) AskForReports(given, &wishes);
  if (reports && IsGiven(given, "hccl=on") && std::ranges::count(wishes.kinds, "task", &Wish::kind) == 0) {
    wishes.remarks.push_back({Find("hccl"),
                              "recorded, but in no table: these join it with the log of tasks: add "
                              "--task-time=on",
                              true});
  }
  return wishes;
}

}  // namespace profd::options
