#include "daemon/session/node/perturbations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/support/fake_timers.h"
#include "tests/unit/support/planted_tree.h"

namespace profd::session {
namespace {

using namespace perturbation;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kWall = 1'700'000'000 * kSecond;

// At `raw_s`, with a wall clock that is off by so much.
Sight At(uint64_t raw_s, int64_t off_ns = 0) {
  Sight sight;
  sight.raw_ns = raw_s * kSecond;
  sight.wall_ns = kWall + raw_s * kSecond + static_cast<uint64_t>(off_ns);
  return sight;
}

Sight Throttled(uint64_t raw_s, uint64_t times, uint64_t us) {
  Sight sight = At(raw_s);
  sight.counts.push_back({kCpuThrottling, "cgroup /a", {times, us, 0}});
  return sight;
}

std::vector<std::string> Lines(const PerturbationLog& log, uint64_t since_s = 0) {
  std::vector<std::string> lines;
  for (const auto& entry : log.Since(since_s * kSecond)) {
    lines.push_back(entry.kind + " " + std::to_string(entry.from_ns / kSecond) + "-" +
                    std::to_string(entry.to_ns / kSecond) + " " + entry.text);
  }
  return lines;
}

TEST(ClockStep, IsWhatAdjustingTheRateCannotDo) {
  const int64_t allowed = 1'000'000 + 30 * 500'000;  // in 30 s
  EXPECT_EQ(ClockStepNs(At(10), At(40)), 0);
  EXPECT_EQ(ClockStepNs(At(10), At(40, allowed)), 0);
  EXPECT_EQ(ClockStepNs(At(10), At(40, -allowed)), 0);
  EXPECT_EQ(ClockStepNs(At(10), At(40, allowed + 1)), allowed + 1);
  EXPECT_EQ(ClockStepNs(At(10), At(40, -allowed - 1)), -allowed - 1);
  EXPECT_EQ(ClockStepNs(At(10), At(40, -3600 * static_cast<int64_t>(kSecond))),
            -3600 * static_cast<int64_t>(kSecond));
  Sight late = At(40, allowed + 5);  // read between two moments that lie apart
  late.error_ns = 5;
  EXPECT_EQ(ClockStepNs(At(10), late), 0);
}

TEST(PerturbationLog, AStepOfTheClockLiesBetweenTwoLooks) {
  PerturbationLog log;
  log.Take(At(10, 0));
  log.Take(At(40, 0));
  EXPECT_THAT(Lines(log), IsEmpty());
  log.Take(At(70, 2'500'000'000));
  log.Take(At(100, 2'500'000'000));
  log.Take(At(130, -500'000'000));
  EXPECT_THAT(Lines(log), ElementsAre("clock-step 40-70 the wall clock was set forward by 2.500000 s",
                                      "clock-step 100-130 the wall clock was set back by 3.000000 s"));
}

TEST(PerturbationLog, GrowthIsOneEntryAsLongAsItGoesOn) {
  PerturbationLog log;
  log.Take(Throttled(10, 100, 5'000'000));  // of before the session
  log.Take(Throttled(40, 100, 5'000'000));
  EXPECT_THAT(Lines(log), IsEmpty());
  log.Take(Throttled(70, 103, 5'100'000));
  log.Take(Throttled(100, 104, 5'150'000));
  EXPECT_THAT(Lines(log),
              ElementsAre("cpu-throttling 40-100 cgroup /a had to wait for its CPU quota 4 times, "
                          "150.0 ms on all CPUs together"));
  log.Take(Throttled(130, 104, 5'150'000));
  log.Take(Throttled(160, 105, 5'150'000));
  EXPECT_EQ(Lines(log).size(), 2u);
  EXPECT_EQ(Lines(log).back(), "cpu-throttling 130-160 cgroup /a had to wait for its CPU quota once");
  // A directory that began later has nothing of before.
  EXPECT_EQ(Lines(log, 101).size(), 1u);
  EXPECT_EQ(Lines(log, 100).size(), 2u);
}

TEST(PerturbationLog, ACounterThatBeginsAnewHasNotGrown) {
  PerturbationLog log;
  log.Take(Throttled(10, std::numeric_limits<uint64_t>::max(), 7));
  log.Take(Throttled(40, 0, 0));
  EXPECT_THAT(Lines(log), IsEmpty());
  log.Take(Throttled(70, 1, 10));
  EXPECT_EQ(Lines(log).size(), 1u);
}

TEST(PerturbationLog, EveryKindOfCountHasItsWords) {
  PerturbationLog log;
  const auto counts = [](uint64_t raw_s, uint64_t by) {
    Sight sight = At(raw_s);
    sight.counts.push_back({kMemoryLimit, "cgroup /m", {by, 2 * by, 3 * by}});
    sight.counts.push_back({kCpuHeat, "CPUs", {by, 5 * by, 0}});
    return sight;
  };
  log.Take(counts(1, 0));
  log.Take(counts(2, 1));
  EXPECT_THAT(Lines(log),
              ElementsAre("memory-limit 1-2 cgroup /m: held up above memory.high once, at its memory limit 2 "
                          "times, 3 processes killed for want of memory",
                          "cpu-heat 1-2 CPUs throttled for heat: cores once, packages 5 times"));
}

TEST(PerturbationLog, AConditionLastsFromLookToLook) {
  PerturbationLog log;
  const auto with = [](uint64_t raw_s, const std::string& text) {
    Sight sight = At(raw_s);
    sight.conditions.push_back({kCollector, "msprof", text});
    return sight;
  };
  log.Take(At(10));
  log.Take(with(40, "first"));
  log.Take(with(70, "second"));
  EXPECT_THAT(Lines(log), ElementsAre("collector 40-0 first"));
  EXPECT_EQ(Lines(log, 1000).size(), 1u);  // it lasts
  log.Take(At(100));
  EXPECT_THAT(Lines(log), ElementsAre("collector 40-100 first"));
  log.Take(with(130, "third"));
  EXPECT_THAT(Lines(log), ElementsAre("collector 40-100 first", "collector 130-0 third"));
}

TEST(PerturbationLog, HasABoundAndSaysWhatFoundNoRoom) {
  PerturbationLog log;
  constexpr uint64_t kLooks = 4 * PerturbationLog::kMostEntries;
  uint64_t times = 0;
  for (uint64_t look = 1; look <= kLooks; ++look) {
    Sight sight = Throttled(look, times += look % 2, 0);
    if (look > kLooks / 2 + 10) sight.conditions.push_back({kCollector, "late", "late"});
    log.Take(sight);
  }
  const auto entries = log.Since(0);
  ASSERT_EQ(entries.size(), PerturbationLog::kMostEntries + 1);
  uint64_t counted = 0;
  for (const auto& entry : entries) {
    const size_t at = entry.text.find("quota ");
    if (at == std::string::npos) continue;
    counted += entry.text.substr(at).starts_with("quota once") ? 1 : std::stoull(entry.text.substr(at + 6));
  }
  EXPECT_EQ(counted, times - 1);  // all of the growth is there, the last entry is a long one
  EXPECT_EQ(entries.back().kind, kMore);
  EXPECT_EQ(entries.back().text, "1 others, for which there is no room here");
}

TEST(WhyDisturbing, KnowsTheSwitchesAndWhatTurnsThemOff) {
  EXPECT_NE(WhyDisturbing("PROFILING_MODE", "dynamic"), "");
  EXPECT_EQ(WhyDisturbing("PROFILING_MODE", "false"), "");
  EXPECT_NE(WhyDisturbing("PROFILING_OPTIONS", "{}"), "");
  EXPECT_NE(WhyDisturbing("ASCEND_LAUNCH_BLOCKING", "1"), "");
  EXPECT_EQ(WhyDisturbing("ASCEND_LAUNCH_BLOCKING", "0"), "");
  EXPECT_EQ(WhyDisturbing("ASCEND_LAUNCH_BLOCKING", ""), "");
  EXPECT_NE(WhyDisturbing("ASCEND_GLOBAL_LOG_LEVEL", "0"), "");
  EXPECT_EQ(WhyDisturbing("ASCEND_GLOBAL_LOG_LEVEL", "3"), "");
  EXPECT_EQ(WhyDisturbing("PATH", "/bin"), "");
}

class LookAtHostTest : public testing::Test {
 protected:
  Sight Look() {
    Sight sight;
    question_.tree = plant_.tree();
    LookAtHost(question_, sight);
    // Programs that run on this machine are not the test's.
    std::erase_if(sight.conditions, [](const Sight::Condition& one) { return one.kind == kCollector; });
    return sight;
  }

  PlantedTree plant_;
  static HostQuestion Asked() {
    HostQuestion question;
    question.pids = {7};
    return question;
  }
  HostQuestion question_ = Asked();
};

TEST_F(LookAtHostTest, ACgroupCountsOnAfterItsProcess) {
  plant_.Plant("/proc/7/cgroup", "0::/job\n");
  plant_.Plant("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  plant_.Plant("/sys/fs/cgroup/job/cpu.stat", "nr_throttled 3\nthrottled_usec 4\n");
  plant_.Plant("/sys/fs/cgroup/job/memory.events", "high 1\nmax 2\noom_kill 0\n");
  EXPECT_EQ(Look().counts.size(), 2u);
  plant_.Remove("/proc/7");
  plant_.Plant("/sys/fs/cgroup/job/cpu.stat", "nr_throttled 5\nthrottled_usec 6\n");
  const Sight sight = Look();
  ASSERT_EQ(sight.counts.size(), 2u);
  EXPECT_EQ(sight.counts[0].what, "cgroup /job");
  EXPECT_EQ(sight.counts[0].amounts, (std::array<uint64_t, 3>{5, 6, 0}));
  EXPECT_EQ(sight.counts[1].amounts, (std::array<uint64_t, 3>{1, 2, 0}));
}

TEST_F(LookAtHostTest, NamesTheSwitchesOfTheTargetsAndNotTheirValues) {
  using namespace std::string_literals;
  plant_.Plant("/proc/7/environ", "SECRET=x\0PROFILING_OPTIONS={token}\0ASCEND_GLOBAL_LOG_LEVEL=0\0=\0A"s);
  plant_.Plant("/proc/8/environ", "PROFILING_MODE=true\0"s);  // no target
  std::string text;
  for (const auto& condition : Look().conditions) text += condition.text + "\n";
  EXPECT_EQ(text,
            "process 7 was started with PROFILING_OPTIONS: the process collects by itself\n"
            "process 7 was started with ASCEND_GLOBAL_LOG_LEVEL: debug logs are written\n");
  plant_.Remove("/proc/7");
  EXPECT_EQ(Look().conditions.size(), 2u);  // as it was started
}

TEST_F(LookAtHostTest, AnyBytesAreRead) {
  for (const std::string& text : kOddTexts) {
    question_ = Asked();
    plant_.Plant("/proc/7/environ", text);
    plant_.Plant("/proc/7/cgroup", text);
    EXPECT_THAT(Look().conditions, IsEmpty());
  }
}

TEST(LookAtDevice, HealthAndAClockThatIsNotTheNominalOne) {
  driver::DeviceFacts facts;
  facts.id = 3;
  facts.aic_mhz = 1850;
  const auto lines = [&facts](driver::DeviceReading reading) {
    Sight sight;
    LookAtDevice(facts, reading, sight);
    std::vector<std::string> lines;
    for (const auto& one : sight.conditions) lines.push_back(std::string(one.kind) + " " + one.text);
    return lines;
  };
  EXPECT_THAT(lines({}), IsEmpty());
  EXPECT_THAT(lines({1, 0.5, 1850}), IsEmpty());
  EXPECT_THAT(lines({1, 0.0, 800}), IsEmpty());  // idle
  EXPECT_THAT(lines({1, 0.5, 1480}),
              ElementsAre("device-frequency device 3: AI cores below their 1850 MHz, at 1480 MHz when first "
                          "seen so"));
  EXPECT_THAT(lines({4, std::nullopt, std::nullopt}),
              ElementsAre("device-health device 3 does not work: status 4 (lost)"));
}

// A session may go with what ctl has left to do, when the Aside of all of them has ended.
TEST(Perturbations, ALookThatComesTooLateFindsNobody) {
  auto ctl = std::make_unique<base::Executor>();
  auto aside = std::make_unique<base::Aside>(*ctl);
  const config::Config config;
  auto node = std::make_unique<Node>(*ctl, config, nullptr, "none");
  auto looks = std::make_shared<Perturbations>(*ctl, *aside, *node, auth::Caller{},
                                               std::vector<pid_t>{::getpid()}, std::vector<uint32_t>{});
  bool told = false;
  looks->Look([&told] { told = true; });
  ctl->Post([kept = std::exchange(looks, nullptr)] { FAIL(); });
  aside.reset();
  node.reset();
  ctl.reset();
  EXPECT_FALSE(told);
}

// Their time is that of who asks.
TEST(Perturbations, AWallClockThatIsSet) {
  base::Executor ctl;
  base::Aside aside(ctl);
  const config::Config config;
  Node node(ctl, config, nullptr, "no driver here");
  FakeTimers time;
  const auto found = std::make_shared<Perturbations>(time, aside, node, auth::Caller{}, std::vector<pid_t>(),
                                                     std::vector<uint32_t>());
  bool looked = false;
  const auto look = [&] {
    looked = false;
    found->LookLast([&looked] { looked = true; });  // of no process: at once
    EXPECT_TRUE(looked);
  };
  look();
  time.Advance(30 * kSecond);
  const uint64_t before_ns = time.RawNs();
  look();
  EXPECT_THAT(found->Since(0), IsEmpty());
  time.SetWallForward(3600 * kSecond);
  time.Advance(30 * kSecond);
  look();
  const auto entries = found->Since(0);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].kind, kClockStep);
  EXPECT_EQ(entries[0].from_ns, before_ns);
  EXPECT_EQ(entries[0].to_ns, time.RawNs());
}

}  // namespace
}  // namespace profd::session
