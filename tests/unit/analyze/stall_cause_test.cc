#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "client/analyze/job.h"
#include "client/analyze/model/match/match.h"
#include "client/analyze/model/replay/replay.h"
#include "client/analyze/rules/host/throttling.h"

namespace profd::analyze {
namespace {

constexpr Ns kMs = 1'000'000, kBegin = 1'000'000 * kMs;
constexpr uint64_t kProcess = 7, kThread = kProcess << 32 | kProcess;

// A rank that launches once every 10 ms, and what the kernel told of its program; times in ms.
class StallCauseTest : public testing::Test {
 protected:
  StallCauseTest() {
    const TextId type = builder_.Text("MatMul"), launch = builder_.Text("launch");
    builder_.At(0).number = 0;
    for (int i = 0; i < 40; ++i) {
      const Ns at = kBegin + i * 10 * kMs;
      builder_.AddCall({at, at + 5'000, launch, 0, CallKind::kOther}, kThread, i);
      Task task;
      task.begin = at + 6'000;
      task.end = task.begin + 100'000;
      task.name = type;
      task.kind = builder_.Class(type, 0, Work::kCompute);
      builder_.AddTask(0, task, 1, i);
    }
    builder_.At(0).process = kProcess;
    builder_.AddStep({0, kBegin - kMs, kBegin + 400 * kMs}, -1, 0);
    host_.process = kProcess;
  }
  uint32_t Stack(const char* function, HostPlace place) {
    stacks_.push_back({builder_.Text(function), place, {builder_.Text(function)}});
    return static_cast<uint32_t>(stacks_.size() - 1);
  }
  void Span(std::vector<HostSpan>& to, double from, double until, uint32_t stack, uint64_t thread = kThread) {
    to.push_back({At(from), At(until), thread, stack});
  }
  static Ns At(double ms) { return kBegin + static_cast<Ns>(ms * kMs); }
  void Look(double from, double until, double throttled) {
    host_.cgroups.push_back({At(from), At(until), builder_.Text("/job"), 0.5, 1, throttled});
  }
  // In front of the call at `to`.
  static Piece PieceOf(double from, double to) {
    Piece piece;
    piece.index = static_cast<uint32_t>(to / 10);
    piece.from = At(from);
    piece.to = At(to);
    return piece;
  }
  template <typename Ask>
  Reason Asked(Ask ask) {
    std::vector<Part> parts;
    parts.push_back(builder_.Finish());
    parts.back().hosts.push_back(std::move(host_));
    parts.back().stacks = std::move(stacks_);
    Job job = Join(std::move(parts));
    const Matches matches = MatchCollectives(job);
    const Replay replay(job, matches, 1);
    const Settings settings;
    const Clocks clocks;
    return ask(MakeContext(job, matches, clocks, replay, settings, 1));
  }
  Reason ReasonBetween(double from, double to) {
    return Asked([&](const Context& context) { return ReasonOf(context, PieceOf(from, to)); });
  }

  RankBuilder builder_{"rank"};
  HostPart host_;
  std::vector<HostStack> stacks_;
};

TEST_F(StallCauseTest, AWaitOfTheThreadThatLaunches) {
  Span(host_.waits, 101, 109.5, Stack("load (train.py:4)", HostPlace::kLock));
  Span(host_.waits, 100, 110, Stack("other (train.py:9)", HostPlace::kDisk), kThread + 1);
  const Reason reason = ReasonBetween(100, 110);
  EXPECT_EQ(reason.id, "host.wait");
  EXPECT_EQ(reason.Sentence(), "it waits for a lock or for another thread in load (train.py:4)");
  EXPECT_NEAR(reason.share, 0.85, 1e-9);
}

TEST_F(StallCauseTest, AWaitOfLessThanHalfIsNoCause) {
  Span(host_.waits, 101, 105, Stack("load (train.py:4)", HostPlace::kLock));
  EXPECT_EQ(ReasonBetween(100, 110).id, "");
}

TEST_F(StallCauseTest, PlacesNameTheCause) {
  Span(host_.waits, 101, 109, Stack("fetch (dataloader.py:4)", HostPlace::kLoader));
  EXPECT_EQ(ReasonBetween(100, 110).id, "host.dataloader");
}

TEST_F(StallCauseTest, AThreadThatIsNotLet) {
  const uint32_t stack = Stack("work (train.py:5)", HostPlace::kOther);
  stacks_[stack].frames.insert(stacks_[stack].frames.begin(), builder_.Text("[waits for a CPU]"));
  Span(host_.waits, 100, 107, stack);
  Span(host_.waits, 107, 109, Stack("work (train.py:5)", HostPlace::kOther));
  const Reason reason = ReasonBetween(100, 110);
  EXPECT_EQ(reason.id, "host.runqueue");
  EXPECT_EQ(reason.Sentence(), "it could run, but waits for a CPU in work (train.py:5)");
  EXPECT_NEAR(reason.share, 0.7, 1e-9);
}

TEST_F(StallCauseTest, AGraphIsPrepared) {
  const auto range = [this](const char* name, double from) {
    builder_.AddRange({At(from), At(110), kThread, builder_.Text(name), RangeKind::kFramework});
  };
  range("npu_fx_compiler_inference", 101);
  range("TorchNpuGraphBase::Run", 103);
  range("ExecuteGraph", 104);
  const Reason reason = ReasonBetween(100, 110);
  EXPECT_EQ(reason.id, "graph.head");
  EXPECT_EQ(reason.text, "a compiled graph is prepared, mostly in the graph engine");
  EXPECT_NEAR(reason.share, 0.9, 1e-9);
}

TEST_F(StallCauseTest, SamplesOnACpu) {
  const uint32_t stack = Stack("work (train.py:5)", HostPlace::kOther);
  for (int i = 0; i < 3; ++i) Span(host_.running, 100 + 2 * i, 102 + 2 * i, stack);
  const Reason reason = ReasonBetween(100, 110);
  EXPECT_EQ(reason.id, "host.busy");
  EXPECT_EQ(reason.Sentence(), "it computes on the CPU in work (train.py:5)");
}

TEST_F(StallCauseTest, ASingleSampleTellsNothing) {
  Span(host_.running, 100, 110, Stack("work (train.py:5)", HostPlace::kOther));
  EXPECT_EQ(ReasonBetween(100, 110).id, "");
}

TEST_F(StallCauseTest, ThrottlingThatIsCountedWhenItEnds) {
  for (int i = 0; i < 20; ++i) Look(20 * i, 20 * i + 20, i == 6 ? 0.9 : 0);  // 18 ms, until 140 at the latest
  const Reason reason = Asked([](const Context& context) {
    return ThrottlingOf(context, std::vector<Piece>{PieceOf(110, 130)}, 0, 0.5);
  });
  EXPECT_EQ(reason.id, "host.throttled");
  EXPECT_NE(reason.text.find("/job may use no more than 1.0 CPUs"), std::string::npos) << reason.text;
  EXPECT_NE(reason.text.find("in time with"), std::string::npos) << "a stall of one look";
}

TEST_F(StallCauseTest, ThrottlingAtAllTimesIsNoCauseOfOneStall) {
  for (int i = 0; i < 20; ++i) Look(20 * i, 20 * i + 20, 0.9);
  EXPECT_EQ(Asked([](const Context& context) {
              return ThrottlingOf(context, std::vector<Piece>{PieceOf(110, 130)}, 0, 0.5);
            }).id,
            "");
}

TEST_F(StallCauseTest, ThrottlingAtAllTimesIsTheCauseOfAWaitForACpu) {
  for (int i = 0; i < 20; ++i) Look(20 * i, 20 * i + 20, 0.9);
  EXPECT_EQ(Asked([](const Context& context) {
              return ThrottlingOf(context, std::vector<Piece>{PieceOf(110, 130)}, 12 * kMs, 0.5);
            }).id,
            "host.throttled");
}

}  // namespace
}  // namespace profd::analyze
