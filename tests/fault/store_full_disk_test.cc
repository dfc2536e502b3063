// A disk that really is full: a small tmpfs of the test's own.
#include <sched.h>
#include <sys/mount.h>

#include <random>

#include "daemon/store/spool/spool.h"
#include "daemon/store/trace_writer.h"
#include "format/directory/prof_dir.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kTrace = 1;
constexpr size_t kRecordBytes = 24;
constexpr size_t kChunkRecords = 700;

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    // A name space of this thread's own, so that nothing stays mounted however the test ends.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("profd-test", dir_.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      GTEST_SKIP() << "NOT RUN: mounting a tmpfs needs root (" << std::strerror(errno) << ")";
    }
  }
  void TearDown() override { ::umount2(dir_.path().c_str(), MNT_DETACH); }
  fs::path Data() const { return dir_.path() / "PROF_1" / "device_0" / "data"; }
  TempDir dir_;
};

std::string Chunk(int number) {
  return std::string(kChunkRecords * kRecordBytes, static_cast<char>('A' + number % 26));
}

TEST_F(FullDisk, CostsWhatDoesNotFitAndGoesOnWhenThereIsRoom) {
  std::ofstream(dir_.path() / "ballast") << std::string(400'000, 'b');
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", kChunkRecords * kRecordBytes, 4);
  TraceSpec spec = SpecIn(dir_);
  spec.slice_bytes = 100'000;
  ASSERT_TRUE(
      harness.Open(kTrace, std::move(spec), {{.path = "device_0/info.json.0", .content = "{}"}}).ok());
  chunk::StreamSpec stream = StreamOf("device_0", "f");
  const chunk::StreamStatsPtr stats = stream.stats;
  harness.writer().AddStream({kTrace, 0}, std::move(stream));
  uint64_t pushed = 0;
  const auto push = [&] {
    PushData(pipe, {kTrace, 0}, Chunk(static_cast<int>(pushed)), kChunkRecords, pushed, pushed + 1);
    ++pushed;
    while (stats->stored_records + stats->write_lost_records < pushed * kChunkRecords)
      std::this_thread::yield();
  };
  std::string kept;
  const auto push_and_note = [&] {
    const uint64_t before = stats->stored_records;
    const std::string data = Chunk(static_cast<int>(pushed));
    push();
    if (stats->stored_records > before) kept += data;
  };
  while (stats->write_lost_records < 10 * kChunkRecords) push_and_note();
  const uint64_t lost = stats->write_lost_records;
  EXPECT_LT(SpaceOf(dir_.Open().get())->free_bytes, kChunkRecords * kRecordBytes);

  fs::remove(dir_.path() / "ballast");
  for (int i = 0; i < 10; ++i) push_and_note();
  EXPECT_EQ(stats->write_lost_records, lost);
  PushEnd(pipe, kTrace);
  const TraceRecord record = harness.Seal(kTrace, 1);

  EXPECT_NE(record.error.find("No space left on device"), std::string::npos) << record.error;
  EXPECT_NE(record.error.find("device_0/f.slice_"), std::string::npos) << record.error;
  EXPECT_EQ(JoinSlices(Data(), "f"), kept);
  EXPECT_EQ(stats->stored_bytes, kept.size());
  EXPECT_EQ(stats->stored_records + stats->write_lost_records, pushed * kChunkRecords);
  EXPECT_EQ(stats->stored_bytes + stats->write_lost_bytes, pushed * kChunkRecords * kRecordBytes);
  uint64_t in_intervals = 0;
  for (const format::Loss& loss : RecordOf(record, 0).losses) {
    EXPECT_EQ(loss.where, format::Loss::Where::kWrite);
    in_intervals += loss.records;
  }
  EXPECT_EQ(in_intervals, stats->write_lost_records);
  for (const auto& entry : fs::directory_iterator(Data())) {
    const std::string name = entry.path().filename().string();
    EXPECT_NE(name.front(), '.') << name;
    if (entry.path().extension() == ".done") {
      EXPECT_EQ(ReadFile(entry.path()),
                format::SliceDone(fs::file_size(entry.path().parent_path() / entry.path().stem())));
    } else {
      EXPECT_EQ(entry.file_size() % kRecordBytes, 0U) << name;
    }
  }
}

TEST_F(FullDisk, RefusesATraceThatDoesNotFitAndLeavesNothing) {
  std::ofstream ballast(dir_.path() / "ballast");
  while (ballast.write(std::string(4096, 'b').data(), 4096).flush()) {
  }
  Harness harness;
  const base::Status status =
      harness.Open(kTrace, SpecIn(dir_), {{.path = "device_0/info.json.0", .content = "{}"}});
  EXPECT_EQ(status.code(), base::Code::kResourceExhausted);
  EXPECT_NE(status.message().find("No space left on device"), std::string::npos) << status.message();
  EXPECT_EQ(Tree(dir_.path()), std::vector<std::string>{"ballast"});
}

}  // namespace
}  // namespace profd::store
