#include "client/export/read/ranks.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

using Ranks = std::map<int, int64_t>;

DeviceUser User(const std::string& rank, std::set<int> devices, const std::string& local = "") {
  DeviceUser user;
  if (!rank.empty()) user.labels["rank"] = rank;
  if (!local.empty()) user.labels["local_rank"] = local;
  user.devices = std::move(devices);
  return user;
}

TEST(Ranks, OfTheProgramThatRunsThere) {
  EXPECT_EQ(RanksOf({{0, -1}, {1, -1}}, {User("9", {1}), User("8", {0})}), (Ranks{{0, 8}, {1, 9}}));
  EXPECT_EQ(RanksOf({{0, 5}}, {User("9", {0})}), (Ranks{{0, 5}}));  // info.json knows
  EXPECT_EQ(RanksOf({}, {User("3", {2})}), (Ranks{{2, 3}}));        // only programs have told of it
}

TEST(Ranks, AProgramOfSeveralDevicesHasSeveral) {
  EXPECT_EQ(RanksOf({{0, -1}, {1, -1}, {2, -1}}, {User("0", {0, 1, 2})}), (Ranks{{0, 0}, {1, 1}, {2, 2}}));
  DeviceUser user = User("2", {4, 5});
  user.groups["world"] = {4, 5};
  EXPECT_EQ(RanksOf({}, {user}), (Ranks{{4, 4}, {5, 5}}));
}

TEST(Ranks, AProgramOfALauncherIsOneRankOnAllItsDevices) {
  EXPECT_EQ(RanksOf({}, {User("3", {0, 1})}), (Ranks{{0, 3}, {1, 3}}));
  DeviceUser first = User("0", {0, 1});
  first.labels["world_size"] = "8";
  first.groups["world"] = {0};
  EXPECT_EQ(RanksOf({{0, -1}, {1, -1}}, {first}), (Ranks{{0, 0}, {1, 0}}));
  first.labels["world_size"] = "1";
  EXPECT_EQ(RanksOf({{0, -1}, {1, -1}}, {first}), (Ranks{{0, 0}, {1, 1}}));
}

TEST(Ranks, WithoutKernelsTheLocalRankSaysWhichDevice) {
  EXPECT_EQ(RanksOf({{4, -1}, {6, -1}}, {User("8", {}, "0"), User("9", {}, "1"), User("7", {}, "2")}),
            (Ranks{{4, 8}, {6, 9}}));
  EXPECT_EQ(RanksOf({{4, -1}, {6, -1}}, {User("1", {})}), (Ranks{{4, 1}, {6, 1}}));
}

TEST(Ranks, AJobIsWholeWithAllItsRanks) {
  const auto job = [](std::initializer_list<const char*> ranks, const std::string& world) {
    std::vector<DeviceUser> users;
    for (const char* rank : ranks) {
      users.push_back(User(rank, {0}));
      if (!world.empty()) users.back().labels["world_size"] = world;
    }
    return users;
  };
  EXPECT_TRUE(AreWholeJob(job({"0", "1"}, "2")));
  EXPECT_TRUE(AreWholeJob(job({"0"}, "1")));
  EXPECT_FALSE(AreWholeJob(job({"0", "1"}, "4")));
  EXPECT_FALSE(AreWholeJob(job({"1", "1"}, "2")));  // twice the same
  EXPECT_FALSE(AreWholeJob(job({"0", ""}, "2")));
  EXPECT_FALSE(AreWholeJob(job({"0", "1"}, "")));  // nobody has said how many there are
  EXPECT_FALSE(AreWholeJob({}));
}

TEST(Ranks, WhatNobodyKnows) {
  EXPECT_EQ(RanksOf({{0, -1}, {1, -1}}, {}), (Ranks{{0, -1}, {1, -1}}));
  EXPECT_EQ(RanksOf({{0, -1}, {1, -1}}, {User("", {0, 1})}), (Ranks{{0, -1}, {1, -1}}));
  EXPECT_EQ(RanksOf({{3, -1}}, {User("", {3})}), (Ranks{{3, 0}}));
  for (const char* text : {"-1", "x", "3x", "99999999999999999999", " 3"})
    EXPECT_EQ(RanksOf({{0, -1}, {1, -1}}, {User(text, {0})}), (Ranks{{0, -1}, {1, -1}})) << text;
}

}  // namespace
}  // namespace profd::client
