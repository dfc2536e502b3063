// The flight recorder, against the real producer.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "libagent/src/process.h"
#include "profd/agent.h"
#include "tests/unit/agent_ring/harness.h"

namespace profd::agent {
namespace {

constexpr Geometry kRoomy{.lanes = 8, .lane_slots = 1 << 16, .names_bytes = 1 << 20};

void ExpectUntorn(const StoredTrace& trace) {
  for (const auto& [lane, events] : trace.lanes) {
    for (const StoredEvent& event : events) {
      ASSERT_EQ(event.payload.size(), 2U);
      ASSERT_EQ(event.payload[0].bits, event.payload[1].bits);
    }
  }
}

// Nothing is read before it is asked for, then what is still there.
TEST_F(DrainTest, SnapshotsOfAnOverwrittenRing) {
  // Enough of them that the ring is written over several times while they are copied.
  for (int i = 0; i < 2000; ++i) profd_intern(("drain_test " + std::to_string(i)).append(100, '.').c_str());
  Attach({.lanes = 8, .lane_slots = 1 << 12, .names_bytes = 1 << 20});
  const Drain::Id id = Start(1, RingMode::kOverwriteOldest);
  const profd_name name = profd_intern("drain_test snapshot");
  Arm({.overwrite = true});
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> emitted{0};
  std::thread producer([&] {
    while (!stop) MarkNumber(name, ++emitted);
  });
  Until([&] { return emitted > 10'000; });
  EXPECT_EQ(writer_.trace(1).events, 0U);
  constexpr uint32_t kTraces = 10;
  for (uint32_t trace = 1; trace <= kTraces; ++trace) {
    if (trace > 1) {
      Wait([&](std::function<void()> done) { drain_->Retarget(id, Target(trace), std::move(done)); });
    }
    Wait([&](std::function<void()> done) { drain_->Snapshot(id, 0, std::move(done)); });
    for (const auto& [lane, stored] : writer_.trace(trace).lanes) {
      std::vector<uint64_t> numbers;
      for (const StoredEvent& event : stored) numbers.push_back(event.payload.at(0).bits);
      EXPECT_TRUE(IsIncreasing(numbers));
    }
    EXPECT_GT(writer_.trace(trace).events, 0U) << "snapshot " << trace;
    ExpectUntorn(writer_.trace(trace));
  }
  stop = true;
  producer.join();
  Disarm();
  // At rest: all but what the last record may have overwritten, in one piece; a second one has nothing new.
  Wait([&](std::function<void()> done) { drain_->Retarget(id, Target(90), std::move(done)); });
  Wait([&](std::function<void()> done) { drain_->Snapshot(id, 0, std::move(done)); });
  const uint64_t at_rest = writer_.trace(90).events;
  EXPECT_GE(at_rest, (4096U - 2 * abi::kMaxRecordSlots) / 3);
  ASSERT_EQ(writer_.trace(90).lanes.size(), 1U);
  const auto& stored = writer_.trace(90).lanes.begin()->second;
  EXPECT_EQ(stored.back().payload.at(0).bits, emitted);
  EXPECT_EQ(stored.front().payload.at(0).bits, emitted - stored.size() + 1);
  EXPECT_NE(stored.front().tid, 0U);
  Wait([&](std::function<void()> done) { drain_->Snapshot(id, 0, std::move(done)); });
  EXPECT_EQ(writer_.trace(90).events, at_rest);
  Stop(id);
  EXPECT_EQ(writer_.trace(90).events, at_rest);
  for (const auto& [trace, stats] : all_stats_) {
    for (const RecordingStats::Lane& one : stats->lanes) {
      EXPECT_EQ(one.damaged_slots, 0U);
      EXPECT_EQ(one.lost_records, 0U);
    }
  }
}

TEST_F(DrainTest, ASnapshotMayTakeTheNewestOnly) {
  Attach(kRoomy);
  const Drain::Id id = Start(1, RingMode::kOverwriteOldest);
  const profd_name name = profd_intern("drain_test newest");
  Arm({.overwrite = true});
  MarkNumber(name, 1);
  // The first is older than the snapshot's second.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  MarkNumber(name, 2);
  PairRegionClock();
  Wait([&](std::function<void()> done) { drain_->Snapshot(id, 1'000'000'000, std::move(done)); });
  ASSERT_EQ(writer_.trace(1).events, 1U);
  EXPECT_EQ(writer_.trace(1).lanes.begin()->second[0].payload[0].bits, 2U);
  EXPECT_EQ(writer_.trace(1).lanes.begin()->second[0].tid, static_cast<uint32_t>(::gettid()));
  Wait([&](std::function<void()> done) { drain_->Retarget(id, Target(2), std::move(done)); });
  Wait([&](std::function<void()> done) { drain_->Snapshot(id, 100'000'000'000'000'000, std::move(done)); });
  EXPECT_EQ(writer_.trace(2).events, 2U);
  Disarm();
  Stop(id);
}

}  // namespace
}  // namespace profd::agent
