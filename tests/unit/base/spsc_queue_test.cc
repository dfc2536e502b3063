#include "base/threads/spsc_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace profd::base {
namespace {

TEST(SpscQueueTest, FullAndEmptyAreToldApart) {
  SpscQueue<int> queue(3);
  EXPECT_EQ(queue.capacity(), 4u);
  int out = 0;
  EXPECT_FALSE(queue.TryPop(out));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.TryPush(int{i}));
  EXPECT_FALSE(queue.TryPush(4));
  EXPECT_EQ(queue.SizeApprox(), 4u);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(queue.TryPop(out));
    EXPECT_EQ(out, i);
  }
  EXPECT_FALSE(queue.TryPop(out));
}

TEST(SpscQueueTest, NothingIsLostOrReorderedBetweenTwoThreads) {
  constexpr uint64_t kCount = 200'000;
  SpscQueue<uint64_t> queue(64);
  std::thread producer([&] {
    for (uint64_t i = 0; i < kCount;) {
      if (queue.TryPush(uint64_t{i})) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  uint64_t expected = 0;
  while (expected < kCount) {
    uint64_t value = 0;
    if (!queue.TryPop(value)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(value, expected);
    ++expected;
  }
  producer.join();
}

}  // namespace
}  // namespace profd::base
