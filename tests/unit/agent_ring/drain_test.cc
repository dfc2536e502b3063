// The drain against the real producer.
#include "daemon/agent/drain.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "libagent/src/process.h"
#include "profd/agent.h"
#include "tests/unit/agent_ring/harness.h"
#include "tests/unit/support/process_lanes.h"

namespace profd::agent {
namespace {

constexpr Geometry kSmall{.lanes = 8, .lane_slots = 256, .names_bytes = 1 << 20};
constexpr Geometry kRoomy{.lanes = 8, .lane_slots = 1 << 16, .names_bytes = 1 << 20};

int CountEntries(const char* folder) {
  int count = 0;
  DIR* dir = ::opendir(folder);
  while (dir != nullptr && ::readdir(dir) != nullptr) ++count;
  if (dir != nullptr) ::closedir(dir);
  return count;
}

TEST_F(DrainTest, WhatIsEmittedIsReadOrCountedAsLost) {
  Attach(kSmall);  // far too small for these threads
  const Drain::Id id = Start(1);
  const profd_name name = profd_intern("drain_test number");
  Arm({});
  constexpr int kThreads = 4;
  constexpr uint64_t kEach = 50'000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 1; i <= kEach; ++i) {
        if (i % 3 == 0) {
          MarkNumber(name, i);
        } else {
          profd_counter(name, static_cast<int64_t>(i));
        }
      }
      --running;
    });
  }
  Until([&] { return running == 0; });
  for (std::thread& thread : threads) thread.join();
  Disarm();
  Stop(id);

  const StoredTrace& trace = writer_.trace(1);
  uint64_t emitted = 0;
  for (uint32_t i = 0; i < kSmall.lanes; ++i) {
    const RecordingStats::Lane& lane = stats(1).lanes[i];
    EXPECT_EQ(lane.damaged_slots, 0U);
    EXPECT_EQ(lane.stored_records, lane.read_records);
    EXPECT_EQ(trace.ValuesOf(i).size(), lane.read_records);
    // A lane may have had more than one of the threads, one after the other.
    EXPECT_EQ((lane.read_records + lane.lost_records) % kEach, 0U) << "lane " << i;
    emitted += lane.read_records + lane.lost_records;
  }
  EXPECT_EQ(emitted, kThreads * kEach);
  EXPECT_EQ(trace.events + trace.loss.records, emitted);
  EXPECT_GT(trace.events, 0U);
  uint64_t of_kinds = 0;
  uint64_t bytes = 0;
  for (const RecordingStats::Kind& kind : stats(1).kinds) {
    of_kinds += kind.stored_records;
    bytes += kind.stored_bytes;
  }
  EXPECT_EQ(of_kinds, trace.events);
  const auto& marks = stats(1).kinds[static_cast<size_t>(format::AgentKind::kMark)];
  EXPECT_EQ(bytes, (trace.events + 2 * marks.stored_records) * abi::kRecordBytes);
}

TEST_F(DrainTest, ThreadsComeAndGo) {
  Attach(kRoomy);
  const Drain::Id id = Start(1);
  const profd_name name = profd_intern("drain_test thread");
  Arm({});
  constexpr int kThreads = 1000;
  for (int t = 0; t < kThreads; t += 4) {
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 3; ++n) profd_counter(name, ::gettid());
      });
    }
    for (std::thread& thread : threads) thread.join();
    Serve();
  }
  Disarm();
  Stop(id);
  EXPECT_EQ(writer_.trace(1).events, 3U * kThreads);
  EXPECT_EQ(LostOfAllLanes(1), 0U);
  for (const auto& [lane, events] : writer_.trace(1).lanes) {
    for (const StoredEvent& event : events) ASSERT_EQ(event.tid, event.record.value);
  }
}

TEST_F(DrainTest, ThreadsWithoutALaneAreCounted) {
  Attach({.lanes = 1, .lane_slots = 256, .names_bytes = 1 << 20});
  const Drain::Id id = Start(1);
  Arm({});
  profd_mark(profd_intern("drain_test has the lane"));
  std::thread([] {
    for (int i = 0; i < 5; ++i) profd_mark(1);
  }).join();
  Disarm();
  Stop(id);
  EXPECT_EQ(writer_.trace(1).events, 1U);
  EXPECT_EQ(stats(1).lost_without_lane, 5U);
  EXPECT_EQ(writer_.trace(1).loss.records, 5U);
}

