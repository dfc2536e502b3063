// Peers over links that remember what was sent, on a real executor.
#include "daemon/agent/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/version.h"

namespace profd::agent {
namespace {

using base::Code;
using base::Status;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kLong = 60'000'000'000;

class FakeLink : public Link {
 public:
  void Send(const Command& command) override { sent.push_back(command); }
  void Close(const Status& why) override { closed.push_back(why.code()); }
  std::vector<Command> sent;
  std::vector<Code> closed;
};

Hello Speaking(uint32_t protocol) {
  Hello hello;
  hello.protocol = protocol;
  hello.agent_version = "7.7";
  return hello;
}

// Everything happens on ctl, where the body of each test runs.
class RegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    thread_ = std::thread([this] { ctl_.Run(); });
  }
  void TearDown() override {
    ctl_.Stop();
    thread_.join();
  }
  template <typename Work>
  auto OnCtl(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    ctl_.Post([&task] { task(); });
    return result.get();
  }
  // What ctl posted has run: it joins the queue when the work that posted it is over.
  void Settle() {
    OnCtl([] {});
    OnCtl([] {});
  }

  static Identity Process(pid_t pid, uid_t uid = 1000) { return {pid, uid, uid, ""}; }
  uint64_t Sit(pid_t pid, uid_t uid = 1000) {
    base::Result<Registry::Seat> seat = registry_.TakeSeat(Process(pid, uid));
    EXPECT_TRUE(seat.ok()) << seat.status().message();
    return seat.ok() ? seat->number : 0;
  }
  std::shared_ptr<Peer> Arrive(pid_t pid, std::shared_ptr<FakeLink> link = std::make_shared<FakeLink>()) {
    last_seat_ = Sit(pid);
    base::Result<std::shared_ptr<Peer>> peer =
        registry_.Register(last_seat_, "ada", Speaking(base::kProtocolVersion), std::move(link));
    EXPECT_TRUE(peer.ok()) << peer.status().message();
    return peer.ok() ? *peer : nullptr;
  }

  base::Executor ctl_;
  Registry registry_{ctl_, {.geometry = {2, 256, 65536}, .max_peers = 4, .max_peers_per_uid = 3}};
  uint64_t last_seat_ = 0;
  std::thread thread_;
};

TEST_F(RegistryTest, UsersWithAllTheyMayHaveLeaveSomeToOthers) {
  OnCtl([] {
    base::Executor ctl;
    Registry registry(ctl, {.geometry = {2, 256, 65536}, .max_peers = 64, .max_peers_per_uid = 32});
    const auto fill = [&](uid_t uid) {
      size_t seats = 0;
      while (registry.TakeSeat(Process(7, uid)).ok()) ++seats;
      return seats;
    };
    EXPECT_EQ(fill(1), 32U);
    EXPECT_EQ(fill(2), 32U);
    EXPECT_EQ(fill(3), 8U) << "an eighth beyond";
    EXPECT_EQ(fill(4), 0U);
  });
}

TEST_F(RegistryTest, ASeatIsNoPeerYet) {
  OnCtl([this] {
    const uint64_t seat = Sit(42);
    EXPECT_EQ(registry_.Find(42), nullptr);
    EXPECT_TRUE(registry_.All().empty());
    registry_.OnAck(seat, {});
    registry_.OnStepWindow(seat, {});
    registry_.Disconnect(seat);
    registry_.LeaveSeat(seat);
    registry_.LeaveSeat(seat);
  });
}

TEST_F(RegistryTest, KnowsThePeerByTheKernelsPid) {
  OnCtl([this] {
    Hello hello = Speaking(base::kProtocolVersion);
    hello.pid = 7;  // what the process believes
    const auto peer = registry_.Register(Sit(42), "ada", hello, std::make_shared<FakeLink>());
    ASSERT_TRUE(peer.ok());
    EXPECT_EQ(registry_.Find(42), *peer);
    EXPECT_EQ(registry_.Find(7), nullptr);
    EXPECT_EQ((*peer)->identity().user, "ada");
    EXPECT_EQ((*peer)->hello().pid, 7U);
    EXPECT_NE((*peer)->region(), nullptr);
    EXPECT_NE((*peer)->registered_wall_ns(), 0U);
    EXPECT_FALSE((*peer)->gone());
    EXPECT_TRUE((*peer)->Usable().ok());
  });
}

