#include "client/export/views/device/core_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace profd::client {
namespace {

using Names = std::vector<std::string>;

format::SideFacts Device(format::Chip chip, std::vector<uint32_t> events) {
  format::SideFacts side;
  side.chip = chip;
  side.aic_events = side.aiv_events = std::move(events);
  side.aic_mhz = side.aiv_mhz = 1000;
  return side;
}

Names NamesOf(const format::SideFacts& side, bool vector, CoreMode mode) {
  Names names;
  for (const CoreMetric& metric : CoreMetricsOf(side, vector, mode)) names.push_back(metric.name);
  return names;
}

double Value(const format::SideFacts& side, CoreMode mode, const std::string& name,
             const std::vector<double>& events, double cycles = 1000) {
  for (const bool vector : {false, true}) {
    for (const CoreMetric& metric : CoreMetricsOf(side, vector, mode)) {
      if (metric.name == name) return metric.Value({cycles, 1000, events});
    }
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

using enum format::Chip;

// viewer/calculate_rts_data.py: raw counts, whatever figures could be made of them.
TEST(CoreMetrics, EventsByNumberAreWhatWasCounted) {
  format::SideFacts side = Device(k910B, {0x8, 0xa, 0x3a});
  side.aic_metrics = side.aiv_metrics = "Custom:0x8,0xa,0x3a";
  for (const CoreMode mode : {CoreMode::kByTask, CoreMode::kSampled}) {
    for (const bool vector : {false, true})
      EXPECT_EQ(NamesOf(side, vector, mode), (Names{"r8", "ra", "r3a"}));
    EXPECT_DOUBLE_EQ(Value(side, mode, "ra", {1, 925344, 3}), 925344);
  }
}

TEST(CoreMetrics, EachKindOfCoreShowsWhatItIsForInTablesOfTasks) {
  const format::SideFacts pipes = Device(k910B, {0x416, 0x417, 0x9, 0x302, 0xc, 0x303, 0x54, 0x55});
  EXPECT_EQ(
      NamesOf(pipes, false, CoreMode::kByTask),
      (Names{"mac_ratio", "scalar_ratio", "mte1_ratio", "mte2_ratio", "fixpipe_ratio", "icache_miss_rate"}));
  const format::SideFacts plain = Device(k910B, {0x8, 0xa, 0x9, 0xb, 0xc, 0xd, 0x54, 0x55});
  EXPECT_EQ(NamesOf(plain, true, CoreMode::kByTask),
            (Names{"vec_ratio", "scalar_ratio", "mte2_ratio", "mte3_ratio", "icache_miss_rate"}));
  const Names all = {"vec_ratio",  "mac_ratio",  "scalar_ratio",     "mte1_ratio",
                     "mte2_ratio", "mte3_ratio", "icache_miss_rate", "memory_bound"};
  EXPECT_EQ(NamesOf(plain, true, CoreMode::kSampled), all);
  EXPECT_EQ(NamesOf(Device(k910, plain.aic_events), false, CoreMode::kByTask), all);
  const format::SideFacts memory = Device(k910B, {0x15, 0x16, 0x31, 0x32, 0xf, 0x10, 0x12, 0x13});
  EXPECT_EQ(NamesOf(memory, false, CoreMode::kByTask),
            (Names{"l1_read_bw(GB/s)", "l1_write_bw(GB/s)", "main_mem_read_bw(GB/s)",
                   "main_mem_write_bw(GB/s)", "l2_read_bw(GB/s)", "l2_write_bw(GB/s)"}));
  EXPECT_EQ(NamesOf(memory, true, CoreMode::kByTask),
            (Names{"ub_read_bw(GB/s)", "ub_write_bw(GB/s)", "main_mem_read_bw(GB/s)",
                   "main_mem_write_bw(GB/s)", "l2_read_bw(GB/s)", "l2_write_bw(GB/s)"}));
}

TEST(CoreMetrics, WhatTheNumbersMeanDependsOnTheChip) {
  EXPECT_EQ(NamesOf(Device(k950, {0x501, 0x301, 0x1, 0x701, 0x202, 0x203, 0x34, 0x35, 0x714}), false,
                    CoreMode::kByTask),
            (Names{"mac_ratio", "scalar_ratio", "mte1_ratio", "mte2_ratio", "mte3_ratio", "fixpipe_ratio",
                   "icache_miss_rate"}));
  EXPECT_EQ(NamesOf(Device(k910, {0x501, 0x206}), false, CoreMode::kSampled),
            (Names{"l0c_to_l1_datas(KB)", "0x501"}));
  EXPECT_EQ(NamesOf(Device(k950, {0x206}), false, CoreMode::kSampled), (Names{"ub_write_bw_mte(GB/s)"}));
}

TEST(CoreMetrics, PairsThatMakeOneFigureNeedBoth) {
  EXPECT_EQ(NamesOf(Device(k910, {0x54, 0x416}), false, CoreMode::kSampled), (Names{"0x54", "0x416"}));
  EXPECT_EQ(
      NamesOf(Device(k310P, {0x12c, 0x49, 0x4a, 0x9, 0x302, 0xc, 0xd, 0x303}), false, CoreMode::kByTask),
      (Names{"vec_exe_ratio", "mac_exe_ratio", "scalar_exe_ratio", "mte1_exe_ratio", "mte2_exe_ratio",
             "mte3_exe_ratio", "fixpipe_exe_ratio", "memory_bound"}));
}

TEST(CoreMetrics, ValuesAsTheAnalyserComputesThem) {
  // 1000 cycles at 1 GHz are 1 µs.
  const auto gib = [](double bits) { return bits / 1e-6 / 8 / (1 << 30); };
  const format::SideFacts memory = Device(k910B, {0x15, 0x16, 0x31, 0x32, 0xf, 0x10, 0x12, 0x13});
  const std::vector<double> counts = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_DOUBLE_EQ(Value(memory, CoreMode::kByTask, "ub_write_bw(GB/s)", counts), gib(2 * 1024));
  EXPECT_DOUBLE_EQ(Value(memory, CoreMode::kByTask, "l1_write_bw(GB/s)", counts), gib(4 * 1024));
  EXPECT_DOUBLE_EQ(Value(Device(k910, {0x32}), CoreMode::kByTask, "l1_write_bw(GB/s)", {4}), gib(4 * 2048));
  EXPECT_DOUBLE_EQ(Value(memory, CoreMode::kSampled, "l1_write_bw(GB/s)", counts), gib(4 * 1024));
  EXPECT_DOUBLE_EQ(Value(memory, CoreMode::kByTask, "main_mem_read_bw(GB/s)", counts), gib(7 * 64));
  const format::SideFacts of950 = Device(k950, {0x56f, 0x571});
  EXPECT_DOUBLE_EQ(Value(of950, CoreMode::kByTask, "ub_read_bw(GB/s)", {2, 3}), gib(2 * 1024 + 3 * 256));
  EXPECT_DOUBLE_EQ(Value(of950, CoreMode::kSampled, "ub_read_bw(GB/s)", {2, 3}), gib(5 * 1024));

  const std::vector<uint32_t> operations = {0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f};
  const std::vector<double> seven = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(Value(Device(k910B, operations), CoreMode::kByTask, "cube_fops", seven), 8192 + 2 * 16384);
  EXPECT_EQ(Value(Device(k910B, operations), CoreMode::kByTask, "vector_fops", seven),
            3 * 64 + 4 * 128 + 5 * 64 + 6 * 64 + 7 * 32);
  EXPECT_EQ(Value(Device(k310P, operations), CoreMode::kByTask, "vector_fops", seven),
            3 * 64 + 4 * 128 + 5 * 64 + 6 * 16 + 7 * 16);
  EXPECT_EQ(Value(Device(k310, operations), CoreMode::kSampled, "vector_fops", seven),
            3 * 32 + 4 * 128 + 5 * 64 + 6 * 64 + 7 * 32);
  EXPECT_DOUBLE_EQ(Value(Device(k910B, operations), CoreMode::kByTask, "vec_fp16_ratio", seven), 0.009);

  const format::SideFacts access = Device(k910B, {0x32, 0x3d, 0x3e, 0x206, 0x20c, 0x50c, 0x50d, 0x50e});
  EXPECT_DOUBLE_EQ(Value(access, CoreMode::kByTask, "GM_to_L1_datas(KB)", {8, 0, 0, 4, 0, 0, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(Value(access, CoreMode::kByTask, "read_main_memory_datas(KB)", {0, 0, 0, 0, 0, 0, 8, 16}),
                   3);
  EXPECT_EQ(NamesOf(access, false, CoreMode::kByTask).size(), 7U);
  EXPECT_DOUBLE_EQ(Value(access, CoreMode::kSampled, "gm_to_l1_datas(KB)", {8, 0, 0, 4, 0, 0, 0, 0}), 1);
  EXPECT_EQ(NamesOf(access, false, CoreMode::kSampled).size(), 7U);

  const format::SideFacts bound = Device(k910, {0x8, 0xa, 0xc});
  EXPECT_DOUBLE_EQ(Value(bound, CoreMode::kByTask, "memory_bound", {100, 200, 300}), 1.5);
  const format::SideFacts executing = Device(k310B, {0x12c, 0x49, 0x4a, 0xc});
  EXPECT_DOUBLE_EQ(Value(executing, CoreMode::kByTask, "memory_bound", {250, 100, 200, 450}), 1.5);
  EXPECT_DOUBLE_EQ(Value(executing, CoreMode::kByTask, "memory_bound", {400, 100, 200, 450}), 1.125);
}

TEST(CoreMetrics, NothingOfWhatIsNotThere) {
  const format::SideFacts memory = Device(k910B, {0x12});
  EXPECT_TRUE(std::isnan(Value(memory, CoreMode::kByTask, "main_mem_read_bw(GB/s)", {1}, 0)));
  EXPECT_TRUE(std::isnan(
      CoreMetricsOf(memory, false, CoreMode::kByTask)[0].Value({1000, 0, std::vector<double>{1}})));
  // More events than a record has counters for.
  EXPECT_TRUE(std::isnan(Value(Device(k910, {0x8, 0x1234}), CoreMode::kSampled, "0x1234", {1})));
}

}  // namespace
}  // namespace profd::client
