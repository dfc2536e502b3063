// How traces end: seals, pauses, what is discarded, a writer that goes.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>

#include "base/clock.h"
#include "daemon/store/trace_writer.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Code;
using format::Loss;

constexpr uint32_t kTrace = 7;

class TraceEndTest : public ::testing::Test {
 protected:
  fs::path Root() const { return dir_.path() / "PROF_1"; }
  fs::path Data() const { return Root() / "device_0" / "data"; }
  TempDir dir_;
};

TEST_F(TraceEndTest, SealWaitsForEveryEndMark) {
  Harness harness;
  chunk::Pipe& first = harness.writer().AddPipe("a", 4096, 4);
  chunk::Pipe& second = harness.writer().AddPipe("b", 4096, 4);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  harness.writer().AddStream({kTrace, 0}, StreamOf("device_0", "f"));
  std::atomic<bool> sealed = false;
  PushEnd(first, kTrace);
  harness.writer().Seal(kTrace, 2, UINT64_MAX, [&](const TraceRecord&) { sealed = true; });
  for (int i = 0; i < 5; ++i) harness.Snapshot(kTrace);  // answered after the Seal() would have been
  EXPECT_FALSE(sealed);
  PushData(second, {kTrace, 0}, "late but in time", 1);
  PushEnd(second, kTrace);
  while (!sealed) harness.Snapshot(kTrace);
  EXPECT_EQ(ReadFile(Data() / "f.slice_0"), "late but in time");
}

TEST_F(TraceEndTest, SealGivesUpAtTheDeadlineAndCountsWhatComesLater) {
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 4096, 4);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  chunk::StreamSpec spec = StreamOf("device_0", "f");
  const chunk::StreamStatsPtr stats = spec.stats;
  harness.writer().AddStream({kTrace, 0}, std::move(spec));
  PushData(pipe, {kTrace, 0}, "in time", 1);
  while (stats->stored_bytes == 0) std::this_thread::yield();
  const uint64_t deadline = base::MonotonicNs() + 30'000'000;
  const TraceRecord record = harness.Seal(kTrace, 1, deadline);
  EXPECT_GE(base::MonotonicNs(), deadline);
  EXPECT_EQ(RecordOf(record, 0).bytes, 7U);
  EXPECT_TRUE(fs::exists(Data() / "f.slice_0.done"));
  PushData(pipe, {kTrace, 0}, "too late", 1, 5, 6);
  PushEnd(pipe, kTrace);
  while (stats->write_lost_records == 0) std::this_thread::yield();
  EXPECT_EQ(ReadFile(Data() / "f.slice_0"), "in time");
  const StreamRecord stream = RecordOf(harness.Snapshot(kTrace), 0);
  ASSERT_EQ(stream.losses.size(), 1U);
  EXPECT_EQ(stream.losses[0].where, Loss::Where::kWrite);
  // Asked again, it answers at once.
  EXPECT_EQ(harness.Seal(kTrace, 5).streams.size(), 1U);
  harness.writer().Replace(kTrace, {{.path = "device_0/end_info.0", .content = "{}"}});
  EXPECT_TRUE(harness.Close(kTrace).ok());
  EXPECT_TRUE(fs::exists(Root() / "device_0" / "end_info.0.done"));
}

TEST_F(TraceEndTest, AtTheDeadlineWhatWaitsForASlowDiskIsStillWritten) {
  constexpr size_t kChunks = 200;  // more than the writer takes in a round
  std::atomic<bool> stands_still = true;
  FaultyFileSystem disk;
  disk.before = [&](const std::string& call) {
    while (call == "append" && stands_still) std::this_thread::yield();
    return base::Status::Ok();
  };
  Harness harness(disk);
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 16, kChunks);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  chunk::StreamSpec spec = StreamOf("device_0", "f");
  const chunk::StreamStatsPtr stats = spec.stats;
  harness.writer().AddStream({kTrace, 0}, std::move(spec));
  for (size_t i = 0; i < kChunks; ++i) PushData(pipe, {kTrace, 0}, "x", 1);
  std::atomic<bool> sealed = false;
  harness.writer().Seal(kTrace, 1, base::MonotonicNs(), [&](const TraceRecord&) { sealed = true; });
  stands_still = false;
  while (!sealed) harness.Snapshot(kTrace);
  EXPECT_EQ(stats->stored_records, kChunks);
  EXPECT_EQ(stats->write_lost_records, 0U);
}

