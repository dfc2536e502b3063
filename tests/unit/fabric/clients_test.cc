#include "daemon/fabric/clients.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/fabric/recorded.h"
#include "tests/unit/support/fake_timers.h"

namespace profd::fabric {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class ClientsTest : public testing::Test {
 protected:
  Clients::Answer Say(const std::string& datagram, const Sender& sender) {
    return clients_.Take(sender, Read(Bytes(datagram)));
  }
  static Sender Of(pid_t pid, uid_t uid = 1000, char name = 'a') {
    return {pid, uid, 0, std::string("\0", 1) + name};
  }
  Order Ordered(const std::string& text) {
    return {"session 1", text, [this](Order::Event event, const Client&) { events_.push_back(event); }};
  }

  FakeTimers timers_;
  Clients clients_{timers_};
  std::vector<Order::Event> events_;
};

TEST_F(ClientsTest, AnswersTheRecordedOnesAsDynolog) {
  EXPECT_EQ(Say(kKinetoPoll, Of(10)).datagram, kNothingToDo);
  EXPECT_EQ(Say(kMonitorRegistration, Of(11)).datagram, kRegisteredAnswer);
  EXPECT_EQ(Say(kTraceStatus, Of(11)).datagram, "");
  EXPECT_EQ(Say(kMonitorStatus, Of(11)).datagram, "");
  EXPECT_EQ(Say(kMonitorPoll, Of(11)).datagram, kNothingToDo);
  const std::vector<Client> all = clients_.All();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].family, Family::kKineto);
  EXPECT_EQ(all[1].family, Family::kMonitor);
  EXPECT_EQ(all[1].rank, 5);
}

// The body says pid 4941; the kernel says 10.
TEST_F(ClientsTest, WhoItIsSaysTheKernel) {
  Say(kKinetoPoll, Of(10));
  EXPECT_FALSE(clients_.Find(4941));
  ASSERT_TRUE(clients_.Find(10));
  EXPECT_EQ(clients_.Find(10)->sender.uid, 1000U);
}

TEST_F(ClientsTest, AnOrderIsHandedOutOnce) {
  Say(kKinetoPoll, Of(10));
  const uint64_t id = clients_.Find(10)->id;
  ASSERT_TRUE(clients_.Place(id, Ordered("A=1\n")).ok());
  EXPECT_EQ(clients_.Place(id, Ordered("B=1\n")).code(), base::Code::kAborted);
  EXPECT_EQ(Say(kKinetoPoll, Of(11)).datagram, kNothingToDo) << "another process";
  EXPECT_EQ(Say(kKinetoPoll, Of(10)).datagram, PollAnswer("A=1\n"));
  EXPECT_EQ(Say(kKinetoPoll, Of(10)).datagram, kNothingToDo);
  EXPECT_EQ(events_, std::vector{Order::Event::kHanded});
  EXPECT_FALSE(clients_.Withdraw(id)) << "too late";
  ASSERT_TRUE(clients_.Place(id, Ordered("C=1\n")).ok());
  EXPECT_TRUE(clients_.Withdraw(id));
  EXPECT_EQ(Say(kKinetoPoll, Of(10)).datagram, kNothingToDo);
}

// kineto says kind 0 while its profiler is at work.
TEST_F(ClientsTest, ABusyProfilerGetsItLater) {
  std::string busy = kKinetoPoll;
  busy[kHeaderBytes] = 0;
  Say(busy, Of(10));
  EXPECT_TRUE(clients_.Find(10)->busy);
  ASSERT_TRUE(clients_.Place(clients_.Find(10)->id, Ordered("A=1\n")).ok());
  EXPECT_EQ(Say(busy, Of(10)).datagram, kNothingToDo);
  EXPECT_EQ(Say(kKinetoPoll, Of(10)).datagram, PollAnswer("A=1\n"));
}

TEST_F(ClientsTest, WhoOrderedHearsOfItsReportsAndItsEnd) {
  Say(kMonitorPoll, Of(10));
  ASSERT_TRUE(clients_.Place(clients_.Find(10)->id, Ordered("A=1\n")).ok());
  Say(kTraceStatus, Of(10));
  Say(kMonitorPoll, Of(10));
  Say(kTraceRuns, Of(10));
  clients_.Forget(10);
  EXPECT_EQ(events_, (std::vector{Order::Event::kHanded, Order::Event::kReport, Order::Event::kGone}));
  EXPECT_TRUE(clients_.All().empty());
}

TEST_F(ClientsTest, WhoIsSilentForAMinuteIsForgotten) {
  Say(kKinetoPoll, Of(10));
  ASSERT_TRUE(clients_.Place(clients_.Find(10)->id, Ordered("A=1\n")).ok());
  timers_.Advance(59 * kSecond);
  EXPECT_EQ(clients_.All().size(), 1U);
  timers_.Advance(2 * kSecond);
  EXPECT_TRUE(clients_.All().empty());
  EXPECT_EQ(events_, std::vector{Order::Event::kGone});
}

TEST_F(ClientsTest, OneUserCannotTakeAllRoom) {
  for (pid_t pid = 1; pid <= 2000; ++pid) EXPECT_EQ(Say(kKinetoPoll, Of(pid)).datagram, kNothingToDo);
  for (char name = 'a'; name < 'z'; ++name) Say(kKinetoPoll, Of(1, 1000, name));
  EXPECT_EQ(clients_.All().size(), Clients::kMostOfUser);
  Say(kKinetoPoll, Of(5000, 1001));
  EXPECT_TRUE(clients_.Find(5000));
  for (uid_t user = 1; user < 100; ++user) {
    for (pid_t pid = 1; pid <= 100; ++pid)
      Say(kKinetoPoll, Of(static_cast<pid_t>(10'000 * user) + pid, user));
  }
  EXPECT_EQ(clients_.All().size(), Clients::kMost);
}

TEST_F(ClientsTest, APidThatIsAnotherUsersNowIsAnotherProcess) {
  Say(kKinetoPoll, Of(10, 1000));
  ASSERT_TRUE(clients_.Place(clients_.Find(10)->id, Ordered("A=1\n")).ok());
  EXPECT_EQ(Say(kKinetoPoll, Of(10, 1001)).datagram, kNothingToDo);
  EXPECT_EQ(events_, std::vector{Order::Event::kGone});
}

// MindSpore's client asks again at once; later than 50 ms it would read one answer behind from then on.
TEST_F(ClientsTest, WhoNeverSleepsIsPaced) {
  Clients::Answer answer;
  for (int i = 0; i <= 10; ++i) {
    answer = Say(kMonitorPoll, Of(10));
    timers_.Advance(1'000'000);
    if (i < 10) {
      EXPECT_EQ(answer.delay_ns, 0U) << i;
    }
  }
  EXPECT_GT(answer.delay_ns, 20'000'000U);
  EXPECT_LT(answer.delay_ns, 50'000'000U);
  ASSERT_TRUE(clients_.Place(clients_.Find(10)->id, Ordered("A=1\n")).ok());
  EXPECT_EQ(Say(kMonitorPoll, Of(10)).delay_ns, 0U) << "what there is to do is said at once";
  timers_.Advance(2 * kSecond);
  EXPECT_EQ(Say(kMonitorPoll, Of(10)).delay_ns, 0U);
}

}  // namespace
}  // namespace profd::fabric
