// Programs that stop: in front of a launch, in one, and when they come back from waiting for their device.
#include <gtest/gtest.h>

#include <algorithm>
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

// A program of one thread that launches kernels on one device or more, and waits for them at the end of each
// step.
class StallsTest : public testing::Test {
 protected:
  void Launch(Ns takes = 2 * kUs) {
    const TextId type = builder_.Text("MatMul");
    for (int device = 0; device < devices_; ++device) {
      builder_.AddCall({at_, at_ + takes, builder_.Text("launch"), 0, CallKind::kOther}, kThread,
                       ++connection_);
      at_ += takes;
      Task task;
      task.begin = std::max(done_, at_ + 5 * kUs);
      task.end = task.begin + kernel_;
      task.name = type;
      task.kind = builder_.Class(type, 0, Work::kCompute);
      builder_.AddTask(device, task, stream_, connection_, kProcess);
      if (device + 1 == devices_) done_ = task.end;
    }
    at_ += 20 * kUs;
  }
  // Gives the moment from which on it could have come back.
  Ns Synchronise(Ns late = 10 * kUs) {
    const Ns begin = at_;
    at_ = std::max(at_, done_) + late;
    builder_.AddCall({begin, at_, builder_.Text("aclrtSynchronizeStream"), 0, CallKind::kSynchronise},
                     kThread, ++connection_);
    return at_ - late;
  }
  // `fill` gets the number of the step.
  template <typename Fill>
  void Steps(int count, Fill fill) {
    for (int device = 0; device < devices_; ++device) builder_.At(device).number = device;
    host_.process = kProcess;
    for (int step = 0; step < count; ++step) {
      const Ns begin = at_;
      fill(step);
      builder_.AddStep({step, begin, at_}, -1, kThread);
      at_ += 30 * kUs;
    }
  }
  template <typename Meanwhile>
  void ComesBackLate(Meanwhile meanwhile) {
    const uint32_t waits = Stack("synchronise (train.py:8)", HostPlace::kSleep);
    Steps(12, [&](int) {
      for (int i = 0; i < 50; ++i) {
        Launch();
        if (i != 10) continue;
        meanwhile();
        at_ += 60 * kUs;
      }
      const Ns done = Synchronise(3 * kMs);
      Waits(done - kMs, at_, waits);
    });
  }
  uint32_t Stack(const char* function, HostPlace place, bool is_queued = false) {
    stacks_.push_back({builder_.Text(function), place, {builder_.Text(function)}});
    if (is_queued)
      stacks_.back().frames.insert(stacks_.back().frames.begin(), builder_.Text("[waits for a CPU]"));
    return static_cast<uint32_t>(stacks_.size() - 1);
  }
  void Waits(Ns from, Ns to, uint32_t stack) { host_.waits.push_back({from, to, kThread, stack}); }
  void Runs(Ns from, Ns to, uint32_t stack) { host_.running.push_back({from, to, kThread, stack}); }
  std::vector<Finding> Told(const std::vector<std::string>& rules = {}) {
    std::vector<Part> parts;
    parts.push_back(builder_.Finish());
    parts.back().hosts.push_back(std::move(host_));
    parts.back().stacks = std::move(stacks_);
    Job job = Join(std::move(parts));
    const Matches matches = MatchCollectives(job);
    const Replay replay(job, matches, 1);
    const Clocks clocks;
    const Settings settings;
    return Judge(MakeContext(job, matches, clocks, replay, settings, 1), rules, 1).findings;
  }
  static std::string Titles(const std::vector<Finding>& told) {
    std::string text;
    for (const Finding& finding : told) text += finding.id + ": " + finding.title + "\n";
    return text;
  }

  int devices_ = 1;
  int64_t stream_ = 1;
  Ns kernel_ = 80 * kUs;
  RankBuilder builder_{"rank"};
  HostPart host_;
  std::vector<HostStack> stacks_;
  Ns at_ = kBegin, done_ = 0;
  int64_t connection_ = 0;
};

TEST_F(StallsTest, AHealthyProgramHasNone) {
  Steps(12, [&](int) {
    for (int i = 0; i < 50; ++i) Launch();
    Synchronise();
  });
  const std::vector<Finding> told = Told();
  EXPECT_TRUE(told.empty()) << Titles(told);
}

