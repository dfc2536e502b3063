#include "daemon/store/steady_file.h"

#include <gmock/gmock.h>

#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

using base::Status;

class SteadyFileTest : public ::testing::Test {
 protected:
  std::string Read() const {
    std::string text = ReadFile(dir_.path() / "m.json");
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }
  TempDir dir_;
  base::UniqueFd fd_ = dir_.Open();
  FaultyFileSystem fs_;
  OpenFiles open_{4};
  Budget budget_;
  SteadyFile file_{fs_, open_, budget_, fd_.get(), "m.json"};
};

TEST_F(SteadyFileTest, HoldsTheLastContent) {
  for (const size_t bytes : {10U, 5000U, 300U, 200'000U, 7U, 200'001U, 1U}) {
    const std::string content(bytes, static_cast<char>('a' + bytes % 26));
    ASSERT_TRUE(file_.Replace(content).ok());
    EXPECT_EQ(Read(), content);
    EXPECT_GE(budget_.used_bytes(), bytes);
  }
  ASSERT_TRUE(file_.Settle().ok());
  EXPECT_EQ(ReadFile(dir_.path() / "m.json").size(), 1U);
  EXPECT_EQ(Tree(dir_.path()), std::vector<std::string>{"m.json"});
  EXPECT_LE(budget_.used_bytes(), 4096U);
}

TEST_F(SteadyFileTest, IsRewrittenOnAFullDisk) {
  ASSERT_TRUE(file_.Replace(std::string(10'000, 'a')).ok());
  ASSERT_TRUE(file_.Replace(std::string(10'000, 'a')).ok());
  fs_.before = [](const std::string& call) {
    const bool needs_room = call == "create" || call == "append" || call == "reserve";
    return needs_room ? Status::FromErrno(call, ENOSPC) : Status::Ok();
  };
  for (const size_t bytes : {10'000U, 12'000U, 11'000U, 60'000U, 3U}) {
    const std::string content(bytes, 'b');
    EXPECT_TRUE(file_.Replace(content).ok());
    EXPECT_EQ(Read(), content);
  }
  EXPECT_FALSE(file_.Settle().ok());
  EXPECT_EQ(Read(), "bbb");
}

TEST_F(SteadyFileTest, GoesWithoutWhereNamesCannotBeExchanged) {
  fs_.before = [](const std::string& call) {
    return call == "exchange" ? Status(base::Code::kUnimplemented, "no") : Status::Ok();
  };
  for (const size_t bytes : {10U, 5000U, 300U}) {
    const std::string content(bytes, 'c');
    ASSERT_TRUE(file_.Replace(content).ok());
    EXPECT_EQ(ReadFile(dir_.path() / "m.json"), content);
  }
}

TEST_F(SteadyFileTest, IsWrittenAllTheSameWhereNoRoomCanBeReserved) {
  fs_.before = [](const std::string& call) {
    return call == "reserve" ? Status::FromErrno(call, ENOSPC) : Status::Ok();
  };
  for (const char* content : {"x", "yy", "z"}) {
    EXPECT_TRUE(file_.Replace(content).ok());
    EXPECT_EQ(Read(), content);
  }
}

TEST(IsDiskFull, IsNotAboutDescriptors) {
  EXPECT_TRUE(IsDiskFull(Status::FromErrno("a", EDQUOT)));
  EXPECT_TRUE(IsDiskFull(Status::FromErrno("a", ENOSPC).In("f")));
  EXPECT_FALSE(IsDiskFull(Status::FromErrno("a", EMFILE)));
  EXPECT_FALSE(IsDiskFull(Status::FromErrno("a", EIO)));
  EXPECT_FALSE(IsDiskFull({}));
}

}  // namespace
}  // namespace profd::store
