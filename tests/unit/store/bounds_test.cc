#include "daemon/store/spool/bounds.h"

#include <gtest/gtest.h>

#include "daemon/store/spool/budget.h"

namespace profd::store {
namespace {

constexpr uint64_t kLimit = 1'600'000;
constexpr uint64_t kSlack = 100'000;

class CountingTidier {
 public:
  int calls = 0;
  std::shared_ptr<Tidier> tidier = std::make_shared<Tidier>([this] { ++calls; });
};

TEST(Quota, CountsOnlyWithoutALimit) {
  Quota quota(0, "q", nullptr);
  quota.Change(0, 1ull << 50);
  EXPECT_EQ(quota.Excess(1ull << 50), 0U);
  EXPECT_EQ(quota.used_bytes(), 1ull << 50);
}

TEST(Quota, CallsForRoomBeforeItIsNeeded) {
  CountingTidier called;
  Quota quota(kLimit, "q", called.tidier);
  quota.Change(0, kLimit - kSlack);
  EXPECT_EQ(quota.Excess(0), 0U);
  EXPECT_EQ(called.calls, 0);
  EXPECT_EQ(quota.Excess(1), 0U);
  EXPECT_EQ(called.calls, 1);
  called.tidier->Answer(1);
  EXPECT_EQ(quota.Excess(kSlack + 7), 7U);
  EXPECT_EQ(called.calls, 1) << "again within the second";
}

TEST(Quota, LeavesTheRunningAloneUntilTheirCallIsAnswered) {
  CountingTidier called;
  Quota quota(kLimit, "q", called.tidier);
  quota.Change(0, kLimit);
  EXPECT_EQ(quota.Excess(kSlack), 0U);
  EXPECT_EQ(quota.Excess(kSlack + 1), 1U);
  called.tidier->Answer(1);
  EXPECT_EQ(quota.Excess(kSlack), kSlack);
  EXPECT_EQ(called.calls, 1) << "again within the second";
  called.tidier->Renew();
  EXPECT_EQ(quota.Excess(kSlack), 0U);
  EXPECT_EQ(called.calls, 2);
  quota.Change(kLimit, 0);
  EXPECT_EQ(quota.used_bytes(), 0U);
}

TEST(KeepFree, IsOneGibibyteOrTwoPercentOrWhatIsSetButNeverUnderTwentyMegabytes) {
  EXPECT_EQ(KeepFreeBytes(0, 1ull << 40), 1ull << 30);
  EXPECT_EQ(KeepFreeBytes(0, 10'000'000'000), 200'000'000U);
  EXPECT_EQ(KeepFreeBytes(0, 100'000'000), 20'000'000U);
  EXPECT_EQ(KeepFreeBytes(1, 1ull << 40), 20'000'000U);
  EXPECT_EQ(KeepFreeBytes(5ull << 30, 1ull << 40), 5ull << 30);
}

TEST(FreeSpace, ReckonsBetweenLooks) {
  int looks = 0;
  FreeSpace free(
      [&looks]() -> base::Result<Space> {
        ++looks;
        return Space{100'000'000, 200'000'000};
      },
      0, nullptr);
  EXPECT_EQ(free.Excess(80'000'000), 0U);
  EXPECT_EQ(free.Excess(80'000'001), 1U);
  free.Change(0, 10'000'000);
  EXPECT_EQ(free.Excess(80'000'000), 10'000'000U);
  free.Change(10'000'000, 0);
  EXPECT_EQ(free.Excess(80'000'000), 0U);
  EXPECT_EQ(looks, 1);
  free.Change(0, 17ull << 20);
  EXPECT_EQ(free.Excess(80'000'000), 0U) << "as the disk says";
  EXPECT_EQ(looks, 2);
}

TEST(FreeSpace, SeesAtOnceWhatOthersHaveRemoved) {
  CountingTidier called;
  uint64_t left = 100'000'000;
  FreeSpace free(
      [&]() -> base::Result<Space> {
        return Space{left, 200'000'000};
      },
      100'000'000, called.tidier);
  EXPECT_EQ(free.Excess(50'000'000), 0U) << "half of it, until the call is answered";
  EXPECT_EQ(free.Excess(50'000'001), 1U);
  left = 190'000'000;
  called.tidier->Renew();
  called.tidier->Answer(1);
  EXPECT_EQ(free.Excess(90'000'000), 0U);
  EXPECT_EQ(called.calls, 2);
}

// 400 files: 25 stay free, and are as much as the room that stays free.
TEST(FreeSpace, FilesRunOutToo) {
  const auto room = [](uint64_t free_files, uint64_t total_files) {
    return RoomIn({1'000'000'000, 2'000'000'000, free_files, total_files}, 100'000'000);
  };
  EXPECT_EQ(room(0, 0), 1'000'000'000U) << "a file system without a number of its own";
  EXPECT_EQ(room(50, 400), 1'000'000'000U);
  EXPECT_EQ(room(25, 400), 100'000'000U);
  EXPECT_EQ(room(10, 400), 40'000'000U);
  EXPECT_EQ(room(0, 400), 0U);
  EXPECT_EQ(room(10'000, 100'000'000), 100'000'000U) << "10 000 at most";
  EXPECT_EQ(RoomIn({30'000'000, 2'000'000'000, 10, 400}, 100'000'000), 30'000'000U) << "what is least";

  CountingTidier called;
  uint64_t files = 100;
  FreeSpace free(
      [&]() -> base::Result<Space> {
        return Space{1'000'000'000, 2'000'000'000, files, 400};
      },
      100'000'000, called.tidier);
  EXPECT_EQ(free.Excess(1), 0U);
  EXPECT_EQ(called.calls, 0);
  files = 20;
  called.tidier->Renew();
  EXPECT_EQ(free.Excess(1), 0U) << "others make way";
  EXPECT_EQ(called.calls, 1);
  called.tidier->Answer(1);
  EXPECT_GT(free.Excess(1), 0U);
}

TEST(FreeSpace, ADiskThatDoesNotAnswerBoundsNothing) {
  FreeSpace free([]() -> base::Result<Space> { return base::Status(base::Code::kInternal, "no"); }, 0,
                 nullptr);
  EXPECT_EQ(free.Excess(1ull << 50), 0U);
}

// A directory without a disk.
class Keeper : public SliceKeeper {
 public:
  base::Status Age(const ClosedSlice& /*slice*/) override {
    ++aged;
    return {};
  }
  uint64_t OldestNewest() const override { return UINT64_MAX; }
  void OfferOldestNewest() override {}
  int aged = 0;
};

TEST(BoundedBudget, AgesForABoundThatIsReached) {
  auto quota = std::make_shared<Quota>(kLimit, "the quota", nullptr);
  Budget budget(0, {quota});
  Keeper keeper;
  budget.Join(&keeper);
  for (uint64_t i = 0; i < 16; ++i) {
    budget.Change(0, 100'000);
    budget.Offer(&keeper, {.file = 0,
                           .number = i,
                           .disk_bytes = 100'000,
                           .first_ns = i,
                           .last_ns = i + 1,
                           .parts = {{.stream = 0, .records = 1, .bytes = 99'000}}});
  }
  EXPECT_TRUE(budget.MakeRoom(150'000).ok());
  EXPECT_EQ(keeper.aged, 2);
  EXPECT_EQ(quota->used_bytes(), 1'400'000U);
  EXPECT_EQ(budget.aged_records(), 2U);
  const base::Status never = budget.MakeRoom(kLimit + 1);
  EXPECT_EQ(never.code(), base::Code::kResourceExhausted);
  EXPECT_NE(never.message().find("the quota is reached"), std::string::npos) << never.message();
  EXPECT_EQ(keeper.aged, 16);

  budget.Change(0, 5000);
  budget.LeaveBounds();
  EXPECT_EQ(quota->used_bytes(), 0U);
  EXPECT_EQ(budget.used_bytes(), 5000U);
  budget.Leave(&keeper);
}

}  // namespace
}  // namespace profd::store
