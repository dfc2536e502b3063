#include "daemon/fabric/datagram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/fabric/recorded.h"

namespace profd::fabric {
namespace {

using testing::ElementsAre;

TEST(Datagram, ReadsWhatKinetoSays) {
  ASSERT_EQ(kKinetoPoll.size(), 80U);
  const Message message = Read(Bytes(kKinetoPoll));
  const auto* poll = std::get_if<Poll>(&message);
  ASSERT_NE(poll, nullptr);
  EXPECT_EQ(poll->kinds, kActivities);
  EXPECT_EQ(poll->job, 0);
  EXPECT_THAT(poll->pids, ElementsAre(4941, 4940, 4894, 4893, 5700, 5697));
}

TEST(Datagram, ReadsWhatMsMonitorSays) {
  ASSERT_EQ(kMonitorRegistration.size(), 56U);
  ASSERT_EQ(kTraceStatus.size(), 72U);
  ASSERT_EQ(kMonitorPoll.size(), 76U);
  const Message registration = Read(Bytes(kMonitorRegistration));
  ASSERT_TRUE(std::holds_alternative<Registration>(registration));
  EXPECT_EQ(std::get<Registration>(registration).rank, 5);
  EXPECT_EQ(std::get<Registration>(registration).pid, 4203);
  const Message status = Read(Bytes(kTraceStatus));
  ASSERT_TRUE(std::holds_alternative<Report>(status));
  EXPECT_TRUE(std::get<Report>(status).of_trace);
  EXPECT_EQ(std::get<Report>(status).status, Report::kIdle);
  EXPECT_EQ(std::get<Report>(status).step, -1);
  EXPECT_FALSE(std::get<Report>(Read(Bytes(kMonitorStatus))).of_trace);
  const auto runs = std::get<Report>(Read(Bytes(kTraceRuns)));
  EXPECT_EQ(runs.status, Report::kRunning);
  EXPECT_EQ(runs.step, 11);
  EXPECT_EQ(runs.first, 10);
  EXPECT_EQ(runs.last, 12);
  EXPECT_EQ(std::get<Poll>(Read(Bytes(kMonitorPoll))).kinds, kOfMonitor);
}

TEST(Datagram, AnswersAreThoseOfDynolog) {
  EXPECT_EQ(RegisteredAnswer(1), kRegisteredAnswer);
  EXPECT_EQ(PollAnswer(""), kNothingToDo);
  EXPECT_EQ(PollAnswer("X=1\n"), Recorded(4, "req", "583d310a"));
}

Drop WhyDropped(const std::string& datagram) {
  const Message message = Read(Bytes(datagram));
  EXPECT_TRUE(std::holds_alternative<Drop>(message));
  return std::get<Drop>(message);
}

TEST(Datagram, NothingIsMadeOfForgedOnes) {
  for (size_t size = 0; size <= kMostBytes + 100; ++size) {
    std::string datagram = kKinetoPoll;
    datagram.resize(size);
    if (size == kKinetoPoll.size()) continue;
    EXPECT_EQ(WhyDropped(datagram), size < kHeaderBytes || size > kMostBytes ? Drop::kLength : Drop::kSize);
  }
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{1} << 31, uint64_t{1} << 40, uint64_t{1} << 63, ~uint64_t{0}}) {
    std::string datagram = kKinetoPoll;
    std::memcpy(datagram.data(), &size, sizeof size);
    EXPECT_EQ(WhyDropped(datagram), Drop::kSize);
  }
  for (const int32_t count : {-1, 0, 5, 7, 17, 1 << 30, INT32_MIN, INT32_MAX}) {
    std::string datagram = kKinetoPoll;
    std::memcpy(datagram.data() + kHeaderBytes + 4, &count, sizeof count);
    EXPECT_EQ(WhyDropped(datagram), Drop::kBody) << count;
  }
  EXPECT_EQ(WhyDropped(Recorded(16, std::string(32, 'r'), std::string(32, '0'))), Drop::kType);
  EXPECT_EQ(WhyDropped(Recorded(16, "request", std::string(32, '0'))), Drop::kType);
  EXPECT_EQ(WhyDropped(Recorded(15, "ctxt", std::string(30, '0'))), Drop::kBody);
  EXPECT_EQ(WhyDropped(Recorded(33, "npuTraceStatus", std::string(66, '0'))), Drop::kBody);
}

}  // namespace
}  // namespace profd::fabric
