#include "daemon/store/slice.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>

#include "format/directory/prof_dir.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;

class SliceTest : public ::testing::Test {
 protected:
  std::unique_ptr<SliceWriter> Make(chunk::StreamSpec spec, uint64_t slice_bytes = 100) {
    return std::make_unique<SliceWriter>(faulty_, open_, budget_, fd_.get(), slice_bytes, std::move(spec));
  }
  static Status Append(SliceWriter& slices, const std::string& data) {
    return slices.Append(reinterpret_cast<const std::byte*>(data.data()), data.size());
  }
  // As the writer does it: cut behind the append that fills the slice.
  static Status AppendAndCut(SliceWriter& slices, const std::string& data) {
    PROFD_RETURN_IF_ERROR(Append(slices, data));
    return slices.Full() ? slices.Finish() : Status::Ok();
  }
  void FailWith(const std::string& call, int error) {
    faulty_.before = [=](const std::string& made) {
      return made == call ? Status::FromErrno(call, error) : Status::Ok();
    };
  }
  void Heal() {
    faulty_.before = [](const std::string&) { return Status::Ok(); };
  }
  int UnfinishedAfterAKill(size_t bytes, size_t at_a_time, useconds_t after_us);
  std::string Slice(int number) { return ReadFile(dir_.path() / ("f.slice_" + std::to_string(number))); }

  TempDir dir_;
  base::UniqueFd fd_ = dir_.Open();
  FaultyFileSystem faulty_;
  OpenFiles open_{8};
  Budget budget_;
};

TEST_F(SliceTest, CutsBehindTheAppendThatFillsASlice) {
  const auto slices = Make(StreamOf("device_0", "f"));
  EXPECT_TRUE(Tree(dir_.path()).empty());
  ASSERT_TRUE(AppendAndCut(*slices, std::string(60, 'a')).ok());
  EXPECT_EQ(Tree(dir_.path()), std::vector<std::string>{"f.slice_0"});
  ASSERT_TRUE(AppendAndCut(*slices, std::string(60, 'b')).ok());
  ASSERT_TRUE(AppendAndCut(*slices, std::string(100, 'c')).ok());
  ASSERT_TRUE(AppendAndCut(*slices, std::string(100, 'c')).ok());
  ASSERT_TRUE(AppendAndCut(*slices, std::string(99, 'd')).ok());
  EXPECT_EQ(slices->slices(), 3U);
  ASSERT_TRUE(slices->Finish().ok());
  ASSERT_TRUE(slices->Finish().ok());  // nothing is open: nothing happens
  EXPECT_EQ(slices->slices(), 3U);
  EXPECT_EQ(Slice(0), std::string(60, 'a') + std::string(60, 'b'));
  EXPECT_EQ(Slice(1), std::string(200, 'c'));  // the first was full in no time
  EXPECT_EQ(Slice(2), std::string(99, 'd'));
  EXPECT_EQ(ReadFile(dir_.path() / "f.slice_0.done"), "filesize:120\nstarttime:0\nendtime  :0\n");
  EXPECT_EQ(Tree(dir_.path()).size(), 6U);
  uint64_t on_disk = 0;
  for (const auto& entry : fs::directory_iterator(dir_.path())) on_disk += entry.file_size();
  EXPECT_EQ(slices->disk_bytes(), on_disk);
}

TEST_F(SliceTest, FastStreamsGetLargerSlices) {
  const auto slices = Make(StreamOf("device_0", "f"));
  for (int i = 0; i < 63; ++i) ASSERT_TRUE(AppendAndCut(*slices, std::string(100, 'x')).ok());
  std::vector<size_t> sizes;
  for (int i = 0; i < 6; ++i) sizes.push_back(Slice(i).size());
  EXPECT_EQ(sizes, (std::vector<size_t>{100, 200, 400, 800, 1600, 1600}));
}

TEST_F(SliceTest, OneSliceNeverCuts) {
  chunk::StreamSpec spec = StreamOf("device_0", "f");
  spec.one_slice = true;
  const auto slices = Make(std::move(spec));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(AppendAndCut(*slices, std::string(90, 'x')).ok());
  ASSERT_TRUE(slices->Finish().ok());
  EXPECT_EQ(Tree(dir_.path()), (std::vector<std::string>{"f.slice_0", "f.slice_0.done"}));
  EXPECT_EQ(Slice(0).size(), 900U);
}

