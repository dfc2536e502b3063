#include "client/options/table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "client/options/table_rows.h"

namespace profd::options {

std::string ChipNames(Chips chips) {
  std::string names;
  ForEachChip(chips, [&names](Chips chip) {
    for (const format::ChipTraits& traits : format::kChips) {
      if (chip.Has(traits.chip)) names += (names.empty() ? "" : " ") + std::string(traits.name);
    }
  });
  return names;
}

Chips ChipOf(std::string_view name) {
  const Chip chip = format::ChipOfName(name);
  return chip == Chip::kUnknown ? kNoChip : format::Only({format::TraitsOf(chip).family});
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
    if (!(values.chips & chip).empty()) return values;
  }
  return option.values.back();
}

bool IsOn(std::string_view value) { return !value.empty() && value != "off"; }

bool IsForStart(const Option& option) {
  if (option.becomes == Becomes::kSession) return option.name != option.what;
  return option.becomes != Becomes::kProgram && option.becomes != Becomes::kResults;
}

}  // namespace profd::options
