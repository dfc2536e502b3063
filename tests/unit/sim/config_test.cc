// The YAML file: every key is optional, every mistake is one clear line and leaves no devices.
#include "sim/hal/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace profd::sim {
namespace {

std::string TempFile(const char* suffix) {
  return testing::TempDir() + "sim_config_test." + std::to_string(::getpid()) + suffix;
}

Config Load(const std::string& yaml) {
  const std::string file = TempFile(".yaml");
  std::ofstream(file) << yaml;
  Config config = LoadConfig(file.c_str());
  std::filesystem::remove(file);
  return config;
}

TEST(Config, WithoutAFileTwo910B) {
  for (const char* file : {static_cast<const char*>(nullptr), ""}) {
    const Config config = LoadConfig(file);
    ASSERT_EQ(config.devices.size(), 2U);
    EXPECT_EQ(config.devices[1].chip->name, "910B");
    EXPECT_FALSE(config.flood);
  }
  EXPECT_EQ(Load("").devices.size(), 2U);
}

TEST(Config, EveryKey) {
  const std::string recorded = TempFile(".recorded");
  std::ofstream(recorded) << "abc";
  const Config config = Load(R"(
devices: [{chip: 310}, {physical_id: 5, split_mode: 2}]
chip: 950
seed: 99
mode: flood
rate_mb_s: 12.5
api_version: 0x072418
clock: {offset_ns: -5, drift_ppm: 1.5, osc_busy_s: 2, query_latency_us: 30}
late_channels: {delay_s: 1.5, ids: [145, 143]}
scenario: {step_ms: 250, checkpoint_every: 4}
replay: {9: )" + recorded + R"(}
truth: /nowhere/truth
faults:
  - {call: start, ret: -10, at_s: 1, for_s: 2, while: /there, device: 1, channel: [1, 3], delay_ms: 5, times: 6}
  - {name: clock_step, step_s: -2}
)");
  ASSERT_EQ(config.devices.size(), 2U);
  EXPECT_EQ(config.devices[0].chip->name, "310");
  EXPECT_EQ(config.devices[1].chip->name, "950");
  EXPECT_EQ(config.devices[1].physical_id, 5U);
  EXPECT_EQ(config.devices[1].split_mode, 2U);
  EXPECT_EQ(config.seed, 99U);
  EXPECT_TRUE(config.flood);
  EXPECT_EQ(config.rate_mb_s, 12.5);
  EXPECT_EQ(config.api_version, 0x072418U);
  EXPECT_EQ(config.clock_offset_ns, -5);
  EXPECT_EQ(config.clock_drift_ppm, 1.5);
  EXPECT_EQ(config.osc_busy_s, 2);
  EXPECT_EQ(config.query_latency_us, 30U);
  EXPECT_EQ(config.late_delay_s, 1.5);
  EXPECT_THAT(config.late_channels, testing::ElementsAre(143, 145));
  EXPECT_EQ(config.scenario.step_ms, 250U);
  EXPECT_EQ(config.scenario.checkpoint_every, 4U);
  EXPECT_EQ(config.replay.at(9), "abc");
  std::filesystem::remove(recorded);
  EXPECT_EQ(config.truth, "/nowhere/truth");
  ASSERT_EQ(config.faults.size(), 2U);
  const FaultSpec& fault = config.faults[0];
  EXPECT_EQ(fault.call, Call::kStart);
  EXPECT_EQ(fault.ret, -10);
  EXPECT_EQ(fault.at_s, 1);
  EXPECT_EQ(fault.for_s, 2);
  EXPECT_EQ(fault.while_file, "/there");
  EXPECT_EQ(fault.device, 1);
  EXPECT_THAT(fault.channels, testing::ElementsAre(1, 3));
  EXPECT_EQ(fault.delay_ms, 5U);
  EXPECT_EQ(fault.times, 6);
  EXPECT_EQ(config.faults[1].accident, Accident::kClockStep);
  EXPECT_EQ(config.faults[1].step_s, -2);
}

struct Mistake {
  const char* yaml;
  const char* message;
};

class ConfigMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(ConfigMistakes, AreOneLineWithFileAndLine) {
  testing::internal::CaptureStderr();
  const Config config = Load(GetParam().yaml);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(config.devices.empty());
  EXPECT_THAT(said, testing::HasSubstr(GetParam().message));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigMistakes,
    testing::Values(
        Mistake{"seed: 1\nspeed: 2", "yaml:2: unknown key 'speed' in the configuration"},
        Mistake{"\nseed: many", "yaml:2: seed has a wrong value"},
        Mistake{"chip: 911", "yaml:1: chip '911' is none of"},
        Mistake{"mode: fast", "yaml:1: mode is clock or flood"},
        Mistake{"devices: 65", "yaml:1: at most 64 devices"},
        Mistake{"devices: -1", "yaml:1: devices has a wrong value"},
        Mistake{"devices:\n  - {chip: 310, color: red}", "yaml:2: unknown key 'color' in a device"},
        Mistake{"clock: {drift_ppm: 1e9}", "drift_ppm must be between"},
        Mistake{"scenario: {step_ms: 0}", "step_ms must be between"},
        Mistake{"faults:\n  - {call: start}", "yaml:2: a fault of a call needs ret, ones or delay_ms"},
        Mistake{"faults:\n  - {ret: 3}", "yaml:2: a fault has either a call or a name"},
        Mistake{"faults: [{name: earthquake}]", "unknown fault 'earthquake'"},
        Mistake{"faults: [{call: dance, ret: 1}]", "unknown call 'dance'"},
        Mistake{"faults: {}", "faults must be a list"},
        Mistake{"late_channels: {ids: [160]}", "a channel is a number from 1 to 159"},
        Mistake{"replay: {9: /does/not/exist}", "cannot open '/does/not/exist'"}, Mistake{"a: [1", "yaml:"},
        Mistake{"- 1\n- 2", "yaml:1: the configuration must be a map"}));

TEST(Config, FileThatIsNotThere) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(LoadConfig("/does/not/exist.yaml").devices.empty());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("/does/not/exist.yaml"));
}

}  // namespace
}  // namespace profd::sim
