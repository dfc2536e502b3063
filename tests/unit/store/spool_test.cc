#include "daemon/store/spool/spool.h"

#include <gmock/gmock.h>

#include <array>
#include <barrier>
#include <thread>
#include <vector>

#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using base::Code;

constexpr uid_t kUser = 12345;
constexpr gid_t kGroup = 23456;

struct stat StatOf(const fs::path& path) {
  struct stat found {};
  EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
  return found;
}

class SpoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Another user's files need root; without it the user is ourselves.
    if (::geteuid() == 0) {
      uid_ = kUser;
      gid_ = kGroup;
    }
    spool_ = dir_.path() / "spool";
  }
  TempDir dir_;
  fs::path spool_;
  uid_t uid_ = ::geteuid();
  gid_t gid_ = ::getegid();
};

TEST_F(SpoolTest, MakesAFolderPerUser) {
  const mode_t before = ::umask(0077);
  const auto first = OpenSpoolFor(spool_, uid_, gid_, "alice");
  ::umask(before);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(StatOf(spool_).st_mode & 07777, 0711U);
  EXPECT_EQ(StatOf(spool_).st_uid, ::geteuid());
  EXPECT_EQ(StatOf(spool_ / "alice").st_mode & 07777, 0750U);
  EXPECT_EQ(StatOf(spool_ / "alice").st_uid, uid_);
  EXPECT_EQ(StatOf(spool_ / "alice").st_gid, gid_);

  const auto again = OpenSpoolFor(spool_, uid_, gid_, "alice");
  ASSERT_TRUE(again.ok()) << again.status().message();
  struct stat opened {};
  ASSERT_EQ(::fstat(again->get(), &opened), 0);
  EXPECT_EQ(opened.st_ino, StatOf(spool_ / "alice").st_ino);
}

TEST_F(SpoolTest, SessionsThatBeginAtOnceFindOneFolder) {
  constexpr size_t kSessions = 8;
  for (int user = 0; user < 50; ++user) {
    const std::string name = "user" + std::to_string(user);
    std::array<base::Status, kSessions> begun;
    std::barrier together(kSessions);
    {
      std::vector<std::jthread> sessions;
      for (base::Status& status : begun)
        sessions.emplace_back([&] {
          together.arrive_and_wait();
          status = OpenSpoolFor(spool_, uid_, gid_, name).status();
        });
    }
    for (const base::Status& status : begun) ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(StatOf(spool_ / name).st_mode & 07777, 0750U);
    EXPECT_EQ(StatOf(spool_ / name).st_gid, gid_);
  }
}

TEST_F(SpoolTest, FinishesAFolderThatAnEarlierProfdLeftHalfMade) {
  fs::create_directory(spool_);
  ASSERT_EQ(::mkdir((spool_ / "alice").c_str(), 0700), 0);
  ASSERT_TRUE(OpenSpoolFor(spool_, uid_, gid_, "alice").ok());
  EXPECT_EQ(StatOf(spool_ / "alice").st_uid, uid_);
}

TEST_F(SpoolTest, HandsOverAFolderThatWasMadeAndMovedOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: needs root";
  fs::create_directory(spool_);
  fs::create_directory(spool_ / "alice");
  ASSERT_EQ(::chown((spool_ / "alice").c_str(), uid_, ::getegid()), 0);
  ASSERT_EQ(::chmod((spool_ / "alice").c_str(), 0770), 0);
  ASSERT_TRUE(OpenSpoolFor(spool_, uid_, gid_, "alice").ok());
  EXPECT_EQ(StatOf(spool_ / "alice").st_gid, gid_);
  EXPECT_EQ(StatOf(spool_ / "alice").st_mode & 07777, 0750U);
}

TEST_F(SpoolTest, LeavesNothingThatOthersCanReach) {
  ASSERT_TRUE(OpenSpoolFor(spool_, uid_, gid_, "alice").ok());
  for (const auto& entry : fs::directory_iterator(spool_)) {
    if (entry.path().filename() == "alice") continue;
    EXPECT_EQ(StatOf(entry.path()).st_mode & 07777, 0700U) << entry.path();
    EXPECT_EQ(StatOf(entry.path()).st_uid, ::geteuid());
  }
}

TEST_F(SpoolTest, RefusesLinksAndNames) {
  fs::create_directory(dir_.path() / "elsewhere");
  fs::create_directory_symlink(dir_.path() / "elsewhere", spool_);
  EXPECT_EQ(OpenSpoolFor(spool_, uid_, gid_, "alice").status().code(), Code::kInvalidArgument);
  fs::remove(spool_);

  fs::create_directory(spool_);
  fs::create_directory_symlink(dir_.path() / "elsewhere", spool_ / "alice");
  EXPECT_EQ(OpenSpoolFor(spool_, uid_, gid_, "alice").status().code(), Code::kInvalidArgument);
  std::ofstream(spool_ / "bob") << "a file";
  EXPECT_EQ(OpenSpoolFor(spool_, uid_, gid_, "bob").status().code(), Code::kInvalidArgument);
  for (const char* name : {"", ".", "..", "../elsewhere", "a/b"}) {
    EXPECT_EQ(OpenSpoolFor(spool_, uid_, gid_, name).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_TRUE(fs::is_empty(dir_.path() / "elsewhere"));
}

TEST_F(SpoolTest, RefusesASpoolThatOthersMayWrite) {
  fs::create_directory(spool_);
  ASSERT_EQ(::chmod(spool_.c_str(), 01777), 0);
  EXPECT_EQ(OpenSpoolFor(spool_, uid_, gid_, "alice").status().code(), Code::kFailedPrecondition);
}

TEST_F(SpoolTest, RefusesAFolderOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "NOT RUN: needs root";
  fs::create_directory(spool_);
  fs::create_directory(spool_ / "alice");
  ASSERT_EQ(::chown((spool_ / "alice").c_str(), kUser + 1, kGroup), 0);
  const auto refused = OpenSpoolFor(spool_, uid_, gid_, "alice");
  EXPECT_EQ(refused.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), ::testing::HasSubstr(std::to_string(kUser + 1)));
}

TEST_F(SpoolTest, NamesTheSettingOfASpoolThatCannotBeMade) {
  const auto refused = OpenSpoolFor(dir_.path() / "no" / "spool", uid_, gid_, "alice");
  EXPECT_EQ(refused.status().code(), Code::kNotFound);
  EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("store.spool"));
}

TEST_F(SpoolTest, ChecksAPassedDirectory) {
  const auto open = [](const fs::path& path) {
    return base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  };
  EXPECT_TRUE(CheckOutputDir(dir_.Open().get()).ok());

  std::ofstream(dir_.path() / "file") << "x";
  EXPECT_EQ(CheckOutputDir(open(dir_.path() / "file").get()).code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckOutputDir(open("/proc/self").get()).code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckOutputDir(open("/sys").get()).code(), Code::kInvalidArgument);
  EXPECT_FALSE(CheckOutputDir(-1).ok());
}

TEST_F(SpoolTest, KnowsFreeSpace) {
  EXPECT_GT(SpaceOf(dir_.Open().get())->free_bytes, 0U);
  EXPECT_FALSE(SpaceOf(-1).ok());
}

}  // namespace
}  // namespace profd::store