// Others have its CPU when the device is done, so it comes back late.
TEST_F(StallsTest, WhatACallThatWaitsTakesWhenTheDeviceIsDone) {
  const uint32_t queued = Stack("synchronise (train.py:8)", HostPlace::kOther, true);
  Steps(12, [&](int step) {
    for (int i = 0; i < 50; ++i) Launch();
    const bool is_late = step == 4 || step == 7 || step == 9;
    const Ns done = Synchronise(is_late ? 8 * kMs : 10 * kUs);
    if (is_late) Waits(done - kMs, at_, queued);
  });
  const std::vector<Finding> told = Told();
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].title,
            "rank 0 (device 0): the host stops for 8.0 ms: it could run, but waits for a CPU in synchronise "
            "(train.py:8)");
  EXPECT_EQ(told[0].causes.at(0).id, "host.runqueue");
  EXPECT_EQ(told[0].steps, (std::vector<uint32_t>{4, 7, 9}));
  EXPECT_NEAR(told[0].cost.total_ms, 24, 0.5);
}

// A wait for the device that goes on when it is done: nobody has recorded that it was a CPU that was missing.
TEST_F(StallsTest, AWaitForTheDeviceThatGoesOnWhenItIsDone) {
  const uint32_t waits = Stack("synchronise (train.py:8)", HostPlace::kSleep);
  Steps(12, [&](int step) {
    for (int i = 0; i < 50; ++i) Launch();
    const bool is_late = step == 4 || step == 7;
    const Ns done = Synchronise(is_late ? 8 * kMs : 10 * kUs);
    Waits(done - kMs, at_, waits);
  });
  const std::vector<Finding> told = Told();
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].causes.at(0).id, "host.runqueue");
  EXPECT_EQ(told[0].confidence(), "medium");
  EXPECT_NE(told[0].title.find("comes back late from waiting for the device"), std::string::npos)
      << told[0].title;
}

// The same in every step: of a thread that others keep from its CPU elsewhere, too.
TEST_F(StallsTest, AProgramThatComesBackLateInEveryStep) {
  const uint32_t queued = Stack("forward (train.py:5)", HostPlace::kOther, true);
  ComesBackLate([&] { Waits(at_, at_ + 60 * kUs, queued); });
  const std::vector<Finding> told = Told({"host.stall"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].causes.at(0).id, "host.runqueue");
  EXPECT_NEAR(told[0].cost.ms_per_step, 3, 0.3) << "of the last one nobody knows what it delays";
}

// It may be how the device tells that it is done.
TEST_F(StallsTest, AProgramThatMayWaitForSomethingElseInEveryStep) {
  ComesBackLate([] {});
  const std::vector<Finding> told = Told({"host.stall"});
  EXPECT_TRUE(told.empty()) << Titles(told);
}

// Its cgroup has used up what it may, in every step.
TEST_F(StallsTest, ALimitThatKeepsItFromComingBack) {
  Steps(40, [&](int step) {
    for (int i = 0; i < 50; ++i) Launch();
    const Ns done = Synchronise((30 + step % 5) * kMs);
    const auto look = [&](Ns from, Ns to, double throttled) {
      host_.cgroups.push_back({from, to, builder_.Text("/job"), 0.2, 0.22, throttled});
    };
    look(done - 6 * kMs, done, 0);
    look(done, at_, 0.95);
  });
  const std::vector<Finding> told = Told();
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].causes.at(0).id, "host.throttled") << told[0].title;
  EXPECT_NE(told[0].title.find("its cgroup /job may use no more than 0.22 CPUs"), std::string::npos)
      << told[0].title;
  EXPECT_NEAR(told[0].cost.ms_per_step, 32, 2);
}

// A signal stops the process while it launches: its device waits, and not for anything of its own.
TEST_F(StallsTest, AStopWithinALaunch) {
  const uint32_t stopped = Stack("forward (train.py:5)", HostPlace::kStopped);
  Steps(12, [&](int step) {
    for (int i = 0; i < 50; ++i) {
      const bool stops = step == 6 && i == 20;
      const Ns begin = at_;
      Launch(stops ? 300 * kMs : 2 * kUs);
      if (stops) Waits(begin + kUs, begin + 300 * kMs, stopped);
    }
    Synchronise();
  });
  const std::vector<Finding> told = Told();
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].title,
            "rank 0 (device 0): the host stops for 300 ms: a signal has stopped it in forward (train.py:5)");
  EXPECT_NEAR(told[0].cost.total_ms, 300, 3);
  EXPECT_EQ(told[0].steps, (std::vector<uint32_t>{6}));
}