TEST_F(TraceEndTest, APauseLeavesOutWhatLiesWithinAndLosesNothing) {
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 4096, 4);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  harness.writer().AddStream({kTrace, 0}, StreamOf("device_0", "f"));
  chunk::StreamSpec whole = StreamOf("device_0", "whole");
  whole.whole = true;
  harness.writer().AddStream({kTrace, 1}, std::move(whole));
  EXPECT_EQ(harness.Pause(kTrace, true, 100).pauses.size(), 1U);
  EXPECT_EQ(harness.Pause(kTrace, true, 150).pauses.size(), 1U);  // it is already
  PushData(pipe, {kTrace, 0}, "before ", 1, 90, 99);
  PushData(pipe, {kTrace, 0}, "into ", 1, 95, 105);
  PushData(pipe, {kTrace, 0}, "within ", 1, 100, 110);
  PushData(pipe, {kTrace, 1}, "whole", 1, 100, 110);
  harness.Flush(kTrace);
  harness.Pause(kTrace, false, 200);
  PushData(pipe, {kTrace, 0}, "late ", 1, 190, 200);  // of the pause, and comes after it
  PushData(pipe, {kTrace, 0}, "out of ", 1, 195, 205);
  PushData(pipe, {kTrace, 0}, "after", 1, 201, 210);
  const TraceRecord record = harness.Flush(kTrace);
  ASSERT_EQ(record.pauses.size(), 1U);
  EXPECT_EQ(record.pauses[0].from_ns, 100U);
  EXPECT_EQ(record.pauses[0].to_ns, 200U);
  EXPECT_EQ(record.pauses[0].reason, "asked for");
  EXPECT_EQ(RecordOf(record, 0).records, 4U);
  EXPECT_TRUE(RecordOf(record, 0).losses.empty());
  EXPECT_TRUE(harness.Close(kTrace).ok());
  EXPECT_EQ(ReadFile(Data() / "f.slice_0"), "before into out of after");
  EXPECT_EQ(ReadFile(Data() / "whole.slice_0"), "whole");
}

TEST_F(TraceEndTest, ChunksOfUnknownTracesComeBack) {
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 4096, 4);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  for (int i = 0; i < 10; ++i) PushData(pipe, {kTrace, 5}, "x", 1);      // no such stream
  for (int i = 0; i < 10; ++i) PushData(pipe, {kTrace + 1, 0}, "x", 1);  // no such trace
  while (harness.writer().dropped_chunks() < 20) std::this_thread::yield();
  EXPECT_EQ(harness.writer().dropped_chunks(), 20U);
  EXPECT_EQ(harness.Close(kTrace + 1).code(), Code::kNotFound);
  EXPECT_NE(harness.Snapshot(kTrace + 1).error, "");
  EXPECT_NE(harness.Seal(kTrace + 1, 1).error, "");
  harness.Discard(kTrace + 1);
}

TEST_F(TraceEndTest, CloseAnswersAWaitingSealFirst) {
  Harness harness;
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  bool sealed = false;
  harness.writer().Seal(kTrace, 1, UINT64_MAX,
                        [&](const TraceRecord& record) { sealed = record.error.empty(); });
  EXPECT_TRUE(harness.Close(kTrace).ok());
  EXPECT_TRUE(sealed);
}

TEST_F(TraceEndTest, DiscardRemovesOurFilesAndNothingElse) {
  Harness harness;
  const std::vector<ControlFile> control = {{.path = "device_0/info.json.0", .content = "{}"},
                                            {.path = format::ManifestPath(), .content = "{}", .done = false}};
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_), control).ok());
  harness.Discard(kTrace);
  EXPECT_TRUE(fs::is_empty(dir_.path()));

  // What has been stored already goes with it.
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_), control).ok());
  harness.writer().AddStream({kTrace, 0}, StreamOf("device_0", "f"));
  chunk::Pipe& pipe = harness.writer().AddPipe("test", 4096, 4);
  for (int i = 0; i < 10; ++i) PushData(pipe, {kTrace, 0}, std::string(1000, 'a'), 1);
  EXPECT_EQ(harness.Flush(kTrace).streams.at(0).records, 10U);
  harness.Discard(kTrace);
  EXPECT_TRUE(fs::is_empty(dir_.path()));

  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_), control).ok());
  std::ofstream(Root() / "device_0" / "notes") << "the user's";
  harness.Discard(kTrace);
  EXPECT_EQ(Tree(dir_.path()),
            (std::vector<std::string>{"PROF_1/", "PROF_1/device_0/", "PROF_1/device_0/notes"}));
}

