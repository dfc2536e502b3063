// What is kept goes by age, and what cannot be moved is tried again: in no real time.
#include "daemon/session/history/archive.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "format/directory/manifest.h"
#include "format/directory/own_folder.h"
#include "tests/unit/session/ctl_rig.h"

namespace profd::session {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kHour = 3600 * kSecond;
constexpr char kName[] = "PROF_000001_20261121055338123_00000001ABCDEFGH";

class ArchiveTest : public ::testing::Test {
 protected:
  ArchiveTest() {
    config_.store.spool = rig_.spool;
    fs::create_directories(Directory() / format::kOwnFolder);
    format::Manifest manifest;
    manifest.session = "3f2a91c0";
    manifest.state = "sealed";
    std::ofstream(Directory() / format::ManifestPath()) << format::WriteManifest(manifest);
  }
  ~ArchiveTest() override {
    rig_.Do([this] { archive_.reset(); });
  }
  void Begin() {
    bool counted = false;
    rig_.Do([&] {
      archive_.emplace(rig_.ctl, rig_.time, rig_.aside, config_,
                       [this](const store::Kept& kept, const store::RemovedTrace&, const std::string& why) {
                         removed_.push_back(kept.name);
                         reasons_.push_back(why);
                       });
      archive_->Begin([&counted] { counted = true; });
    });
    ASSERT_TRUE(rig_.Until([&counted] { return counted; }));
  }
  fs::path Directory() const { return fs::path(rig_.spool) / "alice" / kName; }

  CtlRig rig_;
  config::Config config_;
  std::vector<std::string> removed_, reasons_;  // ctl's
  std::optional<Archive> archive_;
};

TEST_F(ArchiveTest, WhatIsTooOldGoes) {
  config_.store.max_age_s = 10'800;
  Begin();
  ASSERT_TRUE(rig_.Until([this] { return rig_.time.alarms() == 1; })) << "to look again in an hour";
  rig_.Advance(kHour);
  rig_.Advance(kHour);
  EXPECT_TRUE(fs::exists(Directory()));
  rig_.Advance(kHour + kSecond);
  rig_.Advance(kHour);
  ASSERT_TRUE(rig_.Until([this] { return !removed_.empty(); }));
  EXPECT_THAT(removed_, ElementsAre(kName));
  EXPECT_NE(reasons_.front(), "");
  EXPECT_FALSE(fs::exists(Directory()));
}

TEST_F(ArchiveTest, WhatIsReadMeanwhileGoesLater) {
  config_.store.max_age_s = 3600;
  Begin();
  const base::UniqueFd reader(::open(Directory().c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(reader.get(), LOCK_SH), 0);
  rig_.Advance(2 * kHour);
  rig_.Advance(kHour);
  EXPECT_TRUE(fs::exists(Directory()));
  ASSERT_EQ(::flock(reader.get(), LOCK_UN), 0);
  // It comes to it with one of the next looks, however the work aside has been scheduled.
  ASSERT_TRUE(rig_.Until([this] {
    rig_.time.Advance(kHour);
    return !removed_.empty();
  }));
  EXPECT_FALSE(fs::exists(Directory()));
}

TEST_F(ArchiveTest, AMoveThatFailsIsTriedAgain) {
  Begin();
  std::optional<base::Status> end;
  rig_.Do([&] {
    const base::Status begun = archive_->Move({.session = {"3f2a91c0", ::getuid(), {Directory()}},
                                               .to = std::make_shared<base::UniqueFd>(),  // nowhere
                                               .output = "/elsewhere",
                                               .attempts = 3,
                                               .moved = [](const std::string&) {},
                                               .done = [&end](const base::Status& status) { end = status; }});
    EXPECT_TRUE(begun.ok()) << begun.message();
  });
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(rig_.Until([this] { return rig_.time.alarms() == 1; }));
    EXPECT_FALSE(end.has_value());
    rig_.Advance(10 * kSecond);
  }
  ASSERT_TRUE(rig_.Until([&end] { return end.has_value(); }));
  EXPECT_FALSE(end->ok());
  EXPECT_TRUE(fs::exists(Directory()));
  EXPECT_THAT(removed_, IsEmpty());
}

}  // namespace
}  // namespace profd::session
