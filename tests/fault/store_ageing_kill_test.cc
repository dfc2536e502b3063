// kill -9 while slices age: after the recovery the manifest's counts are exactly what is there and what has
// gone.
//
// PROFD_KILL_ROUNDS sets how often (20 by default).
#include <unistd.h>

#include <random>

#include "base/clock.h"
#include "daemon/store/trace_writer.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "format/records/device.h"
#include "tests/fault/victim.h"
#include "tests/unit/store/recover_all.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kTrace = 1;
constexpr uint32_t kDevices = 2;
constexpr size_t kChunkBytes = 32 << 10;
constexpr uint64_t kLimit = 2 << 20;
constexpr const char* kName = "PROF_000001_20261121055338123_00000001ABCDEFGH";
constexpr const char* kDirectory = "PROFD_KILL_TEST_DIRECTORY";

std::string FileOf(uint32_t device) { return "hbm.data." + std::to_string(device); }

// Each record says which it is, from 1 on.
std::string Records(uint64_t first, size_t count) {
  std::string data;
  for (uint64_t number = first; number < first + count; ++number) {
    const format::HbmRecord record{number, 1234, static_cast<uint32_t>(number & 1), 3};
    data.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  return data;
}

// In every second process the streams are newer than the last manifest.
ControlFile ManifestFile(bool with_streams) {
  format::Manifest manifest;
  manifest.session = "3f2a91c0";
  manifest.state = "running";
  format::ManifestClock clock;
  clock.pair.wall_ns = base::WallNs();
  clock.pair.host_raw_ns = base::RawNs();
  manifest.clocks.push_back(clock);
  for (uint32_t device = 0; device < kDevices && with_streams; ++device) {
    format::ManifestStream& stream = manifest.streams.emplace_back();
    stream.kind = "hbm";
    stream.unit = "device:" + std::to_string(device);
    stream.folder = "device_" + std::to_string(device);
    stream.file = FileOf(device);
  }
  return {.path = format::ManifestPath(), .content = format::WriteManifest(manifest), .done = false};
}

// Not a test: what the killed process runs, until it is killed.
TEST(StoreAgeingKill, DISABLED_Victim) {
  const char* directory = ::getenv(kDirectory);
  ASSERT_NE(directory, nullptr);
  Harness harness;
  chunk::Pipe& pipe = harness.writer().AddPipe("p", kChunkBytes, 8);
  TraceSpec spec;
  spec.parent.Reset(::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  spec.name = kName;
  std::vector<ControlFile> files = {ManifestFile(::getpid() % 2 == 0)};
  for (uint32_t device = 0; device < kDevices; ++device) {
    const std::string folder = "device_" + std::to_string(device);
    spec.folders.push_back(folder);
    files.push_back(
        {.path = folder + "/info.json." + std::to_string(device), .content = R"({"platform_version": "5"})"});
  }
  spec.uid = ::geteuid();
  spec.gid = ::getegid();
  spec.slice_bytes = 64 << 10;
  const auto budget = std::make_shared<Budget>(kLimit);
  spec.budget = budget;
  ASSERT_TRUE(harness.Open(kTrace, std::move(spec), files).ok());
  for (uint32_t device = 0; device < kDevices; ++device) {
    harness.writer().AddStream({kTrace, device},
                               StreamOf("device_" + std::to_string(device), FileOf(device)));
  }
  // Of every second process slices have aged before it is killed, however slow the machine; the others are
  // killed at any moment from here on.
  bool is_ready = false;
  const bool ages_first = ::getpid() / 2 % 2 == 0;
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  std::vector<uint64_t> next(kDevices, 1);
  for (;;) {
    if (!is_ready && (!ages_first || budget->aged_records() > 0)) {
      is_ready = true;
      ASSERT_EQ(::write(STDOUT_FILENO, "!", 1), 1);
    }
    const uint32_t device = random() % kDevices;
    const size_t count = 1 + random() % (kChunkBytes / sizeof(format::HbmRecord));
    const uint64_t now = base::RawNs();
    PushData(pipe, {kTrace, device}, Records(next[device], count), static_cast<uint32_t>(count), now, now);
    next[device] += count;
  }
}

// What a device's slices hold: numbers of the first and the last record.
std::pair<uint64_t, uint64_t> OnDisk(const fs::path& data, const std::string& file) {
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  uint64_t count = 0;
  for (const auto& entry : fs::directory_iterator(data)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(file + ".slice_") || name.ends_with(".done")) continue;
    const std::string bytes = ReadFile(entry.path());
    EXPECT_EQ(bytes.size() % sizeof(format::HbmRecord), 0U) << name;
    for (size_t at = 0; at < bytes.size(); at += sizeof(format::HbmRecord)) {
      uint64_t number = 0;
      std::memcpy(&number, bytes.data() + at, sizeof number);
      first = std::min(first, number);
      last = std::max(last, number);
      ++count;
    }
  }
  EXPECT_TRUE(count == 0 || count == last - first + 1) << file << ": one window without holes";
  return {first, last};
}

TEST(StoreAgeingKill, CountsAreExactAfterAKillAtAnyMoment) {
  const char* asked = ::getenv("PROFD_KILL_ROUNDS");
  const auto rounds = asked != nullptr ? std::strtol(asked, nullptr, 10) : 20;
  const auto seed = static_cast<unsigned>(base::WallNs());
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  uint64_t aged = 0;
  for (int round = 0; round < rounds; ++round) {
    const TempDir dir;
    const fs::path spool = dir.path() / "spool";
    fs::create_directories(spool / "user");
    ::chmod(spool.c_str(), 0711);
    RunAndKill("StoreAgeingKill.DISABLED_Victim", kDirectory, spool / "user",
               std::chrono::microseconds(random() % 100'000));
    if (::testing::Test::HasFailure()) return;
    const auto recovered = RecoverAll(spool, [](auto&&...) { return true; });
    ASSERT_EQ(recovered.size(), 1U);
    EXPECT_TRUE(recovered[0].sealed);
    for (const std::string& remark : recovered[0].remarks) ADD_FAILURE() << remark;
    const fs::path root = spool / "user" / kName;
    EXPECT_FALSE(fs::exists(root / format::kOwnFolder / "aged"));
    const auto manifest = format::ParseManifest(ReadFile(root / format::ManifestPath()));
    ASSERT_TRUE(manifest.ok());
    for (const format::ManifestStream& stream : manifest->streams) {
      const auto [first, last] = OnDisk(root / stream.folder / "data", stream.file);
      if (last == 0) continue;
      EXPECT_EQ(stream.aged.records, first - 1) << stream.folder << " in round " << round;
      EXPECT_EQ(stream.records, last) << stream.folder << " in round " << round;
      EXPECT_EQ(stream.aged.bytes, stream.aged.records * sizeof(format::HbmRecord));
      aged += stream.aged.records;
    }
  }
  EXPECT_GT(aged, 0U);
}

}  // namespace
}  // namespace profd::store
