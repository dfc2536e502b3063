// Family and SampledProcess, tick by tick, with a budget for open files and without.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/host/rows/family.h"
#include "tests/unit/host/harness.h"

namespace profd::host {
namespace {

class ProcessesTest : public ::testing::TestWithParam<size_t> {
 protected:
  Tick Next() {
    foreign_.Begin(UINT64_MAX);
    return {.number = ++number_, .raw_ns = base::RawNs(), .mono_ns = base::MonotonicNs()};
  }

  static std::set<pid_t> Pids(const Family& family) {
    std::set<pid_t> pids;
    for (const auto& process : family.members()) pids.insert(process->pid());
    return pids;
  }
  static std::set<pid_t> Tids(Process& process, const Tick& tick) {
    std::set<pid_t> tids;
    for (const std::string& line : Lines(std::string(process.ThreadLines(tick))))
      tids.insert(std::stoi(line));
    return tids;
  }

  FdBudget budget_{GetParam()};
  ForeignFiles foreign_{GetParam()};
  HostFiles files_{budget_};
  ProcessTable table_{budget_, foreign_};
  uint64_t number_ = 0;
};

INSTANTIATE_TEST_SUITE_P(OpenFiles, ProcessesTest, ::testing::Values(0, 3, 4096));

TEST_P(ProcessesTest, SeesThreadsOnTheTickAfterTheyComeAndGo) {
  Worker worker;
  Family family({worker.pid()}, table_, files_, Next());
  Process& process = *family.members().at(0);
  std::set<pid_t> expected = {worker.pid()};
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) expected.insert(worker.TellForPid("thread"));
    Tick tick = Next();
    family.Update(tick);
    EXPECT_EQ(Tids(process, tick), expected);
    // One goes and one comes: the number of threads stays.
    worker.Tell("end-thread");
    expected.insert(worker.TellForPid("thread"));
    tick = Next();
    family.Update(tick);
    std::set<pid_t> seen = Tids(process, tick);
    EXPECT_EQ(seen.size(), expected.size() - 1);
    EXPECT_TRUE(std::ranges::includes(expected, seen));
    expected = seen;
  }
}

TEST_P(ProcessesTest, SeesChildrenOfEveryThreadAndOfChildren) {
  Worker worker;
  const pid_t before = worker.TellForPid("fork");
  Family family({worker.pid()}, table_, files_, Next());
  EXPECT_EQ(Pids(family), (std::set<pid_t>{worker.pid(), before}));

  worker.Tell("thread");
  const pid_t of_thread = worker.TellForPid("fork-thread");
  family.Update(Next());
  family.Update(Next());
  EXPECT_EQ(Pids(family), (std::set<pid_t>{worker.pid(), before, of_thread}));

  worker.Tell("kill-child");
  family.Update(Next());
  EXPECT_EQ(family.members().size(), 3u) << "a zombie is there";
  EXPECT_EQ(family.running(), 2u) << "but does not run";
  worker.Tell("end-child");
  family.Update(Next());
  EXPECT_EQ(Pids(family), (std::set<pid_t>{worker.pid(), before}));

  worker.End();
  // Its child dies of it, after which init may take its time to wait for it.
  while (family.running() != 0) family.Update(Next());
}

TEST_P(ProcessesTest, SeesAChildOfAThreadThatTookThePlaceOfAnother) {
  Worker worker;
  worker.Tell("thread");
  Family family({worker.pid()}, table_, files_, Next());
  for (int round = 0; round < 3; ++round) {
    worker.Tell("end-thread");
    worker.Tell("thread");
    const pid_t child = worker.TellForPid("fork-thread");
    family.Update(Next());
    family.Update(Next());
    EXPECT_TRUE(Pids(family).contains(child));
    worker.Tell("end-child");
  }
}

TEST_P(ProcessesTest, AFamilyOfAFamilyMember) {
  Worker worker;
  const pid_t child = worker.TellForPid("fork");
  Family small({child}, table_, files_, Next());
  Family large({worker.pid()}, table_, files_, Next());
  EXPECT_EQ(Pids(small), std::set<pid_t>{child});
  EXPECT_EQ(Pids(large), (std::set<pid_t>{worker.pid(), child}));
  EXPECT_EQ(small.members()[0], large.members()[1]) << "read once for both";
  worker.Tell("end-child");
  const Tick tick = Next();
  small.Update(tick);
  large.Update(tick);
  EXPECT_EQ(Pids(small), std::set<pid_t>{});
  EXPECT_EQ(Pids(large), std::set<pid_t>{worker.pid()});
}

