#include "options/table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "options/table_rows.h"

namespace profd::options {

namespace {

struct ChipName {
  Chips chip;
  std::string_view name;
};
constexpr ChipName kChips[] = {{k310, "310"},   {k910, "910"}, {k310P, "310P"},   {k910B, "910B"},
                               {k310B, "310B"}, {k950, "950"}, {k910B, "910_93"}, {k950, "910_96"}};

}  // namespace

std::string ChipNames(Chips chips) {
  std::string names;
  for (const ChipName& chip : std::span(kChips).first(6)) {
    if ((chips & chip.chip) != 0) names += (names.empty() ? "" : " ") + std::string(chip.name);
  }
  return names;
}

Chips ChipOf(std::string_view name) {
  if (name.starts_with("Ascend")) name.remove_prefix(6);
  const ChipName* best = nullptr;
  for (const ChipName& chip : kChips) {
    if (name.starts_with(chip.name) && (best == nullptr || chip.name.size() > best->name.size()))
      best = &chip;
  }
  return best == nullptr ? 0 : best->chip;
}

std::span<const Option> Table() {
  static const std::vector<Option> kTable = [] {
    std::vector<Option> table;
    for (const std::span<const Option> rows : {RowsOfPrograms(), RowsOfTheNode(), RowsOfResults()})
      table.insert(table.end(), rows.begin(), rows.end());
    return table;
  }();
  return kTable;
}

const Option* Find(std::string_view name) {
  const std::span<const Option> table = Table();
  const auto found = std::ranges::find_if(table, [name](const Option& option) {
    return option.name == name || (!option.old_name.empty() && option.old_name == name);
  });
  return found == table.end() ? nullptr : &*found;
}

const Option* FindByPrefix(std::string_view beginning, std::string* several) {
  if (const Option* exact = Find(beginning)) return exact;
  std::vector<const Option*> found;
  for (const Option& option : Table()) {
    if (option.name.starts_with(beginning)) found.push_back(&option);
  }
  if (found.size() == 1) return found.front();
  for (const Option* option : found)
    *several += (several->empty() ? "--" : " --") + std::string(option->name);
  return nullptr;
}

const Values& ValuesOn(const Option& option, Chips chip) {
  for (const Values& values : option.values) {
    if ((values.chips & chip) != 0) return values;
  }
  return option.values.back();
}

bool IsOn(std::string_view value) { return !value.empty() && value != "off"; }

bool IsForStart(const Option& option) {
  if (option.becomes == Becomes::kSession) return option.name != option.what;
  return option.becomes != Becomes::kProgram && option.becomes != Becomes::kResults;
}

}  // namespace profd::options
