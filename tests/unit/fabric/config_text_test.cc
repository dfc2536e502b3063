#include "daemon/fabric/config_text.h"

#include <gtest/gtest.h>

namespace profd::fabric {
namespace {

// samples/dynolog-ipc/reply_req_kineto_config.bin, its body.
constexpr char kOfKineto[] =
    "\n    ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500\n"
    "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\n"
    "PROFILE_WITH_MODULES=false\n    REQUEST_TRACE_ID=1234567890\n";
// The same of reply_req_nputrace_config.bin.
constexpr char kOfMonitor[] =
    "\n    "
    "ACTIVITIES_LOG_FILE=/tmp/"
    "npu\nPROFILE_START_ITERATION=0\nPROFILE_START_STEP=-1\nACTIVITIES_ITERATIONS=2\n"
    "PROFILE_RECORD_SHAPES=false\nPROFILE_PROFILE_MEMORY=false\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS="
    "false\n"
    "PROFILE_WITH_MODULES=false\nPROFILE_ACTIVITIES=CPU,NPU\nPROFILE_ANALYSE=false\nPROFILE_ASYNC_MODE="
    "false\n"
    "PROFILE_PROFILER_LEVEL=Level1\nPROFILE_AIC_METRICS=AiCoreNone\nPROFILE_L2_CACHE=false\nPROFILE_OP_ATTR="
    "false\n"
    "PROFILE_MSPROF_TX=false\nPROFILE_GC_DETECT_THRESHOLD=None\nPROFILE_DATA_SIMPLIFICATION=true\n"
    "PROFILE_EXPORT_TYPE=Text\nPROFILE_HOST_SYS=None\nPROFILE_SYS_IO=false\nPROFILE_SYS_INTERCONNECTION="
    "false\n"
    "PROFILE_MSTX_DOMAIN_INCLUDE=None\nPROFILE_MSTX_DOMAIN_EXCLUDE=None\nPROFILE_IS_RANK=false\n"
    "PROFILE_RANK_LIST=None\n    REQUEST_TRACE_ID=1234567891\n";

TEST(ConfigText, IsAsRecorded) {
  EXPECT_EQ(ConfigText(Family::kKineto, {.path = "/tmp/t.json", .duration_ms = 500}, "1234567890"),
            kOfKineto);
  EXPECT_EQ(
      ConfigText(Family::kMonitor,
                 {.path = "/tmp/npu", .steps = 2, .options = {{"aic-metrics", "AiCoreNone"}}}, "1234567891"),
      kOfMonitor);
}

TEST(ConfigText, StepsOfKinetoHaveNoDuration) {
  const std::string text = ConfigText(
      Family::kKineto, {.path = "/tmp/t.json", .steps = 3, .warmup_steps = 1, .first_step = 40}, "a");
  EXPECT_NE(
      text.find("PROFILE_START_ITERATION=40\nPROFILE_START_ITERATION_ROUNDUP=1\nACTIVITIES_ITERATIONS=3\n"
                "ACTIVITIES_WARMUP_ITERATIONS=1\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("DURATION"), std::string::npos);
}

TEST(ConfigText, HasWhatWasAskedFor) {
  const auto options = ParseOptions({{"with-stack", ""},
                                     {"record-shapes", "true"},
                                     {"profiler-level", "Level0"},
                                     {"host-sys", "cpu+mem"},
                                     {"gc-detect-threshold", "1.5"},
                                     {"export-type", "Db"},
                                     {"rank-list", "0+8"},
                                     {"mstx-domain-include", "a b+default"}});
  ASSERT_TRUE(options.ok()) << options.status().message();
  const std::string text =
      ConfigText(Family::kMonitor, {.path = "/tmp/a", .steps = 1, .options = *options}, "a");
  for (const char* line :
       {"PROFILE_WITH_STACK=true", "PROFILE_RECORD_SHAPES=true", "PROFILE_PROFILER_LEVEL=Level0",
        "PROFILE_AIC_METRICS=AiCoreNone", "PROFILE_HOST_SYS=cpu,mem", "PROFILE_EXPORT_TYPE=Db",
        "PROFILE_GC_DETECT_THRESHOLD=1.5", "PROFILE_IS_RANK=true", "PROFILE_RANK_LIST=0,8",
        "PROFILE_MSTX_DOMAIN_INCLUDE=a b,default", "PROFILE_WITH_FLOPS=false"})
    EXPECT_NE(text.find(std::string(line) + "\n"), std::string::npos) << line << text;
  const std::string kineto = ConfigText(Family::kKineto,
                                        {.path = "/tmp/a",
                                         .steps = 1,
                                         .round_up = 100,
                                         .options = {{"profile-memory", "true"}, {"max-buffer-mb", "256"}}},
                                        "a");
  for (const char* line : {"PROFILE_START_ITERATION_ROUNDUP=100", "PROFILE_PROFILE_MEMORY=true",
                           "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=256", "PROFILE_WITH_STACK=false"})
    EXPECT_NE(kineto.find(std::string(line) + "\n"), std::string::npos) << line << kineto;
}

TEST(ConfigText, OptionsThatNobodyHasAreRefusedByName) {
  for (const auto& [word, value] :
       std::map<std::string, std::string>{{"stack", ""},
                                          {"with-stack", "yes"},
                                          {"profiler-level", "2"},
                                          {"host-sys", "cpu+gpu"},
                                          {"host-sys", ""},
                                          {"gc-detect-threshold", "-1"},
                                          {"gc-detect-threshold", "nan"},
                                          {"rank-list", "0,1"},
                                          {"mstx-domain-exclude", "a\nPROFILE_X=1"},
                                          {"mstx-domain-include", "a=b"},
                                          {"activities", std::string(1000, 'C')}}) {
    const auto options = ParseOptions({{word, value}});
    ASSERT_FALSE(options.ok()) << word << value;
    EXPECT_NE(options.status().message().find(word), std::string::npos);
  }
  const base::Status status =
      CheckWindow(Family::kKineto, {.path = "/tmp/a", .steps = 1, .options = {{"l2-cache", "true"}}});
  EXPECT_NE(status.message().find("l2-cache: kineto does not have it"), std::string::npos)
      << status.message();
  EXPECT_FALSE(
      CheckWindow(Family::kMonitor, {.path = "/tmp/a", .steps = 1, .options = {{"max-buffer-mb", "1"}}})
          .ok());
}

TEST(ConfigText, WhatADoorCannotIsRefusedByName) {
  for (const char* path : {"/tmp/a=b", "/tmp/a#b", "/tmp/a\nX=1", "/tmp/a\rb", "tmp/a", ""}) {
    EXPECT_FALSE(CheckWindow(Family::kKineto, {.path = path, .duration_ms = 1}).ok()) << path;
  }
  EXPECT_FALSE(CheckWindow(Family::kKineto, {.path = "/" + std::string(2000, 'x'), .duration_ms = 1}).ok());
  EXPECT_TRUE(CheckWindow(Family::kKineto, {.path = "/tmp/a", .duration_ms = 1}).ok());
  EXPECT_FALSE(CheckWindow(Family::kKineto, {.path = "/tmp/a"}).ok());
  EXPECT_FALSE(CheckWindow(Family::kKineto, {.path = "/tmp/a", .steps = uint64_t{1} << 31}).ok());
  const base::Status status = CheckWindow(Family::kMonitor, {.path = "/tmp/a", .duration_ms = 1});
  EXPECT_NE(status.message().find("--duration"), std::string::npos) << status.message();
  EXPECT_TRUE(CheckWindow(Family::kMonitor, {.path = "/tmp/a", .steps = 1}).ok());
}

}  // namespace
}  // namespace profd::fabric
