#include "daemon/store/trace_writer.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <sys/resource.h>

#include <atomic>
#include <random>

#include "base/clock.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;
using chunk::Item;
using format::Loss;
using ::testing::HasSubstr;

constexpr uint32_t kTrace = 7;

class TraceWriterTest : public ::testing::Test {
 protected:
  fs::path Root() const { return dir_.path() / "PROF_1"; }
  fs::path Data() const { return Root() / "device_0" / "data"; }
  TempDir dir_;
};

TEST_F(TraceWriterTest, OpenMakesTheTreeAndAllControlFiles) {
  Harness harness;
  const mode_t before = ::umask(0077);
  const Status status = harness.Open(kTrace, SpecIn(dir_, "PROF_1", {"host", "device_0"}),
                                     {{.path = "device_0/info.json.0", .content = "{\"a\":1}"},
                                      {.path = "device_0/sample.json", .content = "{}", .done_blank = true},
                                      {.path = format::ManifestPath(), .content = "{}\n", .done = false}});
  ::umask(before);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Tree(Root()), (std::vector<std::string>{
                              format::kOwnFolder + std::string("/"), format::ManifestPath(), "device_0/",
                              "device_0/data/", "device_0/info.json.0", "device_0/info.json.0.done",
                              "device_0/sample.json", "device_0/sample.json.done", "host/", "host/data/"}));
  EXPECT_EQ(ReadFile(Root() / "device_0" / "info.json.0"), "{\"a\":1}");
  EXPECT_EQ(ReadFile(Root() / "device_0" / "info.json.0.done"), "filesize:7\n");
  EXPECT_EQ(ReadFile(Root() / "device_0" / "sample.json.done"), "filesize: 2\n");
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
    EXPECT_EQ(static_cast<unsigned>(entry.status().permissions()), entry.is_directory() ? 0750U : 0640U)
        << entry;
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  const TraceRecord record = harness.Snapshot(kTrace);
  EXPECT_EQ(record.bytes, bytes);
  EXPECT_EQ(record.error, "");
  EXPECT_TRUE(harness.Close(kTrace).ok());
}

// Every single call that Open() makes fails once: each time the error comes back and nothing stays on disk.
TEST_F(TraceWriterTest, AFailedOpenLeavesNothing) {
  int calls = 0;
  int failing = 0;
  FaultyFileSystem faulty;
  faulty.before = [&](const std::string& call) {
    return calls++ == failing ? Status::FromErrno("made to fail: " + call, EIO) : Status::Ok();
  };
  faulty.part = [](size_t bytes) { return bytes / 2; };
  Harness harness(faulty);
  for (;; ++failing) {
    calls = 0;
    const Status status = harness.Open(kTrace, SpecIn(dir_, "PROF_1", {"host", "device_0"}),
                                       {{.path = "host/info.json", .content = "{}"},
                                        {.path = format::ManifestPath(), .content = "{}", .done = false}});
    if (status.ok()) break;
    EXPECT_THAT(status.message(), HasSubstr("made to fail"));
    EXPECT_THAT(status.message(), HasSubstr("PROF_1"));
    EXPECT_TRUE(fs::is_empty(dir_.path())) << "call " << failing;
    EXPECT_EQ(harness.Close(kTrace).code(), Code::kNotFound);
  }
  EXPECT_GE(failing, 6 + 3 * 3);  // six folders; create, append, rename for each of three files
  EXPECT_FALSE(fs::is_empty(dir_.path()));
}

