#include "format/directory/prof_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace profd::format {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr uint64_t kWallNs = 1'700'000'000'123'456'789;  // 2023-11-14 22:13:20.123456789 UTC

class UtcTest : public testing::Test {
 protected:
  void SetUp() override { SetZone("UTC"); }
  void TearDown() override { SetZone("UTC"); }
  static void SetZone(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
};

using ProfDir = UtcTest;
using ControlFiles = UtcTest;

TEST_F(ProfDir, NameHasSeqLocalTimePidAndLetters) {
  const std::string name = ProfDirName(1, kWallNs, 12345, 0);
  EXPECT_EQ(name, "PROF_000001_20231114221320123_00012345AAAAAAAA");
  EXPECT_TRUE(IsProfDirName(name));
  SetZone("XXX-8");
  EXPECT_EQ(ProfDirName(1, kWallNs, 12345, 0), "PROF_000001_20231115061320123_00012345AAAAAAAA");
}

TEST_F(ProfDir, SaltBecomesLettersFromAToR) {
  for (const uint64_t salt :
       {uint64_t{1}, uint64_t{0x123456789ABCDEF}, std::numeric_limits<uint64_t>::max()}) {
    const std::string name = ProfDirName(1, kWallNs, 1, salt);
    EXPECT_THAT(name.substr(name.size() - 8), testing::MatchesRegex("[A-R]+"));
    EXPECT_NE(name, ProfDirName(1, kWallNs, 1, salt - 1));
  }
}

TEST_F(ProfDir, SeqStartsAgainAfterSixDigits) {
  EXPECT_THAT(ProfDirName(999'999, kWallNs, 1, 0), HasSubstr("PROF_999999_"));
  EXPECT_THAT(ProfDirName(1'000'000, kWallNs, 1, 0), HasSubstr("PROF_000001_"));
  EXPECT_THAT(ProfDirName(0, kWallNs, 1, 0), HasSubstr("PROF_000001_"));
}

TEST_F(ProfDir, NamesOfOtherVersionsAreRecognised) {
  EXPECT_TRUE(IsProfDirName("PROF_1_20231114221320123_ABCDEFGH"));
  EXPECT_TRUE(IsProfDirName("PROF_000001_20231114221320123_ABCDEFGHABCDEFGH"));
  for (const char* name :
       {"", "PROF", "PROF_", "PROF__1_ABCDE", "prof_1_1_ABCDE", "PROF_1_1_ABCD", "PROF_1_1_abcde",
        "PROF_12345678901_1_ABCDE", "PROF_1_1x_ABCDE", "PROF_1_1_ABCDE_", "PROF_1_1_ABCDE/"}) {
    EXPECT_FALSE(IsProfDirName(name)) << name;
  }
}

TEST_F(ProfDir, SliceNames) {
  EXPECT_EQ(SliceName("hbm.data", 0, 3), "hbm.data.0.slice_3");
  EXPECT_EQ(SliceName("host_cpu.data", -1, 0), "host_cpu.data.slice_0");
  const struct {
    const char* name;
    ParsedSlice parsed;
  } cases[] = {
      {"hbm.data.0.slice_3", {"hbm.data", 0, 3}},
      {"npu_mem.app.15.slice_18446744073709551615", {"npu_mem.app", 15, UINT64_MAX}},
      {"host_cpu.data.slice_0", {"host_cpu.data", -1, 0}},
      {"4711-CpuUsage.data.slice_1", {"4711-CpuUsage.data", -1, 1}},
      {"instr.group_3_aic.2.slice_0", {"instr.group_3_aic", 2, 0}},
  };
  for (const auto& [name, expected] : cases) {
    const auto parsed = ParseSliceName(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->file, expected.file) << name;
    EXPECT_EQ(parsed->device, expected.device) << name;
    EXPECT_EQ(parsed->slice, expected.slice) << name;
    EXPECT_EQ(SliceName(parsed->file, parsed->device, parsed->slice), name);
  }
  for (const char* name :
       {"", "hbm.data.0", ".slice_0", ".0.slice_0", "hbm.data.0.slice_", "hbm.data.0.slice_3.done",
        "hbm.data.0.slice_3.complete", "hbm.data.0.slice_-1", "hbm.data.0.slice_00",
        "hbm.data.0.slice_18446744073709551616", "a/b.data.0.slice_0"}) {
    EXPECT_FALSE(ParseSliceName(name)) << name;
  }
}

TEST_F(ProfDir, DoneMarkers) {
  EXPECT_EQ(SliceDone(169'161), "filesize:169161\nstarttime:0\nendtime  :0\n");
  EXPECT_EQ(ControlDone(175, false), "filesize:175\n");
  EXPECT_EQ(ControlDone(3081, true), "filesize: 3081\n");
}

ClockPair Pair() {
  ClockPair pair;
  pair.host_raw_ns = 2692194838832;
  pair.host_counter = 6990181094286;
  pair.wall_ns = kWallNs;
  pair.device_raw_ns = 2692201349729;
  pair.device_counter = 134610067643;
  return pair;
}

TEST_F(ControlFiles, CollectionTimes) {
  EXPECT_EQ(
      StartInfo(Pair()),
      R"({"clockMonotonicRaw":"2692194838832","collectionTimeEnd":"","collectionTimeBegin":"1700000000123456",)"
      R"("collectionDateEnd":"","collectionDateBegin":"2023-11-14 22:13:20.123456"})");
  EXPECT_EQ(
      EndInfo(Pair()),
      R"({"clockMonotonicRaw":"2692194838832","collectionTimeEnd":"1700000000123456","collectionTimeBegin":"",)"
      R"("collectionDateEnd":"2023-11-14 22:13:20.123456","collectionDateBegin":""})");

  const auto begin = ParseCollectionTime(StartInfo(Pair()));
  ASSERT_TRUE(begin.ok());
  EXPECT_EQ(begin->wall_us, kWallNs / 1000);
  EXPECT_EQ(begin->clock_monotonic_raw, Pair().host_raw_ns);
  EXPECT_FALSE(begin->is_end);
  const auto end = ParseCollectionTime(EndInfo(Pair()) + "\nwhatever follows");
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end->is_end);
}

TEST_F(ControlFiles, BadCollectionTimesAreRefused) {
  for (const char* text :
       {"", "{", "[]", "{}", "\n{}", R"({"clockMonotonicRaw":5,"collectionTimeBegin":"1"})",
        R"({"clockMonotonicRaw":"5"})", R"({"clockMonotonicRaw":"5","collectionTimeBegin":""})",
        R"({"clockMonotonicRaw":"5","collectionTimeBegin":"1","collectionTimeEnd":"2"})",
        R"({"clockMonotonicRaw":"-5","collectionTimeBegin":"1"})",
        R"({"clockMonotonicRaw":"5","collectionTimeBegin":"18446744073709551616"})",
        "{\"clockMonotonicRaw\":\"5\",\n\"collectionTimeBegin\":\"1\"}"}) {
    EXPECT_EQ(ParseCollectionTime(text).status().code(), base::Code::kInvalidArgument) << text;
  }
}

TEST_F(ControlFiles, StartLogs) {
  EXPECT_EQ(HostStartLog(Pair(), -1),
            "[Host]\nclock_monotonic_raw: 2692194838832\ncntvct: 6990181094286\ncntvct_diff: 0\n");
  EXPECT_EQ(HostStartLog(Pair(), 7),
            "[Device7]\nclock_monotonic_raw: 2692194838832\ncntvct: 6990181094286\ncntvct_diff: 0\n");
  EXPECT_EQ(DevStartLog(Pair()), "clock_monotonic_raw: 2692201349729\ncntvct: 134610067643\n");

  const auto host = ParseStartLog(HostStartLog(Pair(), 7));
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->section, "Device7");
  EXPECT_EQ(host->clock_monotonic_raw, Pair().host_raw_ns);
  EXPECT_EQ(host->cntvct, Pair().host_counter);
  const auto device = ParseStartLog(DevStartLog(Pair()));
  ASSERT_TRUE(device.ok());
  EXPECT_EQ(device->section, "");
  EXPECT_EQ(device->cntvct, Pair().device_counter);
}

TEST_F(ControlFiles, BadStartLogsAreRefused) {
  for (const char* text :
       {"", "[Host]\n", "clock_monotonic_raw: 1\n", "cntvct: 1\n", "clock_monotonic_raw: x\ncntvct: 1\n",
        "clock_monotonic_raw: 1\ncntvct: -1\n", "clock_monotonic_raw: 1 2\ncntvct: 1\n",
        "clock_monotonic_raw:\ncntvct: 1\n", "clock_monotonic_raw: 18446744073709551616\ncntvct: 1\n"}) {
    EXPECT_EQ(ParseStartLog(text).status().code(), base::Code::kInvalidArgument) << text;
  }
}

HostFacts Host() {
  HostFacts host;
  host.os = "Linux-6.1";
  host.hostname = "node-\xff";  // not UTF-8
  host.hwtype = "aarch64";
  host.up_time = "12345.67 99999.00";
  host.cpu_name = "HiSilicon";
  host.cpu_type = "TaishanV110";
  host.cpu_nums = 192;
  host.memory_total_kb = 67108864;
  host.net_cards = {{"eth0", 10000}};
  return host;
}

DeviceInfo Device() {
  DeviceInfo device;
  device.id = 3;
  device.chip = Chip::k910B;
  device.ctrl_cpu_core_num = 1;
  device.ctrl_cpu_id = 0x48d01;
  device.ts_cpu_core_num = 1;
  device.ai_cpu_core_num = 6;
  device.ai_cpu_core_id = 1;
  device.ai_core_num = 24;
  device.aicpu_occupy_bitmap = 126;
  device.aiv_num = 48;
  device.counter_mhz = 50;
  device.aic_mhz = 1800;
  device.aiv_mhz = 1800;
  return device;
}

// Key names and JSON types of the vendor's own file.
constexpr char kVendorInfo[] =
    R"({"cannVersion":"","cpuCores":1,"cpuNums":2,"memoryTotal":24684084,"DeviceInfo":[{"aic_frequency":"1800",)"
    R"("ai_cpu":"2,3,4,5,6","env_type":0,"ctrl_cpu_id":"","ctrl_cpu_core_num":1,"ai_core_id":0,"ctrl_cpu":"0",)"
    R"("aiv_frequency":"1800","ctrl_cpu_endian_little":1,"hwts_frequency":"50.000000","id":0,"ts_cpu_core_num":1,)"
    R"("ai_cpu_core_num":6,"ai_core_num":24,"aiv_num":48,"ai_cpu_core_id":2,"aicpu_occupy_bitmap":252}],)"
    R"("netCard":[{"netCardName":"eth0","speed":10000}],"drvVersion":467994,"CPU":[{"Type":"AMD EPYC",)"
    R"("Frequency":"2400.000000","Name":"AuthenticAMD","Logical_CPU_Count":"2","Id":0}],"netCardNums":0,"jobInfo":"NA",)"
    R"("rank_id":-1,"OS":"Linux-6.18","version":"1.0","pid_name":"sleep","platform_version":"5","hostname":"vm",)"
    R"("upTime":"2702.56 3255.82","hwtype":"x86_64","devices":"0","sysClockFreq":100,"platform":"","pid":"20892"})";

// Same keys, same JSON types, everywhere; numbers are numbers whether signed or not.
void ExpectSameShape(const json& ours, const json& vendors, const std::string& where) {
  ASSERT_EQ(ours.is_number(), vendors.is_number()) << where;
  if (!ours.is_number()) {
    ASSERT_EQ(ours.type(), vendors.type()) << where;
  }
  if (ours.is_object()) {
    for (const auto& [key, value] : vendors.items()) {
      ASSERT_TRUE(ours.contains(key)) << where << '.' << key;
      ExpectSameShape(ours[key], value, where + '.' + key);
    }
    EXPECT_EQ(ours.size(), vendors.size()) << where;
  } else if (ours.is_array() && !ours.empty() && !vendors.empty()) {
    ExpectSameShape(ours[0], vendors[0], where + "[0]");
  }
}

TEST_F(ControlFiles, InfoJsonHasTheVendorsKeysAndTypes) {
  const DeviceInfo device = Device();
  const std::string text = InfoJson(Host(), &device, Chip::k910B, 0x07241a, {4242, "trainer"});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const json info = json::parse(text);
  ExpectSameShape(info, json::parse(kVendorInfo), "info.json");
  EXPECT_EQ(info["platform_version"], "5");
  EXPECT_EQ(info["drvVersion"], 0x07241a);
  EXPECT_EQ(info["devices"], "3");
  EXPECT_EQ(info["pid"], "4242");
  EXPECT_EQ(info["pid_name"], "trainer");
  EXPECT_EQ(info["CPU"][0]["Logical_CPU_Count"], "192");
  EXPECT_EQ(info["CPU"][0]["Frequency"], "");
  EXPECT_EQ(info["netCard"][0]["speed"], 10000);
  const json& shown = info["DeviceInfo"][0];
  EXPECT_EQ(shown["id"], 3);
  EXPECT_EQ(shown["ctrl_cpu_id"], "TaishanV110");
  EXPECT_EQ(shown["ctrl_cpu"], "0");
  EXPECT_EQ(shown["ai_cpu"], "1,2,3,4,5,6");
  EXPECT_EQ(shown["hwts_frequency"], "50.000000");
  EXPECT_EQ(shown["aic_frequency"], "1800");
}

TEST_F(ControlFiles, InfoJsonOfTheHostHasNoDevice) {
  const json info = json::parse(InfoJson(Host(), nullptr, Chip::k310P, 0, {}));
  EXPECT_TRUE(info["DeviceInfo"].is_array());
  EXPECT_TRUE(info["DeviceInfo"].empty());
  EXPECT_EQ(info["devices"], "");
  EXPECT_EQ(info["pid"], "NA");
  EXPECT_EQ(info["pid_name"], "NA");
}

TEST_F(ControlFiles, AbsurdDriverAnswersStaySmall) {
  DeviceInfo device = Device();
  device.ctrl_cpu_core_num = std::numeric_limits<int64_t>::max() / 4;
  device.ai_cpu_core_id = std::numeric_limits<int64_t>::min();
  device.aic_mhz = std::numeric_limits<double>::infinity();
  EXPECT_LT(InfoJson(Host(), &device, Chip::k910B, 0, {}).size(), 16'000u);
}

TEST_F(ControlFiles, HostFactsOfThisMachine) {
  const HostFacts facts = ReadHostFacts();
  utsname names{};
  ASSERT_EQ(::uname(&names), 0);
  EXPECT_EQ(facts.hostname, names.nodename);
  EXPECT_EQ(facts.hwtype, names.machine);
  EXPECT_EQ(facts.os, std::string("Linux-") + names.release + '-' + names.version);
  EXPECT_EQ(facts.cpu_nums, static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  EXPECT_EQ(facts.clock_ticks, static_cast<uint32_t>(::sysconf(_SC_CLK_TCK)));
  EXPECT_GT(facts.memory_total_kb, 1024u);
  EXPECT_THAT(facts.up_time, testing::MatchesRegex("[0-9]+\\.[0-9]+ [0-9]+\\.[0-9]+"));
  EXPECT_EQ(facts.cpu_mhz, "");
}

TEST_F(ControlFiles, HostFactsOfAnArmNode) {
  std::string root = testing::TempDir() + "host_facts_XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const auto write = [&root](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  };
  write("/proc/cpuinfo",
        "processor\t: 0\nBogoMIPS\t: 200.00\nCPU implementer\t: 0x48\nCPU architecture: 8\nCPU part\t: "
        "0xd01\n");
  write("/proc/meminfo", "MemTotal:       65536000 kB\nMemFree:        1 kB\n");
  write("/proc/uptime", "350735.47 234388.90\n");
  write("/sys/class/net/eth1/speed", "25000\n");
  write("/sys/class/net/eth0/speed", "10000\n");
  write("/sys/class/net/down0/speed", "-1\n");
  write("/sys/class/net/lo/mtu", "65536\n");
  const HostFacts facts = ReadHostFacts(root);
  EXPECT_EQ(facts.cpu_name, "HiSilicon");
  EXPECT_EQ(facts.cpu_type, "TaishanV110");
  EXPECT_EQ(facts.memory_total_kb, 65536000u);
  EXPECT_EQ(facts.up_time, "350735.47 234388.90");
  ASSERT_EQ(facts.net_cards.size(), 2u);
  EXPECT_EQ(facts.net_cards[0].name, "eth0");
  EXPECT_EQ(facts.net_cards[1].speed_mbps, 25000u);
  std::filesystem::remove_all(root);
}

TEST_F(ControlFiles, CoreNames) {
  EXPECT_EQ(CoreName(0x41d03), "ARMv8_Cortex_A53");
  EXPECT_EQ(CoreName(0x48d01), "TaishanV110");
  EXPECT_EQ(CoreName(0), "");
}

TEST_F(ControlFiles, SampleJsonOfADevice) {
  SampleSettings settings;
  settings.result_dir = "/data/out";
  settings.job_id = "trace1";
  settings.kinds = {"hbm", "llc", "pcie", "nic", "low-power", "aicore", "npu-module-mem"};
  settings.interval_us = {{"hbm", 50000},  {"llc", 40000},      {"pcie", 20000},
                          {"nic", 100000}, {"low-power", 7000}, {"aicore", 13000}};
  settings.llc_mode = "write";
  settings.aicore_events = "0x8,0xa";
  settings.aicore_metrics = "PipeUtilization";
  settings.period_s = 10;
  settings.storage_limit_mb = 500;
  settings.collector_pid = 99;
  const std::string text = SampleJson(settings, 0);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const json sample = json::parse(text);
  EXPECT_EQ(sample.size(), 136u);
  EXPECT_EQ(sample["devices"], "0");
  EXPECT_EQ(sample["result_dir"], "/data/out");
  EXPECT_EQ(sample["job_id"], "trace1");
  EXPECT_EQ(sample["storageLimit"], "500MB");
  EXPECT_EQ(sample["profiling_period"], 10);
  EXPECT_EQ(sample["msprofBinPid"], 99);
  EXPECT_EQ(sample["hbmProfiling"], "on");
  EXPECT_EQ(sample["hbmInterval"], 50);
  EXPECT_EQ(sample["hbm_profiling_events"], "read,write");
  EXPECT_EQ(sample["msprof_llc_profiling"], "on");
  EXPECT_EQ(sample["llc_profiling"], "write");
  EXPECT_EQ(sample["hardware_mem"], "on");
  EXPECT_EQ(sample["hardware_mem_sampling_interval"], 40'000);  // µs, the fastest of the group
  EXPECT_EQ(sample["interconnection_profiling"], "on");
  EXPECT_EQ(sample["interconnection_sampling_interval"], 20);
  EXPECT_EQ(sample["io_sampling_interval"], 100);
  EXPECT_EQ(sample["nicInterval"], 100);
  EXPECT_EQ(sample["ai_core_lpm"], "on");
  EXPECT_EQ(sample["sysLp"], "on");  // the vendor's default, on every chip
  EXPECT_EQ(sample["sysLpFreq"], 10'000);
  EXPECT_EQ(sample["ai_core_profiling_mode"], "sample-based");
  EXPECT_EQ(sample["ai_core_profiling_events"], "0x8,0xa");
  EXPECT_EQ(sample["ai_core_metrics"], "PipeUtilization");
  EXPECT_EQ(sample["aicore_sampling_interval"], 13);
  // Not taken: the vendor's "", the defaults for the rest; a mode would switch its timeline to the slow path.
  EXPECT_EQ(sample["ddr_profiling"], "");
  EXPECT_EQ(sample["ddr_profiling_events"], "");
  EXPECT_EQ(sample["ddr_interval"], 20);
  EXPECT_EQ(sample["hccsProfiling"], "off");
  EXPECT_EQ(sample["aiv_profiling_mode"], "");
  EXPECT_EQ(sample["qosProfiling"], "");
  EXPECT_EQ(sample["hostProfiling"], false);
}

// The vendor's collector on a 910 and a 950: a group is on with all that it has on any chip.
TEST_F(ControlFiles, SampleJsonOfGroups) {
  SampleSettings settings;
  settings.kinds = {"hbm", "nic", "aicore"};
  settings.interval_us = {{"hbm", 10000}, {"nic", 40000}, {"aicore", 20000}};
  settings.aicore_events = "0x8,0xa";
  settings.aicore_metrics = "Custom:0x8,0xa";
  settings.absent = {"qos", "ddr", "ub", "hccs", "aivector"};
  const json sample = json::parse(SampleJson(settings, 0));
  EXPECT_EQ(sample["qosProfiling"], "on");
  EXPECT_EQ(sample["ddr_profiling"], "on");
  EXPECT_EQ(sample["ddr_profiling_events"], "read,write");
  EXPECT_EQ(sample["ddr_interval"], 10);
  EXPECT_EQ(sample["ubProfiling"], "on");
  EXPECT_EQ(sample["ubInterval"], 40);
  EXPECT_EQ(sample["hccsProfiling"], "off");  // its group is
  EXPECT_EQ(sample["aiv_profiling"], "on");
  EXPECT_EQ(sample["aiv_profiling_mode"], "sample-based");
  EXPECT_EQ(sample["aiv_profiling_events"], "0x8,0xa");
  EXPECT_EQ(sample["aiv_metrics"], "Custom:0x8,0xa");
  EXPECT_EQ(sample["aiv_sampling_interval"], 20);
  settings.absent = {};
  settings.kinds = {"ub", "netdev"};
  settings.interval_us = {{"ub", 10000}, {"netdev", 10000}};
  const json ports = json::parse(SampleJson(settings, 0));
  EXPECT_EQ(ports["ubProfiling"], "on");
  EXPECT_EQ(ports["io_profiling"], "on");
  EXPECT_EQ(ports["interconnection_profiling"], "off");  // which has ub, too
}

// A soc-profile goes with memory and links alike, and stands for neither.
TEST_F(ControlFiles, SampleJsonOfMemoryAlone) {
  SampleSettings settings;
  settings.kinds = {"hbm", "soc-profile"};
  settings.interval_us = {{"hbm", 20000}, {"soc-profile", 20000}};
  const json sample = json::parse(SampleJson(settings, 0));
  EXPECT_EQ(sample["hardware_mem"], "on");
  EXPECT_EQ(sample["interconnection_profiling"], "off");
  EXPECT_EQ(sample["profMode"], "system");
  EXPECT_EQ(sample["prof_level"], "off");
  EXPECT_EQ(sample["stars_acsq_task"], "");
  EXPECT_EQ(sample["sysLp"], "on");
  EXPECT_EQ(sample["hardware_mem_sampling_interval"], 20000);
  settings.interval_us["soc-profile"] = 100;
  settings.power_left_out = true;
  const json fine = json::parse(SampleJson(settings, 0));
  EXPECT_EQ(fine["hardware_mem_sampling_interval"], 100);
  EXPECT_EQ(fine["hbmInterval"], 20);
  EXPECT_EQ(fine["sysLp"], "off");
}

TEST_F(ControlFiles, SampleJsonOfAProgram) {
  SampleSettings settings;
  settings.kinds = {"task"};
  settings.of_program = settings.tasks = settings.calls = settings.blocks = true;
  settings.acl_calls = settings.runtime_calls = true;
  settings.period_s = 86400;
  settings.program = "python3";
  for (const int device : {0, -1}) {
    const json sample = json::parse(SampleJson(settings, device));
    EXPECT_EQ(sample.size(), 136u);
    for (const char* key :
         {"acl", "runtimeApi", "ts_keypoint", "runtimeTrace", "ts_memcpy", "stars_acsq_task", "taskBlock"})
      EXPECT_EQ(sample[key], "on") << key;
    EXPECT_EQ(sample["profMode"], "");
    EXPECT_EQ(sample["prof_level"], "level1");
    EXPECT_EQ(sample["app"], "python3");
    EXPECT_EQ(sample["hwts_log"], "");
    EXPECT_EQ(sample["taskTsfw"], "off");
    EXPECT_EQ(sample["taskBlockShink"], "off");
    EXPECT_EQ(sample["ai_core_profiling"], "off");
    EXPECT_EQ(sample["llc_profiling"], "read");
    EXPECT_EQ(sample["profiling_period"], -1);
  }
  settings.hwts_log = settings.firmware = true;
  const json older = json::parse(SampleJson(settings, 0));
  for (const char* key : {"hwts_log", "hwts_log1", "taskTsfw"}) EXPECT_EQ(older[key], "on") << key;
  EXPECT_EQ(older["stars_acsq_task"], "");
  settings.kinds = {"aicore-task", "aicpu", "ccu"};
  settings.calls = settings.acl_calls = settings.runtime_calls = false;
  const json cores = json::parse(SampleJson(settings, 0));
  for (const char* key : {"ai_core_profiling", "aicpuTrace", "ccuInstr"}) EXPECT_EQ(cores[key], "on") << key;
  EXPECT_EQ(cores["acl"], "off");
}

TEST_F(ControlFiles, SampleJsonOfTheHost) {
  SampleSettings settings;
  settings.kinds = {"host-mem", "host-cpu", "host-sys-mem", "host-pid-cpu", "aicore"};
  settings.aicore_events = "0x8";
  settings.interval_us = {{"host-cpu", 20000}, {"host-mem", 50000}};
  settings.host_disk_hz = 25;
  settings.target_pid = 4242;
  const json sample = json::parse(SampleJson(settings, -1));
  EXPECT_EQ(sample.size(), 136u);
  EXPECT_EQ(sample["devices"], "64");
  EXPECT_EQ(sample["hostProfiling"], true);
  EXPECT_EQ(sample["host_cpu_profiling"], "on");
  EXPECT_EQ(sample["host_disk_profiling"], "off");
  EXPECT_EQ(sample["host_sys"], "cpu,mem");
  EXPECT_EQ(sample["hostSysUsage"], "mem");
  EXPECT_EQ(sample["hostAllPidCpuProfiling"], "on");
  EXPECT_EQ(sample["hostAllPidMemProfiling"], "off");
  EXPECT_EQ(sample["hostProfilingSamplingInterval"], 20);
  settings.interval_us = {{"host-sys-cpu", 100000}, {"hbm", 50000}};
  EXPECT_EQ(json::parse(SampleJson(settings, 0))["hostProfilingSamplingInterval"], 100);
  EXPECT_EQ(sample["host_disk_freq"], 25);
  EXPECT_EQ(sample["host_sys_pid"], 4242);
  EXPECT_EQ(sample["storageLimit"], "");
  // The parser asks this side how the cores of the devices are counted.
  EXPECT_EQ(sample["ai_core_profiling_mode"], "sample-based");
  // Of a host without devices it must have a mode, too
  // (domain/data_process/ai_task/fusion_task_processor.cpp).
  settings.kinds = {"host-mem"};
  EXPECT_EQ(json::parse(SampleJson(settings, -1))["ai_core_profiling_mode"], "");
  settings.host_alone = true;
  EXPECT_EQ(json::parse(SampleJson(settings, -1))["ai_core_profiling_mode"], "sample-based");
  EXPECT_EQ(sample["ai_core_profiling_events"], "0x8");
}

// The vendor's collector wrote this file; every key must be there with the same JSON type.
TEST_F(ControlFiles, SampleJsonHasTheVendorsKeys) {
  std::ifstream file(PROFD_SOURCE_DIR "/tests/golden/data/vendor_sample.json");
  ASSERT_TRUE(file.is_open());
  ExpectSameShape(json::parse(SampleJson({}, 0)), json::parse(file), "sample.json");
}

}  // namespace
}  // namespace profd::format
