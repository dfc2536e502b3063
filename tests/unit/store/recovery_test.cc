#include "daemon/store/spool/recovery.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "format/directory/prof_dir.h"
#include "format/mend/aged_entry.h"
#include "format/records/device.h"
#include "tests/unit/store/recover_all.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr char kName[] = "PROF_000001_20261121055338123_00000001ABCDEFGH";

std::string Hbm(size_t records) {
  std::string bytes;
  for (size_t i = 0; i < records; ++i) {
    const format::HbmRecord record{1000 + i * 20'000, 1234, static_cast<uint32_t>(i & 1), 3};
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  return bytes;
}

// A directory as a killed profd leaves it.
class RecoveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::chmod(dir_.path().c_str(), 0755);
    spool_ = dir_.path() / "spool";
    for (const char* folder : {"host/data", "device_0/data", own_}) fs::create_directories(path() / folder);
    ::chmod(spool_.c_str(), 0711);
    Write("device_0/info.json.0", R"({"platform_version": "5"})");
    Write("device_0/sample.json", "{}");
    Write("host/info.json", R"({"platform_version": "5"})");
    manifest_.session = "3f2a91c0";
    manifest_.state = "running";
    manifest_.kinds.push_back({"hbm", "device:0", 50, 50, "started", ""});
    format::ManifestClock clock;
    clock.pair.wall_ns = base::WallNs() - 10 * kSecond;
    clock.pair.host_raw_ns = 77 * kSecond;
    manifest_.clocks.push_back(clock);
  }

  fs::path path() const { return spool_ / "alice" / kName; }
  fs::path data() const { return path() / "device_0/data"; }
  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(path() / name, std::ios::binary) << content;
  }
  std::string Manifest() const { return std::string(own_) + "/" + format::kManifestFile; }
  void WriteManifest() const { Write(Manifest(), format::WriteManifest(manifest_)); }
  std::string Read(const std::string& name) const { return ReadFile(path() / name); }

  // The user's folder is another user's where that is possible.
  void GiveAway() const {
    if (::geteuid() != 0) return;
    EXPECT_EQ(::lchown((spool_ / "alice").c_str(), kUser, kUser), 0);
    for (const auto& entry : fs::recursive_directory_iterator(spool_ / "alice"))
      EXPECT_EQ(::lchown(entry.path().c_str(), kUser, kUser), 0);
  }

  std::vector<mend::Mended> Recover() {
    WriteManifest();
    GiveAway();
    return RecoverAll(spool_, [](const std::string& kind, format::Chip chip, std::string_view file) {
      return chip == format::Chip::k910B && file == kind + ".data";
    });
  }
  format::Manifest Result() const { return format::ParseManifest(Read(Manifest())).value(); }

  static constexpr uid_t kUser = 12345;
  const char* own_ = format::kOwnFolder;
  TempDir dir_;
  fs::path spool_;
  format::Manifest manifest_;
};

