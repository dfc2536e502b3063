// Sessions that go on after a restart wait for their processes, in no real time.
#include "daemon/session/history/resumer.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "daemon/host/process/process.h"
#include "daemon/store/spool/notes.h"
#include "tests/unit/session/ctl_rig.h"

namespace profd::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kSecond = 1'000'000'000;

class ResumerTest : public ::testing::Test {
 protected:
  ResumerTest() {
    rig_.Do([this] {
      agents_.emplace(rig_.ctl, agent::Registry::Options{});
      resumer_.emplace(rig_.time, rig_.aside, *agents_, rig_.spool);
    });
  }
  ~ResumerTest() override {
    rig_.Do([this] {
      resumer_.reset();
      agents_.reset();
    });
  }
  // A session of this process, with so much of its time left.
  void Remember(uint64_t left_ns, uint64_t start_ticks_off = 0) {
    const host::ProcessFacts self = host::ReadProcessFacts(::getpid());
    ResumeRecord record;
    record.session = "3f2a91c0";
    record.boot = BootId();
    record.end_wall_ns = rig_.time.WallNs() + left_ns;
    record.start_ticks = {{self.pid, self.start_ticks + start_ticks_off}};
    record.spec.kinds = {{format::Kind::kAgentRange, "", 0}};
    rig_.Do([&] { resumer_->Remember(record); });
    ASSERT_TRUE(rig_.Until([this] { return !store::ReadNotes(rig_.spool).empty(); }));
  }
  void Resume() {
    rig_.Do(
        [this] { resumer_->Resume([this](ResumeRecord record) { begun_.push_back(std::move(record)); }); });
  }
  bool Forgotten() {
    return rig_.Until([this] { return store::ReadNotes(rig_.spool).empty(); });
  }

  CtlRig rig_;
  std::optional<agent::Registry> agents_;
  std::optional<Resumer> resumer_;
  std::vector<ResumeRecord> begun_;  // ctl's
};

TEST_F(ResumerTest, WaitsForItsProcessesForThreeSeconds) {
  Remember(60 * kSecond);
  Resume();
  ASSERT_TRUE(rig_.Until([this] { return rig_.time.alarms() == 1; }));
  rig_.Advance(3 * kSecond - 1);
  EXPECT_THAT(begun_, IsEmpty());
  rig_.Advance(1);
  ASSERT_THAT(begun_, SizeIs(1));
  EXPECT_EQ(begun_[0].session, "3f2a91c0");
  EXPECT_THAT(begun_[0].spec.pids, ElementsAre(::getpid()));
  EXPECT_EQ(begun_[0].spec.duration_ns, 60 * kSecond) << "what was left when it was found";
  ASSERT_THAT(begun_[0].spec.kinds, SizeIs(1));
  EXPECT_EQ(begun_[0].spec.kinds[0].kind, format::Kind::kAgentRange);
}

TEST_F(ResumerTest, WhoseTimeIsOverIsForgotten) {
  Remember(60 * kSecond);
  rig_.Do([this] { rig_.time.SetWallForward(61 * kSecond); });
  Resume();
  EXPECT_TRUE(Forgotten());
  EXPECT_THAT(begun_, IsEmpty());
}

TEST_F(ResumerTest, WhoseProcessIsAnotherNowIsForgotten) {
  Remember(60 * kSecond, 1);
  Resume();
  EXPECT_TRUE(Forgotten());
  EXPECT_THAT(begun_, IsEmpty());
}

}  // namespace
}  // namespace profd::session
