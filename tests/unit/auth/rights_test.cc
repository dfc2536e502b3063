#include "daemon/auth/rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/clock.h"

namespace profd::auth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kHour = 3'600'000'000'000;

Caller Granted(const Rights& rights, uid_t uid, gid_t gid, const std::vector<gid_t>& groups = {}) {
  Caller caller{.uid = uid, .gid = gid};
  rights.Grant(caller, groups);
  return caller;
}

Lease Lent(uid_t uid, std::vector<uint32_t> devices, uint64_t until_wall_ns) {
  Lease lease;
  lease.uid = uid;
  lease.devices = std::move(devices);
  lease.until_wall_ns = until_wall_ns;
  return lease;
}

TEST(Rights, StandingComesFromTheGroupsTheKernelNamed) {
  Rights rights;
  rights.SetGroups({.members = 77, .admins = 88});
  EXPECT_EQ(Granted(rights, 1000, 1000).standing, Standing::kNone);
  EXPECT_EQ(Granted(rights, 1000, 1000, {5, 77}).standing, Standing::kMember);
  EXPECT_EQ(Granted(rights, 1000, 77).standing, Standing::kMember) << "newgrp";
  EXPECT_EQ(Granted(rights, 1000, 77, {88}).standing, Standing::kAdmin);
  EXPECT_EQ(Granted(rights, 0, 0).standing, Standing::kAdmin);
}

TEST(Rights, AnAbsentGroupIsNobodys) {
  Rights rights;
  rights.SetGroups(ResolveGroups({.group = "no-such-group-here", .admin_group = ""}));
  for (const gid_t gid : {gid_t{0}, gid_t{1000}, static_cast<gid_t>(-1)}) {
    EXPECT_EQ(Granted(rights, 1000, gid, {gid}).standing, Standing::kNone) << gid;
  }
}

TEST(Rights, GroupsHaveNamesOrNumbers) {
  const Groups groups = ResolveGroups({.group = "root", .admin_group = "54321"});
  EXPECT_EQ(groups.members, gid_t{0});
  EXPECT_EQ(groups.admins, gid_t{54321});
  for (const char* wrong : {"-1", "1x", " 1", "99999999999"}) {
    EXPECT_FALSE(ResolveGroups({.group = wrong, .admin_group = ""}).members.has_value()) << wrong;
  }
}

TEST(Rights, BreakpointsAreForWhomTheSettingsName) {
  const auto may = [](const std::string& who, gid_t group, uid_t uid = 1000) {
    Rights rights;
    rights.SetGroups(ResolveGroups({.group = "77", .admin_group = "88", .breakpoints = who}));
    return May(Granted(rights, uid, group), Action::kSetBreakpoints).ok();
  };
  const std::string by_default = config::Config::Auth().breakpoints;
  EXPECT_FALSE(may(by_default, 1000));
  EXPECT_FALSE(may(by_default, 77));
  EXPECT_TRUE(may(by_default, 88));
  EXPECT_TRUE(may(by_default, 0, 0));
  EXPECT_FALSE(may("group", 1000));
  EXPECT_TRUE(may("group", 77));
  EXPECT_TRUE(may("group", 88));
  EXPECT_TRUE(may("everybody", 1000));
}

TEST(Rights, WhatIsTakenAwayIsGoneAtOnce) {
  Rights rights;
  rights.SetGroups({.members = 77, .admins = std::nullopt});
  EXPECT_EQ(Granted(rights, 1000, 77).standing, Standing::kMember);
  rights.SetGroups({});
  EXPECT_EQ(Granted(rights, 1000, 77).standing, Standing::kNone);
}

TEST(Rights, ALeaseHoldsForItsUserUntilItsEnd) {
  Rights rights;
  const uint64_t now = base::WallNs();
  rights.SetLeases({Lent(1000, {0, 1}, now + kHour), Lent(1000, {2}, now - 1), Lent(1001, {3}, now + kHour)});
  EXPECT_THAT(Granted(rights, 1000, 1000).leased, ElementsAre(0, 1));
  EXPECT_THAT(Granted(rights, 1001, 1001).leased, ElementsAre(3));
  EXPECT_THAT(Granted(rights, 1002, 1002).leased, IsEmpty());
  Caller caller = Granted(rights, 1000, 1000);
  rights.SetLeases({});
  rights.GrantLeases(caller);
  EXPECT_THAT(caller.leased, IsEmpty());
}

}  // namespace
}  // namespace profd::auth
