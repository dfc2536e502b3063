// The kinds of rows of counters, on planted trees.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/host/probes/probe.h"
#include "tests/unit/host/harness.h"
#include "tests/unit/support/planted_tree.h"

namespace profd::host {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr pid_t kTarget = 7;

class CounterRowsTest : public ::testing::Test {
 protected:
  CounterRowsTest() {
    request_.pipe = &writer_.pipe();
    request_.make_spec = FakeWriter::MakeSpec;
  }

  // Anew, with files of its own.
  void Make(const std::string& kind) {
    probe_.reset();
    ++request_.trace;
    output_ = std::make_unique<Output>(request_);
    tree_ = std::make_unique<SysTree>(plant_.tree());
    const ProbeContext context{.files = files_,
                               .output = *output_,
                               .family = nullptr,
                               .targets = targets_,
                               .tree = *tree_,
                               .budget = budget_};
    probe_ = MakeProbe({.kind = kind, .stats = stats_, .outcome = outcome_}, context);
  }
  // The rows of a sample at `n` seconds, without the line of its time.
  std::string Rows(uint64_t n, const std::string& file) {
    probe_->Sample({.number = n, .raw_ns = n * kSecondNs, .mono_ns = n * kSecondNs});
    EXPECT_TRUE(output_->EndTick(UINT64_MAX));
    writer_.Drain();
    const std::string text = writer_.Text(request_.trace, file);
    const std::string head = "time " + std::to_string(n * kSecondNs) + "\n";
    const size_t at = text.find(head);
    return at == std::string::npos ? "" : text.substr(at + head.size());
  }

