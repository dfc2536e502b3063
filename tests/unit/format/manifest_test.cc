#include "format/directory/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::format {
namespace {

using testing::HasSubstr;

Manifest Full() {
  Manifest manifest;
  manifest.session = "3f2a";
  manifest.name = "nightly \"quoted\" \n line";
  manifest.user = "alice";
  manifest.uid = 1000;
  manifest.labels = {{"job", "llama"}, {"rank", "3"}};
  manifest.profd_version = "0.1.0";
  manifest.protocol_version = "1";
  manifest.driver_path = "/usr/local/Ascend/driver/lib64/libascend_hal.so";
  manifest.driver_api_version = 0x07241a;
  manifest.state = "sealed";
  manifest.end_reason = "duration";
  manifest.degraded = {"device 1: lost"};
  manifest.pids = {42, 4711};
  manifest.pid_end = {{42, "exited"}};
  manifest.duration_ns = 24ull * 3600 * 1'000'000'000;
  manifest.begin_wall_ns = 1'700'000'000'000'000'000;
  manifest.elapsed_ns = 5'000'000'000;
  manifest.storage_limit_bytes = 500'000'000;
  manifest.previous = "PROF_000001_20231114221320000_00004000ABCDEFGH";
  manifest.next = "PROF_000002_20231114231320000_00004000ABCDEFGH";
  manifest.kinds = {{"hbm", "device:0", 100, 50, "started", "shared", 640, 10, 3},
                    {"ddr", "device:0", 0, 0, "skipped", "no DDR"}};
  ManifestStream stream;
  stream.kind = "hbm";
  stream.unit = "device:0";
  stream.folder = "device_0";
  stream.file = "hbm.data.0";
  stream.slices = 3;
  stream.bytes = 6'291'456;
  stream.records = 262'144;
  stream.lost_records = 16;
  stream.lost_bytes = 384;
  stream.losses = {{Loss::Where::kDriver, 1, 2, 8, 192},
                   {Loss::Where::kWrite, UINT64_MAX - 1, UINT64_MAX, 8, 192}};
  stream.aged = {.slices = 2, .bytes = 4'194'304, .records = 174'763, .from_ns = 5, .to_ns = UINT64_MAX};
  manifest.streams = {stream};
  manifest.pauses = {{5, 6, "no room"}};
  manifest.perturbations = {{"cpu-throttling", "cgroup /a", 7, UINT64_MAX},
                            {"device-health", "silent", 8, 0, 3}};
  manifest.clocks = {{-1, {1, 2, 3, 0, 0, 4}}, {7, {UINT64_MAX, 2, 3, 4, 5, 6}}};
  manifest.agents = {{.pid = 42,
                      .container_pid = 7,
                      .target = 41,
                      .attachment = 1,
                      .executable = "/usr/bin/python3",
                      .agent_version = "0.1.0",
                      .labels = {{"rank", "3"}},
                      .lanes_file = "agent_42_1.lanes",
                      .names_file = "agent_42_1.names",
                      .counter = "tsc",
                      .counter_hz = 2'500'000'000,
                      .first = {1, 2, 3},
                      .latest = {UINT64_MAX, 5, 6},
                      .fire_raw_ns = 4,
                      .begun_ticks = 5,
                      .skew_ns = -6,
                      .end = "stopped",
                      .lost_without_lane = 7,
                      .names_lost = 8,
                      .names_damaged = true,
                      .lanes = {{3, 100, 5, 6, 7}},
                      .step_windows = {{1, 20, 300, true}}}};
  manifest.settings = {{"preset", "node"}};
  return manifest;
}

TEST(Manifest, WhatIsWrittenComesBack) {
  const std::string json = WriteManifest(Full());
  const auto parsed = ParseManifest(json);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  // Every field is written, so equal text means equal manifests; the fields below guard against a field that
  // neither side knows.
  EXPECT_EQ(WriteManifest(*parsed), json);
  EXPECT_EQ(parsed->streams.at(0).losses.at(1).where, Loss::Where::kWrite);
  EXPECT_EQ(parsed->streams.at(0).losses.at(1).to_ns, UINT64_MAX);
  EXPECT_EQ(parsed->streams.at(0).aged.slices, 2u);
  EXPECT_EQ(parsed->streams.at(0).aged.records, 174'763u);
  EXPECT_EQ(parsed->streams.at(0).aged.to_ns, UINT64_MAX);
  EXPECT_EQ(parsed->clocks.at(0).device, -1);
  EXPECT_EQ(parsed->clocks.at(1).pair.host_raw_ns, UINT64_MAX);
  EXPECT_EQ(parsed->perturbations.at(0).kind, "cpu-throttling");
  EXPECT_EQ(parsed->perturbations.at(0).to_ns, UINT64_MAX);
  EXPECT_EQ(parsed->perturbations.at(0).device, -1);
  EXPECT_EQ(parsed->perturbations.at(1).from_ns, 8u);
  EXPECT_EQ(parsed->perturbations.at(1).device, 3);
  EXPECT_EQ(parsed->pid_end.at(42), "exited");
  EXPECT_EQ(parsed->name, Full().name);
  EXPECT_EQ(parsed->settings, Full().settings);
  EXPECT_EQ(parsed->kinds.at(0).effective_hz, 50);
  EXPECT_EQ(parsed->kinds.at(0).bytes, 640U);
  EXPECT_EQ(parsed->kinds.at(0).records, 10U);
  EXPECT_EQ(parsed->kinds.at(0).lost, 3U);
  EXPECT_EQ(parsed->begin_wall_ns, 1'700'000'000'000'000'000U);
  EXPECT_EQ(parsed->elapsed_ns, 5'000'000'000U);
}

TEST(Manifest, MissingAndUnknownKeysAreFine) {
  const auto parsed = ParseManifest(R"({"session":"a","from_the_future":{"x":[1]},"streams":[{"bytes":5}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->session, "a");
  EXPECT_EQ(parsed->streams.at(0).bytes, 5u);
  EXPECT_EQ(parsed->state, "");
}

TEST(Manifest, WrongTypesAreNamed) {
  const struct {
    const char* json;
    const char* named;
  } cases[] = {
      {"", "no JSON"},
      {"[]", "an object"},
      {"null", "an object"},
      {R"({"session":1})", "session"},
      {R"({"uid":-1})", "uid"},
      {R"({"uid":4294967296})", "uid"},
      {R"({"duration_ns":1.5})", "duration_ns"},
      {R"({"labels":{"a":1}})", "labels.a"},
      {R"({"pids":["x"]})", "pids[0]"},
      {R"({"pids":[18446744073709551615]})", "pids[0]"},
      {R"({"streams":{}})", "streams"},
      {R"({"streams":[3]})", "streams[0]"},
      {R"({"streams":[{},{"losses":[{},{"where":"moon"}]}]})", "streams[1].losses[1].where"},
      {R"({"streams":[{"aged":{"bytes":-1}}]})", "streams[0].aged.bytes"},
      {R"({"clocks":[{"device":2147483648}]})", "clocks[0].device"},
      {R"({"perturbations":[{"kind":1}]})", "perturbations[0].kind"},
      {R"({"kinds":[{"requested_hz":"fast"}]})", "kinds[0].requested_hz"},
      {R"({"pid_end":[{"pid":1,"reason":2}]})", "pid_end[0].reason"},
  };
  for (const auto& [json, named] : cases) {
    const auto parsed = ParseManifest(json);
    ASSERT_FALSE(parsed.ok()) << json;
    EXPECT_EQ(parsed.status().code(), base::Code::kInvalidArgument) << json;
    EXPECT_THAT(parsed.status().message(), HasSubstr(named)) << json;
  }
}

TEST(Manifest, SinceBeginIsByTheFirstPairOfTheHost) {
  Manifest manifest;
  EXPECT_EQ(SinceBegin(manifest, 500), 0u);
  manifest.begin_wall_ns = 1'000'000;
  manifest.clocks = {{0, {1, 0, 1, 0, 0, 0}}, {-1, {50'000, 0, 1'000'200, 0, 0, 0}}};
  EXPECT_EQ(SinceBegin(manifest, 50'000), 200u);
  EXPECT_EQ(SinceBegin(manifest, 60'000), 10'200u);
  EXPECT_EQ(SinceBegin(manifest, 49'000), 0u);  // before it
}

TEST(Manifest, OtherVersionIsRefused) {
  for (const char* json : {R"({"version":2})", R"({"version":0})"}) {
    EXPECT_EQ(ParseManifest(json).status().code(), base::Code::kUnimplemented) << json;
  }
}

TEST(Manifest, ForeignBytesDoNotCostTheManifest) {
  Manifest manifest;
  manifest.name = "\xff\xfe";
  EXPECT_TRUE(ParseManifest(WriteManifest(manifest)).ok());
}

TEST(Manifest, DeepNestingIsNoProblem) {
  EXPECT_FALSE(ParseManifest(std::string(100'000, '[')).ok());
  EXPECT_FALSE(ParseManifest(std::string(100'000, '[') + std::string(100'000, ']')).ok());
}

// What a user can put there: any number of labels, lists and levels.
TEST(Manifest, MoreThanAnyTrueOneHasIsRefused) {
  std::string labels = R"({"session":"a","labels":{)";
  std::string perturbations = R"({"session":"a","perturbations":[)";
  for (size_t i = 0; i < kMostManifestItems; ++i) {
    labels += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
    perturbations += i == 0 ? "{}" : ",{}";
  }
  for (const std::string& json :
       {labels + "}}", perturbations + "]}", R"({"x":[[[[[[[[1]]]]]]]]})" + std::string()}) {
    const auto parsed = ParseManifest(json);
    ASSERT_FALSE(parsed.ok()) << json.substr(0, 60);
    EXPECT_THAT(parsed.status().message(), HasSubstr("no manifest has so much in it"));
  }
  EXPECT_TRUE(ParseManifest(R"({"name":"[[[[[[[[[[[[,,,,\"{{{{{{{{{{{{{"})").ok());
}

// 16 devices with a dozen kinds each, every one with all the losses that are told apart.
TEST(Manifest, TheLargestTrueOneIsRead) {
  Manifest manifest;
  for (size_t i = 0; i < 200; ++i) {
    ManifestStream& stream = manifest.streams.emplace_back();
    stream.losses.resize(1000);
  }
  const auto parsed = ParseManifest(WriteManifest(manifest));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->streams.at(199).losses.size(), 1000U);
}

TEST(Manifest, ManyLabelsCostNoMoreEach) {
  Manifest manifest;
  for (int i = 0; i < 200'000; ++i) manifest.labels[std::to_string(i)] = "x";
  const auto parsed = ParseManifest(WriteManifest(manifest));  // once some minutes
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->labels, manifest.labels);
}

}  // namespace
}  // namespace profd::format
