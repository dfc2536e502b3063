// From the open to what lies on the disk.
#include "daemon/store/trace_writer.h"

#include <gmock/gmock.h>
#include <grp.h>

#include <atomic>
#include <random>

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

}  // namespace
}  // namespace profd::store
