#include "daemon/chunk/pipe.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace profd::chunk {
namespace {

Item DataItem(Chunk* chunk) {
  Item item;
  item.chunk = chunk;
  item.key = chunk->header.key;
  return item;
}

TEST(PipeTest, RunsOutAndRecovers) {
  base::WakeUp bell;
  Pipe pipe("test", 4096, 2, bell);
  Chunk* a = pipe.TryTake();
  Chunk* b = pipe.TryTake();
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a->data, b->data);
  EXPECT_EQ(pipe.TryTake(), nullptr);
  pipe.PutBack(b);
  EXPECT_EQ(pipe.TryTake(), b);
  ASSERT_TRUE(pipe.Push(DataItem(a)));
  Item out;
  ASSERT_TRUE(pipe.Pop(out));
  EXPECT_EQ(out.chunk, a);
  EXPECT_EQ(pipe.TryTake(), nullptr);
  pipe.Return(out.chunk);
  EXPECT_EQ(pipe.TryTake(), a);
}

TEST(PipeTest, ATakenChunkComesClean) {
  base::WakeUp bell;
  Pipe pipe("test", 4096, 1, bell);
  Chunk* chunk = pipe.TryTake();
  chunk->header.used = 77;
  chunk->header.records = 3;
  pipe.PutBack(chunk);
  chunk = pipe.TryTake();
  EXPECT_EQ(chunk->header.used, 0u);
  EXPECT_EQ(chunk->header.records, 0u);
  EXPECT_EQ(chunk->Room(), 4096u);
}

TEST(PipeTest, OtherItemsNeverTakeAChunksPlace) {
  base::WakeUp bell;
  Pipe pipe("test", 4096, 8, bell);
  Item loss;
  loss.what = Item::What::kLoss;
  size_t accepted = 0;
  while (pipe.Push(loss)) ASSERT_LT(++accepted, 100'000u);
  EXPECT_GT(accepted, 8u);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(pipe.Push(DataItem(pipe.TryTake())));
}

TEST(PipeTest, ChunksTravelBothWaysBetweenThreads) {
  base::WakeUp bell;
  Pipe pipe("test", 4096, 4, bell);
  constexpr uint64_t kCount = 50'000;
  std::thread writer([&] {
    uint64_t expected = 0;
    while (expected < kCount) {
      Item item;
      bell.Prepare();
      if (!pipe.Pop(item)) {
        bell.Wait(UINT64_MAX);
        continue;
      }
      bell.Cancel();
      do {
        uint64_t value = 0;
        std::memcpy(&value, item.chunk->data, sizeof value);
        ASSERT_EQ(value, expected);
        ASSERT_EQ(item.chunk->header.seq, expected);
        ++expected;
        pipe.Return(item.chunk);
      } while (pipe.Pop(item));
    }
  });
  for (uint64_t i = 0; i < kCount;) {
    Chunk* chunk = pipe.TryTake();
    if (chunk == nullptr) {
      std::this_thread::yield();
      continue;
    }
    std::memcpy(chunk->data, &i, sizeof i);
    chunk->header.used = sizeof i;
    chunk->header.seq = i++;
    pipe.Push(DataItem(chunk));
    pipe.Kick();
  }
  writer.join();
}

}  // namespace
}  // namespace profd::chunk
