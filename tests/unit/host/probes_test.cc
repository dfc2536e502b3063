// The probes tick by tick, at times that the test chooses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/host/probes/probe.h"
#include "tests/unit/host/harness.h"

namespace profd::host {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

class ProbesTest : public ::testing::Test {
 protected:
  ProbesTest() {
    request_.trace = 1;
    request_.pipe = &writer_.pipe();
    request_.make_spec = FakeWriter::MakeSpec;
    request_.pids = {worker_.pid()};
    output_ = std::make_unique<Output>(request_);
  }
  ~ProbesTest() override { ::unlink(path_.c_str()); }

  // Tick n is at n seconds.
  Tick At(uint64_t n) {
    if (std::exchange(at_, n) != n) foreign_.Begin(UINT64_MAX);
    return {.number = n, .raw_ns = n * kSecondNs, .mono_ns = n * kSecondNs};
  }
  void Make(const std::string& kind) {
    family_ = std::make_unique<Family>(request_.pids, table_, files_, At(1));
    const ProbeContext context{.files = files_,
                               .output = *output_,
                               .family = family_.get(),
                               .targets = request_.pids,
                               .tree = tree_,
                               .budget = budget_};
    const ProbeOptions options{.kind = kind, .stats = stats_, .per_process_elsewhere = false};
    probe_ = MakeProbe(options, context);
  }
  void Sample(uint64_t n) {
    family_->Update(At(n));
    probe_->Sample(At(n));
  }
  std::string Text(const std::string& name) {
    EXPECT_TRUE(output_->EndTick(UINT64_MAX));
    writer_.Drain();
    return writer_.Text(1, name);
  }

  const std::string path_ = std::string(PROFD_BUILD_DIR) + "/host_test_probes_" + std::to_string(::getpid());
  Worker worker_;
  FakeWriter writer_{1u << 20, 16};
  SampleRequest request_;
  FdBudget budget_{100};
  SysTree tree_;
  HostFiles files_{budget_};
  ForeignFiles foreign_{100};
  ProcessTable table_{budget_, foreign_};
  uint64_t at_ = 0;
  chunk::StreamStatsPtr stats_ = std::make_shared<chunk::StreamStats>();
  std::unique_ptr<Output> output_;
  std::unique_ptr<Family> family_;
  std::unique_ptr<Probe> probe_;
};

TEST_F(ProbesTest, AFileOfItsOwnComesWithTheSecondTickOfAProcess) {
  Make("host-pid-cpu");
  const std::string of_worker = std::to_string(worker_.pid()) + "-CpuUsage.data";
  Sample(2);
  EXPECT_EQ(ParseBlocks(Text(of_worker)).size(), 1u);
  const std::string of_child = std::to_string(worker_.TellForPid("fork")) + "-CpuUsage.data";
  Sample(3);
  EXPECT_EQ(family_->members().size(), 2u);
  Text(of_child);
  EXPECT_EQ(writer_.File(1, of_child), nullptr);
  Sample(4);
  EXPECT_EQ(ParseBlocks(Text(of_child)).size(), 1u);
  EXPECT_EQ(ParseBlocks(Text(of_worker)).size(), 3u);
}

TEST_F(ProbesTest, AZombieHasNoLine) {
  Make("host-cpu");
  const pid_t child = worker_.TellForPid("fork");
  Sample(2);
  Sample(3);
  worker_.Tell("kill-child");
  Sample(4);
  const std::vector<CpuBlock> blocks = ParseCpuBlocks(Text("host_cpu.data"));
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_TRUE(blocks[1].threads.contains(child));
  EXPECT_FALSE(blocks[2].threads.contains(child));
  EXPECT_EQ(blocks[2].time_ns, 4 * kSecondNs);
}

TEST_F(ProbesTest, DiskCountsANewbornsBytesFromItsBirth) {
  Make("host-disk");
  Sample(2);
  const int64_t before = WrittenBytes(worker_.pid());
  const pid_t child = worker_.TellForPid("fork-write 1048576 " + path_);
  const int64_t written = WrittenBytes(child) + WrittenBytes(worker_.pid()) - before;
  if (written == 0) GTEST_SKIP() << "this file system does not account";
  // Over two seconds, one of which was missed.
  probe_->Miss(At(4), 2 * kSecondNs, 1);
  Sample(4);
  Sample(5);
  const std::vector<std::string> lines = Lines(Text("host_disk.data"));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "start_time 2000000000");
  EXPECT_NEAR(std::stod(Words(lines[1]).at(6)), static_cast<double>(written) / 1024 / 2, 0.005);
  EXPECT_EQ(lines[2], lines[1]) << "the missed second has the mean of both";
  EXPECT_EQ(Words(lines[3]).at(6), "0.00");
  EXPECT_EQ(stats_->lost_records, 1u);
  EXPECT_EQ(stats_->read_records, 5u) << "beside the two lines, one row of the worker, then one of each";
}

}  // namespace
}  // namespace profd::host
