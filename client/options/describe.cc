#include "client/options/describe.h"

namespace profd::options {

namespace {

constexpr size_t kShownWords = 3;

std::string RangeOf(const Option& option, const Values& values) {
  const char* const unit = option.shape == Shape::kMegabytes ? "MB" : "";
  return std::to_string(values.min) + unit + " to " + std::to_string(values.max) + unit;
}

// "on or off", "1 to 100"; "" for free text.
std::string Taken(const Option& option, const Values& values) {
  if (values.max > 0) return RangeOf(option, values);
  std::string text;
  ForEachWord(values.words, [&](std::string_view word) {
    text += (text.empty()                    ? ""
             : option.shape == Shape::kWords ? ","
                                             : "|") +
            std::string(word) + (word.ends_with(':') ? "…" : "");
  });
  return text;
}

// What chips take, where they differ each with its own.
std::string Taken(const Option& option) {
  std::string text;
  Chips rest = option.chips.empty() ? kEveryChip : option.chips;
  for (const Values& values : option.values) {
    const auto chips = values.chips & rest;
    if (chips.empty()) continue;
    rest = rest & ~chips;
    const bool only = text.empty() && rest.empty();
    text += (text.empty() ? "" : "; ") + Taken(option, values) + (only ? "" : " (" + ChipNames(chips) + ")");
  }
  return text;
}

std::string StandingText(Standing standing) {
  switch (standing) {
    case Standing::kDone:
      return "done";
    case Standing::kDifferent:
      return "different";
    case Standing::kMissing:
      return "not in profd";
    case Standing::kImpossible:
      return "impossible";
  }
  return "";
}

// A cell of a table.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

std::string Company(const Option& option) {
  std::string text;
  ForEachWord(option.needs, [&](std::string_view need) {
    text +=
        (text.empty() ? "needs " : ", ") + (need == kProcess ? "a process" : "`" + std::string(need) + "`");
  });
  std::string without;
  ForEachWord(option.excludes, [&](std::string_view other) {
    without += (without.empty() ? "not with " : ", ") + ("`" + std::string(other) + "`");
  });
  return text + (text.empty() || without.empty() ? "" : "; ") + without;
}

std::string WhatBecomes(const Option& option) {
  std::string text;
  if (option.becomes == Becomes::kRate) return "rate of `" + std::string(option.what) + "`";
  if (option.becomes == Becomes::kMode) return "mode of `" + std::string(option.what) + "`";
  if (option.becomes == Becomes::kSession) return "`--" + std::string(option.what) + "`";
  if (option.what == "format") return "`export --format`";
  ForEachWord(option.what, [&](std::string_view word) {
    const std::string kind = "`" + std::string(word.substr(word.find(':') + 1)) + "`";
    if (text.find(kind) == std::string::npos) text += (text.empty() ? "" : " ") + kind;
  });
  return text;
}

std::string Preset(const Option& option) {
  const Values& values = ValuesOn(option, k910B);
  std::string text(values.preset);
  if (!values.alone.empty()) text.append(" with a program, else ").append(values.alone);
  return text;
}

}  // namespace

std::string Help(const Option& option, bool with_default) {
  std::string text(option.about);
  const std::string taken = Taken(option);
  size_t words = 0;
  ForEachWord(option.values.front().words, [&](std::string_view) { ++words; });
  if (!taken.empty() && option.values.size() == 1 && words <= 2 * kShownWords) text += ": " + taken;
  const bool holds = with_default || option.becomes == Becomes::kRate;
  if (const std::string preset = Preset(option); !preset.empty() && holds) text += "; default " + preset;
  if (!option.chips.empty() && option.chips != kEveryChip)
    text += " (chips: " + ChipNames(option.chips) + ")";
  if (option.standing == Standing::kMissing || option.standing == Standing::kImpossible)
    text += " (not collected: " + std::string(option.because) + ")";
  return text;
}

std::string StatusTables() {
  std::string text =
      "| option | rows | takes | default | chips | company | becomes | status | |\n"
      "|--|--|--|--|--|--|--|--|--|\n";
  for (const Option& option : Table()) {
    const std::string chips = option.chips == kEveryChip ? "all" : ChipNames(option.chips);
    std::string name = "`--" + std::string(option.name) + "`";
    if (!option.old_name.empty()) name += ", once `--" + std::string(option.old_name) + "`";
    text += "| " + name + " | " + std::string(option.rows) + " | " + Cell(Taken(option)) + " | " +
            Preset(option) + " | " + (chips.empty() ? "none" : chips) + " | " + Company(option) + " | " +
            WhatBecomes(option) + " | " + StandingText(option.standing) + " | " + Cell(option.because) +
            " |\n";
  }
  text += "\n| row | what msprof has besides | status | |\n|--|--|--|--|\n";
  for (const Feature& feature : Features()) {
    text += "| " + std::string(feature.row) + " | " + Cell(feature.about) + " | " +
            StandingText(feature.standing) + " | " + Cell(feature.how) + " |\n";
  }
  return text;
}

}  // namespace profd::options
