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
  EXPECT_EQ(ConfigText(Family::kMonitor, {.path = "/tmp/npu", .steps = 2, .aic_metrics = "AiCoreNone"},
                       "1234567891"),
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
