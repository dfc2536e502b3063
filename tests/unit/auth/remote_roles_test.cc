#include "daemon/auth/remote_roles.h"

#include <gmock/gmock.h>

namespace profd::auth {
namespace {

using base::Code;
using testing::HasSubstr;

RemoteRoles Roles() {
  auto roles = RemoteRoles::Parse({.viewers = "eye, other eye",
                                   .operators = "op",
                                   .admins = " ops.example ",
                                   .users = "ci@x=nobody,lost=no-such"});
  EXPECT_TRUE(roles.ok()) << roles.status().message();
  return std::move(roles).value();
}

base::Result<Caller> As(std::vector<std::string> names) {
  return Roles().CallerOf({"ipv4:10.0.0.7:4711", std::move(names)}, nullptr);
}

TEST(RemoteRoles, TheFirstNameThatIsKnownDecides) {
  EXPECT_EQ(As({"stranger", "other eye", "op"})->role, Role::kViewer);
  EXPECT_EQ(As({"op", "ops.example"})->role, Role::kOperator);
  const auto admin = As({"ops.example"});
  EXPECT_EQ(admin->role, Role::kAdmin);
  EXPECT_EQ(admin->uid, 0U);
  EXPECT_EQ(admin->user, "ops.example");
  EXPECT_EQ(admin->remote, "ipv4:10.0.0.7:4711");
}

TEST(RemoteRoles, AnAccountIsThatAccount) {
  const auto caller = As({"ci@x"});
  ASSERT_TRUE(caller.ok()) << caller.status().message();
  EXPECT_EQ(caller->role, Role::kAccount);
  EXPECT_EQ(caller->user, "nobody");
  EXPECT_NE(caller->uid, 0U);
  EXPECT_EQ(As({"lost"}).status().code(), Code::kPermissionDenied);
}

TEST(RemoteRoles, NobodyElse) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{}, {"root"}, {""}, {"eye, other eye"}, {"EYE"}}) {
    const auto caller = As(names);
    EXPECT_EQ(caller.status().code(), Code::kPermissionDenied);
    EXPECT_THAT(caller.status().message(), HasSubstr("remote."));
  }
}

TEST(RemoteRoles, WhatIsNoList) {
  EXPECT_EQ(
      RemoteRoles::Parse({.viewers = "a,,b", .operators = "", .admins = "", .users = ""}).status().code(),
      Code::kInvalidArgument);
  EXPECT_EQ(RemoteRoles::Parse({.viewers = "a", .operators = "a", .admins = "", .users = ""}).status().code(),
            Code::kInvalidArgument);
  for (const char* const users : {"a", "a=", "=b"}) {
    EXPECT_EQ(
        RemoteRoles::Parse({.viewers = "", .operators = "", .admins = "", .users = users}).status().code(),
        Code::kInvalidArgument);
  }
}

TEST(RemoteRoles, WithoutACertificate) {
  EXPECT_EQ(RemoteRoles::CallerAs("viewer", "a")->role, Role::kViewer);
  EXPECT_EQ(RemoteRoles::CallerAs("off", "a").status().code(), Code::kUnauthenticated);
  EXPECT_EQ(RemoteRoles::CallerAs("", "a").status().code(), Code::kUnauthenticated);
}

// What each role may: see, collect and stop, keep and lend.
TEST(RemoteRoles, WhatTheyMay) {
  const auto may = [](const std::string& name, Action action) {
    return May(*As({name}), action, {.owner = 4711, .device = 0}).ok();
  };
  for (const Action look : {Action::kSeeNode, Action::kSeeProcess, Action::kSeeSession}) {
    for (const char* const name : {"eye", "op", "ops.example"}) EXPECT_TRUE(may(name, look)) << name;
  }
  for (const Action act :
       {Action::kCollectDevice, Action::kCollectHost, Action::kCollectProcess, Action::kStopSession}) {
    EXPECT_FALSE(may("eye", act));
    EXPECT_TRUE(may("op", act));
    EXPECT_TRUE(may("ops.example", act));
  }
  for (const Action keep : {Action::kKeepSession, Action::kLease}) {
    EXPECT_FALSE(may("eye", keep));
    EXPECT_FALSE(may("op", keep));
    EXPECT_TRUE(may("ops.example", keep));
  }
  EXPECT_FALSE(may("ci@x", Action::kSeeProcess));
}

}  // namespace
}  // namespace profd::auth