TEST_F(TraceWriterTest, OpenRefusesWhatIsThereAndNamesThatAreNone) {
  Harness harness;
  fs::create_directory(dir_.path() / "real");
  fs::create_directory_symlink("real", dir_.path() / "PROF_1");
  EXPECT_EQ(harness.Open(kTrace, SpecIn(dir_)).code(), Code::kAlreadyExists);
  EXPECT_EQ(harness.Open(kTrace, SpecIn(dir_, "../PROF_2")).code(), Code::kInvalidArgument);
  EXPECT_EQ(harness.Open(kTrace, SpecIn(dir_, "PROF_3", {"../device_0"})).code(), Code::kInvalidArgument);
  for (const char* path : {"../info", "device_0/../info", "device_1/info", "device_0/data/../info",
                           "device_0/data/", "", ".profiler/"}) {
    EXPECT_EQ(harness.Open(kTrace, SpecIn(dir_, "PROF_4"), {{.path = path, .content = "x"}}).code(),
              Code::kInvalidArgument)
        << path;
  }
  EXPECT_EQ(Tree(dir_.path()), (std::vector<std::string>{"PROF_1", "real/"}));

  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_, "PROF_5")).ok());
  EXPECT_EQ(harness.Open(kTrace, SpecIn(dir_, "PROF_6")).code(),
            Code::kAlreadyExists);  // the number is taken
  EXPECT_FALSE(fs::exists(dir_.path() / "PROF_6"));
}

TEST_F(TraceWriterTest, FilesBelongToTheOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: needs root";
  constexpr uid_t kUser = 12345;
  constexpr gid_t kGroup = 23456;
  const gid_t root_group = 0;
  ASSERT_EQ(::setgroups(1, &root_group), 0);
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 4096, 4);
  TraceSpec denied = SpecIn(dir_);
  denied.uid = kUser;
  denied.gid = kGroup;
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0770),
            0);  // root's group may, and profd's groups must not be the user's
  EXPECT_EQ(harness.Open(kTrace, std::move(denied)).code(), Code::kPermissionDenied);
  EXPECT_TRUE(fs::is_empty(dir_.path()));

  ASSERT_EQ(::chown(dir_.path().c_str(), kUser, kGroup), 0);
  TraceSpec spec = SpecIn(dir_);
  spec.uid = kUser;
  spec.gid = kGroup;
  ASSERT_TRUE(
      harness.Open(kTrace, std::move(spec), {{.path = "device_0/info.json.0", .content = "{}"}}).ok());
  // Another owner's trace in between must not change whose files the first one's are.
  ASSERT_TRUE(harness.Open(kTrace + 1, SpecIn(dir_, "PROF_2")).ok());
  harness.writer().AddStream({kTrace, 0}, StreamOf("device_0", "f"));
  PushData(pipe, {kTrace, 0}, std::string(4096, 'x'), 1);
  PushEnd(pipe, kTrace);
  EXPECT_EQ(RecordOf(harness.Seal(kTrace, 1), 0).bytes, 4096U);
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
    struct stat found {};
    ASSERT_EQ(::lstat(entry.path().c_str(), &found), 0);
    const bool users = entry.path().string().find("PROF_1") != std::string::npos;
    EXPECT_EQ(found.st_uid, users ? kUser : 0U) << entry;
    EXPECT_EQ(found.st_gid, users ? kGroup : 0U) << entry;
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 4U);
}

