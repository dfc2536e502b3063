// Lives of sessions, from the call to the sealed directory, in no real time: through the Manager, with its
// starter, sessions and traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>

#include "tests/unit/session/manager_rig.h"

namespace profd::session {
namespace {

using base::Code;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kSecond = 1'000'000'000;

SessionSpec HostCpu() {
  SessionSpec spec;
  spec.kinds = {{.kind = format::Kind::kHostSysCpu, .mode = "", .hz = 10}};
  return spec;
}

// A process that does nothing until it is told to end.
class Idler {
 public:
  Idler() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::pause();
    ::_exit(0);
  }
  ~Idler() { End(); }
  Idler(const Idler&) = delete;
  Idler& operator=(const Idler&) = delete;
  void End() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(LifeTest, StoppedWhenItIsTold) {
  ManagerRig rig;
  const auto started = rig.Start(HostCpu());
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_EQ(started->state, State::kRunning);
  const SessionInfo ended = rig.Stop(started->id);
  EXPECT_EQ(ended.state, State::kSealed);
  EXPECT_EQ(ended.end_reason, EndReason::kStopped);
  EXPECT_THAT(rig.Directories(), SizeIs(1));
  EXPECT_TRUE(std::filesystem::exists(ended.directory));
}

TEST(LifeTest, EndsWithItsDuration) {
  ManagerRig rig;
  SessionSpec spec = HostCpu();
  spec.duration_ns = 60 * kSecond;
  const auto started = rig.Start(spec);
  ASSERT_TRUE(started.ok()) << started.status().message();
  rig.Advance(59 * kSecond);
  EXPECT_EQ(rig.Get(started->id).state, State::kRunning);
  rig.Advance(kSecond);
  const SessionInfo ended = rig.Stop(started->id);  // comes too late to be the reason
  EXPECT_EQ(ended.state, State::kSealed);
  EXPECT_EQ(ended.end_reason, EndReason::kDuration);
  EXPECT_EQ(ended.elapsed_ns, 60 * kSecond);
}

TEST(LifeTest, RunsOnceItsDelayIsOver) {
  ManagerRig rig;
  SessionSpec spec = HostCpu();
  spec.delay_ns = 30 * kSecond;
  const auto started = rig.Start(spec);
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_EQ(started->state, State::kArmed);
  rig.Advance(29 * kSecond);
  EXPECT_EQ(rig.Get(started->id).state, State::kArmed);
  rig.Advance(kSecond);
  ASSERT_TRUE(rig.Until(started->id, [](const SessionInfo& info) { return info.state == State::kRunning; }));
  rig.Advance(2 * kSecond);
  EXPECT_EQ(rig.Get(started->id).elapsed_ns, 2 * kSecond) << "the time before is not the session's";
}

TEST(LifeTest, RunsAtItsInstant) {
  ManagerRig rig;
  SessionSpec spec = HostCpu();
  spec.delay_ns = 1;
  spec.at_wall_ns = rig.WallNs() + 5 * kSecond;
  rig.Advance(3 * kSecond);  // spent on the way
  const auto started = rig.Start(spec);
  ASSERT_TRUE(started.ok()) << started.status().message();
  rig.Advance(kSecond);
  EXPECT_EQ(rig.Get(started->id).state, State::kArmed);
  rig.Advance(kSecond);
  EXPECT_TRUE(rig.Until(started->id, [](const SessionInfo& info) { return info.state == State::kRunning; }));
}

TEST(LifeTest, StoppedBeforeItRan) {
  ManagerRig rig;
  SessionSpec spec = HostCpu();
  spec.delay_ns = 30 * kSecond;
  const auto started = rig.Start(spec);
  ASSERT_TRUE(started.ok()) << started.status().message();
  const SessionInfo ended = rig.Stop(started->id);
  EXPECT_EQ(ended.end_reason, EndReason::kStopped);
  EXPECT_TRUE(ended.state == State::kSealed || ended.state == State::kFailed);
  rig.Advance(60 * kSecond);
  EXPECT_EQ(rig.Get(started->id).state, ended.state) << "its alarm is off";
}

TEST(LifeTest, EndsWithItsProcess) {
  ManagerRig rig;
  Idler idler;
  SessionSpec spec;
  spec.kinds = {{.kind = format::Kind::kHostCpu, .mode = "", .hz = 10}};
  spec.pids = {idler.pid()};
  const auto started = rig.Start(spec);
  ASSERT_TRUE(started.ok()) << started.status().message();
  idler.End();
  ASSERT_TRUE(rig.Until(started->id, [](const SessionInfo& info) { return info.state == State::kSealed; }));
  EXPECT_EQ(rig.Get(started->id).end_reason, EndReason::kTargetExit);
}

TEST(LifeTest, GoesOnInALinkedDirectory) {
  ManagerRig rig([](config::Config& config) { config.store.roll_after_s = 10; });
  const auto started = rig.Start(HostCpu());
  ASSERT_TRUE(started.ok()) << started.status().message();
  rig.Advance(9 * kSecond);
  EXPECT_THAT(rig.Get(started->id).directories, SizeIs(1));
  rig.Advance(kSecond);
  ASSERT_TRUE(rig.Until(started->id, [](const SessionInfo& info) { return info.directories.size() == 2; }));
  const SessionInfo ended = rig.Stop(started->id);
  EXPECT_EQ(ended.state, State::kSealed);
  EXPECT_THAT(rig.Directories(), SizeIs(2));
}

TEST(LifeTest, PausesAndGoesOn) {
  ManagerRig rig;
  const auto started = rig.Start(HostCpu());
  ASSERT_TRUE(started.ok()) << started.status().message();
  rig.Advance(2 * kSecond);
  const auto paused = rig.Pause(started->id, true);
  ASSERT_TRUE(paused.ok()) << paused.status().message();
  EXPECT_NE(paused->paused, "");
  rig.Advance(3 * kSecond);
  const auto on = rig.Pause(started->id, false);
  ASSERT_TRUE(on.ok()) << on.status().message();
  EXPECT_EQ(on->paused, "");
  ASSERT_THAT(on->pauses, SizeIs(1));
  EXPECT_EQ(on->pauses.front().from_ns, 2 * kSecond);
  EXPECT_EQ(on->pauses.front().to_ns, 5 * kSecond);
}

TEST(LifeTest, RefusedOnesLeaveNothing) {
  ManagerRig rig;
  SessionSpec spec;
  spec.kinds = {{.kind = format::Kind::kHbm, .mode = "", .hz = 0}};
  spec.all_devices = true;
  const auto started = rig.Start(spec);
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.status().message(), HasSubstr("no driver here"));
  EXPECT_THAT(rig.Directories(), IsEmpty());
}

TEST(LifeTest, NoMoreThanThereMayBe) {
  ManagerRig rig([](config::Config& config) { config.session.max_sessions = 1; });
  ASSERT_TRUE(rig.Start(HostCpu()).ok());
  const auto second = rig.Start(HostCpu());
  EXPECT_EQ(second.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(second.status().message(), HasSubstr("session.max_sessions"));
}

TEST(LifeTest, AQuarterBeyondIsForWhoHasFewAndAnEighthForAdmins) {
  ManagerRig rig([](config::Config& config) { config.session.max_sessions = 8; });
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(rig.Start(HostCpu()).ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rig.Start(HostCpu()).ok(), ::getuid() == 0);
  EXPECT_EQ(rig.Start(HostCpu()).status().code(), Code::kResourceExhausted);
}

TEST(LifeTest, RemovedOnesAreGone) {
  ManagerRig rig;
  const auto started = rig.Start(HostCpu());
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_EQ(rig.Remove(started->id).status().code(), Code::kFailedPrecondition);
  rig.Stop(started->id);
  const auto removed = rig.Remove(started->id);
  ASSERT_TRUE(removed.ok()) << removed.status().message();
  EXPECT_THAT(rig.Directories(), IsEmpty());
}

TEST(LifeTest, AllAreSealedWhenProfdStops) {
  ManagerRig rig;
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    SessionSpec spec = HostCpu();
    if (i == 2) spec.delay_ns = 30 * kSecond;
    const auto started = rig.Start(spec);
    ASSERT_TRUE(started.ok()) << started.status().message();
    ids.push_back(started->id);
  }
  rig.Shutdown();
  for (const std::string& id : ids) EXPECT_EQ(rig.Get(id).end_reason, EndReason::kDaemonStop);
  EXPECT_EQ(rig.Start(HostCpu()).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace profd::session