TEST_F(DrainTest, ALaterRecordingHasNothingOfTheEarlier) {
  Attach(kRoomy);
  const profd_name name = profd_intern("drain_test later");
  // Nobody drains the first.
  Arm({});
  profd_counter(name, 1);
  Disarm();
  for (uint32_t trace = 1; trace <= 3; ++trace) {
    const Drain::Id id = Start(trace);
    Arm({});
    profd_counter(name, 10 * trace);
    profd_counter(name, 10 * trace + 1);
    Disarm();
    Stop(id);
    ASSERT_EQ(writer_.trace(trace).lanes.size(), 1U);
    EXPECT_EQ(writer_.trace(trace).ValuesOf(writer_.trace(trace).lanes.begin()->first),
              (std::vector<uint64_t>{10 * trace, 10 * trace + 1}));
  }
}

TEST_F(DrainTest, RetargetLosesNothingAndDoublesNothing) {
  Attach(kRoomy);
  const Drain::Id id = Start(1);
  const profd_name name = profd_intern("drain_test retarget");
  Arm({});
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> emitted{0};
  std::thread producer([&] {
    while (!stop) {
      profd_counter(name, static_cast<int64_t>(++emitted));
      // The rate of what comes, not a wait: a third of what a sanitizer's build reads on a busy machine.
      if (emitted % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  constexpr uint32_t kTraces = 20;
  for (uint32_t trace = 2; trace <= kTraces; ++trace) {
    const uint64_t now = emitted;
    Until([&] { return emitted > now + 200; });
    Wait([&](std::function<void()> done) { drain_->Retarget(id, Target(trace), std::move(done)); });
    drain_->EndTrace(trace - 1, writer_.pipe());
  }
  Until([&] { return writer_.trace(kTraces - 1).ends == 1; });
  stop = true;
  producer.join();
  Disarm();
  Stop(id);
  std::vector<uint64_t> values;
  for (uint32_t trace = 1; trace <= kTraces; ++trace) {
    ASSERT_LE(writer_.trace(trace).lanes.size(), 1U);
    EXPECT_EQ(writer_.trace(trace).ends, trace == kTraces ? 0U : 1U);
    for (const auto& [lane, events] : writer_.trace(trace).lanes) {
      for (const StoredEvent& event : events) {
        values.push_back(event.record.value);
        EXPECT_EQ(event.tid, writer_.trace(1).lanes.begin()->second.front().tid);
      }
    }
    EXPECT_EQ(writer_.trace(trace).loss.records, 0U);
  }
  ASSERT_EQ(values.size(), emitted);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i + 1);
}

TEST_F(DrainTest, NamesComeBeforeWhoRefersToThem) {
  Attach({.lanes = 8, .lane_slots = 1 << 14, .names_bytes = 1 << 20});
  const Drain::Id id = Start(1);
  Arm({});
  std::atomic<int> running{2};
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3000; ++i) {
        profd_mark(profd_intern(("drain_test name " + std::to_string(t) + " " + std::to_string(i)).c_str()));
      }
      --running;
    });
  }
  Until([&] { return running == 0; });
  for (std::thread& thread : threads) thread.join();
  Disarm();
  Wait([&](std::function<void()> done) { drain_->Retarget(id, Target(2), std::move(done)); });
  Stop(id);
  // The writer has compared.
  EXPECT_EQ(writer_.trace(1).events, 6000U);
  EXPECT_EQ(writer_.trace(1).names_to, header()->names_used);
  EXPECT_EQ(writer_.trace(2).names, writer_.trace(1).names);
  EXPECT_FALSE(stats(1).names_damaged);
}

class ShortOfChunksTest : public DrainTest {
 protected:
  ShortOfChunksTest() : DrainTest(4096, 2) {}
};

