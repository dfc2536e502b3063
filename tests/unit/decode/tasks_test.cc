// Task logs, launches, and how they find each other.
#include "format/records/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/flat_map.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/launches.h"
#include "format/decode/tasks/task_join.h"
#include "format/decode/tasks/task_log.h"
#include "format/records/device.h"
#include "tests/unit/decode/collector.h"

namespace profd::format {
namespace {

using testing::ElementsAre;

TEST(FlatMap, IsAMap) {
  base::FlatMap<uint32_t> map(1000);
  std::map<uint64_t, uint32_t> model;
  std::mt19937_64 random(7);
  for (uint32_t i = 0; i < 200'000; ++i) {
    const uint64_t key = random() % 1500;
    if (random() % 2 == 0) {
      map.Erase(key);
      model.erase(key);
    } else if (uint32_t* value = map.FindOrAdd(key)) {
      *value = i;
      model[key] = i;
    } else {
      ASSERT_EQ(model.size(), 1000u);
      ASSERT_FALSE(model.contains(key));
    }
    ASSERT_EQ(map.size(), model.size());
    const uint64_t other = random() % 1500;
    const uint32_t* found = map.Find(other);
    ASSERT_EQ(found != nullptr, model.contains(other));
    if (found != nullptr) {
      ASSERT_EQ(*found, model[other]);
    }
  }
  size_t seen = 0;
  map.ForEach([&](uint64_t key, uint32_t value) {
    ++seen;
    EXPECT_EQ(model.at(key), value);
  });
  EXPECT_EQ(seen, model.size());
  map.Clear();
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map.Find(1), nullptr);
}

TEST(Texts, KeepsEachTextOnce) {
  Texts texts(4096);
  const TextId first = texts.Intern("forward");
  EXPECT_EQ(texts.Intern("forward"), first);
  EXPECT_EQ(texts.Get(first), "forward");
  EXPECT_EQ(texts.Find("forward"), first);
  EXPECT_EQ(texts.Find("backward"), 0u);
  EXPECT_EQ(texts.Intern(""), 0u);
  EXPECT_EQ(texts.Get(12345), "");
  for (int i = 0; i < 1000; ++i) texts.Intern("text " + std::to_string(i));
  EXPECT_GT(texts.dropped(), 800u);
  EXPECT_EQ(texts.Get(texts.Intern("text 999")), "(no room for this text)");
  EXPECT_EQ(texts.Find("forward"), first);
}

std::vector<std::byte> Bytes(const auto&... records) {
  std::vector<std::byte> bytes;
  const auto add = [&](const auto& record) {
    const auto* at = reinterpret_cast<const std::byte*>(&record);
    bytes.insert(bytes.end(), at, at + sizeof record);
  };
  (add(records), ...);
  return bytes;
}

StarsTaskRecord Stars(bool end, uint16_t stream, uint16_t task, uint64_t ticks, uint16_t type = 0) {
  StarsTaskRecord record{};
  record.header = static_cast<uint16_t>(end | type << 10);
  record.magic = kStarsMagic;
  record.stream = stream;
  record.task = task;
  record.ticks = ticks;
  return record;
}

TEST(TaskLog, FindsTheStartOfEveryEnd) {
  TaskLog log(TaskLog::Layout::kStars);
  std::vector<DeviceTask> tasks;
  StarsTaskRecord foreign = Stars(false, 1, 1, 5);
  foreign.magic = 1;
  StarsTaskRecord block = Stars(false, 1, 1, 5);
  block.header = 0b100100;
  log.Take(Bytes(Stars(true, 9, 9, 10), Stars(false, 7, 1, 100, 3), Stars(false, 8, 1, 110), foreign, block),
           tasks);
  log.Take(Bytes(Stars(true, 8, 1, 150), Stars(true, 7, 1, 200), Stars(false, 7, 2, 300)), tasks);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].stream, 8u);
  EXPECT_EQ(tasks[1].stream, 7u);
  EXPECT_EQ(tasks[1].begin_ticks, 100u);
  EXPECT_EQ(tasks[1].end_ticks, 200u);
  EXPECT_EQ(LoggedTaskTypeName(tasks[1].type, Chip::k910B), "PLACE_HOLDER_SQE");
  EXPECT_EQ(log.records(), 8u);
  EXPECT_EQ(log.cut_at_begin(), 1u);
  EXPECT_EQ(log.cut_at_end(), 1u);
  EXPECT_EQ(log.no_start(), 0u);
  EXPECT_EQ(log.no_end(), 0u);
  EXPECT_EQ(log.foreign(), 1u);
  EXPECT_EQ(log.other(), 1u);
}

