#include "daemon/summary/keeper.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace profd::summary {
namespace {

namespace fs = std::filesystem;

// Five users say as much as they may in one look, an honest one a row: more than may wait for the disk.
TEST(KeeperTest, WhatIsTooMuchIsTheirsWhoSayMost) {
  std::string place = (fs::temp_directory_path() / "keeperXXXXXX").string();
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  auto folder = RowsFolder::Open({.folder = place + "/rows",
                                  .acked = "",
                                  .node = "n1",
                                  .seal_after_ns = 1'000'000'000,
                                  .keep_bytes = 1 << 30});
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  constexpr size_t kRows = 4096, kLine = 640;
  std::string text;
  for (size_t i = 0; i < kRows; ++i) text += std::string(kLine - 1, 'x') + "\n";
  const auto keeper = Keeper::Start(std::move(folder).value());
  for (int look = 0; look < 20; ++look) {
    keeper->Keep({7, "\"ada\"", "steps", "\"a\"", "mine\n", 1, 1, 1});
    for (uint32_t uid = 1; uid <= 5; ++uid)
      keeper->Keep({uid, "\"eve\"", "steps", "\"a\"", text, kRows, 1, 1});
  }
  // Names of jobs without end: of what else is missing, it is still said whose it is.
  for (int job = 0; job < 2000; ++job)
    keeper->Count({1, "steps", "overwritten", "\"eve\",\"" + std::to_string(job) + "\",,", 1, 1, 1});
  keeper->Count({7, "steps", "overwritten", "\"ada\",\"llm\",,", 1, 1, 1});
  keeper->Stop();
  size_t mine = 0, all = 0, losses = 0;
  bool is_told = false;
  for (const auto& entry : fs::directory_iterator(place + "/rows")) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      mine += line == "mine" ? 1 : 0;
      all += line.starts_with('x') ? 1 : 0;
      losses += line.starts_with("\"eve\"") ? 1 : 0;
      is_told = is_told || line.starts_with("\"ada\",\"llm\"");
    }
  }
  EXPECT_EQ(mine, 20U);
  EXPECT_LE(all, 20U * 5 * kRows);
  EXPECT_LT(losses, 500U);
  EXPECT_TRUE(is_told);
  fs::remove_all(place);
}

}  // namespace
}  // namespace profd::summary
