#include "daemon/store/recent_chunks.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/store/writer_harness.h"

namespace profd::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kTrace = 7;

// `from_ns` names it.
void AddChunk(RecentChunks& recent, uint32_t trace, uint64_t from_ns, std::string data, uint32_t buffer = 0) {
  chunk::Chunk chunk;
  chunk.header.key = {trace, 0};
  chunk.header.first_time_ns = from_ns;
  chunk.header.last_time_ns = from_ns + 10;
  chunk.header.used = static_cast<uint32_t>(data.size());
  chunk.data = reinterpret_cast<std::byte*>(data.data());
  recent.Add(chunk, buffer);
}

std::vector<uint64_t> Times(const std::deque<RecentChunks::Held>& taken) {
  std::vector<uint64_t> times;
  for (const RecentChunks::Held& held : taken) times.push_back(held.header.first_time_ns);
  return times;
}

TEST(RecentChunks, TheOldestMakesWayForTheNewest) {
  constexpr uint64_t kEach = 1000;
  RecentChunks recent(3 * (kEach + RecentChunks::kOverhead));
  EXPECT_EQ(recent.from_ns(), 0U);
  for (uint64_t time = 100; time <= 500; time += 100)
    AddChunk(recent, kTrace, time, std::string(kEach, static_cast<char>('a' + time / 100)));
  EXPECT_EQ(recent.bytes(), 3 * (kEach + RecentChunks::kOverhead));
  EXPECT_EQ(recent.from_ns(), 300U);
  const auto taken = recent.Take(kTrace, 0);
  EXPECT_THAT(Times(taken), ElementsAre(300, 400, 500));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(taken[0].data.get()), kEach), std::string(kEach, 'd'));
  EXPECT_EQ(recent.bytes(), 0U);
  EXPECT_EQ(recent.from_ns(), 0U);
  EXPECT_THAT(recent.Take(kTrace, 0), IsEmpty());
}

TEST(RecentChunks, WhatComesLaterDrivesNothingOut) {
  RecentChunks recent(2 * (1000 + RecentChunks::kOverhead));
  AddChunk(recent, kTrace, 100, std::string(1000, 'x'));
  recent.KeepUntil(200);
  AddChunk(recent, kTrace, 200, std::string(1000, 'x'));
  AddChunk(recent, kTrace, 201, std::string(1000, 'x'));
  EXPECT_THAT(Times(recent.Take(kTrace, 0)), ElementsAre(100, 200));
}

TEST(RecentChunks, OneThatIsTooLargeIsNotHeldAndDrivesNothingOut) {
  RecentChunks recent(1000);
  AddChunk(recent, kTrace, 100, "x");
  AddChunk(recent, kTrace, 200, std::string(1000, 'x'));
  EXPECT_THAT(Times(recent.Take(kTrace, 0)), ElementsAre(100));
}