TEST_F(SliceTest, HeadersStandAtTheTopOfTheirSlices) {
  chunk::StreamSpec every = StreamOf("device_0", "f");
  every.every_slice_header = "every\n";
  const auto slices = Make(std::move(every));
  chunk::StreamSpec first = StreamOf("device_0", "g");
  first.first_slice_header = "first\n";
  const auto others = Make(std::move(first));
  for (const size_t bytes : {100, 200}) {
    ASSERT_TRUE(AppendAndCut(*slices, std::string(bytes, 'x')).ok());
    ASSERT_TRUE(AppendAndCut(*others, std::string(bytes, 'x')).ok());
  }
  EXPECT_EQ(Slice(0), "every\n" + std::string(100, 'x'));
  EXPECT_EQ(Slice(1), "every\n" + std::string(200, 'x'));
  EXPECT_EQ(ReadFile(dir_.path() / "f.slice_1.done"), format::SliceDone(206));
  EXPECT_EQ(ReadFile(dir_.path() / "g.slice_0"), "first\n" + std::string(100, 'x'));
  EXPECT_EQ(ReadFile(dir_.path() / "g.slice_1"), std::string(200, 'x'));
}

TEST_F(SliceTest, AFailedAppendIsCutBackAndTheNextGoesOn) {
  chunk::StreamSpec spec = StreamOf("device_0", "f");
  spec.every_slice_header = "head\n";
  const auto slices = Make(std::move(spec));
  ASSERT_TRUE(Append(*slices, "first").ok());
  FailWith("append", ENOSPC);
  faulty_.part = [](size_t bytes) { return bytes / 2; };
  const Status status = Append(*slices, "second");
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "device_0/f.slice_0: append: No space left on device");
  EXPECT_EQ(Slice(0), "head\nfirst");
  Heal();
  ASSERT_TRUE(Append(*slices, "third").ok());
  ASSERT_TRUE(slices->Finish().ok());
  EXPECT_EQ(Slice(0), "head\nfirstthird");
}

TEST_F(SliceTest, ATornTailThatCannotBeCutTakesNoBytesUntilItCan) {
  const auto slices = Make(StreamOf("device_0", "f"));
  ASSERT_TRUE(Append(*slices, "first").ok());
  faulty_.part = [](size_t) { return size_t{3}; };
  faulty_.before = [](const std::string& call) {
    return call == "append" || call == "truncate" ? Status::FromErrno(call, EIO) : Status::Ok();
  };
  EXPECT_FALSE(Append(*slices, "second").ok());
  EXPECT_EQ(Slice(0), "firstsec");
  FailWith("truncate", EIO);
  EXPECT_FALSE(Append(*slices, "third").ok());
  EXPECT_EQ(Slice(0), "firstsec");
  Heal();
  ASSERT_TRUE(Append(*slices, "fourth").ok());
  EXPECT_EQ(Slice(0), "firstfourth");

  faulty_.before = [](const std::string& call) {
    return call == "append" || call == "truncate" ? Status::FromErrno(call, EIO) : Status::Ok();
  };
  EXPECT_FALSE(Append(*slices, "fifth").ok());
  Heal();
  ASSERT_TRUE(slices->Finish().ok());  // the last chance to cut
  EXPECT_EQ(Slice(0), "firstfourth");
  EXPECT_EQ(ReadFile(dir_.path() / "f.slice_0.done"), format::SliceDone(11));
}

TEST_F(SliceTest, ASliceWithoutDataLeavesNoFile) {
  chunk::StreamSpec spec = StreamOf("device_0", "f");
  spec.every_slice_header = "head\n";
  const auto slices = Make(std::move(spec));
  int appends = 0;
  faulty_.before = [&](const std::string& call) {
    return call == "append" && ++appends > 1 ? Status::FromErrno(call, ENOSPC) : Status::Ok();
  };
  EXPECT_FALSE(Append(*slices, "data").ok());
  EXPECT_EQ(Slice(0), "head\n");
  Heal();
  ASSERT_TRUE(slices->Finish().ok());
  EXPECT_TRUE(Tree(dir_.path()).empty());
  EXPECT_EQ(slices->slices(), 0U);
  ASSERT_TRUE(Append(*slices, "data").ok());
  EXPECT_EQ(Slice(0), "head\ndata");
}

TEST_F(SliceTest, AMarkerThatFailsIsReportedAndCostsNoData) {
  const auto slices = Make(StreamOf("device_0", "f"));
  ASSERT_TRUE(Append(*slices, "data").ok());
  FailWith("rename", EIO);
  EXPECT_FALSE(slices->Finish().ok());
  EXPECT_EQ(Tree(dir_.path()), std::vector<std::string>{"f.slice_0"});
  Heal();
  ASSERT_TRUE(Append(*slices, "more").ok());
  EXPECT_EQ(Slice(0), "data");
  EXPECT_EQ(Slice(1), "more");
}

