// What is sampled in /proc and by tools: damage, names that look like columns, and what the vendor gets
// wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "format/decode/catalogue.h"
#include "format/decode/host/cpu_classes.h"
#include "tests/unit/decode/collector.h"

namespace profd::format {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

auto Near(const std::vector<double>& values) { return Pointwise(DoubleNear(1e-9), values); }

constexpr uint64_t kWallNs = 1'700'000'000'000'000'000, kRawNs = 5'000'000'000'000;

class HostDecoders : public testing::Test {
 protected:
  HostDecoders() : clocks_(0, 0) {
    clocks_.Add({kRawNs, 0, kWallNs, 3'000'000'000'000, 0, 0});
    side_.cpu_nums = 8;
    side_.clock_ticks = 100;
    side_.memory_total_kb = 1000;
    side_.host_disk_hz = 10;
    side_.pid = 42;
    side_.begin_raw_ns = kRawNs;
    side_.net_cards = {{"eth0", 1000}, {"eth1", 3000}};
  }
  // Text in pieces of whole lines.
  void Decode(std::string_view file, std::string_view text, int64_t pid = 0) {
    DecodeContext context;
    context.side = &side_;
    context.clocks = &clocks_;
    context.rows = &found_;
    context.spans = &found_;
    context.texts = &texts_;
    context.vendor_compatible = vendor_;
    const auto entry = std::ranges::find(DecoderEntries(), file, &DecoderEntry::file);
    ASSERT_NE(entry, DecoderEntries().end());
    const auto decoder = entry->make(context, file, pid);
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n') + 1, text.size());
      decoder->Take(std::as_bytes(std::span(text.substr(0, end == 0 ? text.size() : end))));
      text.remove_prefix(end == 0 ? text.size() : end);
    }
    decoder->Finish();
    rejected_ = decoder->rejected();
    records_ = decoder->records();
  }

  SideFacts side_;
  ClockMap clocks_;
  Texts texts_;
  Collector found_;
  bool vendor_ = false;
  std::map<std::string_view, uint64_t> rejected_;
  uint64_t records_ = 0;
};

std::string Thread(int tid, std::string_view name, int utime, int stime, int cpu) {
  std::string line = std::to_string(tid) + " (" + std::string(name) + ") S";
  for (int i = 3; i < 13; ++i) line += " 0";
  line += " " + std::to_string(utime) + " " + std::to_string(stime);
  for (int i = 15; i < 38; ++i) line += " 0";
  return line + " " + std::to_string(cpu) + " 0 0\n";
}

TEST_F(HostDecoders, CpuOfThreadsWhateverTheyAreCalled) {
  Decode(file::kHostCpu, "time 5000000000000\n100.00 1\n" + Thread(1, "a) (b c", 10, 0, 2) +
                             Thread(2, "x", 5, 5, 3) + "time 5000100000000\n100.10 1\n" +
                             Thread(1, "a) (b c", 14, 1, 2) + Thread(2, "x", 10, 5, 2) +
                             Thread(3, "new", 50, 0, 7));
  ASSERT_EQ(found_.rows.size(), 2u);
  EXPECT_THAT(found_.rows[0].keys, ElementsAre(2));
  EXPECT_NEAR(found_.rows[0].values[0], 1.0, 1e-9);  // 5 + 5 of 10 ticks
  EXPECT_THAT(found_.rows[1].keys, ElementsAre(-1));
  EXPECT_NEAR(found_.rows[1].values[0], 10 / 80.0, 1e-9);
  EXPECT_EQ(found_.rows[0].wall_ns, kWallNs);
}

TEST_F(HostDecoders, CpuSamplesOfOneTickAreOne) {
  Decode(file::kHostCpu, "time 5000000000000\n100.00 1\n" + Thread(1, "a", 10, 0, 2) +
                             "time 5000076000000\n100.00 1\n" + Thread(1, "a", 12, 0, 2) +
                             "time 5000100000000\n100.10 1\n" + Thread(1, "a", 15, 0, 2));
  EXPECT_TRUE(rejected_.empty());
  ASSERT_EQ(found_.rows.size(), 2u);
  EXPECT_NEAR(found_.rows[0].values[0], 0.5, 1e-9);
  EXPECT_EQ(found_.rows[0].wall_ns, kWallNs);
}

