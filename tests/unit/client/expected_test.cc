#include "client/show/expected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void AddKind(v1::SessionInfo* info, const char* kind, double bytes_per_s, uint32_t record_bytes = 0,
             double hz = 0) {
  v1::KindState* added = info->add_kinds();
  added->set_kind(kind);
  added->set_verdict(v1::VERDICT_STARTED);
  added->set_bytes_per_s(bytes_per_s);
  added->set_record_bytes(record_bytes);
  added->set_effective_hz(hz);
}

TEST(Expected, OneLineSaysHowMuchAndHowLongTheLimitLasts) {
  v1::SessionInfo info;
  EXPECT_EQ(ExpectedLine(info), "");
  AddKind(&info, "hbm", 400'000);
  AddKind(&info, "hbm", 600'000);
  EXPECT_EQ(ExpectedLine(info), "expected 1.0 MB/s, 3.6 GB an hour\n");
  info.set_duration_ns(20'000'000'000);
  info.set_storage_limit_bytes(200'000'000);
  AddKind(&info, "task", 0, 64);
  EXPECT_EQ(
      ExpectedLine(info),
      "expected 1.0 MB/s, 3.6 GB an hour, 20.0 MB in 20.0 s; the storage limit of 200.0 MB holds the last "
      "3 m 20 s; and as much as the job makes of task\n");
}

TEST(Expected, WhatIsNotCollectedMakesNothing) {
  v1::SessionInfo info;
  AddKind(&info, "hbm", 1e9);
  info.mutable_kinds(0)->set_verdict(v1::VERDICT_SKIPPED);
  EXPECT_EQ(ExpectedLine(info), "");
  EXPECT_THAT(CostWarnings(info), IsEmpty());
}

TEST(Expected, APlanSumsUpAndEqualDevicesAreOneLine) {
  v1::SessionInfo info;
  for (const char* unit : {"device:0", "device:1", "device:2"}) {
    AddKind(&info, "hbm", 10'000, 192, 50);
    info.mutable_kinds(info.kinds_size() - 1)->set_unit(unit);
    AddKind(&info, "task", 0, 64);
    info.mutable_kinds(info.kinds_size() - 1)->set_unit(unit);
    AddKind(&info, "ddr", 0);
    v1::KindState* skipped = info.mutable_kinds(info.kinds_size() - 1);
    skipped->set_unit(unit);
    skipped->set_verdict(v1::VERDICT_SKIPPED);
    skipped->set_reason("a 910B has no ddr");
  }
  info.mutable_kinds(6)->set_effective_hz(10);  // hbm of device 2
  EXPECT_EQ(RenderPlan(info, Look{}),
            "expected 30.0 kB/s, 108.0 MB an hour; and as much as the job makes of task\n"
            "KIND  UNIT        EFFECTIVE  VERDICT             EXPECTED\n"
            "hbm   device:0,1      50 Hz  started            20.0 kB/s\n"
            "task  device:0-2          -  started  64.0 MB per million\n"
            "hbm   device:2        10 Hz  started            10.0 kB/s\n"
            "skipped ddr (device:0-2): a 910B has none\n"
            "nothing was started (--dry-run)\n");
  const std::string all = RenderPlan(info, Look{.all = true});
  EXPECT_EQ(std::ranges::count(all, '\n'), 3 + info.kinds_size()) << all;
}

TEST(Expected, KindsThatMakeMuchAreNamedWithWhatToDo) {
  v1::SessionInfo info;
  AddKind(&info, "hbm", 10e6);
  AddKind(&info, "host-cpu", 6e6);
  AddKind(&info, "host-cpu", 6e6);
  AddKind(&info, "instr", 0, 75, 1.8e6);
  EXPECT_THAT(CostWarnings(info),
              ElementsAre(HasSubstr("host-cpu makes some 12.0 MB/s: ask for a lower rate"),
                          HasSubstr("instr can make 135.0 MB/s and more: ask for a lower rate")));
}

}  // namespace
}  // namespace profd::client