// Random records of random sizes from several source threads over many streams: on disk is what was pushed.
TEST_F(TraceWriterTest, WhatIsPushedIsOnDiskCutAtRecordEdges) {
  constexpr size_t kSources = 3;
  constexpr size_t kStreamsEach = 5;
  constexpr size_t kChunkBytes = 6000;
  constexpr uint64_t kSliceBytes = 20'000;
  struct Stream {
    size_t record_bytes = 0;
    std::string pushed;
    std::vector<size_t> chunks;
    chunk::StreamStatsPtr stats;
  };
  Harness harness;
  TraceSpec spec = SpecIn(dir_);
  spec.slice_bytes = kSliceBytes;
  std::vector<chunk::Pipe*> pipes;
  for (size_t i = 0; i < kSources; ++i) pipes.push_back(&harness.writer().AddPipe("p", kChunkBytes, 4));
  ASSERT_TRUE(harness.Open(kTrace, std::move(spec)).ok());
  std::vector<Stream> streams(kSources * kStreamsEach);
  std::mt19937 seeds(42);
  for (size_t i = 0; i < streams.size(); ++i) {
    streams[i].record_bytes = 1 + seeds() % 200;
    chunk::StreamSpec stream = StreamOf("device_0", "s" + std::to_string(i));
    streams[i].stats = stream.stats;
    harness.writer().AddStream({kTrace, static_cast<uint32_t>(i)}, std::move(stream));
  }
  std::vector<std::thread> sources;
  for (size_t source = 0; source < kSources; ++source) {
    sources.emplace_back([&, source, seed = seeds()] {
      std::mt19937 random(static_cast<unsigned>(seed));
      for (int i = 0; i < 400; ++i) {
        const size_t number = source * kStreamsEach + random() % kStreamsEach;
        Stream& stream = streams[number];
        const size_t records = 1 + random() % (kChunkBytes / stream.record_bytes);
        std::string data(records * stream.record_bytes, '\0');
        for (char& byte : data) byte = static_cast<char>(random());
        PushData(*pipes[source], {kTrace, static_cast<uint32_t>(number)}, data,
                 static_cast<uint32_t>(records));
        stream.pushed += data;
        stream.chunks.push_back(data.size());
      }
      PushEnd(*pipes[source], kTrace);
    });
  }
  const TraceRecord record = harness.Seal(kTrace, kSources);
  for (std::thread& source : sources) source.join();

  EXPECT_EQ(record.error, "");
  EXPECT_EQ(harness.writer().dropped_chunks(), 0U);
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(Data())) bytes += entry.file_size();
  EXPECT_EQ(record.bytes, bytes);
  for (size_t i = 0; i < streams.size(); ++i) {
    const Stream& stream = streams[i];
    const std::string file = "s" + std::to_string(i);
    ASSERT_EQ(JoinSlices(Data(), file), stream.pushed) << file;
    // What the rule says: cut behind the chunk that makes it big enough, which is twice as much after a quick
    // one.
    std::vector<size_t> slices(1);
    uint64_t full = kSliceBytes;
    for (const size_t chunk : stream.chunks) {
      if (slices.back() >= full) {
        slices.push_back(0);
        full = std::min(2 * full, 16 * kSliceBytes);
      }
      slices.back() += chunk;
    }
    const StreamRecord& found = RecordOf(record, static_cast<uint32_t>(i));
    EXPECT_EQ(found.slices, slices.size());
    EXPECT_EQ(found.bytes, stream.pushed.size());
    EXPECT_EQ(found.records, stream.pushed.size() / stream.record_bytes);
    EXPECT_TRUE(found.losses.empty());
    EXPECT_EQ(stream.stats->stored_bytes, stream.pushed.size());
    EXPECT_EQ(stream.stats->stored_records, found.records);
    for (size_t k = 0; k < slices.size(); ++k) {
      const fs::path slice = Data() / format::SliceName(file, -1, k);
      EXPECT_EQ(fs::file_size(slice), slices[k]);
      EXPECT_EQ(slices[k] % stream.record_bytes, 0U);
      EXPECT_EQ(ReadFile(slice.string() + ".done"), format::SliceDone(slices[k]));
    }
  }
}

TEST_F(TraceWriterTest, BytesAreOnDiskBeforeTheSeal) {
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 4096, 4);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  chunk::StreamSpec spec = StreamOf(format::kOwnFolder, "lanes");
  const chunk::StreamStatsPtr stats = spec.stats;
  harness.writer().AddStream({kTrace, 0}, std::move(spec));
  PushData(pipe, {kTrace, 0}, "some bytes", 2);
  while (stats->stored_bytes == 0) std::this_thread::yield();
  EXPECT_EQ(ReadFile(Root() / format::kOwnFolder / "lanes.slice_0"), "some bytes");
  EXPECT_FALSE(fs::exists(Root() / format::kOwnFolder / "lanes.slice_0.done"));
}

// However many are pushed, and whatever else the writer was told meanwhile.
TEST_F(TraceWriterTest, FlushAnswersWhenAllThatWasPushedIsStored) {
  constexpr uint64_t kChunks = 1000;
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 64, kChunks);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  harness.writer().AddStream({kTrace, 0}, StreamOf(format::kOwnFolder, "lanes"));
  for (uint64_t round = 1; round <= 3; ++round) {
    for (uint64_t i = 0; i < kChunks; ++i) PushData(pipe, {kTrace, 0}, "1 record", 1);
    EXPECT_EQ(RecordOf(harness.Flush(kTrace), 0).records, round * kChunks);
  }
}

