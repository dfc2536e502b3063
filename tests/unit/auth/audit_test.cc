#include "daemon/auth/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace profd::auth {
namespace {

using base::Code;
using base::Status;
using nlohmann::json;

class AuditTest : public testing::Test {
 protected:
  json Last() const { return json::parse(lines_.back()); }

  std::vector<std::string> lines_;
  Audit audit_{[this](const std::string& line) { lines_.push_back(line); }};
  const Caller ada_{.uid = 1000, .gid = 1000, .pid = 42, .user = "ada", .program = "/usr/bin/profctl"};
};

TEST_F(AuditTest, SaysWhoWhatOnWhatAndTheResult) {
  audit_.Note(ada_, "stop", "session 12345678", Status::Ok());
  json line = Last();
  EXPECT_EQ(line["uid"], 1000);
  EXPECT_EQ(line["user"], "ada");
  EXPECT_EQ(line["pid"], 42);
  EXPECT_EQ(line["program"], "/usr/bin/profctl");
  EXPECT_EQ(line["what"], "stop");
  EXPECT_EQ(line["on"], "session 12345678");
  EXPECT_EQ(line["result"], "allowed");
  EXPECT_FALSE(line.contains("reason"));
  audit_.Note(ada_, "stop", "session 12345678", {Code::kPermissionDenied, "user ada may not"});
  line = Last();
  EXPECT_EQ(line["result"], "refused");
  EXPECT_EQ(line["reason"], "user ada may not");
  audit_.Note(Caller{}, "stop", "", {Code::kUnauthenticated, "no ticket"});
  EXPECT_EQ(Last()["result"], "refused");
  EXPECT_TRUE(Last()["uid"].is_null());
  audit_.Note(ada_, "start", "pid 1", {Code::kNotFound, "no process"});
  EXPECT_EQ(Last()["result"], "failed");
}

TEST_F(AuditTest, NothingFromOutsideEndsALineOrALook) {
  Caller evil = ada_;
  evil.user = "a\nb";
  evil.program = "/tmp/x\n{\"uid\":0}\x1b[2J\x7f\xc2\x85\xe2\x80\xa8\xff";
  audit_.Note(evil, "start", "\"},\r\n{\"result\":\"allowed\"", {Code::kInternal, std::string("a\0b", 3)});
  ASSERT_EQ(lines_.size(), 1U);
  for (const char c : lines_[0]) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << static_cast<int>(c);
  EXPECT_EQ(Last()["result"], "failed");
  EXPECT_EQ(Last()["uid"], 1000);
}

TEST_F(AuditTest, LongTextsAreCut) {
  Caller long_winded = ada_;
  long_winded.program = std::string(100'000, 'x');
  audit_.Note(long_winded, "start", std::string(100'000, 'y'), {Code::kInternal, std::string(100'000, 'z')});
  EXPECT_LT(lines_.back().size(), 2000U);
}

TEST_F(AuditTest, AFloodOfOneUserIsCountedAndLeavesOthersTheirLines) {
  for (int i = 0; i < 10'000; ++i) audit_.Note(ada_, "get", "", Status::Ok());
  const size_t written = lines_.size();
  EXPECT_GE(written, 200U);
  EXPECT_LT(written, 1000U);
  const Caller bob{.uid = 1001, .gid = 1001, .pid = 43, .user = "bob"};
  audit_.Note(bob, "get", "", Status::Ok());
  EXPECT_EQ(Last()["user"], "bob");
  const Caller root{.uid = 0, .gid = 0, .pid = 1, .user = "root"};
  const size_t before = lines_.size();
  for (int i = 0; i < 1000; ++i) audit_.Note(root, "get", "", Status::Ok());
  EXPECT_GE(lines_.size(), before + 1000);
}

TEST_F(AuditTest, WithoutAWriterNothingIsKept) {
  Audit off;
  off.Note(ada_, "get", "", Status::Ok());
}

}  // namespace
}  // namespace profd::auth