TEST(TaskLog, HalvesAreMissingWhereAStreamHasBegun) {
  TaskLog log(TaskLog::Layout::kStars);
  std::vector<DeviceTask> tasks;
  log.Take(Bytes(Stars(false, 7, 1, 100), Stars(true, 7, 2, 200)),
           tasks);  // the start of the second was lost
  log.Take(Bytes(Stars(false, 7, 1, 300), Stars(true, 7, 1, 400)), tasks);  // and the end of the first
  EXPECT_EQ(tasks.size(), 1u);
  EXPECT_EQ(log.no_start(), 1u);
  EXPECT_EQ(log.no_end(), 1u);
  EXPECT_EQ(log.cut_at_begin() + log.cut_at_end(), 0u);
}

TEST(TaskLog, IdsBorrowBits) {
  TaskLog log(TaskLog::Layout::kStars);
  std::vector<DeviceTask> tasks;
  // Bit 12 of the stream: its upper bits are the task's. Bit 13: stream and task have changed places, in
  // part.
  log.Take(Bytes(Stars(false, 0x5007, 0x0123, 1), Stars(true, 0x5007, 0x0123, 2)), tasks);
  log.Take(Bytes(Stars(false, 0x2456, 0x7008, 1), Stars(true, 0x2456, 0x7008, 2)), tasks);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].stream, 7u);
  EXPECT_EQ(tasks[0].task, 0x4123u);
  EXPECT_EQ(tasks[1].stream, 8u);
  EXPECT_EQ(tasks[1].task, 0x7456u);
}

TEST(TaskLog, HardwareLogAndThe950) {
  std::vector<DeviceTask> tasks;
  HwtsRecord start{};
  start.task = 5;
  start.stream = 3;
  start.ticks = 50;
  start.type_count = 0x10;
  HwtsRecord end = start;
  end.type_count = 0x21;
  end.ticks = 80;
  TaskLog hwts(TaskLog::LayoutOf("hwts.data", Chip::k910));
  hwts.Take(Bytes(start, end), tasks);
  StarsTaskRecord950 short_start{};
  short_start.magic = kStarsMagic;
  short_start.stream = 2;
  short_start.task = 4;
  short_start.ticks = 9;
  StarsTaskRecord950 short_end = short_start;
  short_end.header = 1;
  short_end.ticks = 11;
  TaskLog stars(TaskLog::LayoutOf("stars_soc.data", Chip::k950));
  stars.Take(Bytes(short_start, short_end), tasks);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].end_ticks - tasks[0].begin_ticks, 30u);
  EXPECT_EQ(tasks[1].task, 4u << 16 | 2);
}

// The analyser's msmodel/sqe_type_map.py.
TEST(CannNames, TasksByChip) {
  EXPECT_EQ(LoggedTaskTypeName(1, Chip::k950), "AIV_SQE");
  EXPECT_EQ(LoggedTaskTypeName(2, Chip::k950), "FUSION");
  EXPECT_EQ(LoggedTaskTypeName(16, Chip::k950), "CCU_SQE");
  EXPECT_EQ(LoggedTaskTypeName(18, Chip::k950), "UNKNOWN");
  EXPECT_EQ(LoggedTaskTypeName(21, Chip::k910_96), "END_SQE");
  EXPECT_EQ(LoggedTaskTypeName(2, Chip::k910B), "AIV_SQE");
  EXPECT_EQ(LoggedTaskTypeName(20, Chip::k910B), "C_CORE_SQE");
  EXPECT_EQ(LoggedTaskTypeName(21, Chip::k910B), "UNKNOWN");
  EXPECT_EQ(LoggedTaskTypeName(9, Chip::k910B), "VQ6_SQE");
  EXPECT_EQ(LoggedTaskTypeName(9, Chip::k910), "SDMA_SQE");
  EXPECT_EQ(LoggedTaskTypeName(11, Chip::k910), "UNKNOWN");
  EXPECT_EQ(LoggedSubTaskTypeName(1), "AIV");
  for (const uint32_t type : {2, 16}) EXPECT_EQ(LoggedSubTaskTypeName(type), "UNKNOWN");
}

