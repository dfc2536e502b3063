// The load model by itself: it looks like a training job, adds up, and is the same for the same seed (rules
// 12, 13).
#include "sim/scenario/load.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/hal/channels/ring.h"
#include "sim/hal/channels/truth.h"

namespace profd::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;
const Chip& A2() { return *FindChip("910B"); }

double GbPerSecond(const TrainingLoad& load, Flow flow, uint64_t step, uint32_t from_permille,
                   uint32_t to_permille) {
  const uint64_t start = load.StepStart(step);
  const uint64_t from = start + load.step_ns() * from_permille / 1000,
                 to = start + load.step_ns() * to_permille / 1000;
  return static_cast<double>(load.Between(flow, from, to)) / static_cast<double>(to - from);
}

TEST(Load, TotalsNeverDecreaseAndPartsAddUp) {
  const TrainingLoad load({}, 7, 0, A2());
  for (int flow = 0; flow < kFlows; ++flow) {
    const auto f = static_cast<Flow>(flow);
    const uint64_t begin = load.StepStart(1'000'018);  // across odd and even steps and a checkpoint
    uint64_t last = load.Total(f, begin), sum = 0;
    uint64_t now = begin;
    for (int i = 0; i < 4000; ++i) {
      now += 737'111 + Mix(static_cast<uint64_t>(i)) % kMs;
      const uint64_t total = load.Total(f, now);
      ASSERT_GE(total, last) << "flow " << flow << " at step " << load.At(now).step;
      sum += total - last;
      last = total;
    }
    EXPECT_EQ(sum, load.Between(f, begin, now));
    EXPECT_GT(sum, 0U) << "flow " << flow;
  }
}

TEST(Load, BordersOfStepsAndPhasesAreSeamless) {
  const TrainingLoad load({.step_ms = 500, .checkpoint_every = 3}, 3, 1, A2());
  for (uint64_t step = 1'000; step < 1'012; ++step) {
    for (const uint32_t permille : {0, 100, 400, 740, 820, 900}) {
      const uint64_t at = load.StepStart(step) + load.step_ns() * permille / 1000;
      // 2 µs at the highest rate with every swing on top.
      EXPECT_LE(load.Between(Flow::kHbmRead, at - 1000, at + 1000), 2000 * 860 * 12 / 10)
          << step << " " << permille;
    }
  }
}

TEST(Load, LooksLikeATrainingJob) {
  const TrainingLoad load({}, 1, 0, A2());
  const uint64_t step = 100'000;  // no checkpoint: 100'000 % 20 != 19
  const double forward = GbPerSecond(load, Flow::kHbmRead, step, 100, 400);
  const double backward = GbPerSecond(load, Flow::kHbmRead, step, 400, 740);
  EXPECT_NEAR(forward, 640, 640 * 0.1);
  EXPECT_NEAR(backward, 820, 820 * 0.1);
  EXPECT_LT(GbPerSecond(load, Flow::kHbmRead, step, 0, 100), forward / 5);
  EXPECT_EQ(GbPerSecond(load, Flow::kHccsTx, step, 100, 740), 0)
      << "no all-reduce before the backward pass ends";
  EXPECT_GT(GbPerSecond(load, Flow::kHccsTx, step, 740, 900), 100);
  EXPECT_GT(GbPerSecond(load, Flow::kRoceTx, step, 740, 900), 15);
  EXPECT_GT(GbPerSecond(load, Flow::kPcieRx, step, 0, 100),
            50 * GbPerSecond(load, Flow::kPcieRx, step, 100, 1000));
  EXPECT_GT(load.MemoryBytes(load.StepStart(step) + load.step_ns() * 4 / 10),
            load.MemoryBytes(load.StepStart(step)) + (uint64_t{10} << 30));
}