  PlantedTree plant_;
  FakeWriter writer_{1u << 16, 16};
  SampleRequest request_;
  FdBudget budget_{100};
  HostFiles files_{budget_};
  const std::vector<pid_t> targets_{kTarget};
  chunk::StreamStatsPtr stats_ = std::make_shared<chunk::StreamStats>();
  std::shared_ptr<ProbeOutcome> outcome_ = std::make_shared<ProbeOutcome>();
  std::unique_ptr<SysTree> tree_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<Probe> probe_;
};

TEST_F(CounterRowsTest, CgroupsOfVersionTwo) {
  const std::string mount = "/sys/fs/cgroup/";
  plant_.Plant("/proc/7/cgroup", "0::/pod/free/job one\n");
  plant_.Plant(mount + "cgroup.controllers", "cpu memory io pids\n");
  const std::string job = mount + "pod/free/job one/";
  plant_.Plant(job + "cpu.max", "150000 100000\n");
  plant_.Plant(job + "cpu.stat", "usage_usec 1000\nnr_periods 10\nnr_throttled 2\nthrottled_usec 77\n");
  plant_.Plant(job + "memory.current", "4096\n");
  plant_.Plant(job + "memory.max", "8192\n");
  plant_.Plant(job + "memory.stat", "anon 1024\nfile 2048\npgfault 9\npgmajfault 3\n");
  plant_.Plant(job + "io.stat",
               "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0\n8:16 rbytes=10 wbytes=20 rios=30 wios=40\n");
  plant_.Plant(job + "pids.current", "5\n");
  plant_.Plant(job + "pids.max", "max\n");
  // Above it: one without limits, which is left out, and one with.
  plant_.Plant(mount + "pod/free/cpu.max", "max 100000\n");
  plant_.Plant(mount + "pod/free/memory.max", "max\n");
  plant_.Plant(mount + "pod/memory.max", "65536\n");
  plant_.Plant(mount + "pod/memory.current", "9999\n");
  Make("host-cgroup");
  EXPECT_EQ(outcome_->note, "");
  const std::string expected =
      "cgroup 1000 1500000 10 2 77 4096 8192 1024 2048 3 11 22 33 44 5 - /pod/free/job one\n"
      "cgroup - - - - - 9999 65536 - - - - - - - - - /pod\n";
  EXPECT_EQ(Rows(1, "host_cgroup.data"), expected);
  // After its processes it is still there, and then it is gone.
  plant_.Remove("/proc/7");
  EXPECT_EQ(Rows(2, "host_cgroup.data"), expected);
  EXPECT_EQ(stats_->read_records, 2u);
}

TEST_F(CounterRowsTest, CgroupsOfVersionOne) {
  plant_.Plant("/proc/7/cgroup", "5:memory:/m\n4:cpu,cpuacct:/c\n3:blkio:/m\n2:pids:/\n");
  const std::string cpu = "/sys/fs/cgroup/cpu,cpuacct/c/", memory = "/sys/fs/cgroup/memory/m/";
  plant_.Plant(cpu + "cpu.cfs_quota_us", "-1\n");
  plant_.Plant(cpu + "cpu.cfs_period_us", "100000\n");
  plant_.Plant(cpu + "cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 5000\n");
  plant_.Plant(cpu + "cpuacct.usage", "7000\n");
  plant_.Plant(memory + "memory.usage_in_bytes", "4096\n");
  plant_.Plant(memory + "memory.limit_in_bytes", "9223372036854771712\n");
  plant_.Plant(memory + "memory.stat", "cache 1\nrss 2\ntotal_cache 10\ntotal_rss 20\ntotal_pgmajfault 30\n");
  plant_.Plant("/sys/fs/cgroup/blkio/m/blkio.throttle.io_service_bytes",
               "8:0 Read 5\n8:0 Write 6\n8:0 Total 11\nTotal 11\n");
  plant_.Plant("/sys/fs/cgroup/blkio/m/blkio.throttle.io_serviced", "8:0 Read 1\n8:0 Write 2\n");
  plant_.Plant("/sys/fs/cgroup/pids/pids.current", "3\n");
  Make("host-cgroup");
  EXPECT_EQ(Rows(1, "host_cgroup.data"),
            "cgroup 7 - 4 1 5 - - - - - - - - - - - /c\n"
            "cgroup - - - - - 4096 - 20 10 30 5 6 1 2 - - /m\n"
            "cgroup - - - - - - - - - - - - - - 3 - /\n");
}

TEST_F(CounterRowsTest, WhereThereIsNoCgroupItSaysSo) {
  Make("host-cgroup");
  EXPECT_NE(outcome_->note, "");
  EXPECT_EQ(Rows(1, "host_cgroup.data"), "");
  EXPECT_EQ(stats_->lost_records, 0u);
}

TEST_F(CounterRowsTest, InterfacesAndRdmaPorts) {
  plant_.Plant("/proc/1/net/dev",
               "Inter-|   Receive\n face |bytes packets\n"
               "    lo: 1 2 3 4 5 6 7 8 11 12 13 14 15 16 17 18\n"
               "  eth0:100 20 0 0 0 0 0 0 300 40 0 0 0 0 0 0\n"
               "broken: x\n");
  const std::string eth0 = "/proc/1/root/sys/class/net/eth0/";
  plant_.Plant(eth0 + "statistics/rx_crc_errors", "5\n");
  plant_.Plant(eth0 + "statistics/rx_missed_errors", "6\n");
  plant_.Plant(eth0 + "carrier_changes", "7\n");
  plant_.Plant(eth0 + "speed", "1000\n");
  plant_.Plant("/proc/1/root/sys/class/net/lo/speed", "-1\n");
  const std::string port = "/proc/1/root/sys/class/infiniband/mlx5_0/ports/1/";
  plant_.Plant(port + "counters/port_rcv_data", "100\n");
  plant_.Plant(port + "counters/port_xmit_data", "200\n");
  plant_.Plant(port + "hw_counters/np_cnp_sent", "9\n");
  Make("host-net-devices");
  EXPECT_EQ(Rows(1, "host_net_devices.data"),
            "net 1 11 2 12 3 13 4 14 - - - - lo\n"
            "net 100 300 20 40 0 0 0 0 5 6 7 125000000 eth0\n"
            "rdma 400 800 - - - - - - 9 - - - - - mlx5_0/1\n");
}

TEST_F(CounterRowsTest, NumaNodesAndPcieLinksOfNpus) {
  const std::string node = "/sys/devices/system/node/node0/";
  plant_.Plant(node + "numastat",
               "numa_hit 1\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\nother_node 6\n");
  plant_.Plant(node + "meminfo", "Node 0 MemTotal:       16 kB\nNode 0 MemFree:        8 kB\n");
  const std::string pci = "/sys/bus/pci/devices/";
  for (const std::string name : {"0000:c1:00.0", "0000:c2:00.0"}) {
    plant_.Plant(pci + name + "/vendor", "0x19e5\n");
    plant_.Plant(pci + name + "/class", name == "0000:c1:00.0" ? "0x120000\n" : "0x020000\n");
    plant_.Plant(pci + name + "/current_link_speed", "2.5 GT/s PCIe\n");
    plant_.Plant(pci + name + "/current_link_width", "8\n");
    plant_.Plant(pci + name + "/max_link_speed", "16.0 GT/s PCIe\n");
    plant_.Plant(pci + name + "/max_link_width", "16\n");
  }
  Make("host-hardware");
  EXPECT_EQ(outcome_->note, "");
  EXPECT_EQ(Rows(1, "host_hardware.data"),
            "numa 1 2 3 4 5 6 8192 node0\npcie 2500 8 16000 16 0000:c1:00.0\n");
}

TEST_F(CounterRowsTest, AnyBytesAreRead) {
  uint64_t second = 0;
  for (const std::string& text : kOddTexts) {
    plant_.Remove("/proc");
    plant_.Remove("/sys");
    for (const std::string file :
         {"/proc/7/cgroup", "/proc/1/net/dev", "/sys/class/net/eth0/speed",
          "/sys/class/infiniband/x/ports/1/counters/port_rcv_data", "/sys/devices/system/node/node0/numastat",
          "/sys/devices/system/node/node0/meminfo", "/sys/bus/pci/devices/a/vendor",
          "/sys/bus/pci/devices/a/class"}) {
      plant_.Plant(file, text);
    }
    for (const char* kind : {"host-cgroup", "host-net-devices", "host-hardware"}) {
      Make(kind);
      Rows(++second, "");
    }
    plant_.Plant("/proc/7/cgroup", "0::/a\n");
    plant_.Plant("/sys/bus/pci/devices/a/vendor", "0x19e5\n");
    plant_.Plant("/sys/bus/pci/devices/a/class", "0x120000\n");
    plant_.Plant("/sys/bus/pci/devices/a/current_link_speed", text);
    plant_.Plant("/sys/fs/cgroup/cgroup.controllers", "");
    for (const std::string file : {"cpu.max", "cpu.stat", "memory.max", "memory.stat", "memory.current",
                                   "io.stat", "pids.max", "pids.current"}) {
      plant_.Plant("/sys/fs/cgroup/a/" + file, text);
    }
    for (const char* kind : {"host-cgroup", "host-hardware"}) {
      Make(kind);
      Rows(++second, "");
    }
  }
}

// Keeping files open is a favour: without room for any they are opened each time.
TEST_F(CounterRowsTest, FewerDescriptorsThanFiles) {
  plant_.Plant("/proc/1/net/dev", "lo: 1 2 3 4 5 6 7 8 11 12 13 14 15 16 17 18\n");
  plant_.Plant("/sys/class/net/lo/carrier_changes", "1\n");
  while (budget_.TryTake()) {
  }
  Make("host-net-devices");
  const std::string row = "net 1 11 2 12 3 13 4 14 - - 1 - lo\n";
  EXPECT_EQ(Rows(1, "host_net_devices.data"), row);
  EXPECT_EQ(Rows(2, "host_net_devices.data"), row);
  EXPECT_FALSE(budget_.TryTake());
  probe_.reset();
  EXPECT_FALSE(budget_.TryTake());
}

}  // namespace
}  // namespace profd::host
