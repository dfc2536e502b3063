#include "daemon/live/values/step_values.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace profd::live {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class StepValuesTest : public testing::Test {
 protected:
  // By name and, of a device, its number.
  std::map<std::string, double> At(uint64_t second, std::vector<SteppingProcess> processes) {
    std::vector<Sample> samples;
    values_.Add(processes, 1000 * kSecond + second * kSecond, samples);
    std::map<std::string, double> found;
    for (const Sample& sample : samples) {
      const bool of_device = sample.labels.at(0).name == "device";
      EXPECT_EQ(IsPrivate(sample), !of_device);
      found[std::string(sample.metric->name) + " " + sample.labels.at(0).value] = sample.value;
    }
    return found;
  }
  static SteppingProcess Process(pid_t pid, std::vector<uint32_t> devices, const agent::StepTotals& totals) {
    return {pid, {.uid = 7, .labels = {{"pid", std::to_string(pid)}}}, std::move(devices), totals};
  }
  static agent::StepTotals Totals(uint64_t begun, uint64_t ended, double ended_s, double last_s) {
    return {begun, ended, begun, static_cast<uint64_t>(ended_s * 1e9), static_cast<uint64_t>(last_s * 1e9)};
  }
  StepValues values_;
};

TEST_F(StepValuesTest, MeanOfThePeriod) {
  // Seen for the first time: the last one is all that is known.
  auto now = At(0, {Process(5, {0}, Totals(101, 100, 50, 0.4))});
  EXPECT_EQ(now["profd_process_steps_total 5"], 100);
  EXPECT_DOUBLE_EQ(now["profd_process_step_seconds 5"], 0.4);
  EXPECT_DOUBLE_EQ(now["profd_step_seconds 0"], 0.4);
  now = At(1, {Process(5, {0}, Totals(105, 104, 51, 0.3))});
  EXPECT_DOUBLE_EQ(now["profd_process_step_seconds 5"], 0.25);
}

TEST_F(StepValuesTest, AStepThatHangsGetsLongerAndLonger) {
  At(0, {Process(5, {0}, Totals(10, 10, 5, 0.5))});
  At(1, {Process(5, {0}, Totals(11, 10, 5, 0.5))});
  EXPECT_DOUBLE_EQ(At(30, {Process(5, {0}, Totals(11, 10, 5, 0.5))})["profd_step_seconds 0"], 29);
  EXPECT_DOUBLE_EQ(At(31, {Process(5, {0}, Totals(11, 11, 35, 30))})["profd_step_seconds 0"], 30);
}

TEST_F(StepValuesTest, ALoopThatHasEndedHasNoStepTime) {
  const SteppingProcess done = Process(5, {0}, Totals(10, 10, 5, 0.5));
  At(0, {done});
  EXPECT_DOUBLE_EQ(At(60, {done})["profd_step_seconds 0"], 0.5);
  const auto now = At(61, {done});
  EXPECT_EQ(now.count("profd_step_seconds 0"), 0u);
  EXPECT_EQ(now.count("profd_process_step_seconds 5"), 0u);
  EXPECT_EQ(now.at("profd_process_steps_total 5"), 10);
}

TEST_F(StepValuesTest, OfADeviceTheSlowestProgram) {
  const auto now = At(0, {Process(5, {0, 1}, Totals(1, 1, 1, 1)), Process(6, {1}, Totals(1, 1, 3, 3)),
                          Process(7, {}, Totals(1, 1, 9, 9))});
  EXPECT_DOUBLE_EQ(now.at("profd_step_seconds 0"), 1);
  EXPECT_DOUBLE_EQ(now.at("profd_step_seconds 1"), 3);
  EXPECT_DOUBLE_EQ(now.at("profd_process_step_seconds 7"), 9);
}

TEST_F(StepValuesTest, TotalsThatGoBackBeginAnew) {
  At(0, {Process(5, {}, Totals(100, 100, 50, 0.5))});
  EXPECT_DOUBLE_EQ(At(1, {Process(5, {}, Totals(3, 3, 6, 2))})["profd_process_step_seconds 5"], 2);
  EXPECT_DOUBLE_EQ(At(2, {Process(5, {}, Totals(UINT64_MAX, 4, 1e9, 1))})["profd_process_steps_total 5"], 4);
}

}  // namespace
}  // namespace profd::live