TEST(RecentChunks, ManyOfThemShareWhatThereIs) {
  constexpr uint64_t kMiB = 1 << 20;
  const auto ledger = std::make_shared<chunk::Ledger>(16 * kMiB);
  const auto account = std::make_shared<chunk::Account>(ledger);
  const auto fill = [](RecentChunks& recent) {
    for (uint64_t time = 0; time < 1000; ++time) AddChunk(recent, kTrace, time, std::string(10'000, 'x'));
  };
  std::vector<std::unique_ptr<RecentChunks>> recorders;
  for (int i = 0; i < 30; ++i)
    recorders.push_back(
        std::make_unique<RecentChunks>(4 * kMiB, std::vector<RecentChunks::Buffer>{}, account));
  for (const auto& recorder : recorders) fill(*recorder);
  EXPECT_LE(account->own(), 16 * kMiB / 3) << "of a user's own";
  for (const auto& recorder : recorders) EXPECT_GT(recorder->bytes(), 16 * kMiB / 100);
  RecentChunks of_another(4 * kMiB, {}, std::make_shared<chunk::Account>(ledger));
  fill(of_another);
  EXPECT_GT(of_another.bytes(), 3 * kMiB) << "whom the first user's thirty do not concern";
  {
    const auto taken = recorders.front()->Take(kTrace, 0);
    recorders.clear();
    EXPECT_GT(account->own(), 0U) << "what is being written still lies in memory";
  }
  EXPECT_EQ(account->own(), 0U);
}

TEST(RecentChunks, EachTraceTakesItsOwnAndWhatIsOlderThanAskedForGoes) {
  RecentChunks recent(1 << 20);
  for (uint64_t time = 100; time <= 400; time += 100) AddChunk(recent, time < 250 ? 1 : 2, time, "abc");
  EXPECT_TRUE(recent.HasAny(1));
  EXPECT_THAT(Times(recent.Take(2, 311)), ElementsAre(400));
  EXPECT_FALSE(recent.HasAny(2));
  EXPECT_EQ(recent.bytes(), 2 * (3 + RecentChunks::kOverhead));
  EXPECT_THAT(Times(recent.Take(1, 110)), ElementsAre(100, 200));
}

// 0 has what the others leave; the first of 2 stays.
TEST(RecentChunks, BuffersDoNotDriveEachOtherOut) {
  constexpr uint64_t kEach = 1000 + RecentChunks::kOverhead;
  RecentChunks recent(6 * kEach, {{2 * kEach, false}, {kEach, true}});
  for (const uint32_t buffer : {1U, 2U})
    AddChunk(recent, kTrace, 100 + buffer, std::string(1000, 'x'), buffer);
  for (uint64_t time = 200; time <= 900; time += 100) AddChunk(recent, kTrace, time, std::string(1000, 'x'));
  AddChunk(recent, kTrace, 950, std::string(1000, 'x'), 2);
  EXPECT_EQ(recent.bytes(), 5 * kEach);
  EXPECT_EQ(recent.from_ns(), 101U);
  EXPECT_THAT(Times(recent.Take(kTrace, 0)), ElementsAre(101, 102, 700, 800, 900));
  AddChunk(recent, kTrace, 1000, std::string(1000, 'x'), 2);
  EXPECT_THAT(Times(recent.Take(kTrace, 0)), ElementsAre(1000)) << "a snapshot makes room";
}

class FlightRecorderTest : public ::testing::Test {
 protected:
  void Open(uint64_t most_bytes) {
    TraceSpec spec = SpecIn(dir_);
    spec.recent = recent_ = std::make_shared<RecentChunks>(most_bytes);
    ASSERT_TRUE(harness_.Open(kTrace, std::move(spec)).ok());
    chunk::StreamSpec data = StreamOf("device_0", "hbm.data.0");
    stats_ = data.stats;
    harness_.writer().AddStream({kTrace, 0}, std::move(data));
    chunk::StreamSpec whole = StreamOf("device_0", "names");
    whole.whole = true;
    harness_.writer().AddStream({kTrace, 1}, std::move(whole));
  }
  void Push(const std::string& data, uint64_t from_ns) {
    PushData(pipe_, {kTrace, 0}, data, static_cast<uint32_t>(data.size()), from_ns, from_ns + 10);
  }
  std::string Stored() const {
    return JoinSlices(dir_.path() / "PROF_1" / "device_0" / "data", "hbm.data.0");
  }

  TempDir dir_;
  Harness harness_;
  chunk::Pipe& pipe_ = harness_.writer().AddPipe("p", 4096, 4);
  std::shared_ptr<RecentChunks> recent_;
  chunk::StreamStatsPtr stats_;
};

TEST_F(FlightRecorderTest, NothingIsOnDiskUntilItIsAskedForAndNothingTwice) {
  Open(1 << 20);
  Push("aaa", 100);
  PushData(pipe_, {kTrace, 1}, "name", 1, 100, 110);
  Push("bb", 200);
  TraceRecord record = harness_.Flush(kTrace);
  EXPECT_EQ(Stored(), "");
  EXPECT_EQ(stats_->stored_bytes, 0U);
  EXPECT_TRUE(record.may_change);
  EXPECT_EQ(JoinSlices(dir_.path() / "PROF_1" / "device_0" / "data", "names"), "name");

  record = harness_.WriteRecent(kTrace, 0);
  EXPECT_EQ(Stored(), "aaabb");
  EXPECT_EQ(stats_->stored_records, 5U);
  EXPECT_FALSE(record.may_change);
  EXPECT_THAT(record.pauses, IsEmpty());

  Push("cccc", 300);
  Push("d", 400);
  record = harness_.WriteRecent(kTrace, 400);
  EXPECT_EQ(Stored(), "aaabbd");
  EXPECT_EQ(stats_->stored_records, 6U);
  ASSERT_EQ(record.pauses.size(), 1U);
  EXPECT_EQ(record.pauses[0].from_ns, 210U);
  EXPECT_EQ(record.pauses[0].to_ns, 400U);
  harness_.WriteRecent(kTrace, 0);
  EXPECT_EQ(Stored(), "aaabbd");

  Push("e", 500);
  PushEnd(pipe_, kTrace);
  record = harness_.Seal(kTrace, 1);
  EXPECT_EQ(Stored(), "aaabbd");
  EXPECT_TRUE(record.may_change);
  // Of a directory that the session has left behind.
  harness_.WriteRecent(kTrace, 0);
  EXPECT_EQ(Stored(), "aaabbde");
  EXPECT_TRUE(
      std::filesystem::exists(dir_.path() / "PROF_1" / "device_0" / "data" / "hbm.data.0.slice_1.done"));
}

TEST_F(FlightRecorderTest, AllOfItCanBeWrittenAtTheEnd) {
  Open(1 << 20);
  harness_.writer().WriteRecentAtSeal(kTrace);
  Push("aaa", 100);
  PushEnd(pipe_, kTrace);
  const TraceRecord record = harness_.Seal(kTrace, 1);
  EXPECT_EQ(Stored(), "aaa");
  EXPECT_FALSE(record.may_change);
}

}  // namespace
}  // namespace profd::store
