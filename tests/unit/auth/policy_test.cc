#include "daemon/auth/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::auth {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Action kAll[] = {Action::kSeeNode,        Action::kCollectDevice,  Action::kCollectHost,
                           Action::kCollectProcess, Action::kSeeProcess,     Action::kSeeSession,
                           Action::kStopSession,    Action::kKeepSession,    Action::kLease,
                           Action::kSeeDevice,      Action::kSetBreakpoints, Action::kTapeDriver};
constexpr Action kOfOwners[] = {Action::kCollectProcess, Action::kSeeProcess, Action::kSeeSession,
                                Action::kStopSession, Action::kKeepSession};

Caller Ada(Standing standing = Standing::kNone) {
  return {.uid = 1000, .gid = 1000, .pid = 42, .user = "ada", .standing = standing};
}

TEST(Policy, RootAndItsGroupMayEverything) {
  for (const Caller& caller : {Caller{0, 0, 1, "root"}, Ada(Standing::kAdmin)}) {
    for (const Action action : kAll) EXPECT_TRUE(May(caller, action, {.owner = 1001, .device = 3}).ok());
  }
}

TEST(Policy, WhoeverItIsOwnsTheirProcessesAndSessionsOnly) {
  for (const Standing standing : {Standing::kNone, Standing::kMember}) {
    const Caller ada = Ada(standing);
    EXPECT_TRUE(May(ada, Action::kSeeNode).ok());
    for (const Action action : kOfOwners) {
      EXPECT_TRUE(May(ada, action, {.owner = 1000}).ok());
      EXPECT_EQ(May(ada, action, {.owner = 1001}).code(), base::Code::kPermissionDenied);
      EXPECT_EQ(May(ada, action, {.owner = 0}).code(), base::Code::kPermissionDenied);
    }
    EXPECT_EQ(May(ada, Action::kLease).code(), base::Code::kPermissionDenied);
    EXPECT_EQ(May(ada, Action::kTapeDriver).code(), base::Code::kPermissionDenied);
  }
}

TEST(Policy, WhatShowsEveryJobIsForMembers) {
  EXPECT_TRUE(May(Ada(Standing::kMember), Action::kCollectDevice, {.device = 3}).ok());
  EXPECT_TRUE(May(Ada(Standing::kMember), Action::kSeeDevice, {.device = 3}).ok());
  EXPECT_EQ(May(Ada(), Action::kSeeDevice, {.device = 3}).code(), base::Code::kPermissionDenied);
  EXPECT_TRUE(May(Ada(Standing::kMember), Action::kCollectHost).ok());
  EXPECT_EQ(May(Ada(), Action::kCollectDevice, {.device = 3}).code(), base::Code::kPermissionDenied);
  EXPECT_EQ(May(Ada(), Action::kCollectHost).code(), base::Code::kPermissionDenied);
}

TEST(Policy, ALeaseIsForItsDevicesAndForNothingElse) {
  Caller ada = Ada();
  ada.leased = {0, 3};
  EXPECT_TRUE(May(ada, Action::kCollectDevice, {.device = 0}).ok());
  EXPECT_TRUE(May(ada, Action::kCollectDevice, {.device = 3}).ok());
  EXPECT_FALSE(May(ada, Action::kCollectDevice, {.device = 1}).ok());
  EXPECT_FALSE(May(ada, Action::kCollectDevice).ok()) << "of every device";
  EXPECT_FALSE(May(ada, Action::kCollectHost).ok());
  EXPECT_FALSE(May(ada, Action::kSeeProcess, {.owner = 1001}).ok());
}

TEST(Policy, DefaultCallerIsNobody) {
  EXPECT_FALSE(May(Caller(), Action::kStopSession).ok());
  EXPECT_FALSE(May(Caller(), Action::kCollectDevice).ok());
}

TEST(Policy, RefusalNamesTheUserTheTargetAndTheWayOut) {
  EXPECT_THAT(May(Ada(), Action::kCollectDevice, {.device = 3}).message(),
              AllOf(HasSubstr("ada"), HasSubstr("device 3"), HasSubstr("lease"), HasSubstr("root")));
  EXPECT_THAT(May(Ada(), Action::kStopSession, {.owner = 1001}).message(), HasSubstr("1001"));
}

}  // namespace
}  // namespace profd::auth