TEST_F(RecoveryTest, CutsCompletesAndSeals) {
  Write("device_0/data/hbm.data.0.slice_0", Hbm(100));
  Write("device_0/data/hbm.data.0.slice_0.done", format::SliceDone(2400));
  Write("device_0/data/hbm.data.0.slice_1", Hbm(50));  // killed before its marker
  Write("device_0/data/hbm.data.0.slice_2", Hbm(10) + "half");
  Write("device_0/data/.hbm.data.0.slice_1.done.tmp", "x");
  Write("host/data/host_mem.data.slice_0", "1 2\n3 4\n5");
  const auto all = Recover();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].sealed);
  EXPECT_EQ(all[0].directory, path());
  EXPECT_EQ(all[0].cut_bytes, 5U);
  EXPECT_TRUE(all[0].remarks.empty());

  EXPECT_EQ(Read("device_0/data/hbm.data.0.slice_2"), Hbm(10));
  EXPECT_EQ(Read("device_0/data/hbm.data.0.slice_1.done"), format::SliceDone(1200));
  EXPECT_EQ(Read("device_0/data/hbm.data.0.slice_2.done"), format::SliceDone(240));
  EXPECT_EQ(Read("host/data/host_mem.data.slice_0"), "1 2\n3 4\n");
  EXPECT_FALSE(fs::exists(data() / ".hbm.data.0.slice_1.done.tmp"));
  EXPECT_EQ(Read("device_0/sample.json.done"), "filesize: 2\n");
  for (const char* name : {"host/end_info", "device_0/end_info.0"}) {
    const auto end = format::ParseCollectionTime(Read(name));
    ASSERT_TRUE(end.ok());
    EXPECT_TRUE(end->is_end);
    // When the last bytes came, which the test wrote just now.
    EXPECT_GT(end->wall_us * 1000, manifest_.clocks[0].pair.wall_ns + 5 * kSecond);
    EXPECT_LE(end->wall_us * 1000, base::WallNs());
    EXPECT_GT(end->clock_monotonic_raw, 82 * kSecond);
    EXPECT_EQ(Read(std::string(name) + ".done"), format::ControlDone(Read(name).size(), false));
  }

  const format::Manifest manifest = Result();
  EXPECT_EQ(manifest.state, "sealed");
  EXPECT_EQ(manifest.end_reason, "interrupted");
  ASSERT_EQ(manifest.streams.size(), 2U);
  for (const format::ManifestStream& stream : manifest.streams) {
    if (stream.folder == "host") {
      EXPECT_EQ(stream.records, 2U);
      EXPECT_EQ(stream.bytes, 8U);
      continue;
    }
    EXPECT_EQ(stream.kind, "hbm");
    EXPECT_EQ(stream.unit, "device:0");
    EXPECT_EQ(stream.slices, 3U);
    EXPECT_EQ(stream.records, 160U);
    EXPECT_EQ(stream.bytes, 160U * 24);
    EXPECT_EQ(stream.lost_bytes, 4U);
  }

  // A second time there is nothing to do.
  EXPECT_TRUE(RecoverAll(spool_, [](auto&&...) { return false; }).empty());
}

// A directory of an older profd.
class FormerRecoveryTest : public RecoveryTest {
 protected:
  FormerRecoveryTest() { own_ = format::kFormerOwnFolder; }
};

TEST_F(FormerRecoveryTest, MendsWhereTheFolderHasItsFormerName) {
  const std::string line = "1 12 34 0\n";
  Write("profd/12-Disk.data.slice_1", line + "2 13");
  const auto aged = mend::WriteAgedEntry({"profd/12-Disk.data", 0, {1, 500, 50, 1, 2}});
  ASSERT_TRUE(aged);
  Write("profd/aged", *aged);
  format::ManifestStream& stream = manifest_.streams.emplace_back();
  stream.folder = "profd";
  stream.file = "12-Disk.data";
  stream.unit = "host";
  const auto all = Recover();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].sealed);
  EXPECT_EQ(all[0].remarks, std::vector<std::string>{});
  EXPECT_EQ(Read("profd/12-Disk.data.slice_1"), line);
  EXPECT_FALSE(fs::exists(path() / "profd/aged"));
  EXPECT_FALSE(fs::exists(path() / format::kOwnFolder));
  const format::Manifest manifest = Result();
  EXPECT_EQ(manifest.state, "sealed");
  ASSERT_EQ(manifest.streams.size(), 1U);
  EXPECT_EQ(manifest.streams[0].bytes, 500 + line.size());
  EXPECT_EQ(manifest.streams[0].records, 51U);
}

TEST_F(RecoveryTest, SealedAndLaterOnesStayAsTheyAre) {
  Write("device_0/data/hbm.data.0.slice_0", "half");
  manifest_.state = "sealed";
  EXPECT_TRUE(Recover().empty());
  manifest_.state = "running";
  manifest_.clocks[0].pair.wall_ns = base::WallNs() + 100 * kSecond;
  EXPECT_TRUE(Recover().empty());
  EXPECT_EQ(Read("device_0/data/hbm.data.0.slice_0"), "half");
}

TEST_F(RecoveryTest, ASliceWithoutDataIsRemoved) {
  Write("device_0/data/hbm.data.0.slice_0", Hbm(1));
  Write("device_0/data/hbm.data.0.slice_0.done", format::SliceDone(24));
  Write("device_0/data/hbm.data.0.slice_1", "half");
  Recover();
  EXPECT_FALSE(fs::exists(data() / "hbm.data.0.slice_1"));
  EXPECT_EQ(Result().streams.at(0).slices, 1U);
}