// A chunk may reach the writer before the command that announces its stream; it must not be taken for a
// stranger.
TEST_F(TraceWriterTest, AnnouncementsAreNeverOvertaken) {
  constexpr uint32_t kStreams = 3000;
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 64, 8);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  for (uint32_t i = 0; i < kStreams; ++i) {
    const uint32_t trace = 100 + i;
    if (i % 100 == 0)
      harness.writer().Open(trace, SpecIn(dir_, "PROF_" + std::to_string(trace)), {}, [](const Status&) {});
    const format::StreamKey key = i % 100 == 0 ? format::StreamKey{trace, 0} : format::StreamKey{kTrace, i};
    harness.writer().AddStream(key, StreamOf("device_0", "s" + std::to_string(i)));
    PushData(pipe, key, "x", 1);
  }
  PushEnd(pipe, kTrace);
  const TraceRecord record = harness.Seal(kTrace, 1);
  EXPECT_EQ(harness.writer().dropped_chunks(), 0U);
  uint64_t records = 0;
  for (const StreamRecord& stream : record.streams) records += stream.records;
  EXPECT_EQ(records, kStreams - kStreams / 100);
}

TEST_F(TraceWriterTest, SourcesAnnounceStreamsAndLosses) {
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 4096, 4);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_, "PROF_1", {"host"})).ok());
  auto spec = std::make_shared<chunk::StreamSpec>(StreamOf("host", "42-Memory.data"));
  Item announce;
  announce.what = Item::What::kStream;
  announce.key = {kTrace, 9};
  announce.spec = spec;
  PushItem(pipe, announce);
  PushData(pipe, {kTrace, 9}, "a\n", 1);
  Item loss;
  loss.what = Item::What::kLoss;
  loss.key = {kTrace, 9};
  loss.loss = {.where = Loss::Where::kSampler, .from_ns = 1, .to_ns = 2, .records = 3, .bytes = 0};
  PushItem(pipe, loss);
  PushData(pipe, {kTrace, 9}, "b\n", 1);
  PushItem(pipe, loss);
  PushItem(pipe, loss);
  // Of streams and traces nobody knows: ignored.
  loss.key = {kTrace, 10};
  PushItem(pipe, loss);
  loss.key = {kTrace + 1, 9};
  PushItem(pipe, loss);
  PushEnd(pipe, kTrace + 1);
  announce.spec = nullptr;
  announce.key = {kTrace, 11};
  PushItem(pipe, announce);
  PushEnd(pipe, kTrace);
  const TraceRecord record = harness.Seal(kTrace, 1);
  ASSERT_EQ(record.streams.size(), 1U);
  const StreamRecord& stream = record.streams[0];
  EXPECT_EQ(stream.key, (format::StreamKey{kTrace, 9}));
  EXPECT_EQ(stream.folder, "host");
  EXPECT_EQ(stream.file, "42-Memory.data");
  ASSERT_EQ(stream.losses.size(), 2U);
  EXPECT_EQ(stream.losses[0].records, 3U);
  EXPECT_EQ(stream.losses[1].records, 6U);
  EXPECT_EQ(ReadFile(Root() / "host" / "data" / "42-Memory.data.slice_0"), "a\nb\n");
  // What a source lost is the source's to count.
  EXPECT_EQ(spec->stats->write_lost_records, 0U);
}

