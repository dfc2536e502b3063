// When the collector's process on a device sees the group of its collector, and when it gives up.
#include "sim/hal/device_process.h"

#include <gtest/gtest.h>

namespace profd::sim {
namespace {

constexpr uint64_t kStart = 7'000'000'000, kMs = 1'000'000;

TEST(DeviceProcess, ThatFindsTheGroupAtOnce) {
  DeviceProcess process;
  EXPECT_FALSE(process.Runs(kStart));
  process.Start(9, kStart, true);
  EXPECT_TRUE(process.OffersChannel(kStart));
  EXPECT_TRUE(process.Runs(kStart + 1000 * kMs));
  process.End();
  EXPECT_FALSE(process.Runs(kStart + 1000 * kMs));
  EXPECT_FALSE(process.OffersChannel(kStart + 1000 * kMs));
}

TEST(DeviceProcess, ThatSeesAGroupMadeLaterAtItsNextLook) {
  DeviceProcess process;
  process.Start(9, kStart, false);
  EXPECT_TRUE(process.Runs(kStart + 99 * kMs));
  EXPECT_FALSE(process.OffersChannel(kStart + 33 * kMs));
  process.NoteGroup(kStart + 33 * kMs);
  EXPECT_FALSE(process.OffersChannel(kStart + 39 * kMs));
  EXPECT_TRUE(process.OffersChannel(kStart + 40 * kMs));
  EXPECT_TRUE(process.Runs(kStart + 1000 * kMs));
}

TEST(DeviceProcess, ThatLooksTenTimesAndEnds) {
  DeviceProcess process;
  process.Start(9, kStart, false);
  process.NoteGroup(kStart + 90 * kMs);  // the tenth look
  EXPECT_TRUE(process.OffersChannel(kStart + 90 * kMs));
  process.Start(9, kStart, false);
  process.NoteGroup(kStart + 90 * kMs + 1);
  EXPECT_TRUE(process.Runs(kStart + 100 * kMs - 1));
  EXPECT_FALSE(process.Runs(kStart + 100 * kMs));
  EXPECT_FALSE(process.OffersChannel(kStart + 200 * kMs));
}

}  // namespace
}  // namespace profd::sim
