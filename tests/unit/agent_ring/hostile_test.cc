// Processes that do with their region what they like.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "tests/unit/agent_ring/harness.h"
#include "tests/unit/support/process_lanes.h"

namespace profd::agent {
namespace {

constexpr Geometry kGeometry{.lanes = 4, .lane_slots = 1024, .names_bytes = 1 << 16};

// The region as the process maps it.
class Mapping : public ProcessLanes {
 public:
  using ProcessLanes::ProcessLanes;
  void Set(size_t word, uint64_t value) {
    std::atomic_ref(reinterpret_cast<uint64_t*>(bytes())[word]).store(value, std::memory_order_relaxed);
  }
};

class HostileTest : public DrainTest, public ::testing::WithParamInterface<RingMode> {};

// The writer checks every block; what the records say is the process's business.
TEST_P(HostileTest, RubbishWhileItIsRead) {
  Make(kGeometry);
  writer_.check_names = false;
  Mapping mapping(*region_);
  std::atomic<bool> stop{false};
  std::thread scribbler([&] {
    std::mt19937_64 random(5);
    const size_t rings = abi::RingsOffset(kGeometry.lanes) / 8;
    const size_t names = abi::NamesOffset(kGeometry.lanes, kGeometry.lane_slots) / 8;
    constexpr uint8_t kKinds[] = {1, 2, 5, 0x10, 0x40, 0x40, 0x80, 0x81};
    const uint64_t one = 1;
    while (!stop) {
      for (int i = 0; i < 2000; ++i) {
        // Second words of slots that look almost right, and equal stamps.
        const size_t slot = rings + random() % ((names - rings) / 4) * 4;
        mapping.Set(slot, 7);
        mapping.Set(slot + 1, kKinds[random() % std::size(kKinds)] | random() % 4 << 8);
        if (i % 16 == 0) mapping.Set(names + random() % 8192, random());
      }
      for (uint32_t lane = 0; lane < kGeometry.lanes; ++lane) {
        const size_t words = abi::LaneOffset(lane) / 8;
        const uint64_t tail = std::atomic_ref(this->lane(lane)->tail).load();
        mapping.Set(words, random() % 8 == 0 ? random() : tail + random() % 1100);
        mapping.Set(words + 1 + random() % 31, random());
      }
      mapping.Set(8 + random() % 16, random() % 2 == 0 ? random() : random() % 5000 * 8);
      [[maybe_unused]] const ssize_t rung = ::write(region_->wake_fd(), &one, sizeof(one));
    }
  });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  uint64_t events = 0, damaged = 0;
  for (uint32_t trace = 1; trace == 1 || std::chrono::steady_clock::now() < until; ++trace) {
    bool cut_off = false;
    const Drain::Id id = drain_->Start(region_, GetParam(), Target(trace), [&] { cut_off = true; });
    for (int i = 0; i < 100 && !cut_off; ++i) {
      Wait([&](std::function<void()> done) { drain_->Snapshot(id, 1000, std::move(done)); });
    }
    Stop(id);  // while it goes on
    events += writer_.trace(trace).events;
    uint64_t damaged_here = 0;
    for (const RecordingStats::Lane& one : stats(trace).lanes) {
      damaged_here += one.damaged_slots;
      EXPECT_EQ(one.stored_records, one.read_records);
    }
    EXPECT_EQ(writer_.trace(trace).loss.bytes, damaged_here * abi::kRecordBytes);
    damaged += damaged_here;
  }
  stop = true;
  scribbler.join();
  EXPECT_GT(events, 0U);
  EXPECT_GT(damaged, 0U);
}

INSTANTIATE_TEST_SUITE_P(Modes, HostileTest,
                         ::testing::Values(RingMode::kDropNewest, RingMode::kOverwriteOldest));

TEST_F(DrainTest, HolesAreDamage) {
  Make(kGeometry);
  const Drain::Id id = Start(1);
  const auto rings = static_cast<off_t>(abi::RingsOffset(kGeometry.lanes));
  const Mapping mapping(*region_);
  abi::Record record{};
  record.stamp = 1;
  record.kind = abi::kMark;
  for (int i = 0; i < 1024; ++i) {
    std::memcpy(mapping.bytes() + rings + i * abi::kRecordBytes, &record, sizeof(record));
  }
  ASSERT_EQ(::fallocate(region_->memfd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, rings + 4096, 8192), 0);
  std::atomic_ref(lane(0)->head).store(1024, std::memory_order_release);
  Stop(id);
  EXPECT_EQ(writer_.trace(1).events, 1024U - 256);
  EXPECT_EQ(stats(1).lanes[0].damaged_slots, 256U);
  EXPECT_EQ(writer_.trace(1).loss.bytes, 8192U);
  // The very words that say how far to read.
  const Drain::Id again = Start(2);
  ASSERT_EQ(::fallocate(region_->memfd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, rings), 0);
  Stop(again);
  EXPECT_EQ(writer_.trace(2).events, 0U);
}

// Pages that a process says are full and has never touched: to look at them must not make them, or they would
// be on profd's account.
TEST_P(HostileTest, ForgedHeadsMakeNoPagesAndAreCutOff) {
  const Geometry geometry{.lanes = 64, .lane_slots = 1 << 13, .names_bytes = 1 << 20};
  Make(geometry);
  int cut_off = 0;
  const Drain::Id id = drain_->Start(region_, GetParam(), Target(1), [&] { ++cut_off; });
  const auto forge = [&] {
    for (uint32_t i = 0; i < geometry.lanes; ++i) {
      const uint64_t tail = std::atomic_ref(lane(i)->tail).load();
      std::atomic_ref(lane(i)->head).store(tail + geometry.lane_slots, std::memory_order_release);
    }
    std::atomic_ref(header()->names_used).store(geometry.names_bytes, std::memory_order_release);
  };
  for (int i = 0; i < 20; ++i) {
    forge();
    Wait([&](std::function<void()> done) { drain_->Snapshot(id, 0, std::move(done)); });
  }
  Stop(id);
  EXPECT_EQ(cut_off, 1);
  struct stat facts {};
  ASSERT_EQ(::fstat(region_->memfd(), &facts), 0);
  EXPECT_LE(static_cast<uint64_t>(facts.st_blocks) * 512, abi::RingsOffset(geometry.lanes));
  EXPECT_EQ(writer_.trace(1).events, 0U);
  uint64_t damaged = 0;
  for (const RecordingStats::Lane& one : stats(1).lanes) damaged += one.damaged_slots;
  EXPECT_GT(damaged, RingReader::kMostDamagedSlots);
  EXPECT_LE(damaged, RingReader::kMostDamagedSlots + geometry.lane_slots);
  EXPECT_EQ(writer_.trace(1).loss.bytes, damaged * abi::kRecordBytes);
}

TEST_F(DrainTest, AWildHeadIsCutOffInTheEnd) {
  Make({.lanes = 1, .lane_slots = 1 << 15, .names_bytes = 1 << 16});
  int cut_off = 0;
  const Drain::Id id = drain_->Start(region_, RingMode::kDropNewest, Target(1), [&] { ++cut_off; });
  for (uint64_t i = 1; i <= 10; ++i) {
    std::atomic_ref(lane(0)->head).store(i << 40, std::memory_order_release);
    Wait([&](std::function<void()> done) { drain_->Snapshot(id, 0, std::move(done)); });
  }
  Stop(id);
  EXPECT_EQ(cut_off, 1);
  EXPECT_EQ(stats(1).lanes[0].damaged_slots, 3U << 15);
}

TEST_F(DrainTest, ABellThatNeverStopsAndCannotBeRead) {
  Make(kGeometry);
  // The process shares the file description: a read would block now.
  ASSERT_EQ(::fcntl(region_->wake_fd(), F_SETFL, 0), 0);
  const Drain::Id id = Start(1);
  std::atomic<bool> stop{false};
  std::thread bell([&] {
    uint64_t word = 1;
    while (!stop) {
      [[maybe_unused]] const ssize_t rung = ::write(region_->wake_fd(), &word, sizeof(word));
    }
  });
  for (int i = 0; i < 20; ++i) {
    Wait([&](std::function<void()> done) { drain_->Snapshot(id, 0, std::move(done)); });
  }
  Stop(id);
  stop = true;
  bell.join();
}

}  // namespace
}  // namespace profd::agent