TEST(CannNames, LinesAndUnknownNumbers) {
  Texts texts;
  CannNames names(texts);
  EXPECT_TRUE(names.HashLine("11:MatMul:0"));
  EXPECT_TRUE(names.TypeLine("10000_1:launch"));
  for (const char* bad : {"", ":", "x:y", "12", "1_:a", "_1:a", "70000_1:a"}) {
    EXPECT_FALSE(names.TypeLine(bad)) << bad;
  }
  EXPECT_FALSE(names.HashLine("eleven:MatMul"));
  EXPECT_EQ(texts.Get(names.Hash(11)), "MatMul:0");
  EXPECT_EQ(texts.Get(names.Hash(99)), "99");
  EXPECT_EQ(names.HashOrNone(99), 0u);
  EXPECT_EQ(texts.Get(names.Type(10000, 1)), "launch");
  EXPECT_EQ(texts.Get(names.Type(5000, 1)), "1");
  EXPECT_EQ(names.unknown(), 2u);
}

class LaunchesTest : public testing::Test {
 protected:
  LaunchesTest() {
    for (const char* line : {"11:MatMul_0", "12:MatMul", "14:kernel"}) names_.HashLine(line);
    for (const char* line :
         {"10000_1:launch", "5000_2:KernelLaunch", "5000_13:KERNEL_AICORE", "5000_15:MEMCPY"}) {
      names_.TypeLine(line);
    }
  }
  static CannApiRecord Call(uint16_t level, uint32_t thread, uint64_t begin, uint64_t end) {
    return {kCannMagic, level, level == 5000 ? 2u : 1u, thread, 0, begin, end, level == 5000 ? 14u : 11u};
  }
  static CannTaskTrack Track(uint32_t thread, uint64_t stamp, uint16_t task, uint64_t type = 13) {
    return {{kCannMagic, 5000, 3, thread, 40, stamp}, 0, 7, task, 0, type, 14, 0, 0, 0, {}};
  }
  static CannNodeInfo Info(uint32_t thread, uint64_t stamp) {
    return {{kCannMagic, 10000, 4, thread, 40, stamp}, 11, 0, 12, 0x20014, 1, {}};
  }
  void End(bool last) {
    launches_.EndWindow(
        last, 4242, [](uint64_t stamp) { return stamp; }, writer_,
        [this](Launch&& launch) { found_.push_back(std::move(launch)); });
    writer_.Flush();
  }

  Texts texts_;
  CannNames names_{texts_};
  ModelCalls models_;
  Captures captures_{names_, texts_};
  Launches launches_{names_, texts_, models_, captures_};
  Collector collector_;
  SpanWriter writer_{collector_, texts_};
  std::vector<Launch> found_;
};

TEST_F(LaunchesTest, JoinsByThreadAndTime) {
  launches_.Add(Call(5000, 1, 110, 150));
  launches_.Add(Call(10000, 1, 100, 160));
  launches_.Add(Call(5000, 2, 105, 155));
  launches_.Add(Track(1, 130, 5));
  launches_.Add(Track(2, 130, 6));
  launches_.Add(Track(3, 130, 7));
  launches_.Add(Info(1, 160), true);
  End(true);
  ASSERT_EQ(collector_.spans.size(), 3u);
  // Numbered by their begin.
  EXPECT_EQ(collector_.spans[0].span.connection, 1u);
  EXPECT_EQ(collector_.spans[0].name, "launch");
  EXPECT_EQ(collector_.spans[0].category, "node");
  EXPECT_EQ(collector_.spans[0].args.at("item_id"), "MatMul_0");
  EXPECT_EQ(collector_.spans[0].span.flow, Flow::kBegins);
  EXPECT_EQ(collector_.spans[2].name, "KernelLaunch");
  EXPECT_EQ(collector_.spans[2].span.flow, Flow::kNone);
  ASSERT_EQ(found_.size(), 3u);
  EXPECT_EQ(found_[0].connection, 1u);
  EXPECT_TRUE(found_[0].is_compute);
  EXPECT_EQ(texts_.Get(found_[0].op_name), "MatMul_0");
  EXPECT_EQ(texts_.Get(found_[0].op_type), "MatMul");
  EXPECT_EQ(texts_.Get(found_[0].op_task_type), "AI_CORE");
  EXPECT_EQ(found_[0].blocks, 0x14u);
  EXPECT_EQ(found_[0].mix_blocks, 0x28u);
  EXPECT_TRUE(found_[0].hf32);
  EXPECT_TRUE(found_[0].is_dynamic);
  // Only a call of the runtime around it: the operator that its kernel's name tells of.
  EXPECT_EQ(found_[1].connection, 2u);
  EXPECT_TRUE(found_[1].is_compute);
  EXPECT_FALSE(found_[1].has_info);
  EXPECT_EQ(texts_.Get(found_[1].op_name), "kernel");
  EXPECT_EQ(texts_.Get(found_[1].op_type), "kernel");
  EXPECT_EQ(texts_.Get(found_[1].op_task_type), "AI_CORE");
  EXPECT_EQ(found_[2].connection, 0u);
  EXPECT_EQ(launches_.tracks_without_call(), 1u);
}

