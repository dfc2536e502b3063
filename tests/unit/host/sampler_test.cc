#include "daemon/host/sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/host/harness.h"

namespace profd::host {
namespace {

std::set<pid_t> TidsOf(const CpuBlock& block) {
  std::set<pid_t> tids;
  for (const auto& [tid, fields] : block.threads) tids.insert(tid);
  return tids;
}

std::set<pid_t> LatestTids(SamplerRig& rig, uint32_t trace) {
  const std::vector<CpuBlock> blocks = ParseCpuBlocks(rig.writer.Text(trace, "host_cpu.data"));
  return blocks.empty() ? std::set<pid_t>{} : TidsOf(blocks.back());
}

// Stored and lost rows of a kind are all that were due; the losses in the pipe say the same as the counters.
void ExpectAllAccountedFor(SamplerRig& rig, uint32_t trace, const std::string& kind,
                           const std::vector<std::string>& files) {
  uint64_t records = 0;
  uint64_t lost = 0;
  for (const std::string& name : files) {
    const StoredFile* file = rig.writer.File(trace, name);
    ASSERT_NE(file, nullptr) << name;
    records += file->records;
    for (const format::Loss& loss : file->losses) lost += loss.records;
  }
  EXPECT_EQ(rig.Stats(trace, kind).read_records, records) << kind;
  EXPECT_EQ(rig.Stats(trace, kind).lost_records, lost) << kind;
}

TEST(Sampler, RefusesWhatItCannotSample) {
  SamplerRig rig;
  const auto code = [&](const std::string& kind, std::vector<pid_t> pids) {
    return rig.TryStart(rig.Request(1, {kind}, std::move(pids))).code();
  };
  EXPECT_EQ(code("host-gpu@50", {1}), base::Code::kInvalidArgument);
  EXPECT_EQ(code("host-cpu@0", {1}), base::Code::kOutOfRange);
  EXPECT_EQ(code("host-cpu@51", {1}), base::Code::kOutOfRange);
  for (const char* kind : {"host-cpu@50", "host-mem@50", "host-disk@50"}) {
    EXPECT_EQ(code(kind, {}), base::Code::kInvalidArgument) << kind;
  }
  rig.Start(1, {"host-network@50"}, {});
  EXPECT_EQ(code("host-network@50", {}), base::Code::kAlreadyExists);
  rig.Stop(1);
}

TEST(Sampler, StopOfAnUnknownTraceAnswers) {
  SamplerRig rig;
  bool stopped = false;
  rig.sampler.Stop(7, [&] { stopped = true; });
  rig.Until("an answer", [&] { return stopped; });
}

TEST(Sampler, TheThreadLivesWhileSomethingIsSampled) {
  const auto sampling = [] {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      if (ReadFile(task.path() / "comm") == "sample\n") return true;
    }
    return false;
  };
  SamplerRig rig;
  EXPECT_FALSE(sampling());
  for (int round = 0; round < 3; ++round) {
    rig.Start(1, {"host-network@50"}, {});
    rig.Start(2, {"host-sys-mem@50"}, {});
    rig.Until("rows", [&] { return rig.writer.File(1, "host_network.data")->records > 0; });
    rig.Stop(1);
    EXPECT_TRUE(sampling());
    rig.Stop(2);
    EXPECT_FALSE(sampling());
    rig.writer.Forget();
  }
}

// Some have gone while others are still to say their last.
TEST(Sampler, SeveralEndAtOnce) {
  if (const base::Status status = CheckKind("host-cpu-profile"); !status.ok())
    GTEST_SKIP() << status.message();
  constexpr uint32_t kSessions = 12;
  Worker worker;
  SamplerRig rig;
  for (int round = 0; round < 10; ++round) {  // which of them goes first is the machine's
    for (uint32_t trace = 1; trace <= kSessions; ++trace)
      rig.Start(trace, {"host-cpu-profile@99"}, {worker.pid()});
    uint32_t stopped = 0;
    for (uint32_t trace = 1; trace <= kSessions; ++trace) rig.sampler.Stop(trace, [&stopped] { ++stopped; });
    rig.Until("all ends", [&stopped] { return stopped == kSessions; });
    rig.writer.Forget();
  }
}

TEST(Sampler, CpuListsThreadsAndChildrenAsTheyComeAndGo) {
  Worker worker;
  SamplerRig rig;
  const pid_t early = worker.TellForPid("thread");
  rig.Start(1, {"host-cpu@50"}, {worker.pid()});
  std::set<pid_t> expected = {worker.pid(), early};
  rig.Until("the first block", [&] { return LatestTids(rig, 1) == expected; });

  expected.insert(worker.TellForPid("thread"));
  rig.Until("a new thread", [&] { return LatestTids(rig, 1) == expected; });
  const pid_t child = worker.TellForPid("fork-thread");
  expected.insert(child);
  rig.Until("a child", [&] { return LatestTids(rig, 1) == expected; });
  worker.Tell("end-child");
  expected.erase(child);
  rig.Until("its end", [&] { return LatestTids(rig, 1) == expected; });
  worker.Tell("end-thread");
  rig.Until("the end of a thread", [&] { return LatestTids(rig, 1).size() == 2; });
  rig.Stop(1);

  const std::vector<CpuBlock> blocks = ParseCpuBlocks(rig.writer.Text(1, "host_cpu.data"));
  EXPECT_EQ(rig.writer.File(1, "host_cpu.data")->records, blocks.size()) << "a block is a record";
  for (size_t i = 1; i < blocks.size(); ++i) EXPECT_LT(blocks[i - 1].time_ns, blocks[i].time_ns);
  for (const CpuBlock& block : blocks) EXPECT_TRUE(block.threads.contains(worker.pid()));
  // Each process has blocks of its own from when there were two.
  const std::vector<Block> own =
      ParseBlocks(rig.writer.Text(1, std::to_string(worker.pid()) + "-CpuUsage.data"));
  ASSERT_FALSE(own.empty());
  for (size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(own[i].index, i);
    const std::vector<std::string> lines = Lines(own[i].body);
    ASSERT_EQ(lines.size(), 3u) << own[i].body;
    EXPECT_EQ(std::stoi(lines[0]), worker.pid());
    EXPECT_EQ(Words(lines[0]).size(), 52u);
    EXPECT_TRUE(lines[1].starts_with("ProcessName:host_test_worke")) << lines[1];
    EXPECT_TRUE(lines[2].starts_with("cpu  ")) << lines[2];
  }
  const std::string of_child = std::to_string(child) + "-CpuUsage.data";
  ExpectAllAccountedFor(rig, 1, "host-cpu",
                        {"host_cpu.data", std::to_string(worker.pid()) + "-CpuUsage.data", of_child});
}

TEST(Sampler, AHostileNameStaysOneWord) {
  Worker worker;
  SamplerRig rig;
  worker.Tell("name 292052203120280a74696d6520");  // ") R 1 (\ntime "
  rig.Start(1, {"host-cpu@50", "host-pid-cpu@50", "host-pid-mem@50", "host-disk@50"}, {worker.pid()});
  rig.Until("blocks", [&] { return ParseCpuBlocks(rig.writer.Text(1, "host_cpu.data")).size() > 3; });
  rig.Stop(1);
  const std::string name = ")_R_1_(_time_";
  for (const CpuBlock& block : ParseCpuBlocks(rig.writer.Text(1, "host_cpu.data"))) {
    EXPECT_EQ(block.threads.at(worker.pid()).at(1), "(" + name + ")");
  }
  for (const char* file : {"-CpuUsage.data", "-Memory.data"}) {
    const std::vector<Block> blocks = ParseBlocks(rig.writer.Text(1, std::to_string(worker.pid()) + file));
    ASSERT_FALSE(blocks.empty());
    for (const Block& block : blocks) EXPECT_EQ(Lines(block.body).at(1), "ProcessName:" + name);
  }
  for (const std::string& line : Lines(rig.writer.Text(1, "host_disk.data"))) {
    EXPECT_EQ(Words(line).size(), line.starts_with("start_time") ? 2u : 13u) << line;
  }
}

TEST(Sampler, MemIsTheSumOfAllProcesses) {
  Worker worker;
  const pid_t child = worker.TellForPid("fork");
  SamplerRig rig;
  rig.Start(1, {"host-mem@50"}, {worker.pid()});
  const std::string of_worker = std::to_string(worker.pid()) + "-Memory.data";
  const std::string of_child = std::to_string(child) + "-Memory.data";
  rig.Until("rows of both",
            [&] { return !rig.writer.Text(1, of_worker).empty() && !rig.writer.Text(1, of_child).empty(); });
  rig.Stop(1);
  // Neither does anything, so that their memory stays as it is.
  const std::vector<std::string> a = Words(ReadFile("/proc/" + std::to_string(worker.pid()) + "/statm"));
  const std::vector<std::string> b = Words(ReadFile("/proc/" + std::to_string(child) + "/statm"));
  std::vector<uint64_t> expected;
  for (size_t i = 0; i < 7; ++i) {
    expected.push_back((std::stoull(a.at(i)) + std::stoull(b.at(i))) *
                       static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 4096);
  }
  const std::vector<std::string> lines = Lines(rig.writer.Text(1, "host_mem.data"));
  ASSERT_FALSE(lines.empty());
  for (const std::string& line : lines) {
    const std::vector<std::string> words = Words(line);
    ASSERT_EQ(words.size(), 8u) << line;
    for (size_t i = 0; i < 7; ++i) EXPECT_EQ(std::stoull(words[i + 1]), expected[i]) << line;
  }
  for (const Block& block : ParseBlocks(rig.writer.Text(1, of_child))) {
    EXPECT_EQ(Words(Lines(block.body).at(0)), b);
    EXPECT_EQ(Lines(block.body).size(), 2u);
  }
  ExpectAllAccountedFor(rig, 1, "host-mem", {"host_mem.data", of_worker, of_child});
}

TEST(Sampler, OneProcessAloneHasNoFilesOfItsOwn) {
  Worker worker;
  SamplerRig rig;
  rig.Start(1, {"host-cpu@50", "host-mem@50", "host-disk@50"}, {worker.pid()});
  rig.Until("rows", [&] { return rig.writer.File(1, "host_disk.data")->records > 3; });
  rig.Stop(1);
  EXPECT_EQ(rig.writer.Names(1),
            (std::vector<std::string>{"host/host_cpu.data", "host/host_mem.data", "host/host_disk.data"}));
}

TEST(Sampler, PidKindsTakeThePlaceOfPerProcessFiles) {
  Worker worker;
  const pid_t child = worker.TellForPid("fork");
  SamplerRig rig;
  rig.Start(1, {"host-cpu@50", "host-mem@50", "host-pid-cpu@10", "host-pid-mem@10"}, {worker.pid()});
  const std::string name = std::to_string(child) + "-Memory.data";
  rig.Until("rows of the child",
            [&] { return rig.writer.File(1, name) && rig.writer.File(1, name)->records > 1; });
  rig.Stop(1);
  const std::string pid = std::to_string(worker.pid());
  const std::string other = std::to_string(child);
  ExpectAllAccountedFor(rig, 1, "host-cpu", {"host_cpu.data"});
  ExpectAllAccountedFor(rig, 1, "host-mem", {"host_mem.data"});
  ExpectAllAccountedFor(rig, 1, "host-pid-cpu", {pid + "-CpuUsage.data", other + "-CpuUsage.data"});
  ExpectAllAccountedFor(rig, 1, "host-pid-mem", {pid + "-Memory.data", other + "-Memory.data"});
}

TEST(Sampler, PidKindsWithoutTargetsTakeTheWholeHost) {
  Worker worker;
  SamplerRig rig(1u << 16, 4);  // far fewer chunks than files
  rig.Start(1, {"host-pid-cpu@10"}, {});
  const std::string name = std::to_string(worker.pid()) + "-CpuUsage.data";
  rig.Until("rows of a process", [&] { return !rig.writer.Text(1, name).empty(); });
  rig.Stop(1);
  EXPECT_NE(rig.writer.File(1, std::to_string(::getpid()) + "-CpuUsage.data"), nullptr);
  for (const Block& block : ParseBlocks(rig.writer.Text(1, name)))
    EXPECT_EQ(std::stoi(block.body), worker.pid());
}

TEST(Sampler, NetworkHoldsEveryInterface) {
  SamplerRig rig;
  rig.Start(1, {"host-network@50"}, {});
  rig.Until("rows", [&] { return rig.writer.File(1, "host_network.data")->records > 2; });
  rig.Stop(1);
  std::vector<std::string> interfaces;
  for (const std::string& line : Lines(ReadFile("/proc/net/dev"))) {
    if (line.find(':') != std::string::npos) interfaces.push_back(Words(line).at(0));
  }
  uint64_t blocks = 0;
  size_t next = interfaces.size();
  for (const std::string& line : Lines(rig.writer.Text(1, "host_network.data"))) {
    const std::vector<std::string> words = Words(line);
    if (words.at(0) == "time") {
      EXPECT_EQ(next, interfaces.size());
      next = 0;
      ++blocks;
    } else {
      ASSERT_LT(next, interfaces.size());
      EXPECT_EQ(words.at(0), interfaces[next++]);
      EXPECT_EQ(words.size(), 17u);
    }
  }
  EXPECT_EQ(blocks, rig.writer.File(1, "host_network.data")->records);
}

TEST(Sampler, SystemBlocks) {
  SamplerRig rig;
  rig.Start(1, {"host-sys-cpu@50", "host-sys-mem@50"}, {});
  rig.Until("blocks", [&] { return rig.writer.File(1, "host_sys_mem.data")->records > 2; });
  rig.Stop(1);
  const std::vector<Block> cpu = ParseBlocks(rig.writer.Text(1, "host_sys_cpu.data"));
  const std::vector<Block> mem = ParseBlocks(rig.writer.Text(1, "host_sys_mem.data"));
  EXPECT_EQ(cpu.size(), rig.writer.File(1, "host_sys_cpu.data")->records);
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  for (size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_EQ(cpu[i].index, i);
    const std::vector<std::string> lines = Lines(cpu[i].body);
    EXPECT_EQ(lines.size(), static_cast<size_t>(cpus) + 1);
    for (const std::string& line : lines) EXPECT_TRUE(line.starts_with("cpu")) << line;
  }
  for (const Block& block : mem) {
    EXPECT_TRUE(block.body.starts_with("MemTotal:"));
    EXPECT_NE(block.body.find("\nHugePages_Free:"), std::string::npos);
  }
}

TEST(Sampler, TwoSessionsAtDifferentRatesShareTicks) {
  Worker worker;
  SamplerRig rig;
  rig.Start(1, {"host-mem@50"}, {worker.pid()});
  rig.Start(2, {"host-mem@10", "host-network@25"}, {worker.pid()});
  rig.Until("slow rows", [&] { return rig.writer.File(2, "host_mem.data")->records > 4; });
  rig.Stop(2);
  rig.Stop(1);
  const auto stamps = [&](uint32_t trace) {
    std::vector<uint64_t> all;
    for (const std::string& line : Lines(rig.writer.Text(trace, "host_mem.data")))
      all.push_back(std::stoull(line));
    return all;
  };
  const std::vector<uint64_t> fast = stamps(1);
  const std::vector<uint64_t> slow = stamps(2);
  EXPECT_GT(fast.size(), 4 * (slow.size() - 1)) << "50 Hz and 10 Hz";
  EXPECT_TRUE(std::ranges::includes(fast, slow)) << "every slow tick is a fast one";
}

TEST(Sampler, TheEndOfTheTargetEndsItsRowsOnly) {
  Worker worker;
  SamplerRig rig;
  rig.Start(1, {"host-cpu@50", "host-mem@50", "host-disk@50", "host-network@50"}, {worker.pid()});
  rig.Until("rows", [&] { return rig.writer.File(1, "host_disk.data")->records > 0; });
  worker.End();
  // Rows made before the end may still be on their way for 100 ms, which is 5 rows.
  const uint64_t network = rig.writer.File(1, "host_network.data")->records;
  rig.Until("network to go on",
            [&] { return rig.writer.File(1, "host_network.data")->records > network + 8; });
  const std::string cpu = rig.writer.Text(1, "host_cpu.data");
  const std::string mem = rig.writer.Text(1, "host_mem.data");
  const uint64_t after = rig.writer.File(1, "host_network.data")->records;
  rig.Until("network to go on", [&] { return rig.writer.File(1, "host_network.data")->records > after + 8; });
  rig.Stop(1);
  EXPECT_EQ(rig.writer.Text(1, "host_cpu.data"), cpu);
  EXPECT_EQ(rig.writer.Text(1, "host_mem.data"), mem);
}

TEST(Sampler, ATargetThatIsGoneAlreadyHasNoRows) {
  SamplerRig rig;
  pid_t gone = 0;
  {
    Worker worker;
    gone = worker.pid();
  }
  rig.Start(1, {"host-cpu@50", "host-mem@50", "host-disk@50", "host-network@50"}, {gone});
  rig.Until("rows", [&] { return rig.writer.File(1, "host_network.data")->records > 2; });
  rig.Stop(1);
  EXPECT_EQ(rig.writer.Text(1, "host_cpu.data"), "");
  EXPECT_EQ(rig.writer.Text(1, "host_mem.data"), "");
  EXPECT_EQ(rig.writer.File(1, "host_disk.data")->records, 0u);
}

TEST(Sampler, AWriterThatStandsStillCostsRowsThatAreCounted) {
  Worker worker;
  SamplerRig rig(4096, 2);
  rig.Start(1, {"host-cpu@50", "host-network@50"}, {worker.pid()});
  // Nobody drains: nothing is stored any more, whatever is lost. Before, ticks may have been missed.
  uint64_t stored = 0;
  do {
    stored = rig.Stats(1, "host-cpu").read_records;
    const uint64_t cpu = rig.Stats(1, "host-cpu").lost_records,
                   network = rig.Stats(1, "host-network").lost_records;
    while (rig.Stats(1, "host-cpu").lost_records < cpu + 5 ||
           rig.Stats(1, "host-network").lost_records < network + 5)
      ::usleep(1000);  // between two looks at counters
  } while (rig.Stats(1, "host-cpu").read_records != stored);
  rig.Until("rows to come again", [&] { return rig.Stats(1, "host-cpu").read_records > stored + 5; });
  rig.Stop(1);
  const std::vector<CpuBlock> blocks = ParseCpuBlocks(rig.writer.Text(1, "host_cpu.data"));
  EXPECT_EQ(blocks.size(), rig.Stats(1, "host-cpu").read_records);
  ExpectAllAccountedFor(rig, 1, "host-cpu", {"host_cpu.data"});
  ExpectAllAccountedFor(rig, 1, "host-network", {"host_network.data"});
  bool pool_loss = false;
  for (const format::Loss& loss : rig.writer.File(1, "host_cpu.data")->losses) {
    if (loss.where != format::Loss::Where::kPool) continue;
    pool_loss = true;
    for (const CpuBlock& block : blocks)
      EXPECT_FALSE(loss.from_ns <= block.time_ns && block.time_ns <= loss.to_ns);
  }
  EXPECT_TRUE(pool_loss);
}

TEST(Sampler, ABlockThatFitsNoChunkIsCounted) {
  Worker worker;
  SamplerRig rig(256, 64);  // a stat line alone is longer
  worker.Tell("thread");
  rig.Start(1, {"host-cpu@50", "host-mem@50"}, {worker.pid()});
  rig.Until("losses", [&] { return rig.Stats(1, "host-cpu").lost_records > 3; });
  rig.Until("rows", [&] { return rig.Stats(1, "host-mem").read_records > 3; });
  rig.Stop(1);
  EXPECT_EQ(rig.writer.Text(1, "host_cpu.data"), "");
  ExpectAllAccountedFor(rig, 1, "host-cpu", {"host_cpu.data"});
}

TEST(Sampler, MissedTicksAreLossesWithTheirTime) {
  Worker worker;
  SamplerRig rig;
  rig.Start(1, {"host-mem@50", "host-disk@50"}, {worker.pid()});
  rig.Until("rows", [&] { return rig.writer.File(1, "host_disk.data")->records > 0; });

  // The thread "sample" calls make_spec: hold it there for some ticks.
  std::mutex mutex;
  std::condition_variable changed;
  bool entered = false;
  bool go_on = false;
  SampleRequest request = rig.Request(2, {"host-network@50"}, {});
  request.make_spec = [&](const std::string& folder, const std::string& file,
                          const chunk::StreamStatsPtr& stats) {
    std::unique_lock lock(mutex);
    entered = true;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
    return FakeWriter::MakeSpec(folder, file, stats);
  };
  bool started = false;
  rig.sampler.Start(std::move(request), [&](const base::Status& status) { started = status.ok(); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entered; });
    lock.unlock();
    ::usleep(200'000);  // it must not be started yet: there is no event of what does not happen
    lock.lock();
    go_on = true;
    changed.notify_all();
  }
  rig.Until("the second session", [&] { return started; });
  const uint64_t stored = rig.Stats(1, "host-mem").read_records;
  rig.Until("rows after that", [&] { return rig.Stats(1, "host-mem").read_records > stored + 3; });
  rig.Stop(2);
  rig.Stop(1);

  ExpectAllAccountedFor(rig, 1, "host-mem", {"host_mem.data"});
  ExpectAllAccountedFor(rig, 1, "host-disk", {"host_disk.data"});
  EXPECT_GE(rig.sampler.stats().missed_ticks, 8u);
  EXPECT_GE(rig.sampler.stats().max_late_ns, 160'000'000u);
  std::vector<uint64_t> stamps;
  for (const std::string& line : Lines(rig.writer.Text(1, "host_mem.data")))
    stamps.push_back(std::stoull(line));
  const StoredFile& mem = *rig.writer.File(1, "host_mem.data");
  ASSERT_FALSE(mem.losses.empty());
  uint64_t lost = 0;
  for (const format::Loss& loss : mem.losses) {
    EXPECT_EQ(loss.where, format::Loss::Where::kSampler);
    if (loss.from_ns < stamps.front()) continue;  // a slow start
    lost += loss.records;
    // From a row to a later one, with none between that was not there.
    EXPECT_TRUE(std::ranges::binary_search(stamps, loss.from_ns));
    EXPECT_TRUE(std::ranges::binary_search(stamps, loss.to_ns));
  }
  EXPECT_GE(lost, 8u);
  // Rows and losses together are the ticks of that time, but for the moments between deadline and stamp.
  const double periods = static_cast<double>(stamps.back() - stamps.front()) / 20e6;
  EXPECT_NEAR(static_cast<double>(stamps.size() - 1 + lost), periods, 3);
  // The vendor's reader counts the lines of host_disk: none may be missing, measured or not.
  uint64_t lines = 0;
  for (const std::string& line : Lines(rig.writer.Text(1, "host_disk.data")))
    lines += !line.starts_with("start_time");
  EXPECT_EQ(lines, rig.Stats(1, "host-disk").read_records + rig.Stats(1, "host-disk").lost_records);
}

TEST(Sampler, AReusedPidGoesOnInTheSameFile) {
  Worker worker;
  SamplerRig rig;
  const pid_t child = worker.TellForPid("fork");
  rig.Start(1, {"host-pid-cpu@50"}, {worker.pid()});
  const std::string name = std::to_string(child) + "-CpuUsage.data";
  const auto start_times = [&] {
    std::set<std::string> times;
    for (const Block& block : ParseBlocks(rig.writer.Text(1, name))) times.insert(Words(block.body).at(21));
    return times;
  };
  rig.Until("the first", [&] { return start_times().size() == 1; });
  worker.Tell("end-child");
  ::usleep(20'000);  // start times of processes count in ticks of 10 ms
  if (worker.TellForPid("fork-as " + std::to_string(child)) != child)
    GTEST_SKIP() << "no right to choose a pid";
  worker.Tell("thread");  // takes a pid that the kernel chooses, which is what makes the family look
  rig.Until("the second", [&] { return start_times().size() == 2; });
  rig.Stop(1);
  ExpectAllAccountedFor(rig, 1, "host-pid-cpu", {std::to_string(worker.pid()) + "-CpuUsage.data", name});
}

TEST(Sampler, TheEndOfTheSamplerEndsEverySession) {
  FakeCtl ctl;
  FakeWriter writer(1u << 16, 16);
  int answers = 0;
  {
    Sampler sampler(ctl.MakePost());
    for (const uint32_t trace : {1, 2}) {
      SampleRequest request;
      request.trace = trace;
      request.first_stream = 100 * trace;
      request.pipe = &writer.pipe();
      request.make_spec = FakeWriter::MakeSpec;
      request.probes.push_back({"host-network", 50, std::make_shared<chunk::StreamStats>(), nullptr});
      sampler.Start(std::move(request), [&](const base::Status&) { ++answers; });
    }
    while (answers < 2) ctl.RunPosted();
    sampler.Stop(1, [&] { ++answers; });
  }
  writer.Drain();
  EXPECT_TRUE(writer.Ended(1));
  EXPECT_TRUE(writer.Ended(2)) << "though nobody stopped it";
  ctl.RunPosted();
  EXPECT_EQ(answers, 3) << "an answer that comes after the end of the sampler does no harm";
}

TEST(Sampler, ManySessionsComeAndGo) {
  Worker worker;
  SamplerRig rig;
  for (uint32_t trace = 1; trace <= 30; ++trace) {
    rig.Start(trace, {"host-cpu@50", "host-mem@25", "host-sys-cpu@10"}, {worker.pid()});
    if (trace % 3 == 0) worker.Tell("thread");
    if (trace > 5) rig.Stop(trace - 5);
  }
  rig.Until("rows of the last", [&] { return rig.writer.File(30, "host_cpu.data")->records > 0; });
  for (uint32_t trace = 26; trace <= 30; ++trace) rig.Stop(trace);
  for (uint32_t trace = 1; trace <= 30; ++trace)
    ExpectAllAccountedFor(rig, trace, "host-cpu", {"host_cpu.data"});
}

TEST(Sampler, ReadsWhatIsAskedForAndNothingElse) {
  Worker worker;
  SamplerRig rig;
  std::optional<HostReading> reading;
  const auto read = [&](ReadingRequest request) {
    reading.reset();
    rig.sampler.Read(std::move(request), [&](const HostReading& got) { reading = got; });
    rig.Until("a reading", [&] { return reading.has_value(); });
  };
  read({.cpu = true, .memory = true, .load = true, .disk = true, .network = true, .pids = {worker.pid()}});
  EXPECT_GT(reading->cpus, 0u);
  EXPECT_GT(reading->cpu_ticks[0], 0u);
  EXPECT_GT(reading->memory_total, reading->memory_available);
  EXPECT_GT(reading->memory_available, 0u);
  ASSERT_EQ(reading->processes.size(), 1u);
  EXPECT_EQ(reading->processes[0].pid, worker.pid());
  EXPECT_GT(reading->processes[0].rss_bytes, 0u);
  EXPECT_EQ(reading->processes[0].threads, 1u);
  EXPECT_GT(reading->self.cpu_ticks, 0u);
  EXPECT_GT(reading->self.rss_bytes, 0u);
  worker.TellForPid("thread");
  read({.pids = {worker.pid()}});
  EXPECT_EQ(reading->processes[0].threads, 2u);
  EXPECT_EQ(reading->cpus + reading->memory_total + reading->disks.size() + reading->networks.size(), 0u);
}

TEST(Sampler, AProcessThatHasGoneIsNotInTheReading) {
  SamplerRig rig;
  std::optional<HostReading> reading;
  pid_t gone = 0;
  {
    const Worker worker;
    gone = worker.pid();
  }
  rig.sampler.Read({.pids = {gone}}, [&](const HostReading& got) { reading = got; });
  rig.Until("a reading", [&] { return reading.has_value(); });
  EXPECT_TRUE(reading->processes.empty());
}

TEST(Sampler, SamplesThatAreThinnedOutCountAsLost) {
  SamplerRig rig;
  rig.sampler.Thin(5);
  rig.Start(1, {"host-network@50"}, {});
  rig.Until("rows", [&] { return rig.writer.File(1, "host_network.data")->records >= 10; });
  rig.Stop(1);
  ExpectAllAccountedFor(rig, 1, "host-network", {"host_network.data"});
  const chunk::StreamStats& stats = rig.Stats(1, "host-network");
  EXPECT_GE(stats.lost_records, 4 * (stats.read_records - 2));
}

}  // namespace
}  // namespace profd::host
