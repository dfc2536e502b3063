#include "daemon/base/mailbox.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace profd::base {
namespace {

TEST(Mailbox, GivesBackInOrder) {
  Mailbox<std::unique_ptr<int>> mailbox;
  EXPECT_FALSE(mailbox.Take());
  mailbox.Send(std::make_unique<int>(1));
  mailbox.Send(std::make_unique<int>(2));
  EXPECT_EQ(mailbox.size(), 2U);
  EXPECT_EQ(**mailbox.Take(), 1);
  mailbox.Send(std::make_unique<int>(3));
  EXPECT_EQ(**mailbox.Take(), 2);
  EXPECT_EQ(**mailbox.Take(), 3);
  EXPECT_EQ(mailbox.size(), 0U);
  EXPECT_FALSE(mailbox.Take());
}

// Who is asked may take more while it does what it was asked.
TEST(Mailbox, MayBeTakenFromWithinACommand) {
  Mailbox<std::function<void()>> mailbox;
  std::vector<int> done;
  mailbox.Send([&] {
    done.push_back(1);
    while (const auto next = mailbox.Take()) (*next)();
    done.push_back(3);
  });
  mailbox.Send([&] { done.push_back(2); });
  while (const auto next = mailbox.Take()) (*next)();
  EXPECT_EQ(done, (std::vector<int>{1, 2, 3}));
}

TEST(Mailbox, EachOfManyThreadsIsHeardInItsOrder) {
  constexpr int kThreads = 4, kEach = 2000;
  Mailbox<std::pair<int, int>> mailbox;
  std::vector<std::thread> threads;
  for (int who = 0; who < kThreads; ++who) {
    threads.emplace_back([&mailbox, who] {
      for (int i = 0; i < kEach; ++i) mailbox.Send({who, i});
    });
  }
  std::vector<int> heard(kThreads, 0);
  for (int all = 0; all < kThreads * kEach;) {
    const auto said = mailbox.Take();
    if (!said) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ(said->second, heard[said->first]++);
    ++all;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mailbox.size(), 0U);
}

}  // namespace
}  // namespace profd::base