TEST_F(LaunchesTest, TensorsOfTheOperator) {
  const auto tensors = [](uint64_t stamp, uint64_t name, std::vector<CannTensor> all) {
    CannTensorInfo record{};
    record.head = {kCannMagic, 10000, 5, 1, 232, stamp};
    record.op_name = name;
    record.count = static_cast<uint32_t>(all.size());
    std::copy(all.begin(), all.end(), record.tensor);
    return record;
  };
  for (const uint64_t at : {100, 200}) {
    launches_.Add(Call(10000, 1, at, at + 60));
    launches_.Add(Track(1, at + 30, static_cast<uint16_t>(at)));
    launches_.Add(Info(1, at + 60), false);
  }
  launches_.Add(
      tensors(160, 11, {{0, 2, 1, {16, 32}}, {0, 29 | 4 << 8, 27, {}}, {1, UINT32_MAX, 5, {16, 8}}}));
  launches_.Add(
      tensors(160, 11, {{1, 2, 0, {1}}, {2, 2, 1, {9}}}));  // more of it; what is neither is left out
  launches_.Add(tensors(260, 99, {{0, 2, 1, {7}}}));        // of another operator
  End(true);
  ASSERT_EQ(found_.size(), 2u);
  std::vector<std::string> columns;
  for (const TextId text : found_[0].tensors) columns.emplace_back(texts_.Get(text));
  EXPECT_EQ(columns, (std::vector<std::string>{"\"16,32;\"", "FLOAT16;DT_BF16", "ND;FRACTAL_NZ:4",
                                               "\"16,8;1\"", "5;FLOAT", "UNDEFINED;ND"}));
  EXPECT_EQ(found_[1].tensors, TensorTexts{});
}

TEST_F(LaunchesTest, CopiesOfOneTaskAndOfSeveral) {
  names_.TypeLine("5000_16:MEMCPY_ASYNC");
  const auto copy = [this](uint64_t stamp, uint64_t bytes, uint16_t operation, uint16_t magic = kCannMagic) {
    launches_.Add(CannCopy{{magic, 5000, 7, 1, 40, stamp}, bytes, 64, operation, {}});
  };
  launches_.Add(Call(5000, 1, 100, 150));
  for (const uint16_t task : {1, 2, 3, 4}) launches_.Add(Track(1, 130, task, 16));
  copy(130, 140, 1);
  copy(135, 10, 2);  // of no task
  launches_.Add(Track(1, 140, 5, 16));
  copy(140, 7, 9);
  launches_.Add(Track(1, 145, 6, 13));  // that copies nothing
  copy(145, 7, 1);
  copy(146, 7, 1, 0);
  launches_.Add(Track(1, 230, 7, 16));  // whose call comes with the next window
  copy(230, 8, 0);
  End(false);
  launches_.Add(Call(5000, 1, 200, 250));
  End(true);
  ASSERT_EQ(found_.size(), 7u);
  std::map<uint32_t, std::pair<uint64_t, std::string_view>> copied;
  for (const Launch& launch : found_) {
    if (launch.extras != nullptr)
      copied[launch.task] = {launch.extras->copied_bytes, texts_.Get(launch.extras->copy_operation)};
  }
  EXPECT_EQ(copied, (std::map<uint32_t, std::pair<uint64_t, std::string_view>>{{1, {64, "host to device"}},
                                                                               {2, {64, "host to device"}},
                                                                               {3, {12, "host to device"}},
                                                                               {5, {7, "other"}},
                                                                               {7, {8, "host to host"}}}));
  EXPECT_EQ(launches_.foreign(), 1u);
}

CannContexts Contexts(uint64_t stamp, uint64_t name, std::vector<uint32_t> all, uint16_t level = 10000) {
  CannContexts record{};
  record.head = {kCannMagic, level, 6, 1, 232, stamp};
  record.op_name = name;
  record.count = static_cast<uint32_t>(all.size());
  for (size_t i = 0; i < std::min<size_t>(all.size(), CannContexts::kMost); ++i) record.contexts[i] = all[i];
  return record;
}

