#include "format/chip.h"

namespace profd::format {

const ChipTraits& TraitsOf(Chip chip) {
  static constexpr ChipTraits kUsual = {};
  for (const ChipTraits& traits : kChips) {
    if (traits.chip == chip) return traits;
  }
  return kUsual;
}

std::string ChipName(Chip chip) {
  if (chip == Chip::kNotTold || chip == Chip::kUnknown) return "chip of unknown type";
  const std::string_view name = TraitsOf(chip).name;
  return name.empty() ? "chip " + std::to_string(NumberOf(chip)) : std::string(name);
}

std::string_view DbChipName(Chip chip) {
  const std::string_view name = TraitsOf(chip).db_name;
  return name.empty() ? "UNKNOWN" : name;
}

Chip ChipOfName(std::string_view product) {
  constexpr std::string_view kMaker = "Ascend";
  if (product.starts_with(kMaker)) product.remove_prefix(kMaker.size());
  Chip best = Chip::kUnknown;
  size_t most = 0;
  for (const ChipTraits& traits : kChips) {
    for (const std::string_view name : {traits.name, traits.other_name}) {
      if (name.size() <= most || !product.starts_with(name)) continue;
      best = traits.chip;
      most = name.size();
    }
  }
  return best;
}

}  // namespace profd::format
