// Users' folders take turns, in no real time.
#include "daemon/store/files/user_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

constexpr uint64_t kMs = 1'000'000;

class VisitTest : public ::testing::Test {
 protected:
  VisitTest() {
    ::chmod(dir_.path().c_str(), 0755);
    fs::create_directories(spool_);
    ::chmod(spool_.c_str(), 0711);
  }
  void Make(const std::string& user, int directories) const {
    for (int i = 0; i < directories; ++i)
      fs::create_directories(spool_ / user /
                             ("PROF_000001_20261121055338" + std::to_string(100 + i) + "_00000001ABCDEFGH"));
  }
  // What is seen in which order: "alice 101"; "alice." at the end.
  void Visit(uint64_t patience_ns) {
    FolderVisit visit;
    visit.directory = [this](const UserFolder&, const std::string& user, const std::string& name) {
      seen_.push_back(user + " " + name.substr(26, 3));
      now_ += user == "mallory" ? 1000 * kMs : 1 * kMs;
    };
    visit.done = [this](const std::string& user, uid_t, size_t left) {
      seen_.push_back(user + "." + (left > 0 ? std::to_string(left) : ""));
    };
    visit.failed = [](const std::string& user, const base::Status& why) {
      ADD_FAILURE() << user << why.message();
    };
    VisitFolders(spool_, patience_ns, visit, [this] { return now_; });
  }

  TempDir dir_;
  const fs::path spool_ = dir_.path() / "spool";
  std::vector<std::string> seen_;
  uint64_t now_ = 0;
};

TEST_F(VisitTest, NewestFirst) {
  Make("alice", 3);
  fs::create_directories(spool_ / "alice" / "hers");
  Visit(UINT64_MAX);
  EXPECT_THAT(seen_, ElementsAre("alice 102", "alice 101", "alice 100", "alice."));
}

TEST_F(VisitTest, WhoseDirectoriesTakeLongWaitsForTheOthers) {
  Make("mallory", 4);
  Make("zoe", 3);
  Visit(UINT64_MAX);
  EXPECT_EQ(std::ranges::count(seen_, "mallory."), 1);
  const auto zoe = std::ranges::find(seen_, "zoe.");
  EXPECT_LE(zoe - seen_.begin(), 5) << "one of mallory's before hers, at most two";
  EXPECT_THAT(seen_.back(), "mallory.");
}

TEST_F(VisitTest, NobodyTakesMoreThanThePatience) {
  Make("mallory", 10);
  Visit(2500 * kMs);
  EXPECT_THAT(seen_, ElementsAre("mallory 109", "mallory 108", "mallory 107", "mallory.7"));
}

}  // namespace
}  // namespace profd::store
