#include "daemon/store/loss_log.h"

#include <gtest/gtest.h>

namespace profd::store {
namespace {

using format::Loss;

Loss LossOf(Loss::Where where, uint64_t from, uint64_t to, uint64_t records) {
  return {.where = where, .from_ns = from, .to_ns = to, .records = records, .bytes = records * 10};
}

TEST(LossLog, JoinsNeighboursOfOneCause) {
  LossLog log;
  log.Add(LossOf(Loss::Where::kPool, 10, 20, 1));
  log.Add(LossOf(Loss::Where::kPool, 20, 30, 2));
  log.Add(LossOf(Loss::Where::kDriver, 30, 40, 4));
  log.Add(LossOf(Loss::Where::kPool, 40, 50, 8));
  ASSERT_EQ(log.losses().size(), 3U);
  EXPECT_EQ(log.losses()[0].from_ns, 10U);
  EXPECT_EQ(log.losses()[0].to_ns, 30U);
  EXPECT_EQ(log.losses()[0].records, 3U);
  EXPECT_EQ(log.losses()[0].bytes, 30U);
  EXPECT_EQ(log.losses()[1].where, Loss::Where::kDriver);
  EXPECT_EQ(log.losses()[2].records, 8U);
}

TEST(LossLog, KeepsApartWhatHasDataInBetween) {
  LossLog log;
  log.Add(LossOf(Loss::Where::kPool, 10, 20, 1));
  log.NoteStored();
  log.Add(LossOf(Loss::Where::kPool, 30, 40, 1));
  log.Add(LossOf(Loss::Where::kPool, 40, 50, 1));
  ASSERT_EQ(log.losses().size(), 2U);
  EXPECT_EQ(log.losses()[1].from_ns, 30U);
  EXPECT_EQ(log.losses()[1].to_ns, 50U);
}

TEST(LossLog, IsBoundedAndCountsOnWhenFull) {
  LossLog log;
  uint64_t records = 0;
  for (uint64_t i = 1; i <= 5 * LossLog::kMaxLosses; ++i) {
    log.Add(LossOf(i % 2 == 0 ? Loss::Where::kPool : Loss::Where::kWrite, i, i + 1, i));
    log.NoteStored();
    records += i;
  }
  // A cause that comes up only now still gets an entry of its own.
  log.Add(LossOf(Loss::Where::kSampler, 7, 8, 1));
  log.Add(LossOf(Loss::Where::kDriver, 8, 9, 1));
  log.Add(LossOf(Loss::Where::kSampler, 9, 10, 1));
  EXPECT_LE(log.losses().size(), LossLog::kMaxLosses);
  uint64_t kept = 0;
  uint64_t late_causes = 0;
  for (const Loss& loss : log.losses()) {
    kept += loss.records;
    EXPECT_LT(loss.from_ns, loss.to_ns);
    late_causes += loss.where == Loss::Where::kSampler || loss.where == Loss::Where::kDriver ? 1 : 0;
  }
  EXPECT_EQ(kept, records + 3);
  EXPECT_EQ(late_causes, 2U);
}

}  // namespace
}  // namespace profd::store