// 4096.05 - 4096.02 is less than three hundredths in binary numbers.
TEST_F(HostDecoders, ACpuThatIsBusyAllTheTimeIsNoErrorOfTheVendors) {
  vendor_ = true;
  Decode(file::kHostCpu, "time 5000000000000\n4096.02 1\n" + Thread(1, "a", 0, 0, 2) +
                             Thread(2, "b", 0, 0, 2) + "time 5000030000000\n4096.05 1\n" +
                             Thread(1, "a", 2, 0, 2) + Thread(2, "b", 1, 0, 2));
  ASSERT_EQ(found_.rows.size(), 2u);
  EXPECT_THAT(found_.rows[0].keys, ElementsAre(2));
  EXPECT_EQ(found_.rows[0].values[0], 1.0);
}

TEST_F(HostDecoders, DamagedCpuSamples) {
  Decode(file::kHostCpu, "garbage\ntime x\n1 1\ntime 5000000000000\nno uptime\n" + Thread(1, "a", 1, 1, 1) +
                             "time 5000000000001\n100.00 1\nno thread\n" + Thread(1, "a", 1, 1, 1) +
                             "time 5000000000002\n99.00 1\n" + Thread(1, "a", 2, 1, 1));
  EXPECT_TRUE(found_.rows.empty());
  EXPECT_EQ(rejected_.size(), 4u);
}

TEST_F(HostDecoders, MemoryAtItsOwnTime) {
  const std::string_view text = "5000000000000 9 100 1\n5000020000000 9 200 1\nbad\n5000040000000 9 x 1\n";
  Decode(file::kHostMem, text);
  ASSERT_EQ(found_.rows.size(), 2u);
  EXPECT_EQ(found_.rows[1].wall_ns, kWallNs + 20'000'000);
  EXPECT_THAT(found_.rows[1].values, Near({0.8, 200 * 4096.0}));
  EXPECT_EQ(rejected_["not <time> and a line of statm"], 2u);
  found_.rows.clear();
  vendor_ = true;
  Decode(file::kHostMem, text);
  ASSERT_EQ(found_.rows.size(), 1u);
  EXPECT_EQ(found_.rows[0].wall_ns, kWallNs);
  EXPECT_NEAR(found_.rows[0].values[0], 0.8, 1e-9);
}