TEST_F(ShortOfChunksTest, WhatFindsNoChunkStaysInTheRing) {
  Attach({.lanes = 8, .lane_slots = 4096, .names_bytes = 1 << 20});
  const Drain::Id id = Start(1);
  const profd_name name = profd_intern("drain_test no chunk");
  Arm({});
  constexpr uint64_t kFits = 4000;
  for (uint64_t i = 1; i <= kFits; ++i) profd_counter(name, static_cast<int64_t>(i));
  bool stopped = false;
  Disarm();
  drain_->Stop(id, [&] { stopped = true; });
  drain_->EndTrace(1, writer_.pipe());
  // Nobody takes the two chunks.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // there is no event of what does not happen
  ctl_.Run();
  EXPECT_FALSE(stopped);
  Until([&] { return stopped && writer_.trace(1).ends == 1; });
  ASSERT_EQ(writer_.trace(1).lanes.size(), 1U);
  const std::vector<uint64_t> values = writer_.trace(1).ValuesOf(writer_.trace(1).lanes.begin()->first);
  ASSERT_EQ(values.size(), kFits);
  EXPECT_TRUE(IsIncreasing(values));
  EXPECT_EQ(writer_.trace(1).loss.records, 0U);
}

TEST_F(ShortOfChunksTest, WithoutAWriterTheProcessLosesAndCounts) {
  Attach(kSmall);
  const Drain::Id id = Start(1);
  const profd_name name = profd_intern("drain_test no writer");
  Arm({});
  uint64_t emitted = 0;
  for (int turn = 0; turn < 5; ++turn) {
    for (int i = 0; i < 2000; ++i) profd_counter(name, static_cast<int64_t>(++emitted));
    // A few rounds of the drain, which rings nobody.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    writer_.Pump(1);
  }
  Disarm();
  Stop(id);
  EXPECT_EQ(writer_.trace(1).events + writer_.trace(1).loss.records, emitted);
  EXPECT_EQ(writer_.trace(1).loss.records, LostOfAllLanes(1));
  EXPECT_GT(LostOfAllLanes(1), 0U);
}

TEST_F(DrainTest, AnEndMarkWaitsForAllThatFeedItsTrace) {
  Attach(kRoomy);
  const Drain::Id id = Start(1);
  drain_->EndTrace(1, writer_.pipe());
  drain_->EndTrace(7, writer_.pipe());  // which nobody feeds
  Until([&] { return writer_.trace(7).ends == 1; });
  EXPECT_EQ(writer_.trace(1).ends, 0U);
  Stop(id);
  Until([&] { return writer_.trace(1).ends == 1; });
}

TEST_F(DrainTest, AsksOfWhoHasStoppedAreAnswered) {
  Attach(kRoomy);
  const Drain::Id id = Start(1);
  int answers = 0;
  for (int i = 0; i < 3; ++i) drain_->Stop(id, [&] { ++answers; });
  drain_->Snapshot(id, 0, [&] { ++answers; });
  drain_->Retarget(id, Target(2), [&] { ++answers; });
  Until([&] { return answers == 5; });
  drain_->Stop(id, [&] { ++answers; });
  Until([&] { return answers == 6; });
}

TEST_F(DrainTest, StartsAndStopsWithoutGrowing) {
  Attach(kRoomy);
  Stop(Start(1));  // the first one begins the thread
  writer_.trace(1) = {};
  const int descriptors = CountEntries("/proc/self/fd");
  const int threads = CountEntries("/proc/self/task");
  for (uint32_t i = 0; i < 2000; ++i) {
    const Drain::Id id = Start(1);
    Arm({});
    profd_mark(0);
    Disarm();
    Stop(id);
    ASSERT_EQ(writer_.trace(1).events, 1U);
    writer_.trace(1) = {};
  }
  EXPECT_EQ(CountEntries("/proc/self/fd"), descriptors);
  EXPECT_EQ(CountEntries("/proc/self/task"), threads);
}

TEST_F(DrainTest, ManyRecordingsAtOnce) {
  std::vector<std::shared_ptr<Region>> regions;
  std::vector<Drain::Id> ids;
  for (uint32_t trace = 1; trace <= 100; ++trace) {
    Make({.lanes = 4, .lane_slots = 256, .names_bytes = 1 << 20});
    regions.push_back(region_);
    // The process of this one is made up: one mark.
    ids.push_back(Start(trace));
    abi::Record record{};
    record.stamp = trace;
    record.kind = abi::kMark;
    record.value = trace;
    std::memcpy(ProcessLanes(*region_).bytes() + abi::RingOffset(4, 256, 2), &record, sizeof(record));
    std::atomic_ref(lane(2)->head).store(1, std::memory_order_release);
  }
  Until([&] {
    for (uint32_t trace = 1; trace <= 100; ++trace) {
      if (writer_.trace(trace).events == 0) return false;
    }
    return true;
  });
  for (uint32_t trace = 1; trace <= 100; ++trace) {
    EXPECT_EQ(writer_.trace(trace).ValuesOf(2), std::vector<uint64_t>{trace});
    Stop(ids[trace - 1]);
  }
}

