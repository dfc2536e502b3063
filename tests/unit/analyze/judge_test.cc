// What a finding may cost at most, and what is said of steps with all findings mended.
#include "client/analyze/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/analyze/job.h"
#include "client/analyze/model/match/match.h"
#include "client/analyze/model/replay/replay.h"

namespace profd::analyze {
namespace {

constexpr Ns kUs = 1'000, kMs = 1'000'000, kBegin = 1'000'000 * kMs;

// One rank with its program, which launches kernels one by one and never waits for them.
class Program {
 public:
  explicit Program(int64_t number)
      : process_(7 + static_cast<uint64_t>(number)), builder_("rank " + std::to_string(number)) {
    builder_.At(0).number = number;
  }
  // `every` µs until the next one is launched; it runs for `us` when the device is free.
  void Launch(const char* type, Ns us, Ns every) {
    const TextId name = builder_.Text(type);
    builder_.AddCall({at_, at_ + kUs, builder_.Text("launch"), 0, CallKind::kOther}, thread(), ++connection_);
    Task task;
    task.begin = std::max(done_, at_ + 5 * kUs);
    task.end = done_ = task.begin + us * kUs;
    task.name = name;
    task.kind = builder_.Class(name, 0, Work::kCompute);
    builder_.AddTask(0, task, 1, connection_, process_);
    at_ += every * kUs;
  }
  void CollectGarbage(Ns us) {
    builder_.AddRange({at_, at_ + us * kUs, thread(), builder_.Text("gc"), RangeKind::kGarbage});
    at_ += us * kUs;
  }
  // `fill` adds what is in it.
  template <typename Fill>
  void Step(int64_t number, Fill fill) {
    const Ns begin = at_;
    fill();
    builder_.AddStep({number, begin, at_}, -1, thread());
  }
  void WaitUntil(Ns at) { at_ = at; }
  Part Take() { return builder_.Finish(); }

 private:
  uint64_t thread() const { return process_ << 32 | process_; }
  const uint64_t process_;
  RankBuilder builder_;
  Ns at_ = kBegin, done_ = 0;
  int64_t connection_ = 0;
};

class JudgeTest : public testing::Test {
 protected:
  Verdict Told(const std::vector<Program*>& programs) {
    std::vector<Part> parts;
    parts.reserve(programs.size());
    for (Program* program : programs) parts.push_back(program->Take());
    Job job = Join(std::move(parts));
    const Matches matches = MatchCollectives(job);
    const Replay replay(job, matches, 1);
    const Clocks clocks;
    const Settings settings;
    return Judge(MakeContext(job, matches, clocks, replay, settings, 1), {}, 1);
  }
  static std::string Titles(const Verdict& verdict) {
    std::string text;
    for (const Finding& finding : verdict.findings) text += finding.id + ": " + finding.title + "\n";
    return text;
  }
};

// Two programs whose steps of 1 ms are in time with each other. In some of them the first one collects
// garbage at their end, when the second one has long been done. Without that, these steps would be shorter,
// and the first program would begin the next ones before the second is ready for them: they are no longer for
// that.
TEST_F(JudgeTest, NoStepOfTheReplayIsLongerThanItWas) {
  constexpr int kSteps = 24;
  const std::set<int> hits = {4, 9, 14, 19};
  Program first(0), second(1);
  for (Program* program : {&first, &second}) {
    for (int step = 0; step < kSteps; ++step) {
      const Ns begin = kBegin + step * kMs;
      program->WaitUntil(begin);
      // The second one has less to do at last, so that the first one decides when the job ends.
      const bool is_hit = hits.contains(step), is_short = program == &second && step == kSteps - 1;
      program->Step(step, [&] {
        for (int i = 0; i < (is_short ? 2 : is_hit ? 9 : 17); ++i) program->Launch("MatMul", 58, 55);
        if (is_hit && program == &first) program->CollectGarbage(505);
        if (!is_hit) program->WaitUntil(begin + kMs);
      });
      if (is_hit && program == &second) program->Launch("Other", 450, 55);  // of no step
    }
  }
  const Verdict verdict = Told({&first, &second});
  ASSERT_EQ(verdict.findings.size(), 1u) << Titles(verdict);
  EXPECT_EQ(verdict.findings[0].id, "host.stall");
  EXPECT_EQ(verdict.findings[0].steps, (std::vector<uint32_t>{4, 9, 14, 19}));
}

// A collection of 1 ms, for 0.8 ms of which the device still has work: it does nothing for the rest. Without
// it the host would be ahead of the device, and short pauses that follow would be hidden, too; those are none
// of its faults.
TEST_F(JudgeTest, NoFindingCostsMoreThanItCanAtMostAndNoJobWinsMore) {
  constexpr int kSteps = 12;
  constexpr double kIdle = 0.2, kSlack = 0.06;  // ms of a step
  Program program(0);
  for (int step = 0; step < kSteps; ++step) {
    program.Step(step, [&] {
      for (int i = 0; i < 10; ++i) program.Launch("MatMul", 100, 20);
      program.CollectGarbage(1000);
      for (int pause = 0; pause < 5; ++pause) {
        for (int i = 0; i < 6; ++i) program.Launch("Add", 8, i < 5 ? 5 : 150);
      }
    });
  }
  const Verdict verdict = Told({&program});
  ASSERT_EQ(verdict.findings.size(), 1u) << Titles(verdict);
  const Finding& stall = verdict.findings[0];
  EXPECT_EQ(stall.id, "host.stall");
  EXPECT_NEAR(stall.cost.ms_per_step, kIdle, kSlack);
  EXPECT_LE(stall.cost.high, kIdle + kSlack);
  EXPECT_LE(verdict.summary.step_ms_mean - verdict.summary.ideal_ms, kIdle + kSlack);
}

}  // namespace
}  // namespace profd::analyze
