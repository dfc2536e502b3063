#include "daemon/auth/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::auth {
namespace {

constexpr Action kAll[] = {Action::kSeeNode,        Action::kCollectDevice, Action::kCollectHost,
                           Action::kCollectProcess, Action::kSeeProcess,    Action::kSeeSession,
                           Action::kStopSession};

TEST(Policy, RootMayEverything) {
  const Caller root{0, 0, 1, "root"};
  for (const Action action : kAll) EXPECT_TRUE(May(root, action, 1000).ok());
}

TEST(Policy, UserOwnsTheirProcessesAndSessionsOnly) {
  const Caller user{1000, 1000, 42, "ada"};
  EXPECT_TRUE(May(user, Action::kSeeNode).ok());
  for (const Action action :
       {Action::kCollectProcess, Action::kSeeProcess, Action::kSeeSession, Action::kStopSession}) {
    EXPECT_TRUE(May(user, action, 1000).ok());
    EXPECT_EQ(May(user, action, 1001).code(), base::Code::kPermissionDenied);
    EXPECT_EQ(May(user, action, 0).code(), base::Code::kPermissionDenied);
  }
  EXPECT_EQ(May(user, Action::kCollectDevice, 1000).code(), base::Code::kPermissionDenied);
  EXPECT_EQ(May(user, Action::kCollectHost, 1000).code(), base::Code::kPermissionDenied);
}

TEST(Policy, DefaultCallerIsNobody) {
  EXPECT_FALSE(May(Caller(), Action::kStopSession, 0).ok());
  EXPECT_FALSE(May(Caller(), Action::kCollectDevice).ok());
}

TEST(Policy, RefusalNamesTheUserAndTheWayOut) {
  const Caller user{1000, 1000, 42, "ada"};
  EXPECT_THAT(May(user, Action::kCollectDevice).message(),
              testing::AllOf(testing::HasSubstr("ada"), testing::HasSubstr("root")));
}

}  // namespace
}  // namespace profd::auth
