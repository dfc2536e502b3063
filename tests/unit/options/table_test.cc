// The table itself: whole, and true to what the daemon has.
#include "client/options/table.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "client/options/check.h"
#include "daemon/driver/offers.h"
#include "format/kind.h"

namespace profd::options {
namespace {

bool IsKind(std::string_view name) {
  const auto kind = format::FindKind(name);
  return kind && TraitsOf(*kind).scope != format::Scope::kFound;
}

// What is before the '=' of "ai-core=on".
std::string_view NameOf(std::string_view need) { return need.substr(0, need.find('=')); }

TEST(OptionTable, NamesAreUniqueOldOnesToo) {
  std::set<std::string_view> names;
  for (const Option& option : Table()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    if (!option.old_name.empty()) {
      EXPECT_TRUE(names.insert(option.old_name).second) << option.old_name;
      EXPECT_EQ(Find(option.old_name), &option);
    }
    EXPECT_EQ(Find(option.name), &option);
  }
  EXPECT_GT(names.size(), 70U);
}

TEST(OptionTable, EveryRowSaysWhatItIs) {
  for (const Option& option : Table()) {
    EXPECT_FALSE(option.about.empty()) << option.name;
    EXPECT_FALSE(option.values.empty()) << option.name;
    EXPECT_EQ(option.because.empty(), option.standing == Standing::kDone) << option.name;
  }
  for (const Feature& feature : Features()) {
    EXPECT_FALSE(feature.about.empty()) << feature.row;
    EXPECT_FALSE(feature.how.empty()) << feature.row;
  }
}

TEST(OptionTable, DefaultsAreRightOnEveryChip) {
  for (const Option& option : Table()) {
    ForEachChip(kEveryChip, [&option](Chips chip) {
      const Values& values = ValuesOn(option, chip);
      if (values.preset.empty() || (option.chips & chip).empty()) return;
      Given given{{std::string(option.name), std::string(values.preset)}, {std::string(kProcess), "yes"}};
      ForEachWord(option.needs, [&](std::string_view need) {
        const size_t equals = need.find('=');
        given.emplace(need.substr(0, equals),
                      equals == std::string_view::npos ? "cpu" : need.substr(equals + 1));
      });
      const base::Status status = Check(given, chip);
      EXPECT_TRUE(status.ok()) << option.name << ": " << status.message();
    });
  }
}

TEST(OptionTable, RangesAndWordsAreThoseOfTheShape) {
  for (const Option& option : Table()) {
    for (const Values& values : option.values) {
      const bool has_range = option.shape == Shape::kNumber || option.shape == Shape::kMegabytes;
      EXPECT_EQ(values.max > 0, has_range) << option.name;
      EXPECT_LE(values.min, values.max) << option.name;
      const bool has_words =
          option.shape == Shape::kSwitch || option.shape == Shape::kWord || option.shape == Shape::kWords;
      EXPECT_EQ(values.words.empty(), !has_words) << option.name;
    }
  }
}

TEST(OptionTable, WhatItNamesExists) {
  for (const Option& option : Table()) {
    for (const std::string_view list : {option.needs, option.excludes}) {
      ForEachWord(list, [&](std::string_view need) {
        EXPECT_TRUE(need == kProcess || Find(NameOf(need)) != nullptr) << option.name << ": " << need;
      });
    }
    if (option.becomes == Becomes::kKinds || option.becomes == Becomes::kMode) {
      EXPECT_FALSE(option.what.empty()) << option.name;
      ForEachWord(option.what,
                  [&](std::string_view kind) { EXPECT_TRUE(IsKind(kind)) << option.name << ": " << kind; });
    }
    if (option.becomes == Becomes::kWordKinds) {
      ForEachWord(option.what, [&](std::string_view pair) {
        EXPECT_TRUE(IsKind(pair.substr(pair.find(':') + 1))) << option.name << ": " << pair;
      });
    }
    if (option.becomes == Becomes::kRate) {
      EXPECT_NE(Find(option.what), nullptr) << option.name;
    }
  }
}

// A rate option's ranges are ones that its kinds know.
TEST(OptionTable, RatesFitTheKinds) {
  for (const Option& option : Table()) {
    if (option.becomes != Becomes::kRate) continue;
    ForEachWord(Find(option.what)->what, [&](std::string_view word) {
      const std::string_view kind = word.substr(word.find(':') + 1);
      double most = 0;
      const auto known = format::FindKind(kind);
      ASSERT_TRUE(known) << kind;
      most = TraitsOf(*known).habits.max_hz;
      if (const driver::Capability* capability = driver::AnyCapability(*known))
        most = capability->rate.max_hz;
      EXPECT_GT(most, 0) << option.name << " of " << kind;
    });
  }
}

TEST(OptionTable, EveryFeatureRowAppears) {
  std::map<std::string, int> rows;
  for (const Feature& feature : Features()) {
    EXPECT_EQ(rows[std::string(feature.row)]++, 0) << feature.row << " is there twice";
  }
  for (const Option& option : Table()) {
    ASSERT_FALSE(option.rows.empty()) << option.name;
    ForEachWord(option.rows, [&](std::string_view row) {
      for (const Feature& feature : Features()) EXPECT_NE(feature.row, row) << option.name;
      ++rows[std::string(row)];
    });
  }
  for (int number = 1; number <= 108; ++number) {
    char row[16];
    std::snprintf(row, sizeof row, "F-%03d", number);
    EXPECT_TRUE(rows.contains(row)) << row;
  }
  EXPECT_EQ(rows.size(), 108U);
}

TEST(OptionTable, BeginningsOfNames) {
  std::string several;
  EXPECT_EQ(FindByPrefix("llc", &several), Find("llc-profiling"));
  EXPECT_EQ(FindByPrefix("sys-hardware-mem", &several), Find("sys-hardware-mem"))
      << "whole before longer ones";
  EXPECT_EQ(several, "");
  EXPECT_EQ(FindByPrefix("dvpp", &several), nullptr);
  EXPECT_EQ(several, "--dvpp-profiling --dvpp-freq");
  several.clear();
  EXPECT_EQ(FindByPrefix("bogus", &several), nullptr);
  EXPECT_EQ(several, "");
}

TEST(OptionTable, ChipNames) {
  EXPECT_EQ(ChipNames(k310 | k950), "310 950");
  EXPECT_EQ(ChipOf("910B"), k910B);
  EXPECT_EQ(ChipOf("910_96"), k950);
  EXPECT_EQ(ChipOf("910B3"), k910B);
  EXPECT_EQ(ChipOf("910_9391"), k910B) << "A3";
  EXPECT_EQ(ChipOf("910A"), k910);
  EXPECT_EQ(ChipOf("Ascend310P3"), k310P);
  EXPECT_EQ(ChipOf("310B4"), k310B);
  EXPECT_EQ(ChipOf("chip 23"), kNoChip);
  for (const Chip chip : {Chip::k310, Chip::k910, Chip::k310P, Chip::k910B, Chip::k310B, Chip::k950}) {
    EXPECT_NE(ChipOf(format::ChipName(chip)), kNoChip) << format::ChipName(chip);
  }
}

}  // namespace
}  // namespace profd::options
