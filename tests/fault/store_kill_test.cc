// kill -9 while the writer is at work: whatever the moment, the files hold whole records only.
#include <unistd.h>

#include <random>

#include "daemon/store/trace_writer.h"
#include "format/directory/prof_dir.h"
#include "tests/fault/victim.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kTrace = 1;
constexpr uint32_t kStreams = 3;
constexpr size_t kRecordBytes = 24;  // HBM's
constexpr size_t kChunkBytes = 64 << 10;
constexpr uint64_t kSliceBytes = 256 << 10;
constexpr const char* kDirectory = "PROFD_KILL_TEST_DIRECTORY";

// The bytes of a stream from record `first` on: each record says which it is, and no byte of it is zero.
std::string Records(uint32_t stream, uint64_t first, size_t count) {
  std::string data;
  data.reserve(count * kRecordBytes);
  for (uint64_t number = first; number < first + count; ++number) {
    std::string record(kRecordBytes, static_cast<char>('a' + stream));
    for (size_t i = 0; i < 8; ++i) record[i] = static_cast<char>(1 + (number >> (7 * i)) % 128);
    data += record;
  }
  return data;
}

// Not a test: what the killed process runs, until it is killed.
TEST(StoreKill, DISABLED_Victim) {
  const char* directory = ::getenv(kDirectory);
  ASSERT_NE(directory, nullptr);
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", kChunkBytes, 8);
  TraceSpec spec;
  spec.parent.Reset(::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  spec.name = "PROF_1";
  spec.folders = {"device_0"};
  spec.uid = ::geteuid();
  spec.gid = ::getegid();
  spec.slice_bytes = kSliceBytes;
  const auto info = [](size_t i) {
    return ControlFile{.path = "device_0/info.json.0", .content = std::string(5000 + i % 5000, 'i') + "\n"};
  };
  ASSERT_TRUE(harness.Open(kTrace, std::move(spec), {info(0)}).ok());
  for (uint32_t i = 0; i < kStreams; ++i) {
    harness.writer().AddStream({kTrace, i}, StreamOf("device_0", "s" + std::to_string(i)));
  }
  ASSERT_EQ(::write(STDOUT_FILENO, "!", 1), 1);  // the tree stands
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  std::vector<uint64_t> next(kStreams);
  for (size_t i = 0;; ++i) {
    const uint32_t stream = random() % kStreams;
    const size_t count = 1 + random() % (kChunkBytes / kRecordBytes);
    PushData(pipe, {kTrace, stream}, Records(stream, next[stream], count), static_cast<uint32_t>(count));
    next[stream] += count;
    if (i % 16 == 0) harness.writer().Replace(kTrace, {info(i)});
  }
}

TEST(StoreKill, FilesHoldWholeRecordsAfterAKillAtAnyMoment) {
  std::mt19937 random(7);
  uint64_t bytes = 0;
  int unfinished = 0;
  for (int round = 0; round < 60; ++round) {
    const TempDir dir;
    RunAndKill("StoreKill.DISABLED_Victim", kDirectory, dir.path(),
               std::chrono::microseconds(random() % 20'000));
    if (::testing::Test::HasFailure()) return;
    const fs::path device = dir.path() / "PROF_1" / "device_0";
    const std::string info = ReadFile(device / "info.json.0");
    EXPECT_EQ(info.find('\n'), info.size() - 1);  // one whole version
    for (uint32_t stream = 0; stream < kStreams; ++stream) {
      const std::string file = "s" + std::to_string(stream);
      const std::string found = JoinSlices(device / "data", file);
      bytes += found.size();
      ASSERT_EQ(found.size() % kRecordBytes, 0U) << file << " in round " << round;
      const std::string expected = Records(stream, 0, found.size() / kRecordBytes);
      if (found == expected) continue;
      // The kernel stopped the very last write in the middle: zeros are all that may be wrong, within one
      // chunk.
      ++unfinished;
      for (size_t i = 0; i < found.size(); ++i) {
        const bool last_chunk = i + kChunkBytes >= found.size();
        ASSERT_TRUE(found[i] == expected[i] || (last_chunk && found[i] == 0)) << file << " at " << i;
      }
    }
    for (const auto& entry : fs::directory_iterator(device / "data")) {
      if (entry.path().extension() != ".done") continue;
      if (entry.path().filename().string().front() == '.') continue;
      fs::path slice = entry.path();
      slice.replace_extension();
      EXPECT_EQ(ReadFile(entry.path()), format::SliceDone(fs::file_size(slice)));
    }
  }
  EXPECT_GT(bytes, 0U);
  std::printf("%d of 180 streams ended in a write that the kill cut short\n", unfinished);
}

}  // namespace
}  // namespace profd::store
