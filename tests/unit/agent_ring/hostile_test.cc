// Processes that do with their region what they like.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "tests/unit/agent_ring/harness.h"

namespace profd::agent {
namespace {

constexpr Geometry kGeometry{.lanes = 4, .lane_slots = 1024, .names_bytes = 1 << 16};

// The region as the process maps it.
class Mapping {
 public:
  explicit Mapping(const Region& region)
      : bytes_(abi::RegionBytes(kGeometry.lanes, kGeometry.lane_slots, kGeometry.names_bytes)),
        memory_(static_cast<uint64_t*>(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, region.memfd(), 0))) {}
  ~Mapping() { ::munmap(memory_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  size_t words() const { return bytes_ / sizeof(uint64_t); }
  void Set(size_t word, uint64_t value) {
    std::atomic_ref(memory_[word]).store(value, std::memory_order_relaxed);
  }

 private:
  size_t bytes_;
  uint64_t* memory_;
};

class HostileTest : public DrainTest, public ::testing::WithParamInterface<RingMode> {};

// The writer checks every block; what the records say is the process's business.
TEST_P(HostileTest, RubbishWhileItIsRead) {
  Make(kGeometry);
  writer_.check_names = false;
  const Drain::Id id = drain_->Start(region_, GetParam(), Target(1));
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
  while (std::chrono::steady_clock::now() < until) {
    Wait([&](std::function<void()> done) { drain_->Snapshot(id, 1000, std::move(done)); });
  }
  Stop(id);  // while it goes on
  stop = true;
  scribbler.join();
  EXPECT_GT(writer_.trace(1).events, 0U);
  uint64_t damaged = 0;
  for (const RecordingStats::Lane& one : stats(1).lanes) {
    damaged += one.damaged_slots;
    EXPECT_EQ(one.stored_records, one.read_records);
  }
  EXPECT_GT(damaged, 0U);
  EXPECT_EQ(writer_.trace(1).loss.bytes, damaged * abi::kRecordBytes);
}

INSTANTIATE_TEST_SUITE_P(Modes, HostileTest,
                         ::testing::Values(RingMode::kDropNewest, RingMode::kOverwriteOldest));

TEST_F(DrainTest, HolesAreDamage) {
  Make(kGeometry);
  const Drain::Id id = Start(1);
  const auto rings = static_cast<off_t>(abi::RingsOffset(kGeometry.lanes));
  abi::Record record{};
  record.stamp = 1;
  record.kind = abi::kMark;
  for (int i = 0; i < 1024; ++i) {
    std::memcpy(region_->untrusted_bytes() + rings + i * abi::kRecordBytes, &record, sizeof(record));
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
