#include "format/chip.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace profd::format {
namespace {

TEST(Chips, ARowSaysOnceWhatAChipIs) {
  std::set<Chip> chips;
  std::set<std::string_view> names;
  for (const ChipTraits& traits : kChips) {
    EXPECT_TRUE(chips.insert(traits.chip).second) << NumberOf(traits.chip) << " is there twice";
    if (!traits.name.empty()) {
      EXPECT_TRUE(names.insert(traits.name).second) << traits.name;
      EXPECT_GT(traits.counter_mhz, 0) << traits.name;
      EXPECT_GT(traits.aic_mhz, 0) << traits.name;
      EXPECT_EQ(ChipOfName(traits.name), traits.chip);
    }
    const ChipTraits& head = TraitsOf(traits.family);
    EXPECT_EQ(head.family, traits.family) << "a family is named after one of its own";
    EXPECT_EQ(head.stars, traits.stars) << traits.name;
    EXPECT_EQ(head.core_events, traits.core_events) << traits.name;
    EXPECT_EQ(head.has_both_cores(), traits.has_both_cores()) << traits.name;
  }
}

TEST(Chips, AChipWithoutARowIsAUsualOne) {
  const ChipTraits& traits = TraitsOf(Chip{23});
  EXPECT_EQ(traits.core_events, 8);
  EXPECT_TRUE(traits.stars);
  EXPECT_EQ(ChipName(Chip{23}), "chip 23");
  EXPECT_EQ(ChipName(Chip::kNotTold), "chip of unknown type");
  EXPECT_EQ(DbChipName(Chip{23}), "UNKNOWN");
  EXPECT_EQ(DbChipName(Chip::k910), "Ascend910A");
}

TEST(Chips, ProductsAreOfTheChipWithTheLongestName) {
  EXPECT_EQ(ChipOfName("Ascend310P3"), Chip::k310P);
  EXPECT_EQ(ChipOfName("910_9391"), Chip::k910B) << "A3";
  EXPECT_EQ(ChipOfName("910_96"), Chip::k910_96);
  EXPECT_EQ(ChipOfName("chip 23"), Chip::kUnknown);
  EXPECT_EQ(ChipOfName(""), Chip::kUnknown);
}

TEST(Chips, SetsHaveAPlaceForChipsWithoutARow) {
  EXPECT_TRUE(kEveryChip.Has(Chip{23}));
  EXPECT_TRUE(kEveryChip.Has(Chip::kUnknown));
  EXPECT_TRUE((~kNamedChips).Has(Chip{23}));
  EXPECT_FALSE((~kNamedChips).Has(Chip::k950));
  EXPECT_TRUE(Families({Chip::k950}).Has(Chip::k910_96));
  EXPECT_FALSE(Only({Chip::k950}).Has(Chip::k910_96));
}

}  // namespace
}  // namespace profd::format