// Its reader takes the time of the rows from the line at the end.
TEST_F(RecoveryTest, DiskFileGetsItsLastLine) {
  Write("host/data/host_disk.data.slice_0", "start_time 77\na b c\nhalf");
  Recover();
  EXPECT_EQ(Read("host/data/host_disk.data.slice_0"), "start_time 77\na b c\nstart_time 77\n");
  EXPECT_EQ(Read("host/data/host_disk.data.slice_0.done"), format::SliceDone(34));
  EXPECT_EQ(Result().streams.at(0).bytes, 34U);
}

// Whatever a user puts into the own folder: nothing elsewhere changes, and the rest is recovered.
TEST_F(RecoveryTest, HostileContentIsLeftAlone) {
  const fs::path outside = dir_.path() / "outside";
  std::ofstream(outside) << "precious";
  fs::create_directory(dir_.path() / "elsewhere");
  fs::create_symlink(outside, data() / "hbm.data.0.slice_7");
  ASSERT_EQ(::mkfifo((data() / "llc.data.0.slice_0").c_str(), 0600), 0);
  fs::create_directory(data() / "qos.data.0.slice_0");
  ASSERT_EQ(::link(outside.c_str(), (data() / "ddr.data.0.slice_0").c_str()), 0);
  fs::create_symlink(outside, path() / "device_0/end_info.0");
  fs::create_symlink(outside, data() / "hbm.data.0.slice_0.done");
  fs::create_directory_symlink(dir_.path() / "elsewhere", path() / "device_1");
  fs::create_directory_symlink(dir_.path() / "elsewhere", spool_ / "alice" / "PROF_000002_2_ABCDEFGHIJ");
  fs::create_directory_symlink(dir_.path() / "elsewhere", spool_ / "bob");
  Write("device_0/data/hbm.data.0.slice_18446744073709551615", Hbm(2));
  Write("device_0/data/pcie.data.0.slice_0", std::string(97, '\1'));
  const auto all = Recover();
  // Giving the folder away made the hard link alice's; that is this test's doing.
  EXPECT_EQ(ReadFile(outside), "precious");
  EXPECT_TRUE(fs::is_empty(dir_.path() / "elsewhere"));
  EXPECT_TRUE(fs::is_symlink(data() / "hbm.data.0.slice_7"));
  EXPECT_TRUE(fs::is_fifo(data() / "llc.data.0.slice_0"));
  EXPECT_TRUE(fs::is_directory(data() / "qos.data.0.slice_0"));
  EXPECT_FALSE(fs::is_symlink(path() / "device_0/end_info.0"));  // replaced, not followed
  EXPECT_FALSE(fs::exists(data() / "ddr.data.0.slice_0.done"));
  EXPECT_EQ(Read("device_0/data/pcie.data.0.slice_0").size(), 96U);
  EXPECT_EQ(Result().state, "sealed");
  size_t remarks = 0;
  for (const auto& one : all) remarks += one.remarks.size();
  EXPECT_GE(remarks, 5U);
}

TEST_F(RecoveryTest, WorkIsDoneWithTheUsersRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  Write("device_0/data/hbm.data.0.slice_0", Hbm(3) + "half");
  WriteManifest();
  GiveAway();
  // root's own file in the user's folder: not the user's, so not touched.
  Write("device_0/data/pcie.data.0.slice_0", "root's");
  const auto all = RecoverAll(spool_, [](auto&&...) { return false; });
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].remarks.size(), 1U);
  EXPECT_EQ(Read("device_0/data/pcie.data.0.slice_0"), "root's");
  struct stat facts {};
  ASSERT_EQ(::lstat((path() / "host/end_info").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, kUser);
  // And this thread is itself again.
  std::ofstream(dir_.path() / "mine") << "x";
  ASSERT_EQ(::lstat((dir_.path() / "mine").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 0U);
}

TEST_F(RecoveryTest, ASpoolThatOthersMayWriteIsNotTrusted) {
  Write("device_0/data/hbm.data.0.slice_0", "half");
  ::chmod(spool_.c_str(), 0777);
  EXPECT_TRUE(Recover().empty());
  EXPECT_EQ(Read("device_0/data/hbm.data.0.slice_0"), "half");
}

}  // namespace
}  // namespace profd::store