TEST_F(RegistryTest, TheNewestRegionOfAPidWins) {
  OnCtl([this] {
    const auto first = Arrive(42);
    const uint64_t first_seat = last_seat_;
    const auto second = Arrive(42);
    EXPECT_EQ(registry_.Find(42), second);
    registry_.LeaveSeat(last_seat_);
    EXPECT_EQ(registry_.Find(42), first);
    registry_.LeaveSeat(first_seat);
    EXPECT_EQ(registry_.Find(42), nullptr);
  });
}

TEST_F(RegistryTest, LimitsPerUserAndInTotalAndFreesThePlace) {
  OnCtl([this] {
    const uint64_t first = Sit(1, 1000);
    Sit(2, 1000);
    Sit(3, 1000);
    const Status user_full = registry_.TakeSeat(Process(4, 1000)).status();
    EXPECT_EQ(user_full.code(), Code::kResourceExhausted);
    EXPECT_THAT(user_full.message(), HasSubstr("agent.max_agents_per_user"));
    Sit(5, 1001);
    const Status full = registry_.TakeSeat(Process(6, 1002)).status();
    EXPECT_EQ(full.code(), Code::kResourceExhausted);
    EXPECT_THAT(full.message(), HasSubstr("agent.max_agents "));
    EXPECT_EQ(registry_.Count().seats, 4U);
    EXPECT_EQ(registry_.Count().turned_away, 2U);
    registry_.LeaveSeat(first);
    Sit(7, 1000);
  });
}

TEST_F(RegistryTest, AProcessProfdCannotSeeGetsNoSeat) {
  OnCtl([this] { EXPECT_EQ(registry_.TakeSeat(Process(0)).status().code(), Code::kFailedPrecondition); });
}

TEST_F(RegistryTest, RegistersOnceForEachSeat) {
  OnCtl([this] {
    const auto link = std::make_shared<FakeLink>();
    EXPECT_EQ(registry_.Register(99, "", {}, link).status().code(), Code::kUnauthenticated);
    Arrive(42);
    EXPECT_EQ(registry_.Register(last_seat_, "", {}, link).status().code(), Code::kAlreadyExists);
    EXPECT_EQ(link.use_count(), 1);
  });
}