TEST_F(HostDecoders, DiskPieces) {
  Decode(file::kHostDisk,
         "Total DISK READ : 0.00 B/s\n  TIME  PID\n"
         "00:00:00 42 be/4 root 1.50 K/s 2.00 M/s 0.00 % 12.50 % a name\n"
         "00:00:01 42 be/4 root 7.00 B/s 0.00 B/s 0.00 % 0.00 % x\n"
         "start_time 5000000000000\n"
         "00:00:02 42 be/4 root 1.00 G/s x K/s 0.00 % 0.00 % x\n"
         "00:00:02 42 be/4 root 1.00 G/s 0.00 K/s ?unavailable?\n"
         "start_time 5001000000000\n"
         "00:00:02 42 be/4 root 1.00 G/s 0.00 K/s 0.00 % 0.00 % x\n");
  ASSERT_EQ(found_.rows.size(), 3u);
  EXPECT_THAT(found_.rows[0].values, Near({1536, 2.0 * (1 << 20), 0.125}));
  EXPECT_EQ(found_.rows[1].wall_ns, kWallNs + 100'000'000);
  EXPECT_EQ(found_.rows[2].wall_ns, kWallNs + 1'000'000'000);
  EXPECT_EQ(rejected_["no line of iotop"], 1u);
  EXPECT_EQ(rejected_["lines of iotop without the time they began at"], 1u);
}

TEST_F(HostDecoders, DiskReadsNoShareOutOfACommand) {
  Decode(file::kHostDisk,
         "00:00:02 42 be/4 root 1.00 K/s 0.00 K/s ?unavailable? sleep 300\n"
         "00:00:02 42 be/4 root 1.00 K/s 0.00 K/s ?unavailable? python3 -m 12 % x %\n"
         "00:00:02 42 be/4 root 1.00 K/s 0.00 K/s 0.00 % 25.00 % sleep 300\n"
         "00:00:02 42 be/4 root 1.00 K/s 0.00 K/s 0.00 % 50.00 % 100%\n"
         "00:00:02 42 be/4 root 1.00 K/s 0.00 K/s 0.00 % 75.00 %\n"
         "start_time 5000000000000\n");
  ASSERT_EQ(found_.rows.size(), 5u);
  const double shares[] = {0, 0, 0.25, 0.5, 0.75};
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(found_.rows[i].values[2], shares[i], 1e-9) << i;
}

TEST_F(HostDecoders, NetworkOfSeveralPorts) {
  const std::string_view text =
      "time 5000000000000\n eth0:100 0 0 0 0 0 0 0 100 0\n eth1: 0 0 0 0 0 0 0 0 0 0\n lo: 9 0 0 0 0 0 0 0 9 "
      "0\n"
      "time 5001000000000\n eth0:300100 0 0 0 0 0 0 0 100 0\n eth1: 0 0 0 0 0 0 0 0 700000 0\n lo: 39 0 0 0 "
      "0 0 "
      "0 0 49 0\n";
  Decode(file::kHostNetwork, text);
  ASSERT_EQ(found_.rows.size(), 2u);
  EXPECT_THAT(found_.rows[0].values, Near({1e6 / 5e8, 1e6}));  // of 4 Gb/s
  EXPECT_EQ(found_.rows[1].series, "host_port");               // whose speed nobody knows
  EXPECT_THAT(found_.rows[1].values, Near({30, 40}));
  EXPECT_EQ((found_.labels[{"host_port", 0, found_.rows[1].keys[0]}]), "lo");
  found_.rows.clear();
  vendor_ = true;
  Decode(file::kHostNetwork, text);
  ASSERT_EQ(found_.rows.size(), 1u);
  EXPECT_NEAR(found_.rows[0].values[0], 5e5 / 3.75e8, 1e-9);  // the mean, of the last port's
}

TEST_F(HostDecoders, CpuClassesSinceTheBlockBefore) {
  const std::string_view text =
      "TimeStamp:5000000000000\nIndex:0\nDataLen:1\ncpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 "
      "1\n\n"
      "TimeStamp:5000100000000\nIndex:1\nDataLen:1\ncpu  110 0 120 750 120 0 0 0 5 0\ncpu0 1 1 1 1 1 1 1 "
      "1\n\n"
      "TimeStamp:5000200000000\nIndex:2\n";
  Decode(file::kHostSysCpu, text);
  ASSERT_EQ(found_.rows.size(), 1u);
  // user, sys, iowait, irq, soft, idle of 100 ticks; guest is part of user.
  EXPECT_THAT(found_.rows[0].values, Near({0.1, 0.2, 0.2, 0.0, 0.0, 0.5, 100.0}));
  EXPECT_EQ(rejected_["block without its end"], 1u);
  found_.rows.clear();
  vendor_ = true;
  Decode(file::kHostSysCpu, text);
  EXPECT_EQ(found_.rows.size(), 2u);  // the counters themselves
}

TEST_F(HostDecoders, DeviceClassesByTheListsOfInfoJson) {
  side_.device = 0;
  side_.ctrl_cpus = {0};
  side_.ai_cpus = {1, 2};
  Decode(file::kHostSysCpu,
         "TimeStamp:3000000000000\ncpu 9 9 9 9 9 9 9 9\ncpu0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0\ncpu3 1 1 1 1 "
         "1 1 1\n\n"
         "TimeStamp:3000100000000\ncpu0 5 0 0 5 0 0 0\ncpu1 1 0 0 9 0 0 0\n\n");
  ASSERT_EQ(found_.rows.size(), 2u);
  EXPECT_THAT(found_.rows[0].keys, ElementsAre(static_cast<int64_t>(CpuClass::kCtrlCpu)));
  EXPECT_NEAR(found_.rows[0].values[0], 0.5, 1e-9);
  EXPECT_NEAR(found_.rows[1].values[0], 0.1, 1e-9);
  EXPECT_EQ(found_.rows[0].wall_ns, kWallNs + 100'000'000);
}

TEST_F(HostDecoders, ProcessesWithBlanksInTheirNames) {
  const auto block = [](uint64_t raw, int ticks, int machine) {
    std::string line = "42 (my (odd) name) S";
    for (int i = 3; i < 13; ++i) line += " 7";
    line += " " + std::to_string(ticks) + " 0 0 0 7 7\n";
    return "TimeStamp:" + std::to_string(raw) + "\n" + line + "ProcessName:my (odd) name\ncpu  " +
           std::to_string(machine) + " 0 0 0 0 0 0 0\n\n";
  };
  Decode(file::kProcessCpu, block(kRawNs, 10, 1000) + block(kRawNs + 1, 60, 1100) + "TimeStamp:1\ncpu 1\n\n",
         42);
  ASSERT_EQ(found_.rows.size(), 1u);
  EXPECT_THAT(found_.rows[0].keys, ElementsAre(42));
  EXPECT_THAT(found_.rows[0].values, Near({0.5, 100.0}));
  EXPECT_EQ((found_.labels[{"process_cpu", 0, 42}]), "my (odd) name");
  EXPECT_EQ(rejected_.size(), 1u);
}

TEST_F(HostDecoders, MemoryInfoWithoutSomeLines) {
  Decode(file::kHostSysMem,
         "TimeStamp:5000000000000\nMemTotal:  100 kB\nHugePages_Total:  3\nMemFree: x kB\n\n");
  ASSERT_EQ(found_.rows.size(), 1u);
  EXPECT_EQ(found_.rows[0].values[0], 102400);
  EXPECT_TRUE(std::isnan(found_.rows[0].values[1]));
  EXPECT_EQ(found_.rows[0].values[7], 3);
}

TEST_F(HostDecoders, SystemCalls) {
  Decode(file::kHostOsrt,
         "  1000.500 ( 0.250 ms): train er/43 openat(dfd: CWD, name: \"a(b\") = 3\n"
         "  1001.500 ( 0.001 ms): read(3) = 1\n"
         "  1002.000 (         ): trainer/42 futex(…)\nnonsense\n");
  ASSERT_EQ(found_.spans.size(), 2u);
  EXPECT_EQ(found_.spans[0].name, "openat");
  EXPECT_EQ(found_.spans[0].span.tid, 43);
  EXPECT_EQ(found_.spans[0].span.begin_ns, kWallNs);  // the first one is the begin
  EXPECT_EQ(found_.spans[0].span.end_ns, kWallNs + 250'000);
  EXPECT_EQ(found_.spans[1].span.begin_ns, kWallNs + 1'000'000);
  EXPECT_EQ(found_.spans[1].span.tid, 42);
  EXPECT_EQ(rejected_.size(), 2u);
}

TEST_F(HostDecoders, SystemCallsOfSeveralProcesses) {
  Decode(file::kHostOsrt,
         "1000.000000 ( 0.000000 ms): begin\n"  // as every slice begins
         "1000.500000 ( 0.250000 ms): a/43 read() = 1\n"
         "1001.500000 ( 0.001000 ms): b/45 read(process: 44) = 1\n"
         "1001.600000 ( 0.001000 ms): b/45 read(process: 4x) = 1\n"
         "1001.700000 ( 0.001000 ms): b/45 read(process: 44\n"
         "1002.000 ( 0.001 ms): a/43 kill(process: 44) = 0\n");
  std::vector<int64_t> pids;
  for (const auto& found : found_.spans) pids.push_back(found.span.pid);
  EXPECT_EQ(pids, (std::vector<int64_t>{42, 44, 42, 44, 42}));
  EXPECT_EQ(found_.spans[1].span.tid, 45);
  EXPECT_EQ(found_.spans[1].name, "read");
  EXPECT_TRUE(rejected_.empty());
}

TEST_F(HostDecoders, PthreadCalls) {
  const std::string_view text =
      "[pid 43] 1700000000.020000 libx.so->pthread_create(0x7f, 0) = 0 <0.000100>\n"
      "[pid 44] 1700000000.050000 <... pthread_join resumed> ) = 0 <0.010000>\n"
      "1700000000.060000 libx.so->pthread_once(1) = 0 <0.000001>\n"
      "[pid 44] 1700000000.070000 +++ exited +++\n";
  Decode(file::kHostPthread, text);
  ASSERT_EQ(found_.spans.size(), 3u);
  EXPECT_EQ(found_.spans[0].span.begin_ns, kWallNs + 20'000'000);
  EXPECT_EQ(found_.spans[1].name, "pthread_join");
  EXPECT_EQ(found_.spans[1].span.begin_ns, kWallNs + 40'000'000);
  EXPECT_EQ(found_.spans[1].span.end_ns, kWallNs + 50'000'000);
  EXPECT_EQ(found_.spans[2].span.tid, 42);
  EXPECT_EQ(rejected_.size(), 1u);
  found_.spans.clear();
  vendor_ = true;
  Decode(file::kHostPthread, text);
  ASSERT_EQ(found_.spans.size(), 2u);
  EXPECT_EQ(found_.spans[0].span.begin_ns, kWallNs);
}

TEST_F(HostDecoders, PthreadCallsWhoseClockIsKnown) {
  const std::string_view text =
      "[pid 0] 4999.000000000 begin->pthread_once() = 0 <0.000000000>\n"  // as every slice begins
      "[pid 43] 5000.000000001 libc.so.6->pthread_mutex_lock() = 0 <0.000000123>\n"
      "[pid 45] 5001.500000000 libc.so.6->pthread_mutex_trylock(process: 44) = 16 <0.000001000>\n"
      "[pid 45] 5001.600000000 libc.so.6->pthread_mutex_unlock(process: 4x) = 0 <0.000001000>\n";
  for (const bool vendor : {false, true}) {  // there is nothing to guess
    vendor_ = vendor;
    found_.spans.clear();
    Decode(file::kHostPthread, text);
    ASSERT_EQ(found_.spans.size(), 3u);
    std::vector<int64_t> pids;
    for (const auto& found : found_.spans) pids.push_back(found.span.pid);
    EXPECT_EQ(pids, (std::vector<int64_t>{42, 44, 42}));
    EXPECT_EQ(found_.spans[1].span.tid, 45);
    EXPECT_EQ(found_.spans[1].name, "pthread_mutex_trylock");
    EXPECT_EQ(found_.spans[0].span.end_ns - found_.spans[0].span.begin_ns, 123u);
    EXPECT_EQ(found_.spans[1].span.begin_ns - found_.spans[0].span.begin_ns, 1'499'999'999u);
  }
}

TEST_F(HostDecoders, PerfSamples) {
  side_.device = 0;
  side_.ctrl_cpus = {0};
  side_.ai_cpus = {1};
  const std::string_view text =
      "# a comment\n"
      "work er 1/1 [000] 3000.5: 100 r11: \n\tffff hot loop+0x10 (/lib/my lib.so)\n\tffff caller (x)\n\n"
      "worker 1/1 [001] 3000.6: 50 r11: \n\tffff ai ([kernel])\n\n"
      "worker 1/1 [001] 3000.6: 7 r10: \n\tffff ai ([kernel])\n\n"
      "worker 1/1 [009] 3000.6: 7 r10: \n\nno sample\n";
  Decode(file::kCpuSamples, text);
  std::map<std::vector<int64_t>, double> events;
  for (const CollectedRow& row : found_.rows) {
    if (row.series == "pmu_events") events[row.keys] = row.values[0];
  }
  EXPECT_EQ((events[{1, 0x11}]), 100);
  EXPECT_EQ((events[{2, 0x11}]), 50);
  EXPECT_EQ((events[{2, 0x10}]), 7);
  const int64_t hot = texts_.Find("hot loop"), lib = texts_.Find("/lib/my lib.so");
  EXPECT_EQ((found_.labels[{"pmu_functions", 1, hot}]), "hot loop");
  EXPECT_EQ((found_.labels[{"pmu_functions", 2, lib}]), "/lib/my lib.so");
  EXPECT_EQ(rejected_.size(), 2u);
  found_.rows.clear();
  vendor_ = true;
  Decode(file::kCpuSamples, text);
  events.clear();
  for (const CollectedRow& row : found_.rows) events[row.keys] = row.values[0];
  EXPECT_EQ((events[{2, 0x1}]), 7);  // zeros of the name are dropped
}

TEST_F(HostDecoders, CountersAreRatesAndStatesOfTheMoment) {
  const std::string_view text =
      "time 5000000000000\n"
      "cgroup 1000000 1500000 10 2 500000 4096 8192 1 2 3 100 200 3 4 5 - /a b\n"
      "pcie 16000 16 32000 16 0000:c1:00.0\n"
      "time 5002000000000\n"
      "cgroup 4000000 1500000 30 6 1500000 4100 - 1 2 5 300 100 3 4 6 - /a b\n"
      "cgroup - - - - - 7 - - - - - - - - - - /\n"
      "net 1 2 3 4 5 6 7 8 9 10 11 12 eth0\n";
  Decode(file::kHostCgroup, text);
  EXPECT_EQ(records_, 2u);
  EXPECT_TRUE(rejected_.empty());
  std::map<std::string, std::vector<CollectedRow>> rows;
  for (const CollectedRow& row : found_.rows) rows[row.series].push_back(row);
  const auto& cgroups = rows["host_cgroup"];
  ASSERT_EQ(cgroups.size(), 3u);
  EXPECT_EQ((found_.labels[{"host_cgroup", 0, cgroups[0].keys[0]}]), "/a b");
  EXPECT_EQ((found_.labels[{"host_cgroup", 0, cgroups[2].keys[0]}]), "/");
  // The first sample: states only.
  EXPECT_TRUE(std::isnan(cgroups[0].values[0]));
  EXPECT_DOUBLE_EQ(cgroups[0].values[1], 1.5);
  EXPECT_DOUBLE_EQ(cgroups[0].values[5], 4096);
  // The second: 3 s of CPU time in 2 s, …
  EXPECT_EQ(cgroups[1].wall_ns, kWallNs + 2'000'000'000);
  EXPECT_DOUBLE_EQ(cgroups[1].values[0], 1.5);
  EXPECT_DOUBLE_EQ(cgroups[1].values[2], 10);
  EXPECT_DOUBLE_EQ(cgroups[1].values[4], 0.5);
  EXPECT_TRUE(std::isnan(cgroups[1].values[6]));  // a limit that is no more
  EXPECT_DOUBLE_EQ(cgroups[1].values[9], 1);
  EXPECT_DOUBLE_EQ(cgroups[1].values[10], 100);
  EXPECT_TRUE(std::isnan(cgroups[1].values[11]));  // a counter that began anew
  EXPECT_DOUBLE_EQ(cgroups[1].values[14], 6);
  ASSERT_EQ(rows["host_pcie_link"].size(), 1u);
  EXPECT_THAT(rows["host_pcie_link"][0].values, Near({16e9, 16, 32e9, 16}));
  EXPECT_EQ(rows["host_net_device"].size(), 1u);
  found_.rows.clear();
  vendor_ = true;
  Decode(file::kHostCgroup, text);
  EXPECT_TRUE(found_.rows.empty());  // whose parser has none of this
}

TEST_F(HostDecoders, DamagedCounters) {
  Decode(file::kHostCgroup,
         "pcie 1 2 3 4 before\n"  // behind a cut
         "time x\npcie 1 2 3 4 lost\n"
         "time 5000000000000\n"
         "pcie 1 2 3 4\npcie 1 2 3 \npcie 1 2 x 4 a\npcie -1 2 3 4 a\npcie 99999999999999999999 2 3 4 a\n"
         "what 1 2 3\npcie 1 2 3 4 a\npcie 1 2 3 4 a\n"
         "time 4000000000000\npcie 1 2 3 4 a\n");
  EXPECT_EQ(found_.rows.size(), 1u);
  EXPECT_EQ(rejected_["no time in the sample's first line"], 1u);
  EXPECT_EQ(rejected_["row without a name"], 1u);
  EXPECT_EQ(rejected_["neither a number nor a '-' where one is due"], 4u);
  EXPECT_EQ(rejected_["time does not pass between two samples"], 2u);
}

}  // namespace
}  // namespace profd::format