// Whatever fails, in whatever part: what Append() accepted is there, whole and in order, and nothing else.
TEST_F(SliceTest, RandomFaultsNeverMisalignAStream) {
  std::mt19937 random(20261121);
  const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
  unsigned failing_of_10 = 0;
  faulty_.before = [&](const std::string& call) {
    return below(10) < failing_of_10 ? Status::FromErrno(call, below(2) == 0 ? ENOSPC : EIO) : Status::Ok();
  };
  faulty_.part = [&](size_t bytes) { return below(static_cast<unsigned>(bytes)); };
  size_t refused = 0;
  for (int stream = 0; stream < 20; ++stream) {
    const std::string file = "s" + std::to_string(stream);
    const auto slices = Make(StreamOf("device_0", file), 1000);
    std::string accepted;
    for (int i = 0; i < 100; ++i) {
      failing_of_10 = below(3) == 0 ? 5 : 0;
      const std::string data(24 * (1 + below(20)), static_cast<char>('a' + i % 26));
      if (Append(*slices, data).ok()) {
        accepted += data;
      } else {
        ++refused;
      }
      if (slices->Full()) {
        failing_of_10 = 0;
        ASSERT_TRUE(slices->Finish().ok());
      }
    }
    failing_of_10 = 0;
    ASSERT_TRUE(slices->Finish().ok());
    ASSERT_EQ(JoinSlices(dir_.path(), file), accepted) << file;
  }
  EXPECT_GT(refused, 100U);
}

TEST_F(SliceTest, ReplaceFileLeavesOldOrNew) {
  ASSERT_TRUE(ReplaceFile(faulty_, open_, fd_.get(), "info", "old").ok());
  for (const char* call : {"create", "append", "rename"}) {
    FailWith(call, EIO);
    faulty_.part = [](size_t bytes) { return bytes / 2; };
    EXPECT_FALSE(ReplaceFile(faulty_, open_, fd_.get(), "info", "newer").ok());
    EXPECT_EQ(ReadFile(dir_.path() / "info"), "old");
    EXPECT_EQ(Tree(dir_.path()), std::vector<std::string>{"info"}) << call;
  }
  Heal();
  // What a killed profd left beside it, even a planted link, is no obstacle.
  std::ofstream(dir_.path() / "victim") << "precious";
  fs::create_symlink("victim", dir_.path() / ".info.tmp");
  ASSERT_TRUE(ReplaceFile(faulty_, open_, fd_.get(), "info", "new").ok());
  EXPECT_EQ(ReadFile(dir_.path() / "info"), "new");
  EXPECT_EQ(ReadFile(dir_.path() / "victim"), "precious");
}

TEST_F(SliceTest, FewDescriptorsServeManyStreams) {
  std::vector<std::unique_ptr<SliceWriter>> streams;
  for (int i = 0; i < 50; ++i) streams.push_back(Make(StreamOf("device_0", "s" + std::to_string(i)), 1000));
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < streams.size(); ++i) {
      ASSERT_TRUE(Append(*streams[i], std::to_string(i) + "," + std::to_string(round) + ";").ok());
      ASSERT_LE(open_.size(), 8U);
    }
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(JoinSlices(dir_.path(), "s" + n), n + ",0;" + n + ",1;" + n + ",2;");
  }
}

TEST_F(SliceTest, TheFileInUseStaysOpen) {
  const auto busy = Make(StreamOf("device_0", "busy"), 1000);
  std::vector<std::unique_ptr<SliceWriter>> others;
  ASSERT_TRUE(Append(*busy, "x").ok());
  int opened = 0;
  faulty_.before = [&](const std::string& call) {
    opened += call == "open" ? 1 : 0;
    return Status::Ok();
  };
  for (int i = 0; i < 20; ++i) {
    others.push_back(Make(StreamOf("device_0", "s" + std::to_string(i)), 1000));
    ASSERT_TRUE(Append(*others.back(), "y").ok());
    ASSERT_TRUE(Append(*busy, "x").ok());
  }
  EXPECT_EQ(opened, 0);
}

