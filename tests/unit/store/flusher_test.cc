#include "daemon/store/files/flusher.h"

#include <gmock/gmock.h>

#include <atomic>
#include <deque>

#include "daemon/store/files/flushed_file_system.h"
#include "daemon/store/files/write_probe.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

using base::Status;

constexpr uint64_t kMs = 1'000'000;

// Shared with the thread that outlives a flusher.
struct Disk {
  std::atomic<int> syncs{0};
  std::atomic<int> evictions{0};
  std::atomic<int> error{0};
  FaultyFileSystem fs;
  Disk() {
    fs.before = [this](const std::string& call) {
      if (call == "sync") ++syncs;
      if (call == "evict") ++evictions;
      return call == "sync" && error != 0 ? Status::FromErrno(call, error) : Status::Ok();
    };
  }
};

class FlusherTest : public ::testing::Test {
 protected:
  void Write(FlushedFileSystem& fs, const std::string& name) {
    const auto file = fs.CreateFile(fd_.get(), name);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(fs.Append(file->get(), 0, "data", 4, 0).ok());
    fs.Closed(file->get());
  }
  void WaitFor(int syncs) const {
    while (disk_.syncs < syncs) std::this_thread::yield();
  }

  // Never freed: the thread may still be at work when the test is over.
  static Disk& NewDisk() {
    static auto& disks = *new std::deque<Disk>;
    return disks.emplace_back();
  }

  Disk& disk_ = NewDisk();
  TempDir dir_;
  base::UniqueFd fd_ = dir_.Open();
};

TEST_F(FlusherTest, FlushesFilesAndTheirFolderOnce) {
  Flusher flusher(disk_.fs, Durability::kPeriodic, 20 * kMs);
  FlushedFileSystem fs(disk_.fs, &flusher);
  const auto file = fs.CreateFile(fd_.get(), "f");
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(fs.Append(file->get(), i, "x", 1, 0).ok());
  WaitFor(2);
  EXPECT_LE(disk_.syncs, 4);
}

TEST_F(FlusherTest, GoesOnAsLongAsThereIsSomething) {
  Flusher flusher(disk_.fs, Durability::kPeriodic, 0);
  FlushedFileSystem fs(disk_.fs, &flusher);
  Write(fs, "a");
  WaitFor(2);
  Write(fs, "b");
  WaitFor(4);
}

TEST_F(FlusherTest, AlwaysIsFlushedBeforeItCounts) {
  Flusher flusher(disk_.fs, Durability::kAlways, 0);
  FlushedFileSystem fs(disk_.fs, &flusher);
  const auto file = fs.CreateFile(fd_.get(), "f");
  EXPECT_EQ(disk_.syncs, 1);  // of its name
  ASSERT_TRUE(fs.Append(file->get(), 0, "x", 1, 0).ok());
  EXPECT_EQ(disk_.syncs, 2);
  ASSERT_TRUE(fs.Rename(fd_.get(), "f", "g").ok());
  EXPECT_EQ(disk_.syncs, 3);
}

TEST_F(FlusherTest, AlwaysMakesNoFileThatMayNotLast) {
  disk_.error = EIO;
  Flusher flusher(disk_.fs, Durability::kAlways, 0);
  FlushedFileSystem fs(disk_.fs, &flusher);
  EXPECT_FALSE(fs.CreateFile(fd_.get(), "f").ok());
  EXPECT_FALSE(fs.MakeDir(fd_.get(), "d").ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(FlusherTest, SlicesWhenTheyAreClosed) {
  Flusher flusher(disk_.fs, Durability::kSlice, 0);
  FlushedFileSystem fs(disk_.fs, &flusher);
  const auto open = fs.CreateFile(fd_.get(), "open");
  ASSERT_TRUE(fs.Append(open->get(), 0, "x", 1, 0).ok());
  Write(fs, "closed");
  WaitFor(1);
  EXPECT_EQ(disk_.syncs, 1);
}

TEST_F(FlusherTest, HoldsNothingThatWasRemoved) {
  Flusher flusher(disk_.fs, Durability::kPeriodic, 3'600'000 * kMs);
  FlushedFileSystem fs(disk_.fs, &flusher);
  Write(fs, "a");
  const auto held = [this] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      count +=
          std::filesystem::read_symlink(entry, ignored).string().starts_with(dir_.path().string() + "/a");
    }
    return count;
  };
  EXPECT_EQ(held(), 1U);
  ASSERT_TRUE(fs.Remove(fd_.get(), "a").ok());
  EXPECT_EQ(held(), 0U);
  Write(fs, "a");
  Write(fs, "b");
  ASSERT_TRUE(fs.Rename(fd_.get(), "b", "a").ok());
  EXPECT_EQ(held(), 1U);                                    // what was "b"
  ASSERT_TRUE(std::filesystem::remove(dir_.path() / "a"));  // by somebody else
  EXPECT_EQ(held(), 1U);
  Flusher::LetGoOfRemoved();
  EXPECT_EQ(held(), 0U);
}

