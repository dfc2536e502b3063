// Leases end by themselves, in no real time.
#include "daemon/session/leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "tests/unit/support/fake_timers.h"

namespace profd::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMinute = 60'000'000'000;

// Where leases are kept, gone with the test.
struct Folder {
  Folder() { path = ::mkdtemp(path.data()); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path = ::testing::TempDir() + "profd-leases-XXXXXX";
};

class LeasesTest : public ::testing::Test {
 protected:
  // What is being written is written: the folder goes.
  void TearDown() override {
    const std::function<void()> look = [&] {
      if (!leases_.saving()) return ctl_.Stop();
      ctl_.After(1'000'000, look);
    };
    ctl_.Post(look);
    ctl_.Run();
  }
  std::string Lend(uint32_t device, uint64_t for_ns) {
    auth::Lease lease;
    lease.uid = kUser;
    lease.devices = {device};
    lease.until_wall_ns = time_.WallNs() + for_ns;
    return leases_.Add(std::move(lease)).value().id;
  }
  std::vector<uint32_t> Lent() const {
    std::vector<uint32_t> devices;
    for (const auth::Lease& lease : leases_.all()) devices.push_back(lease.devices.front());
    return devices;
  }
  bool MayUse(uint32_t device) const {
    auth::Caller caller{.uid = kUser, .gid = kUser};
    rights_.GrantLeases(caller);
    return std::ranges::find(caller.leased, device) != caller.leased.end();
  }

  static constexpr uid_t kUser = 4711;
  const Folder folder_;
  FakeTimers time_;
  base::Executor ctl_;
  base::Aside aside_{ctl_};
  auth::Rights rights_;
  int less_ = 0;
  Leases leases_{time_, aside_, rights_, folder_.path, [this] { ++less_; }};
};

TEST_F(LeasesTest, EachEndsAtItsTime) {
  Lend(1, 90 * kMinute);
  Lend(2, 30 * kMinute);
  EXPECT_TRUE(MayUse(1) && MayUse(2));
  time_.Advance(30 * kMinute - 1);
  EXPECT_THAT(Lent(), ElementsAre(1, 2));
  EXPECT_EQ(less_, 0);
  time_.Advance(1);
  EXPECT_THAT(Lent(), ElementsAre(1));
  EXPECT_FALSE(MayUse(2));
  EXPECT_EQ(less_, 1);
  time_.Advance(60 * kMinute);
  EXPECT_THAT(Lent(), IsEmpty());
  EXPECT_EQ(less_, 2);
  EXPECT_EQ(time_.alarms(), 0U) << "without a lease nothing is looked at";
}

TEST_F(LeasesTest, AWallClockSetForwardIsSeenWithinAMinute) {
  Lend(1, 90 * kMinute);
  time_.SetWallForward(120 * kMinute);
  EXPECT_THAT(Lent(), ElementsAre(1));
  time_.Advance(kMinute);
  EXPECT_THAT(Lent(), IsEmpty());
  EXPECT_EQ(less_, 1);
}

TEST_F(LeasesTest, OneThatIsTakenBackIsOverAtOnce) {
  const std::string id = Lend(1, 90 * kMinute);
  Lend(2, 30 * kMinute);
  ASSERT_TRUE(leases_.Remove(id).ok());
  EXPECT_EQ(less_, 1);
  EXPECT_FALSE(MayUse(1));
  EXPECT_TRUE(MayUse(2));
  EXPECT_EQ(leases_.Remove(id).status().code(), base::Code::kNotFound);
  EXPECT_EQ(less_, 1);
}

}  // namespace
}  // namespace profd::session
