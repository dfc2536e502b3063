#include "client/analyze/rules/rules.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "client/analyze/job.h"
#include "client/analyze/judge.h"
#include "client/analyze/model/match/match.h"
#include "client/analyze/model/replay/replay.h"

namespace profd::analyze {
namespace {

constexpr Ns kUs = 1'000, kMs = 1'000'000, kBegin = 1'000'000 * kMs;
constexpr uint64_t kProcess = 7, kThread = kProcess << 32 | kProcess;

// Steps of one rank, kernel behind kernel; each is launched by a call of its own, 100 µs before.
class RulesTest : public testing::Test {
 protected:
  static constexpr int kSteps = 6;
  static constexpr Ns kStep = kMs;

  RulesTest() { builder_.At(0).number = 0; }
  // Behind the one before, `gap` later.
  void Kernel(const std::string& type, double us, double gap_us) {
    at_ += static_cast<Ns>(gap_us * kUs);
    Call(builder_.Text("launch"), at_ - 100 * kUs);
    Task task;
    task.begin = at_;
    task.end = at_ = task.begin + static_cast<Ns>(us * kUs);
    task.name = builder_.Text(type);
    task.kind = builder_.Class(task.name, 0, Work::kCompute);
    builder_.AddTask(0, task, 1, connection_, kProcess);
  }
  void Call(TextId name, Ns at) {
    builder_.AddCall({at, at + kUs / 2, name, 0, KindOfCall(builder_.texts().Get(name))}, kThread,
                     ++connection_);
  }
  // `fill` adds what a step has.
  template <typename Fill>
  void Steps(Fill fill) {
    for (int step = 0; step < kSteps; ++step) {
      const Ns begin = kBegin + step * kStep;
      builder_.AddStep({step, begin - 200 * kUs, begin + kStep - 200 * kUs}, -1, kThread);
      at_ = begin;
      fill();
    }
  }
  // What is told of the job by the rules named.
  std::vector<Finding> Told(const std::vector<std::string>& rules) {
    std::vector<Part> parts;
    parts.push_back(builder_.Finish());
    Job job = Join(std::move(parts));
    const Matches matches = MatchCollectives(job);
    const Replay replay(job, matches, 1);
    const Clocks clocks;
    const Settings settings;
    return Judge(MakeContext(job, matches, clocks, replay, settings, 1), rules, 1).findings;
  }

  RankBuilder builder_{"rank"};
  Ns at_ = 0;
  int64_t connection_ = 0;
};

// Three rows of five short kernels in each step.
TEST_F(RulesTest, ShortKernelsInARowAreFusible) {
  Steps([&] {
    for (int row = 0; row < 3; ++row) {
      Kernel("MatMul", 200, 5);
      for (const char* type : {"Mul", "Add", "Mul", "Add", "Mul"}) Kernel(type, 2, 3);
    }
  });
  const std::vector<Finding> told = Told({"kernel.fusible"});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].title,
            "5 short kernels follow each other (Mul, Add, Mul, …): 55 % of their time lies between them");
  // Gaps; and what the host, which launches no faster than its device computes, takes for these kernels.
  EXPECT_GE(told[0].cost.ms_per_step, 3 * 4 * 0.003 - 0.001);
  EXPECT_LE(told[0].cost.ms_per_step, 3 * 4 * 0.005 + 0.001);
}

TEST_F(RulesTest, ShortKernelsWithACallBetweenTheirLaunchesAreNot) {
  const TextId synchronise = builder_.Text("aclrtSynchronizeStream");
  Steps([&] {
    for (int row = 0; row < 3; ++row) {
      Kernel("MatMul", 200, 5);
      for (const char* type : {"Mul", "Add", "Mul", "Add", "Mul"}) {
        Kernel(type, 2, 3);
        Call(synchronise, at_ - 99 * kUs);
      }
    }
  });
  EXPECT_TRUE(Told({"kernel.fusible"}).empty());
}

// Kernels that another program runs beside take twice as long.
TEST_F(RulesTest, AnotherProgramOnTheDevice) {
  Steps([&] {
    for (int i = 0; i < 4; ++i) {
      Kernel("MatMul", 100, 2);
      Kernel("MatMul", i == 0 ? 200 : 100, 2);
      if (i > 0) continue;
      Task other;
      other.begin = at_ - 180 * kUs;
      other.end = at_ - 10 * kUs;
      other.kind = builder_.Class(builder_.Text("Other"), 0, Work::kCompute);
      builder_.AddTask(0, other, 1, RankBuilder::kNoConnection, 9);
    }
  });
  const std::vector<Finding> told = Told({"device.shared"});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].id, "device.shared");
  EXPECT_EQ(told[0].title,
            "rank 0 (device 0): another program (pid 9) computes on the device for 19 % of the time of its "
            "kernels");
  EXPECT_NEAR(told[0].cost.ms_per_step, 0.1, 0.001);
}

