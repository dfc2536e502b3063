#include "format/decode/tasks/kernel_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace profd::format {
namespace {

using Task = KernelJoin::Task;

constexpr uint64_t kStart = 1'700'000'000'000'000'000;

ReportedKernel KernelOf(const Task& task, int64_t apart_ns, uint64_t number) {
  ReportedKernel kernel;
  kernel.span.kind = SpanKind::kKernel;
  kernel.span.stream = task.stream;
  kernel.span.begin_ns = task.begin_ns + static_cast<uint64_t>(apart_ns);
  kernel.span.end_ns =
      kernel.span.begin_ns + (task.end_ns - task.begin_ns) / 20 * 20;  // by the counter's ticks
  kernel.span.value = number;
  return kernel;
}

// One behind the other on two streams, of very different lengths or all of one.
std::vector<Task> Story(size_t count, bool even) {
  std::mt19937 dice(7);
  std::vector<Task> tasks;
  uint64_t at = kStart;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t length = even ? 40'000 : 2'000 + dice() % 200'000;
    tasks.push_back({static_cast<uint32_t>(2 + i % 2), at, at + length});
    at += length + (even ? 10'000 : 500 + dice() % 3'000);
  }
  return tasks;
}

// How many tasks found their own kernel; none may find another's.
size_t Found(KernelJoin& join, const std::vector<Task>& tasks) {
  size_t found = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i % KernelJoin::kLearnt == 0)
      join.Learn(std::span(tasks).subspan(i, std::min(KernelJoin::kLearnt, tasks.size() - i)));
    ReportedKernel kernel;
    if (!join.Find(tasks[i], kernel)) continue;
    EXPECT_EQ(kernel.span.value, i);
    ++found;
  }
  return found;
}

TEST(KernelJoin, EveryTaskFindsItsKernelHoweverFarTheClocksAreApart) {
  for (const int64_t apart : {int64_t{0}, int64_t{17'000}, int64_t{-900'000}, int64_t{4'000'000}}) {
    const std::vector<Task> tasks = Story(3000, false);
    KernelJoin join;
    for (size_t i = 0; i < tasks.size(); ++i) join.Add(KernelOf(tasks[i], apart, i));
    EXPECT_EQ(Found(join, tasks), tasks.size()) << apart;
    EXPECT_EQ(join.waiting(), 0u);
  }
}

TEST(KernelJoin, OfKernelsOfOneLengthTheNearestOne) {
  const std::vector<Task> tasks = Story(2000, true);
  KernelJoin join;
  for (size_t i = 0; i < tasks.size(); ++i) join.Add(KernelOf(tasks[i], 30'000, i));
  EXPECT_EQ(Found(join, tasks), tasks.size());
}

TEST(KernelJoin, TheClockIsSetAmongTheTasks) {
  const std::vector<Task> tasks = Story(1200, false);
  KernelJoin join;
  for (size_t i = 0; i < tasks.size(); ++i) join.Add(KernelOf(tasks[i], i < 700 ? 5'000 : 145'000, i));
  EXPECT_EQ(Found(join, tasks), tasks.size());
}

TEST(KernelJoin, TasksWithoutAKernelAndKernelsWithoutATask) {
  const std::vector<Task> tasks = Story(1000, false);
  KernelJoin join;
  size_t reported = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i % 3 == 0) continue;
    join.Add(KernelOf(tasks[i], 60'000, i));
    ++reported;
  }
  Task lonely = tasks[10];
  lonely.stream = 9;
  join.Add(KernelOf(lonely, 0, 10'000));
  EXPECT_EQ(Found(join, tasks), reported);
  std::vector<uint64_t> left;
  join.Drop(kStart, 0, [&](const ReportedKernel& kernel) { left.push_back(kernel.span.value); });
  EXPECT_EQ(left, std::vector<uint64_t>{10'000});
}

TEST(KernelJoin, KernelsComeInAnyOrder) {
  const std::vector<Task> tasks = Story(1000, false);
  std::vector<size_t> order(tasks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  KernelJoin join;
  for (const size_t i : order) join.Add(KernelOf(tasks[i], -20'000, i));
  EXPECT_EQ(Found(join, tasks), tasks.size());
}

TEST(KernelJoin, WaitingIsBoundedAndTheOldestGo) {
  const std::vector<Task> tasks = Story(1000, false);
  KernelJoin join;
  for (size_t i = 0; i < tasks.size(); ++i) join.Add(KernelOf(tasks[i], 0, i));
  std::vector<uint64_t> gone;
  const auto give = [&](const ReportedKernel& kernel) { gone.push_back(kernel.span.value); };
  join.Drop(0, 900, give);
  EXPECT_EQ(join.waiting(), 900u);
  std::vector<uint64_t> oldest(100);
  for (size_t i = 0; i < oldest.size(); ++i) oldest[i] = i;
  EXPECT_EQ(gone, oldest);
  join.Drop(tasks.back().begin_ns + KernelJoin::kKeptNs + 1, 900, give);
  EXPECT_EQ(join.waiting(), 0u);
}

}  // namespace
}  // namespace profd::format
