// Directories of sealed sessions in the spool, some of them prepared by a user who means harm.
#include "daemon/store/spool/kept.h"

#include <gmock/gmock.h>
#include <sys/file.h>

#include "daemon/store/spool/departure.h"
#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Code;

constexpr char kName[] = "PROF_000001_20261121055338123_00000001ABCDEFGH";
constexpr char kOther[] = "PROF_000001_20261121055338124_00000001ABCDEFGH";
constexpr uid_t kUser = 65534;

class KeptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::chmod(dir_.path().c_str(), 0755);
    spool_ = dir_.path() / "spool";
    fs::create_directories(spool_ / "alice");
    ::chmod(spool_.c_str(), 0711);
    Make(kName);
  }
  fs::path User() const { return spool_ / "alice"; }
  void Make(const std::string& name, const std::string& state = "sealed") {
    const fs::path path = User() / name;
    fs::create_directories(path / "device_0/data");
    fs::create_directories(path / format::kOwnFolder);
    std::ofstream(path / "device_0/data/hbm.data.0.slice_0") << std::string(100'000, 'x');
    format::Manifest manifest;
    manifest.session = "3f2a91c0";
    manifest.state = state;
    format::ManifestStream& stream = manifest.streams.emplace_back();
    stream.bytes = 1000;
    stream.records = 100;
    stream.aged.bytes = 300;
    stream.aged.records = 30;
    std::ofstream(path / format::ManifestPath()) << format::WriteManifest(manifest);
  }
  void GiveAway() const {
    if (::geteuid() != 0) return;
    ASSERT_EQ(::lchown(User().c_str(), kUser, kUser), 0);
    for (const auto& entry : fs::recursive_directory_iterator(User()))
      ASSERT_EQ(::lchown(entry.path().c_str(), kUser, kUser), 0);
  }
  static Kept Place() {
    Kept kept;
    kept.user = "alice";
    kept.name = kName;
    return kept;
  }
  Kept Found(const std::string& name = kName) const {
    const auto kept = FindKept(spool_, "alice", name);
    EXPECT_TRUE(kept.ok()) << kept.status().message();
    return kept.ok() ? *kept : Kept{};
  }

  TempDir dir_;
  fs::path spool_;
};