TEST_P(ProcessesTest, AReusedPidIsAnotherProcess) {
  Worker worker;
  const pid_t pid = worker.TellForPid("fork");
  Family family({worker.pid()}, table_, files_, Next());
  const std::shared_ptr<Process> first = family.members().at(1);
  worker.Tell("end-child");
  // The start time of a process counts in ticks of 10 ms.
  ::usleep(20'000);
  if (worker.TellForPid("fork-as " + std::to_string(pid)) != pid) GTEST_SKIP() << "no right to choose a pid";
  worker.Tell("thread");  // takes a pid that the kernel chooses, which is what makes the family look
  family.Update(Next());
  family.Update(Next());
  EXPECT_FALSE(first->alive());
  ASSERT_EQ(Pids(family), (std::set<pid_t>{worker.pid(), pid}));
  EXPECT_NE(family.members()[1], first);
  const Tick tick = Next();
  family.Update(tick);
  EXPECT_EQ(Tids(*family.members()[1], tick), std::set<pid_t>{pid});
}

TEST_P(ProcessesTest, TheWholeHostWithoutKernelThreads) {
  Worker worker;
  Family family({}, table_, files_, Next());
  EXPECT_TRUE(Pids(family).contains(worker.pid()));
  EXPECT_TRUE(Pids(family).contains(::getpid()));
  EXPECT_TRUE(Pids(family).contains(1));
  EXPECT_FALSE(Pids(family).contains(2) && ReadFile("/proc/2/cmdline").empty() &&
               ReadFile("/proc/2/comm") == "kthreadd\n");
  const pid_t child = worker.TellForPid("fork");
  family.Update(Next());
  family.Update(Next());
  EXPECT_TRUE(Pids(family).contains(child));
}

TEST_P(ProcessesTest, MemoryAndStatLineAreTheKernels) {
  Worker worker;
  const Tick tick = Next();
  Family family({worker.pid()}, table_, files_, tick);
  Process& process = *family.members()[0];
  const std::string proc = "/proc/" + std::to_string(worker.pid());
  const StatmPages* pages = process.Statm(tick);
  ASSERT_NE(pages, nullptr);
  std::string line;
  for (const uint64_t number : *pages) line += std::to_string(number) + " ";
  EXPECT_EQ(Words(line), Words(ReadFile(proc + "/statm")));
  EXPECT_EQ(process.StatLine(tick), ReadFile(proc + "/stat"));
  worker.End();
  const Tick later = Next();
  EXPECT_EQ(process.Statm(later), nullptr);
  EXPECT_EQ(process.StatLine(later), "");
}

TEST_P(ProcessesTest, BytesOfAChildAreCountedOnce) {
  Worker worker;
  const std::string path = std::string(PROFD_BUILD_DIR) + "/host_test_once_" + std::to_string(GetParam());
  Tick tick = Next();
  Family family({worker.pid()}, table_, files_, tick);
  const std::shared_ptr<Process> parent = family.members()[0];
  ASSERT_TRUE(parent->ReadIo(tick));
  EXPECT_EQ(parent->io().written, 0);

  worker.Tell("fork-write 1000000 " + path);
  family.Update(Next());
  tick = Next();
  family.Update(tick);
  ASSERT_EQ(family.members().size(), 2u);
  const std::shared_ptr<Process> child = family.members()[1];
  ASSERT_TRUE(child->ReadIo(tick));
  ASSERT_TRUE(parent->ReadIo(tick));
  const int64_t written = WrittenBytes(child->pid());
  if (written == 0) GTEST_SKIP() << "this file system does not account";
  EXPECT_EQ(child->io().written, written) << "born while we looked: all its bytes count";

  worker.Tell("write 8192 " + path);
  worker.Tell("end-child");
  ASSERT_GE(WrittenBytes(worker.pid()), written) << "this kernel gives the parent what its child wrote";
  const int64_t own = WrittenBytes(worker.pid()) - written;
  tick = Next();
  family.Update(tick);
  ASSERT_TRUE(parent->ReadIo(tick));
  EXPECT_EQ(parent->io().written, own);
  EXPECT_EQ(child->io().written, written);
  ::unlink(path.c_str());
}

TEST(FdBudget, WhoSharesLeavesTheOthersAsMuch) {
  std::atomic<size_t> left{10};
  FdBudget one(left), other(left);
  const auto take_all = [](FdBudget& budget) {
    size_t taken = 0;
    while (budget.TryTake()) ++taken;
    return taken;
  };
  EXPECT_EQ(take_all(one), 5U);
  EXPECT_EQ(take_all(other), 3U);
  for (int i = 0; i < 5; ++i) one.GiveBack();
  EXPECT_EQ(left, 7U);
  EXPECT_EQ(take_all(other), 2U);
}

TEST(FdBudget, EverythingTakenIsGivenBack) {
  FdBudget budget(4);
  size_t left = 0;
  {
    ForeignFiles foreign(4);
    HostFiles files(budget);
    ProcessTable table(budget, foreign);
    Worker worker;
    worker.Tell("thread");
    worker.Tell("thread");
    Family family({worker.pid()}, table, files, {.number = 1, .raw_ns = 1, .mono_ns = 1});
    family.members()[0]->ThreadLines({.number = 1, .raw_ns = 1, .mono_ns = 1});
    EXPECT_FALSE(budget.TryTake()) << "all in use";
  }
  while (budget.TryTake()) ++left;
  EXPECT_EQ(left, 4u);
}

}  // namespace
}  // namespace profd::host