TEST_F(TraceWriterTest, ADiskThatFailsCostsCountedChunksOnly) {
  std::atomic<bool> failing = false;
  FaultyFileSystem faulty;
  faulty.before = [&](const std::string& call) {
    return failing ? Status::FromErrno(call, EIO) : Status::Ok();
  };
  Harness harness(faulty);
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 4096, 4);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  chunk::StreamSpec spec = StreamOf("device_0", "f");
  const chunk::StreamStatsPtr stats = spec.stats;
  harness.writer().AddStream({kTrace, 0}, std::move(spec));
  const auto settle = [&](uint64_t records) {
    while (stats->stored_records + stats->write_lost_records < records) std::this_thread::yield();
  };
  PushData(pipe, {kTrace, 0}, "first ", 1, 10, 20);
  settle(1);
  failing = true;
  PushData(pipe, {kTrace, 0}, "second ", 2, 20, 30);
  PushData(pipe, {kTrace, 0}, "third ", 3, 30, 40);
  settle(6);
  failing = false;
  PushData(pipe, {kTrace, 0}, "fourth ", 4, 40, 50);
  PushEnd(pipe, kTrace);
  const TraceRecord record = harness.Seal(kTrace, 1);
  EXPECT_EQ(ReadFile(Data() / "f.slice_0"), "first fourth ");
  EXPECT_EQ(record.error, "device_0/f.slice_0: append: Input/output error");
  const StreamRecord& stream = RecordOf(record, 0);
  EXPECT_EQ(stream.records, 5U);
  ASSERT_EQ(stream.losses.size(), 1U);
  EXPECT_EQ(stream.losses[0].where, Loss::Where::kWrite);
  EXPECT_EQ(stream.losses[0].from_ns, 20U);
  EXPECT_EQ(stream.losses[0].to_ns, 40U);
  EXPECT_EQ(stream.losses[0].records, 5U);
  EXPECT_EQ(stream.losses[0].bytes, 13U);
  EXPECT_EQ(stats->stored_bytes, 13U);
  EXPECT_EQ(stats->write_lost_bytes, 13U);
  EXPECT_EQ(stats->write_lost_records, 5U);
}

TEST_F(TraceWriterTest, AStreamInAnUnknownFolderIsSaidAndCounted) {
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", 4096, 4);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  chunk::StreamSpec spec = StreamOf("device_9", "f");
  const chunk::StreamStatsPtr stats = spec.stats;
  harness.writer().AddStream({kTrace, 0}, std::move(spec));
  PushData(pipe, {kTrace, 0}, "data", 1);
  PushEnd(pipe, kTrace);
  EXPECT_EQ(harness.Seal(kTrace, 1).error, "device_9/f: no such folder in this trace");
  EXPECT_EQ(stats->write_lost_records, 1U);
}

TEST_F(TraceWriterTest, SealWaitsForEveryEndMark) {
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

TEST_F(TraceWriterTest, SealGivesUpAtTheDeadlineAndCountsWhatComesLater) {
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

TEST_F(TraceWriterTest, APauseLeavesOutWhatLiesWithinAndLosesNothing) {
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

TEST_F(TraceWriterTest, ChunksOfUnknownTracesComeBack) {
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

TEST_F(TraceWriterTest, CloseAnswersAWaitingSealFirst) {
  Harness harness;
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  bool sealed = false;
  harness.writer().Seal(kTrace, 1, UINT64_MAX,
                        [&](const TraceRecord& record) { sealed = record.error.empty(); });
  EXPECT_TRUE(harness.Close(kTrace).ok());
  EXPECT_TRUE(sealed);
}

TEST_F(TraceWriterTest, DiscardRemovesOurFilesAndNothingElse) {
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

TEST_F(TraceWriterTest, ControlFilesAreReplacedAtomically) {
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

TEST_F(TraceWriterTest, TheDestructorWritesWhatIsQueued) {
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
TEST_F(TraceWriterTest, DescriptorsMayRunOut) {
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

TEST_F(TraceWriterTest, AnIdleWriterSleeps) {
  Harness harness(PosixFileSystem(), "write-idle");
  harness.writer().AddPipe("p", 64, 8);
  ASSERT_TRUE(harness.Open(kTrace, SpecIn(dir_)).ok());
  ASSERT_TRUE(harness.Close(kTrace).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until it sleeps, which nothing tells
  const uint64_t before = SwitchesOf("write-idle");
  // It must not wake: there is no event of what does not happen.
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_EQ(SwitchesOf("write-idle"), before);
}

}  // namespace
}  // namespace profd::store
