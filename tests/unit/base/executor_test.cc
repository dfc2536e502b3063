#include "daemon/base/executor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace profd::base {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(ExecutorTest, PostedWorkRunsInOrderOnCtl) {
  Executor ctl;
  std::vector<int> order;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) {
      ctl.Post([&, i] {
        EXPECT_TRUE(ctl.OnCtl());
        order.push_back(i);
        if (i == 99) ctl.Stop();
      });
    }
  });
  EXPECT_FALSE(ctl.OnCtl());
  ctl.Run();
  other.join();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(ExecutorTest, CancelledTimersDoNotFire) {
  Executor ctl;
  bool cancelled_ran = false;
  ctl.Post([&] {
    const auto id = ctl.After(1 * kMs, [&] { cancelled_ran = true; });
    ctl.Cancel(id);
    ctl.Cancel(id);
    ctl.After(20 * kMs, [&] { ctl.Stop(); });
  });
  ctl.Run();
  EXPECT_FALSE(cancelled_ran);
}

TEST(ExecutorTest, AWatchFiresOnceAndLeavesTheDescriptorOpen) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  Executor ctl;
  int fired = 0;
  ctl.Post([&] {
    ctl.WatchReadable(read_end.get(), [&] {
      ++fired;
      ctl.After(5 * kMs, [&] { ctl.Stop(); });
    });
    const auto other = ctl.WatchReadable(::dup(read_end.get()), [&] { ++fired; });
    ctl.Unwatch(other);
    EXPECT_EQ(::write(write_end.get(), "x", 1), 1);
  });
  ctl.Run();
  EXPECT_EQ(fired, 1);
  char byte = 0;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 1);
}

}  // namespace
}  // namespace profd::base
