#include "daemon/driver/ascend/device_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace profd::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DeviceProcess, IsToldWhatItSamples) {
  const std::string pid = "host_pid:" + std::to_string(::getpid());
  EXPECT_THAT(ProcessArguments(3, {.system_ms = 100, .processes_ms = 500}),
              ElementsAre("adprof", pid, "dev_id:3", "profiling_period:-1", "sys_profiling:on",
                          "sys_sampling_interval:100", "pid_profiling:on", "pid_sampling_interval:500"));
  EXPECT_THAT(ProcessArguments(0, {.cpus_ms = 20}),
              ElementsAre("adprof", pid, "dev_id:0", "profiling_period:-1", "cpu_profiling:on",
                          "aiCtrlCpuProfiling:on", "ai_ctrl_cpu_profiling_events:0x8,0x11",
                          "cpu_sampling_interval:20", "hscb:off"));
}

TEST(DeviceProcess, CoversWhatItSamplesAsOften) {
  const ProcessPara runs{.system_ms = 100, .processes_ms = 200};
  EXPECT_TRUE(runs.Covers({}));
  EXPECT_TRUE(runs.Covers({.system_ms = 100}));
  EXPECT_TRUE(runs.Covers(runs));
  EXPECT_FALSE(runs.Covers({.system_ms = 50}));
  EXPECT_FALSE(runs.Covers({.system_ms = 100, .cpus_ms = 20}));
}

TEST(DeviceProcess, IsLookedForBesideTheDriverAndInTheToolkit) {
  EXPECT_THAT(ToolkitFolders("/opt/driver/lib64/libascend_hal.so", "/opt/cann"),
              ElementsAre("/opt/driver/lib64", "/opt/cann/lib64"));
  ::setenv("ASCEND_HOME_PATH", "/home/cann", 1);
  EXPECT_EQ(ToolkitFolders("libascend_hal.so", "").front(), "/home/cann/lib64");
  ::setenv("ASCEND_HOME_PATH", "relative", 1);
  EXPECT_EQ(ToolkitFolders("libascend_hal.so", "").front().front(), '/');
  ::unsetenv("ASCEND_HOME_PATH");
}

TEST(DeviceProcess, WithoutItsLibrarySaysWhatToDo) {
  DeviceProcess process(nullptr, {"/nowhere"});
  EXPECT_THAT(process.Missing(), HasSubstr("driver.toolkit"));
  EXPECT_EQ(process.Open(0, {}).status().message(), process.Missing());
  EXPECT_FALSE(process.Close(0, 1).ok());
}

}  // namespace
}  // namespace profd::driver