TEST_F(SliceTest, ADescriptorShortageIsMetByClosingFiles) {
  std::vector<std::unique_ptr<SliceWriter>> streams;
  faulty_.before = [&](const std::string& call) {
    return (call == "create" || call == "open") && open_.size() >= 4 ? Status::FromErrno(call, EMFILE)
                                                                     : Status::Ok();
  };
  for (int i = 0; i < 12; ++i) {
    streams.push_back(Make(StreamOf("device_0", "s" + std::to_string(i)), 1000));
    ASSERT_TRUE(Append(*streams.back(), "x").ok()) << i;
  }
  for (const auto& stream : streams) ASSERT_TRUE(Append(*stream, "y").ok());
  for (int i = 0; i < 12; ++i) EXPECT_EQ(JoinSlices(dir_.path(), "s" + std::to_string(i)), "xy");
}

// Records of `bytes` that say where they are, appended `at_a_time` until a kill comes. What they have left.
std::string KilledWhileAppending(SliceWriter& slices, size_t bytes, size_t at_a_time, useconds_t after_us,
                                 const fs::path& file) {
  std::array<int, 2> begun{};
  EXPECT_EQ(::pipe2(begun.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string data;
    for (uint64_t record = 1;;) {
      data.clear();
      for (size_t i = 0; i < at_a_time; ++i, ++record) {
        std::string one(bytes, '#');
        std::memcpy(one.data(), &record, sizeof record);
        data += one;
      }
      if (!slices.Append(reinterpret_cast<const std::byte*>(data.data()), data.size()).ok()) ::_exit(1);
      if (record == at_a_time + 1 && ::write(begun[1], "x", 1) != 1) ::_exit(1);
    }
  }
  char ready = 0;
  EXPECT_EQ(::read(begun[0], &ready, 1), 1);
  ::usleep(after_us);  // any moment: that is the test
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int end : begun) ::close(end);
  return ReadFile(file);
}

// How many of the records that a kill leaves are not what was appended.
int SliceTest::UnfinishedAfterAKill(size_t bytes, size_t at_a_time, useconds_t after_us) {
  chunk::StreamSpec spec = StreamOf("device_0", "killed");
  spec.records = chunk::StreamSpec::Records::kFixed;
  spec.record_bytes = static_cast<uint32_t>(bytes);
  const auto slices = Make(std::move(spec), 1ull << 40);
  const fs::path file = dir_.path() / "killed.slice_0";
  const std::string left = KilledWhileAppending(*slices, bytes, at_a_time, after_us, file);
  fs::remove(file);
  EXPECT_EQ(left.size() % bytes, 0U);
  int unfinished = 0;
  for (uint64_t record = 1; record <= left.size() / bytes; ++record) {
    std::string expected(bytes, '#');
    std::memcpy(expected.data(), &record, sizeof record);
    unfinished += left.substr((record - 1) * bytes, bytes) != expected;
  }
  return unfinished;
}

TEST_F(SliceTest, AKillLeavesWholeRecordsThatFillPages) {
  for (useconds_t round = 0; round < 60; ++round)
    ASSERT_EQ(UnfinishedAfterAKill(64, 1000, 37 * round), 0) << round;
}

// The one across a page's edge takes two writes: its begin may be missing, nothing else may.
TEST_F(SliceTest, AKillLeavesAtMostOneRecordUnfinished) {
  for (useconds_t round = 0; round < 60; ++round)
    ASSERT_LE(UnfinishedAfterAKill(24, 100, 37 * round), 1) << round;
}

// A user may do what he likes in his own directory; profd must not be led elsewhere by it.
TEST_F(SliceTest, PlantedLinksAreNotFollowed) {
  std::ofstream(dir_.path() / "victim") << "precious";
  fs::create_symlink("victim", dir_.path() / "f.slice_0");
  const auto slices = Make(StreamOf("device_0", "f"));
  EXPECT_EQ(Append(*slices, "data").code(), Code::kAlreadyExists);
  fs::remove(dir_.path() / "f.slice_0");
  ASSERT_TRUE(Append(*slices, "data").ok());

  // Swapped while the file is closed for want of descriptors.
  std::vector<std::unique_ptr<SliceWriter>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(Make(StreamOf("device_0", "s" + std::to_string(i))));
    ASSERT_TRUE(Append(*others.back(), "y").ok());
  }
  fs::rename(dir_.path() / "f.slice_0", dir_.path() / "moved");
  fs::create_symlink("victim", dir_.path() / "f.slice_0");
  EXPECT_FALSE(Append(*slices, "more").ok());
  EXPECT_EQ(ReadFile(dir_.path() / "victim"), "precious");
}

}  // namespace
}  // namespace profd::store