TEST_F(LaunchesTest, SubTasksOfSeveralOperators) {
  launches_.Add(Call(10000, 1, 100, 200));
  launches_.Add(Track(1, 130, 5));
  CannNodeInfo info = Info(1, 150);
  launches_.Add(info, false);  // MatMul_0
  info.op_name = 14;
  info.task_type = 2;
  info.head.stamp = 160;
  launches_.Add(info, true);
  launches_.Add(Contexts(151, 11, {0, 1}));
  launches_.Add(Contexts(161, 14, {2, 1}));  // one of them is of two: it is the first one's
  launches_.Add(Contexts(162, 12, {7}));     // of which nothing else is told
  launches_.Add(Contexts(163, 11, {4}));     // more of the first one
  launches_.Add(Contexts(164, 11, {5}, 5500));
  launches_.Add(Contexts(165, 11, std::vector<uint32_t>(CannContexts::kMost + 1, 6)));
  End(true);
  ASSERT_EQ(found_.size(), 1u);
  const Launch& launch = found_[0];
  EXPECT_FALSE(launch.is_compute);
  EXPECT_EQ(launch.OpOf(kNoId), &launch);
  for (const uint32_t context : {0, 1, 4}) {
    const LaunchedOp* op = launch.OpOf(context);
    ASSERT_NE(op, nullptr) << context;
    EXPECT_EQ(
        std::tuple(texts_.Get(op->op_name), texts_.Get(op->op_task_type), op->is_compute, op->is_dynamic),
        std::tuple("MatMul_0", "AI_CORE", true, false));
  }
  EXPECT_EQ(texts_.Get(launch.OpOf(2)->op_name), "kernel");
  EXPECT_EQ(texts_.Get(launch.OpOf(2)->op_task_type), "AI_VECTOR_CORE");
  EXPECT_TRUE(launch.OpOf(2)->is_dynamic);
  EXPECT_EQ(texts_.Get(launch.OpOf(7)->op_name), "MatMul");
  EXPECT_EQ(launch.OpOf(7)->op_type, 0u);
  for (const uint32_t context : {3, 5, 6}) EXPECT_EQ(launch.OpOf(context), nullptr) << context;
  EXPECT_EQ(launches_.foreign(), 1u);
}

TEST_F(LaunchesTest, SubTasksWaitForTheCallOfTheNextWindow) {
  launches_.Add(Track(1, 130, 5));
  launches_.Add(Contexts(151, 11, {3}));
  End(false);
  launches_.Add(Call(10000, 1, 100, 200));
  End(true);
  ASSERT_EQ(found_.size(), 1u);
  ASSERT_NE(found_[0].OpOf(3), nullptr);
  EXPECT_EQ(texts_.Get(found_[0].OpOf(3)->op_name), "MatMul_0");
}

TEST_F(LaunchesTest, WaitsForTheCallOfTheNextWindow) {
  launches_.Add(Call(5000, 1, 110, 150));
  launches_.Add(Track(1, 130, 5));
  EXPECT_EQ(launches_.end_stamp(), 150u);
  End(false);
  EXPECT_TRUE(found_.empty());
  EXPECT_EQ(launches_.waiting_since(), 130u);
  launches_.Add(Call(10000, 1, 100, 160));
  End(true);
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_TRUE(found_[0].is_compute);
  EXPECT_EQ(launches_.waiting_since(), UINT64_MAX);
}

TEST_F(LaunchesTest, EventsArePairedAndDamageIsCounted) {
  CannApiRecord event = Call(10000, 1, 100, kCannEvent);
  launches_.Add(event);
  event.begin = 170;
  launches_.Add(event);
  event.item = 12;
  launches_.Add(event);
  CannApiRecord foreign = Call(5000, 1, 1, 2);
  foreign.magic = 0;
  launches_.Add(foreign);
  CannTaskTrack track = Track(1, 120, 5);
  track.head.magic = 0;
  launches_.Add(track);
  End(true);
  ASSERT_EQ(collector_.spans.size(), 1u);
  EXPECT_EQ(collector_.spans[0].span.begin_ns, 100u);
  EXPECT_EQ(collector_.spans[0].span.end_ns, 170u);
  EXPECT_EQ(launches_.unpaired_events(), 1u);
  EXPECT_EQ(launches_.foreign(), 2u);
}

