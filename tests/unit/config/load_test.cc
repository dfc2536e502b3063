#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "daemon/config/config.h"

namespace profd::config {
namespace {

class LoadConfigTest : public testing::Test {
 protected:
  ~LoadConfigTest() override { std::remove(path_.c_str()); }

  base::Result<Config> Load(const std::string& yaml) {
    std::ofstream(path_) << yaml;
    return LoadConfig(path_);
  }
  std::string Error(const std::string& yaml) {
    const auto loaded = Load(yaml);
    EXPECT_FALSE(loaded.ok()) << yaml;
    const std::string message = loaded.status().message();
    EXPECT_EQ(message.find(path_), 0u) << message;
    return message.substr(path_.size());
  }

  const std::string path_ = testing::TempDir() + "profd_config_" + std::to_string(::getpid()) + ".yaml";
};

TEST_F(LoadConfigTest, TheShippedFileIsTheDefaults) {
  const auto shipped = LoadConfig(std::string(PROFD_SOURCE_DIR) + "/config/profd.yaml");
  ASSERT_TRUE(shipped.ok()) << shipped.status().message();
  EXPECT_EQ(DumpConfig(*shipped), DumpConfig(Config{}));
}

TEST_F(LoadConfigTest, TheShippedFileNamesEveryKey) {
  std::ifstream shipped(std::string(PROFD_SOURCE_DIR) + "/config/profd.yaml");
  std::string text((std::istreambuf_iterator<char>(shipped)), {});
  std::istringstream dumped(DumpConfig(Config{}));
  for (std::string line; std::getline(dumped, line);) {
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line;
  }
}

TEST_F(LoadConfigTest, WhatIsDumpedLoadsBackUnchanged) {
  Config config;
  config.socket = "/tmp/a b.sock";
  config.store.slice_bytes = 123456;
  config.driver.pump_per_device = true;
  config.log.level = "debug";
  config.live.off = {"host-disk", "process"};
  const auto back = Load(DumpConfig(config));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(DumpConfig(*back), DumpConfig(config));
}

TEST_F(LoadConfigTest, ListsOfWords) {
  const auto loaded = Load("live:\n  off: [hbm, host-cpu]\n  channels:\n    - llc\n");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->live.off, (std::vector<std::string>{"hbm", "host-cpu"}));
  EXPECT_EQ(loaded->live.channels, std::vector<std::string>{"llc"});
  EXPECT_EQ(Error("live:\n  off: hbm\n"), ":2: live.off: expected a list: [one, two]");
  EXPECT_EQ(Error("live:\n  off: [hbm, [ddr]]\n"), ":2: live.off: expected one word");
}

TEST_F(LoadConfigTest, EmptyFilesAndSectionsAreDefaults) {
  for (const char* yaml : {"", "store:\n", "# nothing\n"}) {
    const auto loaded = Load(yaml);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(DumpConfig(*loaded), DumpConfig(Config{}));
  }
}

TEST_F(LoadConfigTest, ErrorsNameFileLineKeyAndRemedy) {
  EXPECT_EQ(Error("store:\n  slice_bites: 1\n"),
            ":2: store.slice_bites: unknown key; did you mean store.slice_bytes?");
  EXPECT_EQ(Error("sokcet: /x\n"), ":1: sokcet: unknown key; did you mean socket?");
  EXPECT_EQ(Error("\n\nnonsense: 1\n"), ":3: nonsense: unknown key");
  EXPECT_EQ(Error("store:\n  slice_bytes: many\n"),
            ":2: store.slice_bytes: 'many' is not a whole number from 65536 to 1073741824");
  EXPECT_EQ(Error("store:\n  slice_bytes: -1\n"),
            ":2: store.slice_bytes: '-1' is not a whole number from 65536 to 1073741824");
  EXPECT_EQ(Error("driver:\n  sweep_ms: 1001\n"),
            ":2: driver.sweep_ms: '1001' is not a whole number from 1 to 1000");
  EXPECT_EQ(Error("driver:\n  sweep_ms: 99999999999999999999999\n"),
            ":2: driver.sweep_ms: '99999999999999999999999' is not a whole number from 1 to 1000");
  EXPECT_EQ(Error("driver:\n  pump_per_device: maybe\n"),
            ":2: driver.pump_per_device: 'maybe' is not true or false");
  EXPECT_EQ(Error("agent:\n  lane_kib: 100\n"), ":2: agent.lane_kib: '100' is not a power of two");
  EXPECT_EQ(Error("agent:\n  names_kib: 100\n"), ":2: agent.names_kib: '100' is not a multiple of 64");
  EXPECT_EQ(Error("store: 5\n"), ":1: store: expected a group of keys");
  EXPECT_EQ(Error("socket: [a]\n"), ":1: socket: expected one value");
  EXPECT_EQ(Error("- a\n"), ":1: expected keys and values");
  EXPECT_NE(Error("a: b: c\n").find(":1: "), std::string::npos);
}

TEST_F(LoadConfigTest, AMissingFileIsNamed) {
  const auto loaded = LoadConfig("/does/not/exist.yaml");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.status().message().find("/does/not/exist.yaml"), std::string::npos);
}

}  // namespace
}  // namespace profd::config