TEST_F(KeptTest, FindsWhatIsSealedAndCountsTheRest) {
  Make(kOther, "running");
  std::ofstream(User() / "notes.txt") << std::string(50'000, 'n');
  GiveAway();
  const KeptSpool all = ScanSpool(spool_);
  ASSERT_EQ(all.kept.size(), 1U);
  const Kept& kept = all.kept.front();
  EXPECT_EQ(kept.name, kName);
  EXPECT_EQ(kept.user, "alice");
  EXPECT_EQ(kept.session, "3f2a91c0");
  EXPECT_GE(kept.disk_bytes, 100'000U);
  EXPECT_LT(kept.disk_bytes, 200'000U);
  EXPECT_GT(kept.end_wall_ns, 0U);
  EXPECT_FALSE(kept.pinned);
  ASSERT_EQ(all.other_bytes.size(), 1U);
  EXPECT_GE(all.other_bytes.begin()->second, 50'000U);
  EXPECT_LT(all.other_bytes.begin()->second, 100'000U);
  EXPECT_EQ(FindKept(spool_, "alice", kOther).status().code(), Code::kFailedPrecondition);
}

TEST_F(KeptTest, RemovesAllOfItAndSaysWhatWasInIt) {
  GiveAway();
  const auto removed = RemoveKept(spool_, Found());
  ASSERT_TRUE(removed.ok()) << removed.status().message();
  EXPECT_EQ(removed->bytes, 700U);
  EXPECT_EQ(removed->records, 70U);
  EXPECT_TRUE(fs::is_empty(User()));
  EXPECT_EQ(RemoveKept(spool_, Place()).status().code(), Code::kNotFound);
}

TEST_F(KeptTest, LeavesWhatIsBeingRead) {
  GiveAway();
  const base::UniqueFd reader(::open((User() / kName).c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(reader.get(), LOCK_SH), 0);
  EXPECT_EQ(RemoveKept(spool_, Found()).status().code(), Code::kAborted);
  ::flock(reader.get(), LOCK_UN);
  EXPECT_TRUE(RemoveKept(spool_, Found()).ok());
}

TEST_F(KeptTest, RoomComesWhenNobodyHasItOpenAnyMore) {
  const fs::path slice = User() / kName / "device_0/data/hbm.data.0.slice_0";
  base::UniqueFd reader(::open(slice.c_str(), O_RDONLY));
  const base::UniqueFd dir(::open((User() / kName).c_str(), O_RDONLY | O_DIRECTORY));
  Departure departure(dir.get());
  ASSERT_TRUE(RemoveKept(spool_, Found()).ok());
  EXPECT_FALSE(departure.Wait(0)) << "it is open here";
  reader.Reset();
  EXPECT_TRUE(departure.Wait(30'000'000'000));
}

TEST_F(KeptTest, PinsAndUnpins) {
  GiveAway();
  ASSERT_TRUE(PinKept(spool_, "alice", kName, true).ok());
  ASSERT_TRUE(PinKept(spool_, "alice", kName, true).ok());
  EXPECT_TRUE(Found().pinned);
  ASSERT_TRUE(PinKept(spool_, "alice", kName, false).ok());
  ASSERT_TRUE(PinKept(spool_, "alice", kName, false).ok());
  EXPECT_FALSE(Found().pinned);
  EXPECT_EQ(PinKept(spool_, "alice", kOther, true).code(), Code::kNotFound);
}

TEST_F(KeptTest, OfAnOlderProfdStaysAsItIs) {
  const fs::path former = User() / kName / format::kFormerOwnFolder;
  fs::rename(User() / kName / format::kOwnFolder, former);
  GiveAway();
  EXPECT_EQ(Found().session, "3f2a91c0");
  ASSERT_TRUE(PinKept(spool_, "alice", kName, true).ok());
  EXPECT_TRUE(fs::exists(former / "pinned"));
  EXPECT_FALSE(fs::exists(User() / kName / format::kOwnFolder));
  EXPECT_TRUE(Found().pinned);
  ASSERT_TRUE(PinKept(spool_, "alice", kName, false).ok());
  EXPECT_FALSE(Found().pinned);
  ASSERT_TRUE(RemoveKept(spool_, Found()).ok());
  EXPECT_FALSE(fs::exists(User() / kName));
}

TEST_F(KeptTest, FinishesARemovalThatWasCutShort) {
  Make(kOther);
  fs::rename(User() / kOther, User() / (std::string(".removed_") + kOther));
  GiveAway();
  EXPECT_EQ(ScanSpool(spool_).kept.size(), 1U);
  EXPECT_FALSE(fs::exists(User() / (std::string(".removed_") + kOther)));
}

TEST_F(KeptTest, NeverFollowsALinkOutOfTheDirectory) {
  const fs::path victim = dir_.path() / "victim";
  fs::create_directories(victim / "below");
  std::ofstream(victim / "below/precious") << "precious";
  fs::create_directory_symlink(victim, User() / kName / "device_0/data/link");
  fs::create_directory_symlink(victim, User() / kName / "device_1");
  std::ofstream(User() / kName / "device_0/data/fifo");
  fs::create_hard_link(victim / "below/precious", User() / kName / "device_0/hard");
  GiveAway();
  EXPECT_TRUE(RemoveKept(spool_, Found()).ok());
  EXPECT_EQ(ReadFile(victim / "below/precious"), "precious");
}

TEST_F(KeptTest, IsNotLedAwayByALinkInsteadOfTheDirectory) {
  fs::rename(User() / kName, dir_.path() / "elsewhere");
  fs::create_directory_symlink(dir_.path() / "elsewhere", User() / kName);
  GiveAway();
  EXPECT_EQ(FindKept(spool_, "alice", kName).status().code(), Code::kNotFound);
  EXPECT_FALSE(RemoveKept(spool_, Place()).ok());
  EXPECT_FALSE(PinKept(spool_, "alice", kName, true).ok());
  EXPECT_TRUE(ScanSpool(spool_).kept.empty());
  EXPECT_TRUE(fs::exists(dir_.path() / "elsewhere/device_0/data/hbm.data.0.slice_0"));
}

TEST_F(KeptTest, RemovesWithTheRightsOfTheUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: needs root";
  GiveAway();
  const Kept kept = Found();
  const fs::path data = User() / kName / "device_0/data";
  ASSERT_EQ(::chown(data.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(data.c_str(), 0755), 0);
  const auto removed = RemoveKept(spool_, kept);
  EXPECT_EQ(removed.status().code(), Code::kPermissionDenied) << removed.status().message();
  EXPECT_EQ(::geteuid(), 0U);
}

TEST_F(KeptTest, AForeignDirectoryIsNothingOfOurs) {
  GiveAway();
  std::ofstream(User() / kName / format::ManifestPath()) << "not JSON";
  EXPECT_TRUE(ScanSpool(spool_).kept.empty());
}

}  // namespace
}  // namespace profd::store
