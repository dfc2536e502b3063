#include "daemon/host/files/cgroups.h"

#include <gtest/gtest.h>

#include "daemon/host/files/cpu_clocks.h"
#include "tests/unit/support/planted_tree.h"

namespace profd::host {
namespace {

std::string Dirs(const std::vector<Cgroup>& cgroups) {
  std::string text;
  for (const Cgroup& cgroup : cgroups) text += cgroup.dir + (cgroup.v2 ? " 2\n" : " 1\n");
  return text;
}

TEST(Cgroups, OfVersionTwoFromTheNearestUp) {
  PlantedTree plant;
  plant.Plant("/proc/7/cgroup", "0::/job.slice/step one\n");
  plant.Plant("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  EXPECT_EQ(Dirs(CgroupsOf(plant.tree(), 7, Controller::kMemory)),
            "/sys/fs/cgroup/job.slice/step one 2\n/sys/fs/cgroup/job.slice 2\n/sys/fs/cgroup 2\n");
  EXPECT_TRUE(CgroupsOf(plant.tree(), 8, Controller::kMemory).empty());
}

TEST(Cgroups, OfVersionOneEachControllerItsOwn) {
  PlantedTree plant;
  plant.Plant("/proc/7/cgroup", "5:memory:/m\n4:cpu,cpuacct:/c/d\n3:name=systemd:/x\n2:pids:/\n0::/u\n");
  plant.Plant("/sys/fs/cgroup/cpu,cpuacct/cpu.stat", "");
  EXPECT_EQ(
      Dirs(CgroupsOf(plant.tree(), 7, Controller::kCpu)),
      "/sys/fs/cgroup/cpu,cpuacct/c/d 1\n/sys/fs/cgroup/cpu,cpuacct/c 1\n/sys/fs/cgroup/cpu,cpuacct 1\n");
  EXPECT_EQ(Dirs(CgroupsOf(plant.tree(), 7, Controller::kMemory)),
            "/sys/fs/cgroup/memory/m 1\n/sys/fs/cgroup/memory 1\n");
  EXPECT_EQ(Dirs(CgroupsOf(plant.tree(), 7, Controller::kPids)), "/sys/fs/cgroup/pids 1\n");
  // What version 1 does not have version 2 has, where both are there beside it.
  EXPECT_EQ(Dirs(CgroupsOf(plant.tree(), 7, Controller::kIo)),
            "/sys/fs/cgroup/unified/u 2\n/sys/fs/cgroup/unified 2\n");
}

TEST(Cgroups, NoneLeadsOutOfTheMount) {
  PlantedTree plant;
  plant.Plant("/proc/7/cgroup", "0::/../../etc\n");
  EXPECT_TRUE(CgroupsOf(plant.tree(), 7, Controller::kCpu).empty());
}

TEST(Cgroups, ThrottlingOfBothVersions) {
  PlantedTree plant;
  plant.Plant("/two/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1500\n");
  plant.Plant("/one/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 2500000\n");
  plant.Plant("/root/cpu.stat", "usage_usec 5\n");
  const auto two = ReadCpuThrottling(plant.tree(), {"/two", "/two", true});
  const auto one = ReadCpuThrottling(plant.tree(), {"/one", "/one", false});
  ASSERT_TRUE(two && one);
  EXPECT_EQ(two->times, 3u);
  EXPECT_EQ(two->us, 1500u);
  EXPECT_EQ(one->times, 4u);
  EXPECT_EQ(one->us, 2500u);
  EXPECT_FALSE(ReadCpuThrottling(plant.tree(), {"/root", "/root", true}));
}

TEST(Cgroups, MemoryEventsAreThoseOfItself) {
  PlantedTree plant;
  plant.Plant("/a/memory.events", "low 0\nhigh 10\nmax 20\noom 3\noom_kill 2\n");
  EXPECT_EQ(ReadMemoryEvents(plant.tree(), {"/a", "/a", true})->max, 20u);
  plant.Plant("/a/memory.events.local", "low 0\nhigh 1\nmax 2\noom 1\noom_kill 1\n");
  const auto events = ReadMemoryEvents(plant.tree(), {"/a", "/a", true});
  ASSERT_TRUE(events);
  EXPECT_EQ(events->high, 1u);
  EXPECT_EQ(events->max, 2u);
  EXPECT_EQ(events->oom_kills, 1u);
  plant.Plant("/b/memory.failcnt", "7\n");
  plant.Plant("/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(ReadMemoryEvents(plant.tree(), {"/b", "/b", false})->max, 7u);
  EXPECT_EQ(ReadMemoryEvents(plant.tree(), {"/b", "/b", false})->oom_kills, 5u);
}

TEST(Cgroups, AnyBytesAreRead) {
  for (const std::string& text : kOddTexts) {
    PlantedTree plant;
    plant.Plant("/proc/7/cgroup", text);
    for (const auto controller : {Controller::kCpu, Controller::kCpuAccounting, Controller::kMemory,
                                  Controller::kIo, Controller::kPids}) {
      for (const Cgroup& cgroup : CgroupsOf(plant.tree(), 7, controller)) {
        EXPECT_TRUE(cgroup.dir.starts_with("/sys/fs/cgroup"));
        EXPECT_EQ(cgroup.dir.find(".."), std::string::npos);
      }
    }
    for (const char* file : {"cpu.stat", "memory.events", "memory.failcnt", "memory.oom_control"})
      plant.Plant("/c/" + std::string(file), text);
    for (const bool v2 : {true, false}) {
      const Cgroup cgroup{"/c", "/c", v2};
      static_cast<void>(ReadCpuThrottling(plant.tree(), cgroup));
      static_cast<void>(ReadMemoryEvents(plant.tree(), cgroup));
    }
  }
}

constexpr char kPolicies[] = "/sys/devices/system/cpu/cpufreq/policy";

TEST(CpuClocks, WhatKeepsThemDown) {
  PlantedTree plant;
  EXPECT_EQ(ReadCpuClocks(plant.tree()).governor, "");
  EXPECT_FALSE(ReadCpuClocks(plant.tree()).heat);
  for (const int policy : {0, 1, 2}) {
    const std::string dir = kPolicies + std::to_string(policy);
    plant.Plant(dir + "/scaling_governor", "performance\n");
    plant.Plant(dir + "/cpuinfo_max_freq", "2600000\n");
    plant.Plant(dir + "/scaling_max_freq", "2600000\n");
  }
  EXPECT_EQ(ReadCpuClocks(plant.tree()).governor, "");
  EXPECT_EQ(ReadCpuClocks(plant.tree()).limit, "");
  plant.Plant(std::string(kPolicies) + "1/scaling_governor", "powersave\n");
  plant.Plant(std::string(kPolicies) + "2/scaling_max_freq", "2000000\n");
  EXPECT_EQ(ReadCpuClocks(plant.tree()).governor, "powersave on 1 of 3 CPU frequency policies");
  EXPECT_EQ(ReadCpuClocks(plant.tree()).limit, "2000 of 2600 MHz on 1 of 3 CPU frequency policies");
  for (const int cpu : {0, 1}) {
    const std::string dir = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/thermal_throttle";
    plant.Plant(dir + "/core_throttle_count", std::to_string(3 + cpu) + "\n");
    plant.Plant(dir + "/package_throttle_count", "9\n");
  }
  plant.Plant("/sys/devices/system/cpu/cpuidle/current_driver", "none\n");
  const auto heat = ReadCpuClocks(plant.tree()).heat;
  ASSERT_TRUE(heat);
  EXPECT_EQ(heat->cores, 7u);
  EXPECT_EQ(heat->packages, 9u);
}

TEST(CpuClocks, AnyBytesAreRead) {
  for (const std::string& text : kOddTexts) {
    PlantedTree plant;
    for (const char* file : {"scaling_governor", "cpuinfo_max_freq", "scaling_max_freq"})
      plant.Plant(std::string(kPolicies) + "0/" + file, text);
    for (const char* file : {"core_throttle_count", "package_throttle_count"})
      plant.Plant(std::string("/sys/devices/system/cpu/cpu0/thermal_throttle/") + file, text);
    const CpuClocks clocks = ReadCpuClocks(plant.tree());
    EXPECT_LT(clocks.governor.size() + clocks.limit.size(), 300u);
  }
}

}  // namespace
}  // namespace profd::host