TEST(Load, CheckpointEveryNthStep) {
  const TrainingLoad load({.step_ms = 500, .checkpoint_every = 20}, 1, 0, A2());
  for (const uint64_t step : {100'017ULL, 100'018ULL, 100'020ULL}) {
    EXPECT_LT(GbPerSecond(load, Flow::kPcieTx, step, 100, 1000), 0.3);
  }
  EXPECT_GT(GbPerSecond(load, Flow::kPcieTx, 100'019, 100, 950), 8);
  EXPECT_GT(GbPerSecond(load, Flow::kNicTx, 100'019, 100, 950), 0.7);
}

TEST(Load, HitsStayBelowLookups) {
  const TrainingLoad load({}, 5, 0, A2());
  for (uint64_t at = load.StepStart(777); at < load.StepStart(797); at += 3 * kMs) {
    EXPECT_LT(load.Between(Flow::kLlcReadHits, at, at + 3 * kMs),
              load.Between(Flow::kLlcRead, at, at + 3 * kMs) / 64);
    EXPECT_LT(load.Between(Flow::kLlcWriteHits, at, at + 3 * kMs),
              load.Between(Flow::kLlcWrite, at, at + 3 * kMs) / 64);
    EXPECT_LT(load.Between(Flow::kAicBusy, at, at + 3 * kMs), 3 * kMs) << "a core is not busier than always";
  }
}

TEST(Load, IsAFunctionOfSeedDeviceAndTime) {
  const TrainingLoad a({}, 1, 0, A2()), same({}, 1, 0, A2()), other_seed({}, 2, 0, A2()),
      other_device({}, 1, 1, A2());
  const uint64_t at = 123'456'789'012, to = at + 20 * kMs;
  EXPECT_EQ(a.Between(Flow::kHbmRead, at, to), same.Between(Flow::kHbmRead, at, to));
  EXPECT_NE(a.Between(Flow::kHbmRead, at, to), other_seed.Between(Flow::kHbmRead, at, to));
  EXPECT_NE(a.Between(Flow::kHbmRead, at, to), other_device.Between(Flow::kHbmRead, at, to));
  EXPECT_EQ(a.At(at).step, other_device.At(at).step) << "the devices of a job step together";
}

TEST(Load, FrequencyChangesWhereItSays) {
  const TrainingLoad load({}, 9, 0, A2());
  const uint64_t begin = load.StepStart(500);
  std::set<uint32_t> seen;
  for (uint64_t at = begin; at < begin + 2 * load.step_ns(); at = load.NextFrequencyChange(at)) {
    const uint32_t mhz = load.AicMhz(at);
    EXPECT_EQ(load.AicMhz(load.NextFrequencyChange(at) - 1), mhz);
    seen.insert(mhz);
  }
  EXPECT_GT(seen.size(), 1U);
}

TEST(Tasks, EventsComeInOrderAndInPairs) {
  const TrainingLoad load({}, 4, 0, A2());
  const TaskStory tasks(load);
  const uint64_t now = 987'654'321'000;
  const uint64_t first = tasks.FirstAfter(now);
  ASSERT_GT(tasks.EventAt(first).at_ns, now);
  ASSERT_LE(tasks.EventAt(first - 1).at_ns, now);
  std::set<uint64_t> open;
  uint64_t last = now;
  const uint64_t step = first / TaskStory::kEventsPerStep + 1;
  for (uint64_t i = step * TaskStory::kEventsPerStep; i < (step + 3) * TaskStory::kEventsPerStep; ++i) {
    const TaskStory::Event event = tasks.EventAt(i);
    ASSERT_GE(event.at_ns, last);
    last = event.at_ns;
    EXPECT_LT(event.task.start_ns, event.task.end_ns);
    if (event.end) {
      EXPECT_EQ(open.erase(event.task.index), 1U);
    } else {
      EXPECT_TRUE(open.insert(event.task.index).second);
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(Ring, WrapsAnywhereAndKeepsOneByteFree) {
  Ring ring;
  ASSERT_TRUE(ring.Map(4096 + 1000));
  ASSERT_EQ(ring.capacity(), 1000U);
  std::string in, out;
  uint64_t value = 0;
  while (out.size() < 50'000) {
    std::string piece;
    for (uint64_t n = Mix(value) % 400; piece.size() < n;) piece += static_cast<char>(Mix(value++));
    if (piece.size() <= ring.room()) {
      EXPECT_EQ(ring.Write(piece), 0U);
      in += piece;
    }
    char buffer[333];
    out.append(buffer, ring.Read(buffer, Mix(value) % sizeof buffer));
  }
  char rest[1000];
  out.append(rest, ring.Read(rest, sizeof rest));
  EXPECT_EQ(out, in);
  EXPECT_EQ(ring.room(), 999U);
}

TEST(Ring, AWriterThatPassesTheReaderTakesAWholeRingWithIt) {
  Ring ring;
  ASSERT_TRUE(ring.Map(4096 + 1000));
  EXPECT_EQ(ring.Write(std::string(900, 'a')), 0U);
  EXPECT_EQ(ring.Write(std::string(100, 'b')), 1000U) << "exactly full looks empty";
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.Write(std::string(700, 'c')), 0U);
  EXPECT_EQ(ring.Write(std::string(500, 'd')), 1000U);
  EXPECT_EQ(ring.used(), 200U);
  char out[1000];
  EXPECT_EQ(ring.Read(out, sizeof out), 200U);
}

TEST(Truth, Crc32IsTheCommonOne) {
  EXPECT_EQ(Crc32(0, "123456789"), 0xCBF43926U);
  EXPECT_EQ(Crc32(Crc32(0, "12345"), "6789"), 0xCBF43926U);
}

}  // namespace
}  // namespace profd::sim
