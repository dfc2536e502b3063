#include "libagent/src/tables/names.h"

#include <cstdlib>
#include <set>
#include <thread>

#include "libagent/src/process.h"
#include "libagent/src/tables/domains.h"
#include "tests/unit/libagent/region.h"

namespace profd::agent::testing {
namespace {

TEST(NamesTest, SameTextSameName) {
  const uint32_t a = Intern("names_test a");
  EXPECT_NE(a, 0U);
  EXPECT_EQ(Intern("names_test a"), a);
  EXPECT_NE(Intern("names_test b"), a);
  EXPECT_STREQ(TextOf(a), "names_test a");
  // A domain or category of the same text is another entry.
  EXPECT_NE(Define(abi::kNameCategory, 1, 1, "names_test a"), a);
  EXPECT_NE(Define(abi::kNameCategory, 1, 1, "names_test a"),
            Define(abi::kNameCategory, 1, 2, "names_test a"));
}

TEST(NamesTest, LongTextsAreCutBetweenCharacters) {
  const std::string megabyte(1 << 20, 'x');
  const uint32_t cut = Intern(megabyte.c_str());
  EXPECT_EQ(std::string(TextOf(cut)), megabyte.substr(0, abi::kMaxNameBytes));
  // Three-byte characters: 1024 is in the middle of one.
  std::string wide;
  while (wide.size() < 2000) wide += "\u6f22";
  EXPECT_EQ(std::string(TextOf(Intern(wide.c_str()))), wide.substr(0, 1023));
  // Not a character at all, but still bounded.
  const std::string rubbish(2000, '\x80');
  EXPECT_EQ(std::string(TextOf(Intern(rubbish.c_str()))).size(), 1020U);
}

TEST(NamesTest, DomainsAreFewAndTheirOwn) {
  const uint16_t a = DefineDomain("names_test domain");
  EXPECT_NE(a, 0);
  EXPECT_EQ(DefineDomain("names_test domain"), a);
  std::set<uint16_t> numbers;
  for (int i = 0; i < 300; ++i)
    numbers.insert(DefineDomain(("names_test domain " + std::to_string(i)).c_str()));
  EXPECT_LE(numbers.size(), 255U);  // at most 254 more, and 0 for the rest
  EXPECT_GT(numbers.size(), 200U);
  EXPECT_TRUE(numbers.contains(0));
  EXPECT_EQ(DefineDomain("names_test domain"), a);
}

TEST(NamesTest, ARegionLearnsOldAndNewNames) {
  const uint32_t old_name = Intern("names_test known before");
  Region region;
  region.Seal();
  ASSERT_EQ(AttachRegion(region.fd(), -1), AttachError::kOk);
  const uint32_t new_name = Intern("names_test known after");
  EXPECT_EQ(region.Name(old_name), "names_test known before");
  EXPECT_EQ(region.Name(new_name), "names_test known after");
  EXPECT_EQ(region.header()->names_lost, 0U);
  DetachRegion();
  const uint32_t used = region.header()->names_used;
  Intern("names_test after all");
  EXPECT_EQ(region.header()->names_used, used);
}

TEST(NamesTest, ThreadsInternTheSame) {
  Region region;
  region.Seal();
  ASSERT_EQ(AttachRegion(region.fd(), -1), AttachError::kOk);
  constexpr int kNames = 2000;
  std::vector<std::vector<uint32_t>> all(4);
  std::vector<std::thread> threads;
  for (auto& mine : all) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < kNames; ++i)
        mine.push_back(Intern(("names_test race " + std::to_string(i)).c_str()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kNames; ++i) {
    for (const auto& mine : all) ASSERT_EQ(mine[i], all[0][i]);
    ASSERT_EQ(region.Name(all[0][i]), "names_test race " + std::to_string(i));
  }
  DetachRegion();
}

// Last: the table never empties again.
// In a process of its own: the table is the process's, and stays full for the test that comes next.
void FillTable() {
  Region small({.names_bytes = abi::kMinNamesBytes});
  small.Seal();
  ASSERT_EQ(AttachRegion(small.fd(), -1), AttachError::kOk);
  const uint32_t old_name = Intern("names_test kept");
  uint32_t refused = 0;
  for (int i = 0; i < 200'000; ++i) {
    if (Intern(("names_test a name for every step " + std::to_string(i)).c_str()) == 0) ++refused;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, 180'000U);
  EXPECT_EQ(Intern("names_test kept"), old_name);
  EXPECT_GT(small.header()->names_lost, 0U);
  EXPECT_LE(small.header()->names_used, abi::kMinNamesBytes);
  DetachRegion();
}

TEST(NamesTest, AFullTableRefusesNewNamesAndKeepsOldOnes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto filled = [] {
    FillTable();
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(filled(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace profd::agent::testing