// User 0 floods, user 1 records little.
class TwoUsersTest : public DrainTest {
 protected:
  explicit TwoUsersTest(uint32_t lanes = 16, size_t chunks = 32)
      : DrainTest(16 << 10, chunks),
        geometry_{.lanes = lanes, .lane_slots = 1 << 13, .names_bytes = 1 << 16} {
    for (uint32_t user = 0; user < 2; ++user) {
      Make(geometry_);
      regions_[user] = region_;
      process_[user] = std::make_unique<ProcessLanes>(*region_);
      DrainTarget target = Target(TraceOf(user));
      target.user = 1000 + user;
      drain_->Start(region_, RingMode::kDropNewest, std::move(target));
    }
  }
  ~TwoUsersTest() override {
    Stop(1);
    Stop(2);
  }

  static uint32_t TraceOf(uint32_t user) { return user + 1; }
  void Publish(uint32_t user, uint32_t lane, uint64_t count) {
    auto* slots = reinterpret_cast<abi::Record*>(
        process_[user]->bytes() + abi::RingOffset(geometry_.lanes, geometry_.lane_slots, lane));
    for (uint64_t n = 0; n < count; ++n) {
      slots[n] = {};
      slots[n].stamp = n + 1;
      slots[n].kind = abi::kMark;
    }
    std::atomic_ref(regions_[user]->untrusted_lane(lane)->head).store(count, std::memory_order_release);
  }
  // Returns how many records those are.
  uint64_t Flood() {
    for (uint32_t lane = 0; lane < geometry_.lanes; ++lane) Publish(0, lane, geometry_.lane_slots);
    return uint64_t{geometry_.lanes} * geometry_.lane_slots;
  }
  uint64_t Read(uint32_t user) {
    uint64_t records = 0;
    for (const RecordingStats::Lane& one : stats(TraceOf(user)).lanes) records += one.read_records;
    return records;
  }

 private:
  const Geometry geometry_;
  std::shared_ptr<Region> regions_[2];
  std::unique_ptr<ProcessLanes> process_[2];
};

// One user has filled every lane and takes every chunk there is; the other one's single record needs one,
// too.
TEST_F(TwoUsersTest, TakeTurnsWhereChunksAreShort) {
  const uint64_t all = Flood();
  // Nobody writes: it stops where there are no more chunks.
  for (uint64_t before = 0; before == 0 || before != Read(0);) {
    before = Read(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));  // some beats
  }
  ASSERT_LT(Read(0), all);
  Publish(1, 0, 1);
  int items = 0;
  for (; Read(1) == 0 && items < 20; ++items) {
    writer_.Pump(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));  // a beat
  }
  EXPECT_EQ(Read(1), 1U) << "after " << items;
  Until([&] { return Read(0) == all; });
}

class TwoUsersOfManyChunksTest : public TwoUsersTest {
 protected:
  TwoUsersOfManyChunksTest() : TwoUsersTest(128, 1024) {}
};

// Who floods has a quarter of the chunks, and then a share each quarter of a second at most. Where the writer
// stands still the other one's records find room all the same.
TEST_F(TwoUsersOfManyChunksTest, ChunksAreLeftToWhoWantsLess) {
  Flood();
  while (Read(0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a beat
  std::this_thread::sleep_for(std::chrono::milliseconds(250));  // long enough to take every chunk
  Publish(1, 0, 1000);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (Read(1) < 1000 && std::chrono::steady_clock::now() < end) {
    ctl_.Run();                                                 // the writer does not
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // between two looks at a counter
  }
  EXPECT_EQ(Read(1), 1000U);
  EXPECT_LT(writer_.pipe().InFlight(), writer_.pipe().chunks());
}

}  // namespace
}  // namespace profd::agent