TEST_F(TraceEndTest, ControlFilesAreReplacedAtomically) {
  Harness harness;
  const auto text = [](int version) {
    return std::string(10'000 + version % 100, static_cast<char>('a' + version % 26));
  };
  ASSERT_TRUE(
      harness.Open(kTrace, SpecIn(dir_), {{.path = "device_0/info.json.0", .content = text(0)}}).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::thread reader([&] {
    while (!stop) {
      const std::string found = ReadFile(Root() / "device_0" / "info.json.0");
      EXPECT_GE(found.size(), 10'000U);
      EXPECT_EQ(found.find_first_not_of(found[0]), std::string::npos);
      ++reads;
    }
  });
  int version = 0;
  while (version < 200 || reads < 50) {
    harness.writer().Replace(kTrace, {{.path = "device_0/info.json.0", .content = text(++version)}});
    harness.Snapshot(kTrace);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(ReadFile(Root() / "device_0" / "info.json.0"), text(version));
  EXPECT_EQ(harness.Snapshot(kTrace).bytes, text(version).size() + std::string("filesize:10000\n").size());
}

TEST_F(TraceEndTest, TheDestructorWritesWhatIsQueued) {
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 64, 64);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  harness.writer().AddStream({kTrace, 0}, StreamOf("device_0", "f"));
  bool sealed = false;
  harness.writer().Seal(kTrace, 1, UINT64_MAX, [&](const TraceRecord&) { sealed = true; });
  std::string pushed;
  for (int i = 0; i < 64; ++i) {
    pushed += std::to_string(i) + "\n";
    PushData(pipe, {kTrace, 0}, std::to_string(i) + "\n", 1);
  }
  harness.writer().Replace(kTrace, {{.path = format::ManifestPath(), .content = "{}", .done = false}});
  harness.Destroy();
  EXPECT_TRUE(sealed);
  EXPECT_EQ(ReadFile(Data() / "f.slice_0"), pushed);
  EXPECT_EQ(ReadFile(Data() / "f.slice_0.done"), format::SliceDone(pushed.size()));
  EXPECT_TRUE(fs::exists(Root() / format::ManifestPath()));
}

// Fewer descriptors than streams, and then hardly any left in the process: everything still arrives.
TEST_F(TraceEndTest, DescriptorsMayRunOut) {
  constexpr uint32_t kStreams = 100;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 64, 8);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  for (uint32_t i = 0; i < kStreams; ++i) {
    harness.writer().AddStream({kTrace, i}, StreamOf("device_0", "s" + std::to_string(i)));
  }
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(dir_.Open().get()) + 12;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  for (const char* piece : {"one ", "two ", "three"}) {
    for (uint32_t i = 0; i < kStreams; ++i) PushData(pipe, {kTrace, i}, piece, 1);
  }
  PushEnd(pipe, kTrace);
  const TraceRecord record = harness.Seal(kTrace, 1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(record.error, "");
  for (uint32_t i = 0; i < kStreams; ++i) {
    EXPECT_EQ(ReadFile(Data() / format::SliceName("s" + std::to_string(i), -1, 0)), "one two three") << i;
    EXPECT_TRUE(fs::exists(Data() / (format::SliceName("s" + std::to_string(i), -1, 0) + ".done"))) << i;
  }
}

// How often a thread of this process gave up the processor.
uint64_t SwitchesOf(const std::string& thread) {
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    if (ReadFile(task.path() / "comm") != thread + "\n") continue;
    std::istringstream status(ReadFile(task.path() / "status"));
    uint64_t total = 0;
    for (std::string line; std::getline(status, line);) {
      const size_t at = line.find("ctxt_switches:");
      if (at != std::string::npos) total += std::stoull(line.substr(at + 14));
    }
    return total;
  }
  ADD_FAILURE() << "no thread " << thread;
  return 0;
}

TEST_F(TraceEndTest, AnIdleWriterSleeps) {
  Harness harness(PosixFileSystem(), "write-idle");
  harness.writer().AddPipe("p", 64, 8);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  ASSERT_TRUE(harness.Close(kTrace).ok());
  // Until it sleeps, which nothing tells but that it stays so.
  uint64_t before = SwitchesOf("write-idle");
  for (uint64_t earlier = before + 1; earlier != before; before = SwitchesOf("write-idle")) {
    earlier = before;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // between two looks
  }
  // It must not wake: there is no event of what does not happen.
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_EQ(SwitchesOf("write-idle"), before);
}

}  // namespace
}  // namespace profd::store