TEST_F(FlusherTest, WhatALongTraceWritesLeavesMemory) {
  {
    Flusher flusher(disk_.fs, Durability::kPeriodic, 3'600'000 * kMs);  // once, at its end
    FlushedFileSystem fs(disk_.fs, &flusher, 2 * 4);
    Write(fs, "a");
    Write(fs, "b");
    Write(fs, "c");
    const auto open = fs.CreateFile(fd_.get(), "open");
    ASSERT_TRUE(fs.Append(open->get(), 0, "x", 1, 0).ok());
  }
  while (disk_.evictions < 2) std::this_thread::yield();
  WaitFor(5);  // and the folder
  EXPECT_EQ(disk_.evictions, 2);
}

TEST_F(FlusherTest, NoneNeverDoes) {
  Flusher flusher(disk_.fs, Durability::kNone, 0);
  FlushedFileSystem fs(disk_.fs, &flusher);
  Write(fs, "a");
  EXPECT_EQ(disk_.syncs, 0);
}

TEST_F(FlusherTest, WhatTheDiskRefusesIsSaid) {
  disk_.error = EIO;
  Flusher flusher(disk_.fs, Durability::kPeriodic, 0);
  FlushedFileSystem fs(disk_.fs, &flusher);
  Write(fs, "a");
  while (fs.error().empty()) std::this_thread::yield();
  EXPECT_THAT(fs.error(), ::testing::HasSubstr("Input/output error"));
}

TEST_F(FlusherTest, TheEndWaitsForNoDiskAndLosesNothing) {
  {
    Flusher flusher(disk_.fs, Durability::kPeriodic, 3'600'000 * kMs);
    FlushedFileSystem fs(disk_.fs, &flusher);
    Write(fs, "a");
  }
  WaitFor(2);  // at once, not in an hour
}

// A trace with one chunk, and another one under way to a disk that flushes it only when the test lets it.
class AlwaysTest : public FlusherTest {
 protected:
  AlwaysTest() {
    disk_.fs.before = [this](const std::string& call) {
      if (call != "sync" || !held_) return Status::Ok();
      waiting_ = true;
      while (held_) std::this_thread::yield();
      return error_ == 0 ? Status::Ok() : Status::FromErrno(call, error_);
    };
    EXPECT_TRUE(harness_.Open(kTrace, SpecIn(dir_)).ok());
    chunk::StreamSpec spec = StreamOf("device_0", "f");
    stats_ = spec.stats;
    harness_.writer().AddStream({kTrace, 0}, std::move(spec));
    PushData(pipe_, {kTrace, 0}, "first ", 1);
    while (stats_->stored_records == 0) std::this_thread::yield();
    held_ = true;
    PushData(pipe_, {kTrace, 0}, "second ", 1);
    while (!waiting_) std::this_thread::yield();
  }
  ~AlwaysTest() override { held_ = false; }

  static constexpr uint32_t kTrace = 7;
  std::atomic<bool> held_{false};
  std::atomic<bool> waiting_{false};
  std::atomic<int> error_{0};
  chunk::StreamStatsPtr stats_;
  Harness harness_{disk_.fs, "write", Durability::kAlways};
  chunk::Pipe& pipe_ = harness_.writer().AddPipe("p", 4096, 4);
};

TEST_F(AlwaysTest, NothingCountsAsStoredBeforeItIsFlushed) {
  EXPECT_EQ(stats_->stored_records, 1U);
  held_ = false;
  while (stats_->stored_records == 1) std::this_thread::yield();
  EXPECT_EQ(harness_.Seal(kTrace, 0).error, "");
}

TEST_F(AlwaysTest, WhatCannotBeFlushedIsLostAndSaid) {
  error_ = EIO;
  held_ = false;
  while (stats_->write_lost_records == 0) std::this_thread::yield();
  EXPECT_EQ(stats_->stored_records, 1U);
  EXPECT_THAT(harness_.Snapshot(kTrace).error, ::testing::HasSubstr("Input/output error"));
  PushData(pipe_, {kTrace, 0}, "third", 1);
  while (stats_->stored_records == 1) std::this_thread::yield();
  harness_.Seal(kTrace, 0);
  EXPECT_EQ(JoinSlices(dir_.path() / "PROF_1/device_0/data", "f"), "first third");
}

TEST(WriteProbe, SaysARateAndLeavesNothing) {
  TempDir dir;
  const base::UniqueFd fd = dir.Open();
  const auto rate = ProbeWriteRate(fd.get(), ::geteuid(), ::getegid());
  if (!rate.ok() && rate.status().code() == base::Code::kUnimplemented)
    GTEST_SKIP() << rate.status().message();
  ASSERT_TRUE(rate.ok()) << rate.status().message();
  EXPECT_GT(*rate, 0);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  EXPECT_FALSE(ProbeWriteRate(-1, ::geteuid(), ::getegid()).ok());
}

}  // namespace
}  // namespace profd::store
