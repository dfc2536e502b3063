#include "daemon/chunk/ledger.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "daemon/chunk/pipe.h"

namespace profd::chunk {
namespace {

TEST(LedgerTest, WhoHasMuchGetsNoMoreThanHalfOfWhatIsLeft) {
  const auto ledger = std::make_shared<Ledger>(900);
  Account first(ledger), second(ledger);
  EXPECT_EQ(first.Room(), 450U);
  EXPECT_TRUE(first.Claim(300));
  EXPECT_FALSE(first.Claim(1)) << "300 are half of the 600 that are left";
  EXPECT_EQ(first.Room(), 0U);
  EXPECT_TRUE(second.Claim(200)) << "another one has his part";
  EXPECT_EQ(ledger->taken(), 500U);
  EXPECT_TRUE(ledger->IsShort());
  first.Give(300);
  EXPECT_TRUE(second.Claim(100));
  EXPECT_TRUE(Account(nullptr).Claim(uint64_t{1} << 40));
}

TEST(LedgerTest, HoweverManyWantItTheSumIsBoundedAndEachHasSome) {
  const auto ledger = std::make_shared<Ledger>(1 << 20);
  {
    std::vector<std::unique_ptr<Account>> accounts(64);
    for (auto& account : accounts) account = std::make_unique<Account>(ledger);
    for (bool more = true; more;) {
      more = false;
      for (const auto& account : accounts) more |= account->Claim(256);
    }
    EXPECT_LE(ledger->taken(), 1U << 20);
    for (const auto& account : accounts) EXPECT_GT(account->own(), (1U << 20) / 100);
    EXPECT_TRUE(Account(ledger).Claim(1024)) << "who comes last";
  }
  EXPECT_EQ(ledger->taken(), 0U);
}

TEST(LedgerTest, AShareLastsAsLongAsWhatItIsFor) {
  const auto account = std::make_shared<Account>(std::make_shared<Ledger>(1000));
  ASSERT_TRUE(account->Claim(100));
  Share share(account, 100);
  {
    const Share moved = std::move(share);
    EXPECT_EQ(account->own(), 100U);
  }
  EXPECT_EQ(account->own(), 0U);
}

class PipeOfLedger : public testing::Test {
 protected:
  static constexpr size_t kBytes = 65536, kChunks = 32;

  std::vector<Chunk*> TakeAll(Pipe& pipe) {
    std::vector<Chunk*> taken;
    while (Chunk* chunk = pipe.TryTake()) {
      std::memset(chunk->data, 1, kBytes);
      taken.push_back(chunk);
    }
    return taken;
  }
  static size_t Resident(const Pipe& pipe) {
    const auto& memory = *pipe.memory();
    std::vector<unsigned char> pages(memory.size() / 4096);
    EXPECT_EQ(::mincore(memory.data(), memory.size(), pages.data()), 0);
    size_t bytes = 0;
    for (const unsigned char page : pages) bytes += (page & 1) != 0 ? 4096 : 0;
    return bytes;
  }

  base::WakeUp bell_;
};

TEST_F(PipeOfLedger, DisksThatTakeNothingShareWhatThereIs) {
  const auto ledger = std::make_shared<Ledger>(20 * kBytes);
  Pipe first("first", kBytes, kChunks, bell_, {ledger, 2});
  Pipe second("second", kBytes, kChunks, bell_, {ledger, 2});
  const auto of_first = TakeAll(first);
  EXPECT_EQ(of_first.size(), 7U) << "and 13 are left";
  EXPECT_EQ(first.Free(), 0U);
  EXPECT_EQ(second.Free(), 6U);
  EXPECT_EQ(TakeAll(second).size(), 4U);
  Pipe third("third", kBytes, kChunks, bell_, {std::make_shared<Ledger>(0), 2});
  EXPECT_EQ(TakeAll(third).size(), 2U) << "these in any case";
  third.HaveAll();
  EXPECT_EQ(TakeAll(third).size(), kChunks - 2);
}

TEST_F(PipeOfLedger, WhatWaitsNoMoreIsGivenBackWhereOthersNeedIt) {
  const auto ledger = std::make_shared<Ledger>(20 * kBytes);
  {
    Pipe pipe("test", kBytes, kChunks, bell_, {ledger, 2});
    for (Chunk* chunk : TakeAll(pipe)) pipe.PutBack(chunk);
    EXPECT_EQ(pipe.Free(), 7U);
    EXPECT_EQ(ledger->taken(), 7 * kBytes) << "nobody is short of it";
    Account other(ledger);
    other.Take(10 * kBytes);
    EXPECT_EQ(pipe.Free(), 4U);
    EXPECT_EQ(ledger->taken(), 12 * kBytes);
    EXPECT_EQ(Resident(pipe), 2 * kBytes);
    EXPECT_EQ(TakeAll(pipe).size(), 3U);
  }
  EXPECT_EQ(ledger->taken(), 0U);
}

TEST_F(PipeOfLedger, WhatWasNotNeededForATimeGoes) {
  const auto ledger = std::make_shared<Ledger>(100 * kBytes);
  Pipe pipe("test", kBytes, kChunks, bell_, {ledger, 2});
  std::vector<Chunk*> burst(6);
  for (Chunk*& chunk : burst) chunk = pipe.TryTake();
  for (Chunk* chunk : burst) std::memset(chunk->data, 1, kBytes);
  Chunk* const away = burst.back();
  burst.pop_back();
  for (Chunk* chunk : burst) pipe.Return(chunk);
  pipe.LetGoOfUnused();
  EXPECT_EQ(Resident(pipe), 6 * kBytes) << "all were needed since the call before";
  Chunk* const one = pipe.TryTake();
  Chunk* const two = pipe.TryTake();
  pipe.PutBack(two);
  pipe.PutBack(one);
  pipe.LetGoOfUnused();
  EXPECT_EQ(Resident(pipe), 3 * kBytes) << "two were needed, one is away";
  EXPECT_EQ(ledger->taken(), 3 * kBytes);
  EXPECT_EQ(away->data[kBytes - 1], std::byte{1});
  EXPECT_EQ(pipe.TryTake(), one) << "what was used last is used next";
  pipe.PutBack(one);
  pipe.Return(away);
  pipe.LetGoOfUnused();  // hears of it; one was needed meanwhile
  pipe.LetGoOfUnused();
  EXPECT_EQ(Resident(pipe), 0U);
  EXPECT_EQ(ledger->taken(), 0U);
  EXPECT_EQ(TakeAll(pipe).size(), kChunks);
}

TEST_F(PipeOfLedger, ChunksThatShareAPageDoNotHarmEachOther) {
  constexpr size_t kOdd = 5000;
  Pipe pipe("test", kOdd, 4, bell_);
  std::vector<Chunk*> taken;
  while (Chunk* chunk = pipe.TryTake()) taken.push_back(chunk);
  ASSERT_EQ(taken.size(), 4U);
  for (Chunk* chunk : taken) std::memset(chunk->data, 1, kOdd);
  pipe.PutBack(taken[1]);
  pipe.LetGoOfUnused();
  pipe.LetGoOfUnused();
  for (const Chunk* chunk : {taken[0], taken[2], taken[3]}) {
    EXPECT_EQ(std::count(chunk->data, chunk->data + kOdd, std::byte{1}), kOdd);
  }
}

}  // namespace
}  // namespace profd::chunk
