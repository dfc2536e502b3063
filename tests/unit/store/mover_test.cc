#include "daemon/store/spool/mover.h"

#include <gmock/gmock.h>
#include <sys/file.h>

#include "base/clock.h"
#include "format/directory/own_folder.h"
#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Status;

constexpr char kName[] = "PROF_000001_20261121055338123_00000001ABCDEFGH";
constexpr uid_t kUser = 65534;

class MoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::chmod(dir_.path().c_str(), 0755);
    fs::create_directories(source() / "device_0/data");
    fs::create_directories(source() / format::kOwnFolder);
    fs::create_directories(to());
    ::chmod(spool().c_str(), 0711);
    std::ofstream(source() / "device_0/data/hbm.data.0.slice_0") << std::string(3'000'000, 'x');
    std::ofstream(source() / "device_0/data/empty.slice_0");
    std::ofstream(source() / format::ManifestPath()) << "{}";
    GiveAway();
  }
  fs::path spool() const { return dir_.path() / "spool"; }
  fs::path source() const { return spool() / "alice" / kName; }
  fs::path to() const { return dir_.path() / "to"; }
  void GiveAway() const {
    if (::geteuid() != 0) return;
    for (const fs::path& root : {spool() / "alice", to()}) {
      ASSERT_EQ(::lchown(root.c_str(), kUser, kUser), 0);
      for (const auto& entry : fs::recursive_directory_iterator(root))
        ASSERT_EQ(::lchown(entry.path().c_str(), kUser, kUser), 0);
    }
  }
  // On a thread of its own, which it slows down for good.
  Status Run(uint64_t rate = 0) const {
    Status status;
    std::thread([&] {
      const base::UniqueFd fd(::open(to().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      status = CopyTrace(spool(), "alice", kName, fd.get(), rate);
    }).join();
    return status;
  }
  void ExpectSame() const {
    EXPECT_EQ(Tree(to() / kName), Tree(source()));
    EXPECT_EQ(ReadFile(to() / kName / "device_0/data/hbm.data.0.slice_0"),
              ReadFile(source() / "device_0/data/hbm.data.0.slice_0"));
    EXPECT_EQ(std::distance(fs::directory_iterator(to()), {}), 1);
  }

  TempDir dir_;
};

TEST_F(MoverTest, CopiesEverythingUnderItsName) {
  ASSERT_TRUE(Run().ok());
  ExpectSame();
  struct stat facts {};
  ASSERT_EQ(::stat((to() / kName / "device_0/data/hbm.data.0.slice_0").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, ::geteuid() == 0 ? kUser : ::geteuid());
}

TEST_F(MoverTest, GoesOnWhereItWasCutShort) {
  const fs::path half = to() / (std::string(".moving_") + kName);
  fs::create_directories(half / "device_0/data");
  std::ofstream(half / "device_0/data/hbm.data.0.slice_0") << std::string(1'000'000, 'x');  // too short
  fs::create_directories(half / format::kOwnFolder);
  std::ofstream(half / format::ManifestPath()) << "[]";  // as long, and wrong
  GiveAway();
  ASSERT_TRUE(Run().ok());
  ExpectSame();
  EXPECT_EQ(ReadFile(to() / kName / format::ManifestPath()), "{}");
}

TEST_F(MoverTest, WhatIsThereAlreadyIsNotCopiedAgain) {
  ASSERT_TRUE(Run().ok());
  std::ofstream(to() / kName / "exported.json") << "the user's";
  const auto written = fs::last_write_time(to() / kName / format::kOwnFolder);
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(fs::last_write_time(to() / kName / format::kOwnFolder), written);
  std::ofstream(to() / kName / "device_0/data/hbm.data.0.slice_0") << std::string(3'000'000, 'y');
  EXPECT_EQ(Run().code(), Code::kAlreadyExists);
  EXPECT_TRUE(fs::exists(source()));
}

TEST_F(MoverTest, KeepsToItsRate) {
  const uint64_t begin = base::MonotonicNs();
  ASSERT_TRUE(Run(20'000'000).ok());
  EXPECT_GT(base::MonotonicNs() - begin, 140'000'000U);
}

TEST_F(MoverTest, NeverReplacesWhatIsThere) {
  fs::create_directories(to() / kName);
  std::ofstream(to() / kName / "precious") << "precious";
  GiveAway();
  EXPECT_EQ(Run().code(), Code::kAlreadyExists);
  EXPECT_EQ(ReadFile(to() / kName / "precious"), "precious");
}

TEST_F(MoverTest, FollowsNoLinks) {
  const fs::path victim = dir_.path() / "victim";
  fs::create_directories(victim);
  std::ofstream(victim / "precious") << "precious";
  fs::create_directory_symlink(victim, to() / (std::string(".moving_") + kName));
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(victim), {}), 1);
  fs::remove(to() / (std::string(".moving_") + kName));
  fs::create_symlink(victim / "precious", source() / format::kOwnFolder / "link");
  EXPECT_FALSE(Run().ok());
  EXPECT_FALSE(fs::exists(to() / kName));
}

TEST_F(MoverTest, WritesWithTheRightsOfTheUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: needs root";
  ASSERT_EQ(::chown(to().c_str(), 0, 0), 0);
  EXPECT_EQ(Run().code(), Code::kPermissionDenied);
}

}  // namespace
}  // namespace profd::store
