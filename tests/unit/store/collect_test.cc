#include "daemon/store/files/collect.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/unique_fd.h"

namespace profd::store {
namespace {

namespace fs = std::filesystem;

class CollectTest : public testing::Test {
 protected:
  CollectTest() {
    std::string made = testing::TempDir() + "profd-collect-XXXXXX";
    root_ = ::mkdtemp(made.data());
    for (const char* name : {"from", "to", "to/PROF_1"}) fs::create_directory(root_ / name);
    from_.Reset(::open((root_ / "from").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    to_.Reset(::open((root_ / "to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~CollectTest() override { fs::remove_all(root_); }

  void Write(const std::string& text) { std::ofstream(root_ / "from/trace.json") << text; }
  base::Result<Collected> Collect(uint64_t seen_bytes) {
    const FileOwner self{::getuid(), ::getgid()};
    return CollectJson(from_.get(), "trace.json", self, seen_bytes, to_.get(), {"PROF_1", "frameworks"},
                       "pid_7.json", self, [this](uint64_t bytes) { return bytes > room_ ? "room" : ""; });
  }
  fs::path Brought() const { return root_ / "to/PROF_1/frameworks/pid_7.json"; }
  std::string Text() const {
    std::ifstream file(Brought());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path root_;
  base::UniqueFd from_, to_;
  uint64_t room_ = 1 << 20;
};

TEST_F(CollectTest, BringsWhatIsWholeAndDoesNotGrow) {
  EXPECT_FALSE(Collect(0)->there);
  Write(R"({"traceEvents": [)");
  base::Result<Collected> found = Collect(17);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->there);
  EXPECT_EQ(found->bytes, 17U);
  EXPECT_FALSE(found->moved) << "its end is not there yet";
  Write("{\"traceEvents\": []}\n");
  EXPECT_FALSE(Collect(17)->moved) << "it has grown";
  EXPECT_FALSE(fs::exists(Brought()));
  found = Collect(20);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->moved);
  EXPECT_EQ(Text(), "{\"traceEvents\": []}\n");
  EXPECT_FALSE(fs::exists(root_ / "from/trace.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(Brought().parent_path()), {}), 1);
}

TEST_F(CollectTest, LinksAreNotFollowedOnEitherSide) {
  std::ofstream(root_ / "secret") << "{}";
  fs::create_symlink(root_ / "secret", root_ / "from/trace.json");
  EXPECT_FALSE(Collect(2).ok());
  fs::remove(root_ / "from/trace.json");
  fs::create_hard_link(root_ / "secret", root_ / "from/trace.json");
  EXPECT_EQ(Collect(2).status().code(), base::Code::kPermissionDenied);
  fs::remove(root_ / "from/trace.json");
  ASSERT_EQ(::mkfifo((root_ / "from/trace.json").c_str(), 0600), 0);
  EXPECT_EQ(Collect(0).status().code(), base::Code::kPermissionDenied);
  fs::remove(root_ / "from/trace.json");
  Write("{}");
  fs::create_directory(root_ / "elsewhere");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "to/PROF_1/frameworks");
  EXPECT_FALSE(Collect(2).ok());
  EXPECT_TRUE(fs::is_empty(root_ / "elsewhere"));
  EXPECT_TRUE(fs::exists(root_ / "from/trace.json")) << "what was not brought stays";
}

TEST_F(CollectTest, NothingIsBroughtThatTheDiskHasNoRoomFor) {
  Write("{}");
  room_ = 1;
  const auto found = Collect(2);
  EXPECT_EQ(found.status().code(), base::Code::kResourceExhausted);
  EXPECT_NE(found.status().message().find("room"), std::string::npos) << found.status().message();
  EXPECT_TRUE(fs::exists(root_ / "from/trace.json"));
  EXPECT_TRUE(fs::is_empty(Brought().parent_path())) << "nor half of it";
}

TEST_F(CollectTest, HolesAreNoText) {
  Write("{");
  fs::resize_file(root_ / "from/trace.json", 1 << 30);
  std::ofstream(root_ / "from/trace.json", std::ios::app) << "}";
  room_ = uint64_t{2} << 30;
  EXPECT_EQ(Collect((1 << 30) + 1).status().code(), base::Code::kInvalidArgument);
  EXPECT_FALSE(fs::exists(Brought()));
}

TEST_F(CollectTest, WhatIsThereIsNotReplaced) {
  Write("{}");
  fs::create_directories(Brought().parent_path());
  std::ofstream(Brought().string() + ".part") << "x";
  EXPECT_FALSE(Collect(2).ok());
  EXPECT_TRUE(fs::exists(root_ / "from/trace.json"));
}

TEST_F(CollectTest, AnotherUsersFileIsNotTheProgramsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  Write("{}");
  const FileOwner other{65534, 65534}, self{0, 0};
  fs::permissions(root_, fs::perms::all);
  fs::permissions(root_ / "from", fs::perms::all);
  const auto found = CollectJson(from_.get(), "trace.json", other, 2, to_.get(), {"PROF_1", "frameworks"},
                                 "pid_7.json", self, [](uint64_t) { return ""; });
  EXPECT_EQ(found.status().code(), base::Code::kPermissionDenied) << found.status().message();
}

}  // namespace
}  // namespace profd::store
