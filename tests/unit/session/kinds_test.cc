#include "daemon/session/plan/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::session {
namespace {

using format::Kind;
using testing::HasSubstr;

std::string Refused(std::string_view name) {
  const base::Result<Kind> kind = ReadKind(name);
  EXPECT_EQ(kind.status().code(), base::Code::kInvalidArgument) << name;
  return kind.status().message();
}

TEST(Kinds, AreReadByTheirNames) {
  for (const format::KindTraits& traits : format::kKinds) {
    if (traits.scope == format::Scope::kFound) continue;
    const base::Result<Kind> kind = ReadKind(traits.name);
    ASSERT_TRUE(kind.ok()) << kind.status().message();
    EXPECT_EQ(*kind, traits.kind);
  }
}

TEST(Kinds, OtherNamesAreRefusedInOneClearLine) {
  EXPECT_EQ(Refused("hmb"), "unknown kind 'hmb'; did you mean hbm?");
  EXPECT_THAT(Refused("host-mme"), HasSubstr("did you mean host-mem?"));
  EXPECT_THAT(Refused("gpu-utilisation"), HasSubstr("there are: hbm ddr llc pcie"));
  EXPECT_THAT(Refused(""), HasSubstr("unknown kind ''"));
  EXPECT_THAT(Refused("HBM"), HasSubstr("unknown kind 'HBM'"));
  EXPECT_THAT(Refused("osrt"), HasSubstr("unknown kind 'osrt'"));
  EXPECT_THAT(Refused("step-trace"), HasSubstr("unknown kind 'step-trace'")) << "which others record";
}

}  // namespace
}  // namespace profd::session