// Each step computes for 10 ms, of which a profile of 99 Hz sees one moment or none.
TEST_F(StallsTest, SamplesOfShortStopsArePooled) {
  const uint32_t dumps = Stack("encode (encoder.py:200)", HostPlace::kOther),
                 elsewhere = Stack("encode (encoder.py:257)", HostPlace::kOther),
                 other = Stack("log (train.py:30)", HostPlace::kOther);
  Steps(24, [&](int step) {
    for (int i = 0; i < 25; ++i) Launch();
    Synchronise();
    at_ += 10 * kMs;
    const Ns seen = at_ - (step % 9 + 1) * kMs;
    Runs(seen - 10'101 * kUs, seen, step % 6 == 0 ? other : step % 2 == 0 ? dumps : elsewhere);
    for (int i = 0; i < 25; ++i) Launch();
    Synchronise();
  });
  const std::vector<Finding> told = Told({"host.stall"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  ASSERT_EQ(told[0].causes.size(), 1u) << told[0].title;
  EXPECT_EQ(told[0].causes[0].id, "host.busy");
  EXPECT_NE(told[0].title.find("it computes on the CPU in encode (encoder.py:"), std::string::npos)
      << told[0].title;
  EXPECT_NE(told[0].title.find(", 87 % of that"), std::string::npos) << told[0].title;
  EXPECT_NEAR(told[0].cost.ms_per_step, 10, 0.5);
}

// Kernels of two streams, one behind the other by what no record tells: they would not run beside each other.
TEST_F(StallsTest, AStopCostsNoMoreThanItsDeviceIsIdle) {
  const uint32_t dumps = Stack("encode (encoder.py:200)", HostPlace::kOther);
  kernel_ = 7 * kMs;
  Steps(24, [&](int) {
    for (int i = 0; i < 6; ++i) {
      stream_ = 1 + i % 2;
      Launch();
      Runs(at_, at_ + 8 * kMs, dumps);
      at_ += 8 * kMs;
    }
    Synchronise();
  });
  const std::vector<Finding> told = Told({"host.stall"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].causes.at(0).id, "host.busy");
  EXPECT_NEAR(told[0].cost.ms_per_step, 6 * 1.0, 0.6) << "6 ms of 48 the device does nothing";
}

// Between all launches of a step: so it launches.
TEST_F(StallsTest, AProgramThatComputesAllOverAStepDoesNotStop) {
  const uint32_t trains = Stack("train (train.py:81)", HostPlace::kOther);
  Steps(24, [&](int) {
    for (int i = 0; i < 12; ++i) {
      Launch();
      Runs(at_, at_ + 8 * kMs, trains);
      at_ += 8 * kMs;
    }
    Synchronise();
  });
  const std::vector<Finding> told = Told({"host.stall"});
  EXPECT_TRUE(told.empty()) << Titles(told);
}

// A checkpoint: half of it is computed, the other half waits for the disk.
TEST_F(StallsTest, AStopThatIsPartlyAWait) {
  const uint32_t packs = Stack("save (train.py:12)", HostPlace::kOther),
                 syncs = Stack("save (train.py:14)", HostPlace::kDisk);
  Steps(13, [&](int step) {
    for (int i = 0; i < 50; ++i) Launch();
    Synchronise();
    if (step % 4 != 3) return;
    for (int i = 0; i < 4; ++i) Runs(at_ + i * 10 * kMs, at_ + (i + 1) * 10 * kMs, packs);
    Waits(at_ + 45 * kMs, at_ + 87 * kMs, syncs);
    at_ += 90 * kMs;
  });
  const std::vector<Finding> told = Told({"host.stall"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].causes.at(0).id, "host.io");
  EXPECT_NE(told[0].title.find("it computes on the CPU, and waits for a disk in save (train.py:"),
            std::string::npos)
      << told[0].title;
  EXPECT_EQ(told[0].steps, (std::vector<uint32_t>{3, 7, 11}));
}

// One program, two devices: one stop.
TEST_F(StallsTest, AStopOfAProgramWithTwoDevicesIsToldOnce) {
  devices_ = 2;
  const uint32_t lock = Stack("load (train.py:4)", HostPlace::kLock);
  Steps(12, [&](int step) {
    for (int i = 0; i < 25; ++i) Launch();
    Synchronise();
    if (step == 5 || step == 8) {
      Waits(at_, at_ + 60 * kMs, lock);
      at_ += 60 * kMs;
    }
    for (int i = 0; i < 25; ++i) Launch();
    Synchronise();
  });
  const std::vector<Finding> told = Told({"host.stall"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(
      told[0].title,
      "ranks 0,1 (devices 0,1): the host stops for 60.0 ms: it waits for a lock or for another thread in "
      "load (train.py:4)");
  EXPECT_EQ(told[0].where.ranks, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(told[0].where.devices, (std::vector<int>{0, 1}));
}

// It waits for one and then for the other at the end of a step, and one has more to do.
TEST_F(StallsTest, AProgramThatWaitsForTwoDevicesAtTheEndOfAStepIsHealthy) {
  devices_ = 2;
  Steps(12, [&](int) {
    for (int i = 0; i < 50; ++i) Launch();
    const Ns both = done_;
    done_ = both - kMs;
    Synchronise();
    done_ = both;
    Synchronise();
  });
  const std::vector<Finding> told = Told();
  EXPECT_TRUE(told.empty()) << Titles(told);
}

// Within a step it need not.
TEST_F(StallsTest, AProgramThatWaitsForItsDevicesWithinAStep) {
  devices_ = 2;
  Steps(12, [&](int) {
    for (int i = 0; i < 50; ++i) {
      Launch();
      if (i % 5 == 0) Synchronise(100 * kUs);
    }
    Synchronise();
  });
  const std::vector<Finding> told = Told({"host.sync"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
}

// It waits for a CPU, and its cgroup's limit is a part of that only: others have the CPUs, too.
TEST_F(StallsTest, ALimitThatIsAPartOfAWaitForACpu) {
  const uint32_t queued = Stack("forward (train.py:5)", HostPlace::kOther, true);
  Steps(40, [&](int step) {
    for (int i = 0; i < 50; ++i) Launch();
    const Ns done = Synchronise();
    Waits(done, at_ + 20 * kMs, queued);
    const Ns from = at_;
    at_ += 20 * kMs;
    for (int i = 0; i < 20; ++i)
      host_.cgroups.push_back({from + i * kMs, from + (i + 1) * kMs, builder_.Text("/job"), 0.2, 0.22,
                               i < 7 && step % 8 != 7 ? 0.95 : 0});
  });
  const std::vector<Finding> told = Told({"host.stall"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].causes.at(0).id, "host.runqueue") << told[0].title;
  ASSERT_EQ(told[0].causes.size(), 2u) << told[0].title;
  EXPECT_EQ(told[0].causes[1].id, "host.throttled");
  EXPECT_NE(
      told[0].title.find("waits for a CPU in forward (train.py:5); for 30 % of that its cgroup /job may "
                         "use no more than 0.22 CPUs"),
      std::string::npos)
      << told[0].title;
  EXPECT_NE(told[0].advice.at(0).find("raise the limit (cpu.max)"), std::string::npos) << told[0].advice[0];
  EXPECT_EQ(told[0].title.find("on all ranks"), std::string::npos) << "there is only one: " << told[0].title;
}

// Its limit stops it in each step, and now and then it waits elsewhere, for others and for its limit: that is
// one limit, told once.
TEST_F(StallsTest, ALimitIsToldOnce) {
  const uint32_t queued = Stack("forward (train.py:5)", HostPlace::kOther, true);
  kernel_ = kMs;
  Steps(40, [&](int step) {
    const auto look = [&](Ns from, Ns to, double throttled) {
      host_.cgroups.push_back({from, to, builder_.Text("/job"), 0.2, 0.22, throttled});
    };
    for (int i = 0; i < 5; ++i) Launch();
    if (step % 4 == 3) {
      const Ns from = at_;
      for (int i = 0; i < 20; ++i) look(from + i * kMs, from + (i + 1) * kMs, i < 5 ? 0.95 : 0);
      Waits(from, from + 20 * kMs, queued);
      at_ += 20 * kMs;
    }
    for (int i = 0; i < 45; ++i) Launch();
    const Ns done = Synchronise((30 + step % 5) * kMs);
    look(done - 10 * kMs, done, 0);
    look(done, at_, 0.95);
  });
  const std::vector<Finding> told = Told();
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].causes.at(0).id, "host.throttled") << told[0].title;
  EXPECT_NEAR(told[0].cost.ms_per_step, 32 + 15.0 / 4, 2) << "both of them";
}

// It comes back a little late from waiting for a device, now and then, and nobody has seen it wait for a CPU.
TEST_F(StallsTest, AProgramThatComesBackALittleLateIsHealthy) {
  devices_ = 2;
  const uint32_t waits = Stack("synchronise (train.py:8)", HostPlace::kSleep);
  Steps(24, [&](int step) {
    for (int i = 0; i < 50; ++i) Launch();
    const bool is_late = step % 5 == 2;
    const Ns done = Synchronise(is_late ? 300 * kUs : 10 * kUs);
    Waits(done - kMs, at_, waits);
  });
  const std::vector<Finding> told = Told();
  EXPECT_TRUE(told.empty()) << Titles(told);
}

// Behind the last call of a step: it is that step which is slow, whatever its device does.
TEST_F(StallsTest, TheStepThatIsSlowIsNamed) {
  Steps(30, [&](int step) {
    for (int i = 0; i < 50; ++i) Launch();
    Synchronise();
    if (step % 7 == 3) at_ += 3 * kMs;
  });
  const std::vector<Finding> told = Told();
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].steps, (std::vector<uint32_t>{3, 10, 17, 24})) << told[0].title;
}

// Where a host stops in other steps, and calls are not known.
TEST_F(StallsTest, NothingIsSaidOfCommunicationWhereThereIsNone) {
  const TextId type = builder_.Text("MatMul");
  builder_.At(0).number = 0;
  for (int step = 0; step < 30; ++step) {
    const Ns begin = at_;
    for (int i = 0; i < 50; ++i) {
      const Ns length = (step % 7 == 3 ? 150 : 80) * kUs;
      Task task{at_, at_ + length,  builder_.Class(type, 0, Work::kCompute), kNone, kNone, type,
                0,   Work::kCompute};
      builder_.AddTask(0, task, 1, RankBuilder::kNoConnection, kProcess);
      at_ += length + 2 * kUs;
    }
    if (step % 7 == 5) at_ += 4 * kMs;
    builder_.AddStep({step, begin, at_}, -1, kThread);
  }
  const std::vector<Finding> told = Told({"step"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].id, "step.jitter");
  EXPECT_EQ(told[0].title.find("communication"), std::string::npos) << told[0].title;
  EXPECT_EQ(told[0].steps, (std::vector<uint32_t>{3, 10, 17, 24})) << told[0].title;
}

// Of a pause that is like no other, the part with a name is what counts: it has to be long itself.
TEST_F(StallsTest, AShortPauseOfFewSteps) {
  Steps(3, [&](int) {
    builder_.AddRange(
        {at_, at_ + 150 * kUs, kThread, builder_.Text("DataLoader.next"), RangeKind::kFramework});
    at_ += 270 * kUs;
    for (int i = 0; i < 30; ++i) Launch();
    Synchronise();
  });
  const std::vector<Finding> told = Told({"host.stall"});
  EXPECT_TRUE(told.empty()) << Titles(told);
}

// Few steps: what is clear is told, though nobody knows why.
TEST_F(StallsTest, SlowStepsOfFew) {
  Steps(6, [&](int step) {
    const TextId type = builder_.Text("MatMul");
    for (int i = 0; i < 50; ++i) Launch();
    if (step == 3 || step == 5) {  // something that nothing else in the job is like
      Task task{done_, done_ + 1'200 * kUs, builder_.Class(type, 1, Work::kCompute), kNone, kNone, type,
                0,     Work::kCompute};
      builder_.AddTask(0, task, 1, RankBuilder::kNoConnection, kProcess);
      done_ += 1'200 * kUs;
    }
    Synchronise();
  });
  const std::vector<Finding> told = Told({"step"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].steps, (std::vector<uint32_t>{3, 5}));
  EXPECT_NE(
      told[0].title.find("2 of 5 steps take 1.2 ms more than the others: more kernels run, most of type "
                         "MatMul"),
      std::string::npos)
      << told[0].title;
}

// Every kind of data that may tell of a stop was recorded: nobody is told to record it again.
TEST_F(StallsTest, NobodyIsToldToRecordWhatWasRecorded) {
  host_.has_waits = host_.has_running = true;
  host_.cgroups.push_back({kBegin, kBegin + 20 * kMs, builder_.Text("/job"), 0.2, 4, 0});
  Steps(12, [&](int step) {
    for (int i = 0; i < 50; ++i) {
      Launch();
      if (i == 20 && step == 6) at_ += 30 * kMs;
    }
    Synchronise();
  });
  const std::vector<Finding> told = Told({"host.stall"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].advice.at(0).find("--collect"), std::string::npos) << told[0].advice[0];
}

TEST_F(StallsTest, TheSlowOneOfTwoSteps) {
  Steps(3, [&](int step) {
    for (int i = 0; i < 50; ++i) Launch();
    Synchronise();
    if (step == 1) at_ += 5 * kMs;
  });
  const std::vector<Finding> told = Told({"step"});
  ASSERT_EQ(told.size(), 1u) << Titles(told);
  EXPECT_EQ(told[0].id, "step.outlier");
  EXPECT_EQ(told[0].steps, (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace profd::analyze