TEST_F(RegistryTest, AnswersEachCommandOnceByItsNumber) {
  const auto link = std::make_shared<FakeLink>();
  std::vector<std::pair<char, Code>> answers;
  OnCtl([&] {
    const auto peer = Arrive(42, link);
    Arm arm;
    arm.kinds = {format::Kind::kAgentRange};
    peer->Send(arm, kLong, [&](const Ack& ack) { answers.emplace_back('a', ack.status.code()); });
    peer->Send(Fire{5}, kLong, [&](const Ack& ack) {
      answers.emplace_back('f', ack.status.code());
      EXPECT_EQ(ack.ticks, 77U);
    });
    EXPECT_TRUE(answers.empty());
    ASSERT_EQ(link->sent.size(), 2U);
    EXPECT_THAT(std::get<Arm>(link->sent[0].action).kinds, ElementsAre(format::Kind::kAgentRange));
    EXPECT_EQ(std::get<Fire>(link->sent[1].action).at_raw_ns, 5U);
    const Ack fired{.command_id = link->sent[1].id, .status = {}, .ticks = 77};
    registry_.OnAck(last_seat_, fired);
    registry_.OnAck(last_seat_, fired);                                  // again
    registry_.OnAck(last_seat_, {.command_id = 123'456, .status = {}});  // never asked
    registry_.OnAck(last_seat_, {.command_id = link->sent[0].id, .status = {Code::kInvalidArgument, "no"}});
  });
  EXPECT_THAT(answers, ElementsAre(std::pair('f', Code::kOk), std::pair('a', Code::kInvalidArgument)));
}

TEST_F(RegistryTest, ASilentProcessTimesOut) {
  std::promise<Code> answer;
  const auto link = std::make_shared<FakeLink>();
  OnCtl([&] {
    Arrive(42, link)->Send(StopRecording{}, 1, [&](const Ack& ack) { answer.set_value(ack.status.code()); });
  });
  EXPECT_EQ(answer.get_future().get(), Code::kDeadlineExceeded);
  // The late answer is nobody's.
  OnCtl([&] { registry_.OnAck(last_seat_, {.command_id = link->sent[0].id, .status = {}}); });
}

TEST_F(RegistryTest, WhoGoesAnswersWhatWaitsThenTellsTheClaimant) {
  for (const bool door_first : {false, true}) {
    std::vector<std::string> events;
    const auto link = std::make_shared<FakeLink>();
    OnCtl([&] {
      const auto peer = Arrive(42, link);
      ASSERT_TRUE(peer->Claim("s-1"));
      peer->OnGone([&, peer] {
        events.push_back("gone");
        EXPECT_EQ(registry_.Find(42), nullptr);
        peer->Unclaim();
      });
      for (int i = 0; i < 2; ++i) {
        peer->Send(StopRecording{}, kLong, [&](const Ack& ack) {
          events.push_back(ack.status.code() == Code::kUnavailable ? "unavailable" : "?");
        });
      }
      if (door_first) {
        registry_.LeaveSeat(last_seat_);
        EXPECT_THAT(link->closed, ElementsAre(Code::kUnavailable));
      } else {
        registry_.Disconnect(last_seat_);
        EXPECT_TRUE(link->closed.empty());
      }
      EXPECT_TRUE(peer->gone());
      EXPECT_FALSE(peer->Claim("s-2"));
      registry_.Disconnect(last_seat_);
      registry_.LeaveSeat(last_seat_);
      EXPECT_THAT(events, ElementsAre("unavailable", "unavailable", "gone"));
      peer->Send(StopRecording{}, kLong, [&](const Ack& ack) {
        events.push_back(ack.status.code() == Code::kUnavailable ? "too late" : "?");
      });
      EXPECT_EQ(events.size(), 3U) << "never from inside the call";
    });
    Settle();
    EXPECT_EQ(events.back(), "too late");
    EXPECT_EQ(link.use_count(), 1);
  }
}

TEST_F(RegistryTest, OneClaimAtATime) {
  OnCtl([this] {
    const auto peer = Arrive(42);
    EXPECT_EQ(peer->holder(), "");
    EXPECT_TRUE(peer->Claim("s-1"));
    EXPECT_FALSE(peer->Claim("s-2"));
    EXPECT_EQ(peer->holder(), "s-1");
    int windows = 0;
    peer->OnStepWindow([&windows](const StepWindow& window) { windows += static_cast<int>(window.step); });
    registry_.OnStepWindow(last_seat_, {.step = 3});
    peer->Unclaim();
    registry_.OnStepWindow(last_seat_, {.step = 100});
    EXPECT_EQ(windows, 3);
    EXPECT_TRUE(peer->Claim("s-2"));
  });
}

TEST_F(RegistryTest, AnotherProtocolIsSeenButNotClaimed) {
  OnCtl([this] {
    const auto peer = registry_.Register(Sit(42), "ada", Speaking(base::kProtocolVersion + 1),
                                         std::make_shared<FakeLink>());
    ASSERT_TRUE(peer.ok());
    EXPECT_EQ((*peer)->Usable().code(), Code::kFailedPrecondition);
    EXPECT_THAT((*peer)->Usable().message(), HasSubstr("7.7"));
    EXPECT_FALSE((*peer)->Claim("s-1"));
    EXPECT_EQ(registry_.Find(42), *peer);
  });
}

TEST_F(RegistryTest, TellsWatchersOfArrivals) {
  std::vector<pid_t> first;
  std::vector<pid_t> second;
  Registry::WatchId id = 0;
  OnCtl([&] {
    Arrive(1);
    id = registry_.WatchArrivals([&](const std::shared_ptr<Peer>& peer) {
      first.push_back(peer->identity().pid);
      registry_.Unwatch(id);
    });
    registry_.WatchArrivals(
        [&](const std::shared_ptr<Peer>& peer) { second.push_back(peer->identity().pid); });
    Arrive(2);
    EXPECT_TRUE(first.empty()) << "never from inside the call";
    Arrive(3);
    registry_.LeaveSeat(last_seat_);
  });
  Settle();
  EXPECT_THAT(first, ElementsAre(2));
  EXPECT_THAT(second, ElementsAre(2)) << "one that has gone already is not announced";
}

}  // namespace
}  // namespace profd::agent