// A conversion that hangs once is no cost of every step.
TEST_F(RulesTest, AConversionThatHangsIsNotWhatConversionsCost) {
  int step = 0;
  Steps([&] {
    Kernel("MatMul", 600, 2);
    Kernel("Transpose", step++ == 3 ? 400 : 2, 2);
  });
  EXPECT_TRUE(Told({"kernel.transpose"}).empty());
}

TEST_F(RulesTest, WhatConversionsCostInEveryStep) {
  int step = 0;
  Steps([&] {
    Kernel("MatMul", 300, 2);
    Kernel("Transpose", step++ == 3 ? 500 : 100, 2);
  });
  const std::vector<Finding> told = Told({"kernel.transpose"});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].title.find(": 32 % of the computing"), std::string::npos) << told[0].title;
}

TEST_F(RulesTest, LostRecordsAreToldAndMakeWhatIsFoundLessSure) {
  const auto fill = [&] {
    for (int row = 0; row < 3; ++row) {
      Kernel("MatMul", 200, 5);
      for (const char* type : {"Mul", "Add", "Mul", "Add", "Mul"}) Kernel(type, 2, 3);
    }
  };
  Steps(fill);
  // Two of the five steps that are analysed, and half of another one.
  const Ns from = kBegin + 2 * kStep - 200 * kUs;
  builder_.At(0).lost = {{from, from + 5 * kStep / 2, builder_.Text("agent_7_0.lanes"),
                          builder_.Text("the program's rings were full"), 12}};
  const std::vector<Finding> told = Told({"kernel.fusible", "data.loss"});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].id, "kernel.fusible");
  EXPECT_NEAR(told[0].score(), 0.5, 1e-9) << "less than its method's 0.6";
  EXPECT_EQ(told[1].id, "data.loss");
  EXPECT_EQ(told[1].title,
            "rank 0 (device 0): 12 records were lost, in 50 % of the time: the program's rings were full");
  EXPECT_EQ(told[1].steps, (std::vector<uint32_t>{2, 3, 4}));
}

TEST_F(RulesTest, LossesBehindTheStepsAreNotTold) {
  Steps([&] { Kernel("MatMul", 700, 5); });
  const Ns from = kBegin + kSteps * kStep;
  builder_.At(0).lost = {{from, from + kMs, builder_.Text("agent_7_0.lanes"), 0, 12}};
  EXPECT_TRUE(Told({"data.loss"}).empty());
}

TEST_F(RulesTest, ADeviceThatDoesNotWork) {
  Steps([&] { Kernel("MatMul", 700, 5); });
  // Before the steps, in two of them, and since the fifth.
  const TextId silent = builder_.Text("device 0: the driver does not answer in time");
  const TextId broken = builder_.Text("device 0 does not work: status 2");
  const Ns last = std::numeric_limits<Ns>::max();
  builder_.At(0).troubles = {{kBegin - kStep, kBegin - kStep / 2, broken},
                             {kBegin + 2 * kStep, kBegin + 3 * kStep + kMs, silent},
                             {kBegin + 5 * kStep, last, broken}};
  const std::vector<Finding> told = Told({"device.errors"});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].title, "rank 0 (device 0): device 0: the driver does not answer in time, and 1 more");
  EXPECT_EQ(told[0].severity, Severity::kMinor);
  ASSERT_EQ(told[0].evidence.size(), 1u);
  EXPECT_EQ(told[0].evidence[0].rows.size(), 2u);
}

TEST_F(RulesTest, MemoryThatIsHeldAndNotInUse) {
  Steps([&] { Kernel("MatMul", 700, 5); });
  builder_.At(0).allocators = {{builder_.Text("PTA"), kBegin, 15e9, 20e9}};
  const std::vector<Finding> told = Told({"mem.fragment"});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].title,
            "rank 0 (device 0): 25 % of the memory that the framework holds is in pieces nobody uses");
  EXPECT_EQ(told[0].severity, Severity::kInfo);
}

}  // namespace
}  // namespace profd::analyze
