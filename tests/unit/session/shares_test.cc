// Nobody's sessions make another's be forgotten.
#include "daemon/session/history/shares.h"

#include <gtest/gtest.h>

#include "daemon/session/history/past.h"

namespace profd::session {
namespace {

constexpr ShareLimits kFew = {.of_user = 3, .of_all = 5, .bytes_of_all = 1000};

std::vector<Share> Of(std::initializer_list<uid_t> uids) {
  std::vector<Share> shares;
  for (const uid_t uid : uids) shares.push_back({uid, 10});
  return shares;
}

TEST(Shares, NothingGoesWithinTheLimits) {
  EXPECT_EQ(NextToForget({}, kFew), std::nullopt);
  EXPECT_EQ(NextToForget(Of({1, 2, 2, 2, 1}), kFew), std::nullopt);
}

TEST(Shares, WhoHasTooManyLosesTheOldest) { EXPECT_EQ(NextToForget(Of({1, 2, 2, 2, 2}), kFew), 1U); }

TEST(Shares, OfAllTogetherWhoHasMostLosesTheOldest) {
  EXPECT_EQ(NextToForget(Of({1, 3, 2, 2, 1, 1}), kFew), 0U);
  EXPECT_EQ(NextToForget(Of({3, 1, 2, 2, 1, 2}), kFew), 2U);
}

TEST(Shares, OfBytesWhoHasMostLosesTheOldest) {
  std::vector<Share> shares = Of({1, 2, 1});
  shares[1].bytes = 1000;
  EXPECT_EQ(NextToForget(shares, kFew), 1U);
}

SessionInfo Ended(uid_t uid, int number, const std::string& text = "") {
  SessionInfo info;
  info.uid = uid;
  info.id = std::to_string(number);
  const std::string digits = std::to_string(100'000 + number);
  info.directory = "/spool/user/PROF_000001_20261121055" + digits + "_00000001ABCDEFGH";
  info.directories = {info.directory};
  info.labels["text"] = text;
  return info;
}

TEST(PastSessions, EachUsersNewestStayAndTheNewestIsFirst) {
  PastSessions past;
  past.Add({Ended(1, 7)});
  std::vector<SessionInfo> many;
  for (int i = 5000; i > 100; --i) many.push_back(Ended(2, i));
  past.Add(std::move(many));
  ASSERT_EQ(past.all().size(), PastSessions::kMostOfUser + 1);
  EXPECT_EQ(past.all().front().id, "5000");
  EXPECT_EQ(past.all().back().id, "7");
  EXPECT_EQ(past.all()[PastSessions::kMostOfUser - 1].id, std::to_string(5001 - PastSessions::kMostOfUser));
}

TEST(PastSessions, LongTextsOfOneDoNotCostTheOthers) {
  PastSessions past;
  past.Add({Ended(1, 7)});
  for (int i = 100; i < 110; ++i)
    past.Add({Ended(2, i, std::string(PastSessions::kMostBytesOfAll / 4, 'x'))});
  ASSERT_EQ(past.all().size(), 4U);
  EXPECT_EQ(past.all().front().id, "109");
  EXPECT_EQ(past.all().back().id, "7");
}

}  // namespace
}  // namespace profd::session
