// Counters of cores by task: which task a record is of.
#include "format/decode/tasks/core_tasks.h"

#include <gtest/gtest.h>

#include <vector>

#include "format/records/tasks.h"

namespace profd::format {
namespace {

FftsTaskRecord Stars(uint16_t stream, uint16_t task, uint64_t begin, uint64_t end, uint64_t cycles,
                     uint16_t kind = 0) {
  FftsTaskRecord record{};
  record.header = kFftsTaskType;
  record.magic = kStarsMagic;
  record.stream = stream;
  record.task = task;
  record.kind = static_cast<uint16_t>(kind << 13);
  record.cycles = cycles;
  record.event[7] = 77;
  record.start_ticks = begin;
  record.end_ticks = end;
  return record;
}

template <typename Record>
void Take(CoreTasks& tasks, const std::vector<Record>& records, std::vector<DeviceTask>* found = nullptr) {
  tasks.Take(std::as_bytes(std::span(records)), found);
}

DeviceTask Task(uint32_t stream, uint32_t task, uint64_t begin, uint64_t end) {
  return {.begin_ticks = begin, .end_ticks = end, .stream = stream, .task = task};
}

TEST(CoreTasks, TimesTellTasksOfTheSameIdsApart) {
  CoreTasks tasks(CoreTasks::Layout::kStars);
  Take<FftsTaskRecord>(tasks,
                       {Stars(3, 7, 100, 200, 10), Stars(3, 7, 300, 400, 20), Stars(4, 7, 100, 200, 30)});
  EXPECT_TRUE(tasks.Reaches(399));
  EXPECT_FALSE(tasks.Reaches(400)) << "its record may still come";
  TaskCounters counters;
  EXPECT_TRUE(tasks.Find(Task(3, 7, 90, 210), counters));
  EXPECT_TRUE(counters.core[0].counted);
  EXPECT_FALSE(counters.core[1].counted);
  EXPECT_EQ(counters.core[0].cycles, 10U);
  EXPECT_EQ(counters.core[0].event[7], 77U);
  TaskCounters again;
  EXPECT_FALSE(tasks.Find(Task(3, 7, 90, 210), again)) << "each is found once";
  EXPECT_TRUE(tasks.Find(Task(3, 7, 300, 400), again));
  EXPECT_EQ(again.core[0].cycles, 20U);
  EXPECT_FALSE(tasks.Find(Task(3, 8, 300, 400), again));
  EXPECT_EQ(tasks.no_task(), 1U) << "that of stream 4";
}

TEST(CoreTasks, WhatNoTaskWasThereForIsCounted) {
  CoreTasks tasks(CoreTasks::Layout::kStars);
  Take<FftsTaskRecord>(tasks, {Stars(3, 7, 100, 200, 10), Stars(3, 7, 300, 400, 20)});
  TaskCounters counters;
  EXPECT_TRUE(tasks.Find(Task(3, 7, 300, 400), counters));
  EXPECT_EQ(counters.core[0].cycles, 20U) << "the earlier one is not of this task";
  EXPECT_EQ(tasks.no_task(), 1U);
  EXPECT_EQ(tasks.waiting(), 0U);
}

TEST(CoreTasks, BothTypesOfCores) {
  CoreTasks tasks(CoreTasks::Layout::kStars);
  FftsTaskRecord mixed = Stars(3, 7, 100, 200, 5, 4);
  mixed.sub_type = 7;
  FftsTaskRecord mainly = Stars(3, 7, 100, 200, 6, 4);
  mainly.sub_type = 6;
  FftsTaskRecord overflow = Stars(3, 8, 100, 200, 1, 1);
  overflow.sub_type = kFftsOverflow;
  Take<FftsTaskRecord>(tasks, {mixed, mainly, overflow});
  TaskCounters counters;
  EXPECT_TRUE(tasks.Find(Task(3, 7, 100, 200), counters));
  EXPECT_EQ(counters.core[0].cycles, 6U);
  EXPECT_EQ(counters.core[1].cycles, 5U);
  TaskCounters over;
  EXPECT_TRUE(tasks.Find(Task(3, 8, 100, 200), over));
  EXPECT_EQ(over.core[1].cycles, (uint64_t{1} << 32) + 1);
}

TEST(CoreTasks, Of950) {
  CoreTasks tasks(CoreTasks::LayoutOf("ffts_profile.data", Chip::k950));
  CoreTaskRecord950 record{};
  record.header = kCoreTaskType950;
  record.magic = kStarsMagic;
  record.stream = 3;
  record.task = 2;
  record.cycles = 9;
  record.core_type = 1;
  record.event[9] = 99;
  record.start_ticks = 100;
  record.end_ticks = 200;
  CoreTaskRecord950 block = record, ran_over = record, foreign = record;
  block.header = kCoreTaskType950 + 1;
  ran_over.flags = kCoreOverflow950;
  foreign.magic = 0;
  Take<CoreTaskRecord950>(tasks, {record, block, ran_over, foreign});
  EXPECT_EQ(tasks.records(), 4U);
  EXPECT_EQ(tasks.other(), 2U);
  EXPECT_EQ(tasks.foreign(), 1U);
  TaskCounters counters;
  EXPECT_TRUE(tasks.Find(Task(3, 2 << 16 | 3, 100, 200), counters));
  EXPECT_EQ(counters.core[1].cycles, 9U);
  EXPECT_EQ(counters.core[1].event[9], 99U);
}

TEST(CoreTasks, BeforeStarsTheirOrderTells) {
  CoreTasks tasks(CoreTasks::LayoutOf("aicore.data", Chip::k910));
  AicoreTaskRecord record{};
  record.stream = 3;
  record.task = 7;
  record.cycles = 10;
  AicoreTaskRecord later = record;
  later.cycles = 20;
  Take<AicoreTaskRecord>(tasks, {record, later});
  EXPECT_FALSE(tasks.Reaches(0));
  for (const uint64_t cycles : {10, 20}) {
    TaskCounters counters;
    EXPECT_TRUE(tasks.Find(Task(3, 7, 1, 2), counters));
    EXPECT_EQ(counters.core[0].cycles, cycles);
  }
}

TEST(CoreTasks, MemoryIsBounded) {
  CoreTasks tasks(CoreTasks::Layout::kStars);
  std::vector<FftsTaskRecord> records;
  for (uint32_t i = 0; i < CoreTasks::kMostWaiting + 100; ++i)
    records.push_back(
        Stars(static_cast<uint16_t>(i & 0xFF), static_cast<uint16_t>(i >> 8), 100 + i, 200 + i, i));
  Take(tasks, records);
  EXPECT_EQ(tasks.waiting(), CoreTasks::kMostWaiting);
  EXPECT_EQ(tasks.no_task(), records.size());
  TaskCounters counters;
  EXPECT_FALSE(tasks.Find(Task(0, 0, 100, 200), counters)) << "the oldest went first";
  EXPECT_TRUE(tasks.Find(Task(100, 0, 200, 300), counters));
}

TEST(CoreTasks, AsTasksWhereNobodyLoggedThem) {
  CoreTasks tasks(CoreTasks::Layout::kStars);
  std::vector<DeviceTask> found;
  Take<FftsTaskRecord>(tasks, {Stars(3, 7, 100, 200, 10), Stars(3, 8, 300, 290, 20, 1)}, &found);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].begin_ticks, 100U);
  EXPECT_EQ(found[0].type, 0U);
  EXPECT_EQ(found[1].end_ticks, 300U);
  EXPECT_EQ(found[1].type, 2U);
}

}  // namespace
}  // namespace profd::format