TEST_F(LaunchesTest, AgainstALookThroughAllCalls) {
  // Nested calls of three threads, in the order of their ends; every track must find the innermost node call.
  std::mt19937 random(3);
  std::vector<CannApiRecord> calls;
  std::vector<CannTaskTrack> tracks;
  for (uint32_t thread = 1; thread <= 3; ++thread) {
    uint64_t now = thread;
    for (int i = 0; i < 400; ++i) {
      const uint64_t begin = now, inner = begin + 5 + random() % 5, end = inner + 50 + random() % 50;
      calls.push_back(Call(15000, thread, begin, end + 9));
      calls.push_back(Call(10000, thread, inner, end));
      calls.push_back(Call(5000, thread, inner + 2, inner + 20));
      tracks.push_back(
          Track(thread, begin + random() % (end + 15 - begin), static_cast<uint16_t>(tracks.size())));
      now = end + 10 + random() % 30;
    }
  }
  std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
  std::sort(tracks.begin(), tracks.end(),
            [](const auto& a, const auto& b) { return a.head.stamp < b.head.stamp; });
  for (const auto& call : calls) launches_.Add(call);
  for (const auto& track : tracks) launches_.Add(track);
  End(true);
  std::map<uint64_t, CollectedSpan> by_connection;
  uint64_t before = 0;
  for (const CollectedSpan& span : collector_.spans) {
    by_connection[span.span.connection] = span;
    EXPECT_GE(span.span.begin_ns, before);
    before = span.span.begin_ns;
  }
  ASSERT_EQ(found_.size(), tracks.size());
  for (size_t i = 0; i < tracks.size(); ++i) {
    const CannHead& head = tracks[i].head;
    const CannApiRecord* node = nullptr;
    for (const auto& call : calls) {
      if (call.thread == head.thread && call.level == 10000 && call.begin <= head.stamp &&
          call.end >= head.stamp) {
        node = &call;
      }
    }
    EXPECT_EQ(texts_.Get(found_[i].op_name), node != nullptr ? "MatMul_0" : "kernel");
    if (node != nullptr) {
      EXPECT_EQ(by_connection[found_[i].connection].span.begin_ns, node->begin);
    }
  }
}

Launch LaunchOf(uint32_t task, uint64_t connection) {
  Launch launch;
  launch.stream = 7;
  launch.task = task;
  launch.connection = connection;
  return launch;
}
DeviceTask TaskOf(uint32_t task) { return {0, 0, 7, task, UINT32_MAX, 0}; }

TEST(TaskJoin, TakesTheLastLaunchBeforeTheTask) {
  constexpr uint64_t kMs = 1'000'000;
  TaskJoin join;
  EXPECT_EQ(join.Find(TaskOf(1), 5), nullptr);
  join.Add(LaunchOf(1, 1), 10 * kMs);
  join.Add(LaunchOf(1, 2), 20 * kMs);
  join.Add(LaunchOf(1, 3), 90 * kMs);
  // The device lost the first one's records.
  EXPECT_EQ(join.Find(TaskOf(1), 30 * kMs)->connection, 2u);
  // Runs again without a launch: a graph.
  EXPECT_EQ(join.Find(TaskOf(1), 50 * kMs)->connection, 2u);
  EXPECT_EQ(join.launches_without_task(), 2u);  // 1, and 3 which waits
  // Clocks that are a little off.
  EXPECT_EQ(join.Find(TaskOf(1), 90 * kMs - 1000)->connection, 3u);
  EXPECT_EQ(join.launches_without_task(), 1u);
}

TEST(TaskJoin, BoundedWhateverIsLaunched) {
  TaskJoin join;
  for (uint32_t i = 0; i < 1'200'000; ++i) join.Add(LaunchOf(i, i + 1), i);
  EXPECT_GT(join.no_room(), 0u);
  // What was found makes room.
  for (uint32_t i = 0; i < 100'000; ++i) ASSERT_EQ(join.Find(TaskOf(i), 1 << 30)->connection, i + 1);
  const uint64_t before = join.no_room();
  for (uint32_t i = 2'000'000; i < 2'001'000; ++i) join.Add(LaunchOf(i, i), i);
  EXPECT_EQ(join.no_room(), before);
  EXPECT_EQ(join.Find(TaskOf(2'000'500), 1 << 30)->connection, 2'000'500u);
}

}  // namespace
}  // namespace profd::format
