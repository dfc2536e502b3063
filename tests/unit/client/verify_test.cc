#include "client/verify/verify.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "client/files/prof_files.h"
#include "client/verify/verify_parts.h"
#include "client/verify/verify_stream.h"
#include "format/directory/own_folder.h"
#include "format/records/device.h"

namespace profd::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSecond = 1'000'000'000;

format::ManifestClock Clock(int device, uint64_t host_s, int64_t device_off_ns = 0, int64_t wall_off_ns = 0) {
  format::ManifestClock clock;
  clock.device = device;
  clock.pair.host_raw_ns = host_s * kSecond;
  clock.pair.device_raw_ns = host_s * kSecond + static_cast<uint64_t>(device_off_ns);
  clock.pair.wall_ns = (host_s + 1000) * kSecond + static_cast<uint64_t>(wall_off_ns);
  clock.pair.error_ns = 1000;
  return clock;
}

TEST(VerifyClocks, ForwardAndSteady) {
  EXPECT_THAT(CheckClocks({}), IsEmpty());
  // 50 ppm off; devices and host apart.
  EXPECT_THAT(CheckClocks({Clock(-1, 10), Clock(0, 10), Clock(0, 40, 1'500'000), Clock(-1, 40)}), IsEmpty());
  EXPECT_THAT(CheckClocks({Clock(0, 40), Clock(0, 10)}), ElementsAre(HasSubstr("go back")));
  EXPECT_THAT(CheckClocks({Clock(1, 10), Clock(1, 40, 90'000'000)}),
              ElementsAre(HasSubstr("device 1 drift by more than 1000 ppm")));
  EXPECT_THAT(CheckClocks({Clock(-1, 10), Clock(-1, 40, 0, 5'000'000'000)}),
              ElementsAre(HasSubstr("the wall clock was set by 5.000 s")));
}

TEST(VerifyCounts, TheManifestSaysWhatTheFilesHave) {
  format::Manifest manifest;
  manifest.state = "sealed";
  format::ManifestStream stream;
  stream.folder = "device_0";
  stream.file = "hbm.data.0";
  stream.slices = 3;
  stream.bytes = 240;
  stream.records = 10;
  stream.aged.bytes = 48;
  stream.aged.records = 2;
  manifest.streams = {stream};
  FoundStreams found;
  FoundStream& files = found["device_0/hbm.data.0"];
  files.bytes = 192;
  files.records = 8;
  files.next_slice = 3;
  EXPECT_THAT(CheckCounts(manifest, format::kOwnFolder, found), IsEmpty());
  files.records = 7;
  EXPECT_THAT(CheckCounts(manifest, format::kOwnFolder, found),
              ElementsAre("device_0/hbm.data.0: says 8 records, the files have 7"));
  files.records.reset();
  EXPECT_THAT(CheckCounts(manifest, format::kOwnFolder, found), IsEmpty());
  found["host/host_mem.data"];
  EXPECT_THAT(CheckCounts(manifest, format::kOwnFolder, found), ElementsAre(HasSubstr("does not know")));
  EXPECT_EQ(CheckCounts(manifest, format::kOwnFolder, {}).size(), 3U);
  manifest.state = "running";
  EXPECT_THAT(CheckCounts(manifest, format::kOwnFolder, {}), IsEmpty());
}

// A directory of an older profd, its folder renamed for the vendor's parser; the manifest has the former
// name.
TEST(VerifyCounts, TheFolderMayHaveChangedItsName) {
  format::Manifest manifest;
  manifest.state = "sealed";
  format::ManifestStream stream;
  stream.folder = format::kFormerOwnFolder;
  stream.file = "agent_1_0.lanes";
  stream.slices = 1;
  manifest.streams = {stream};
  FoundStreams found;
  found[std::string(format::kOwnFolder) + "/agent_1_0.lanes"].next_slice = 1;
  EXPECT_THAT(CheckCounts(manifest, format::kOwnFolder, found), IsEmpty());
  EXPECT_FALSE(CheckCounts(manifest, format::kFormerOwnFolder, found).empty());
}

TEST(VerifyCounts, LanesOfAgents) {
  format::Manifest manifest;
  manifest.state = "sealed";
  format::ManifestAgent agent;
  agent.lanes_file = "agent_1_0.lanes";
  agent.lanes = {{2, 5, 0, 0, 0}};
  manifest.agents = {agent};
  EXPECT_THAT(CheckCounts(manifest, format::kOwnFolder, {}),
              ElementsAre("agent_1_0.lanes lane 2: says 5 records, the files have 0"));
}

// As a user may leave them for root to look at: a terabyte that takes no room, of which nothing is read.
TEST(VerifyStream, HolesAreNamedAndNotRead) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("profd-verify-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::string records;
  for (uint64_t i = 0; i < 300; ++i) {
    const format::HbmRecord record = {i * 1000 + 1000, i + 5, 0, 1};
    records.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  constexpr uint64_t kFirst = 4096;  // 24 bytes each: the hole begins within a record
  constexpr uint64_t kHole = uint64_t{1} << 40;
  const std::filesystem::path slice = folder / "hbm.data.0.slice_0";
  std::ofstream(slice) << records.substr(0, kFirst);
  std::filesystem::resize_file(slice, kFirst + kHole);
  std::ofstream(slice, std::ios::app) << records.substr(kFirst);
  std::ofstream(folder / "nic.data.0.slice_0");
  std::filesystem::resize_file(folder / "nic.data.0.slice_0", kHole);

  const base::UniqueFd data = OpenDir(AT_FDCWD, folder.string());
  for (const char* file : {"hbm.data.0", "nic.data.0"}) {
    StreamVerifier stream({"device_0", "device_0/data/", data.get()}, file, {0}, {format::Chip::k910B}, true);
    stream.Run();
    ASSERT_FALSE(stream.complaints().empty());
    EXPECT_THAT(stream.complaints()[0].what, HasSubstr("nothing was ever written there"));
    EXPECT_EQ(stream.complaints()[0].offset, file == std::string("hbm.data.0") ? kFirst : 0);
    EXPECT_LT(stream.complaints().size(), 4U);
  }
  std::filesystem::remove_all(folder);
}

TEST(VerifyControlFile, SaysWhatIsWrong) {
  EXPECT_THAT(CheckControlFile("sample.json", "{}\n", 0), IsEmpty());
  EXPECT_EQ(CheckControlFile("sample.json", "{\n}", 0).size(), 1U);
  EXPECT_EQ(CheckControlFile("info.json.0", "{}", 0).size(), 1U);
  EXPECT_EQ(CheckControlFile("host_start.log.1", "[Device0]\nclock_monotonic_raw: 1\ncntvct: 2\n", 1).size(),
            1U);
  EXPECT_THAT(CheckControlFile("host_start.log", "[Host]\nclock_monotonic_raw: 1\ncntvct: 2\n", {}),
              IsEmpty());
  EXPECT_EQ(CheckControlFile("start_info", "", {}).size(), 1U);
}

TEST(Verify, NoDirectory) {
  EXPECT_EQ(Verify("/nonexistent/PROF").status().code(), base::Code::kNotFound);
  EXPECT_EQ(Verify("/proc/self/status").status().code(), base::Code::kInvalidArgument);
  EXPECT_EQ(Verify("/proc/self/fd").status().code(), base::Code::kInvalidArgument);
}

}  // namespace
}  // namespace profd::client
