// Records made by the format strings of the vendor's parser (Ascend/msprof, analysis/; "S" below is its
// msparser/data_struct_size_constant.py), not by our structs: what our decoders make of them is what the
// vendor's beans, named by file and line, make of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/decode/cann/cann_names.h"
#include "format/decode/framing.h"
#include "format/decode/tasks/core_tasks.h"
#include "format/decode/tasks/task_log.h"
#include "tests/unit/decode/decoding.h"

namespace profd::format {
namespace {

constexpr double kMb = 1 << 20;
constexpr uint64_t kTicks = 145'000'000'000;  // of Decoding's start, at 50 MHz
constexpr uint64_t kMagic = 0x6BD3;
using enum Chip;

// As Python's struct.pack("=" + format, …), of numbers without a sign; `fields` by their places, the others
// are 0.
std::string Pack(std::string_view format, const std::map<size_t, uint64_t>& fields) {
  std::string bytes;
  size_t place = 0, times = 0;
  for (const char c : format) {
    if (c >= '0' && c <= '9') {
      times = times * 10 + static_cast<size_t>(c - '0');
      continue;
    }
    const size_t size = c == 'B' ? 1 : c == 'H' ? 2 : c == 'Q' ? 8 : 4;
    for (times = times == 0 ? 1 : times; times > 0; --times, ++place) {
      const auto field = fields.find(place);
      const uint64_t value = field == fields.end() ? 0 : field->second;
      bytes.append(reinterpret_cast<const char*>(&value), size);
    }
  }
  return bytes;
}

bool IsPlausible(std::string_view file, Chip chip, std::string_view record) {
  const StreamFormat* format = FindStreamFormat(file, chip);
  EXPECT_EQ(format->record_bytes, record.size()) << file;
  return format->plausible(reinterpret_cast<const std::byte*>(record.data()), 1, format->record_bytes) == 1;
}

TEST(VendorLayouts, UbPortIsTheThirdNumber) {  // S:65, msparser/hardware/ub_parser.py:100-105
  constexpr uint64_t kMark = 0x6BD3;
  const std::string record = Pack("4H15Q", {{0, kMark}, {2, 9}, {4, 20'000}, {5, 100}, {6, 50}});
  EXPECT_TRUE(IsPlausible("ub.data", k950, record));
  Decoding decoding("ub.data", k950);
  decoding.Take(record);
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].keys, (std::vector<int64_t>{9}));
  EXPECT_EQ(rows[0].after_begin_ns, 20'000'000u);
  EXPECT_EQ(rows[0].values, (std::vector<double>{100 * kMb, 50 * kMb}));
}

// A packet of 4 KiB takes so many ticks. profiling_bean/hardware/ccu_bean.py:131-146,
// viewer/ccu/ccu_channel_viewer.py:51-66; the columns as of msconfig/msprof_export_data_config.py:325.
TEST(VendorLayouts, CcuChannelsCountDelays) {  // S:69
  constexpr size_t kChannel120 = 640 + 6;      // behind six words of others
  std::map<size_t, uint64_t> words;
  for (const size_t at : {size_t{0}, kChannel120}) {
    words[at] = kTicks & 0xFFFFFFFF, words[at + 1] = kTicks >> 32;
    words[at + 2] = 200, words[at + 3] = 100, words[at + 4] = 400;
  }
  Decoding decoding("ccu1.stat", k950);
  decoding.Take(Pack("704I", words));
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].keys, (std::vector<int64_t>{1, 120}));
  constexpr double kSeconds = 100 / 50e6;
  EXPECT_DOUBLE_EQ(rows[0].values[0], 4096 / kSeconds);  // most: of the least delay
  EXPECT_DOUBLE_EQ(rows[0].values[1], 4096 / kSeconds / 4);
  EXPECT_DOUBLE_EQ(rows[0].values[2], 4096 / kSeconds / 2);
}

// msparser/aic_sample/ai_core_sample_parser.py:264-269 with profiling_bean/prof_enum/chip_model.py:40-49.
TEST(VendorLayouts, WhichCoresAreVectorCores) {  // S:30, S:31
  const auto vector = [](Chip chip, uint64_t core) {
    const bool ten = chip == k950;
    const size_t cycles = ten ? 15 : 13;
    Decoding decoding("ffts_profile.data", chip);
    const uint64_t stamp = ten ? kTicks : kDeviceNs;
    decoding.Take(Pack(ten ? "BBHHH10QQQBB6B" : "BBHHH8QQQBB6B",
                       {{0, 1}, {cycles, 500}, {cycles + 1, stamp}, {cycles + 2, 8}, {cycles + 3, core}}));
    const auto& rows = decoding.Finish();
    return rows.empty() ? -1 : rows[0].keys[1];
  };
  EXPECT_EQ(vector(k910B, 24), 0);
  EXPECT_EQ(vector(k910B, 25), 1);
  EXPECT_EQ(vector(k310B, 0), 0);
  EXPECT_EQ(vector(k310B, 1), 1);
  EXPECT_EQ(vector(k950, 35), 0);
  EXPECT_EQ(vector(k950, 36), 1);
}

// The halves of each pair are exchanged; of dies 0 and 1, value 10 is the frequency.
// profiling_bean/stars/low_power_bean.py:16-38, viewer/stars/low_power_viewer.py:31-80,
// csrc/domain/data_process/system/low_power_processor.cpp:106.
TEST(VendorLayouts, LowPowerOfA950) {  // S:115
  constexpr uint64_t kType = 0b011101;
  const auto record = [](uint64_t die) {
    return Pack("HHLQQ20H", {{0, die << 10 | kType}, {1, kMagic}, {3, kTicks}, {5 + 10, 45}, {5 + 11, 1650}});
  };
  Decoding decoding("stars_soc_profile.data", k950);
  for (const uint64_t die : {0, 1, 2, 3}) decoding.Take(record(die));
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 2u);  // dies without cores have other values
  EXPECT_EQ(rows[1].series, "core_freq");
  EXPECT_EQ(rows[1].keys, (std::vector<int64_t>{1}));
  EXPECT_EQ(rows[1].values[0], 1650e6);
}

// profiling_bean/stars/sio_bean.py:84-98, viewer/stars/sio_viewer.py:38-46.
TEST(VendorLayouts, SioOfA950) {  // S:105
  constexpr uint64_t kType = 0b011001;
  Decoding decoding("stars_soc_profile.data", k950);
  decoding.side.qos_events = {};
  for (const uint64_t die : {0, 2, 3}) {
    for (const uint64_t ticks : {kTicks, kTicks + 50'000}) {  // 1 ms
      decoding.Take(
          Pack("BBHIQQ10I", {{0, kType}, {1, die << 2}, {2, kMagic}, {4, ticks}, {7, 1000}, {15, 8000}}));
    }
  }
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].keys, (std::vector<int64_t>{2}));
  EXPECT_DOUBLE_EQ(rows[1].values[0], 1e6);
  EXPECT_DOUBLE_EQ(rows[1].values[7], 8e6);
  EXPECT_EQ(decoding.sink.labels,
            (std::map<int64_t, std::string>{{0, "D-DIE0"}, {2, "U-DIE0"}, {3, "U-DIE1"}}));
}

// The first two of ten bandwidths are none: viewer/qos_viewer.py (StarsQosViewer, bandwidth_index),
// csrc/domain/data_process/system/qos_processor.cpp (LoadData); the collector asks for at most eight streams.
TEST(VendorLayouts, QosOfA950) {  // S:119
  constexpr uint64_t kType = 0b011000;
  Decoding decoding("stars_soc_profile.data", k950);
  decoding.side.qos_events = {"first", "second"};
  decoding.Take(
      Pack("HHIQQ10I", {{0, 1 << 10 | kType}, {1, kMagic}, {3, kTicks}, {5, 1}, {6, 2}, {7, 3}, {8, 4}}));
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].keys, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(rows[0].values[0], 3.0 * (1 << 20));
  EXPECT_EQ(rows[1].values[0], 4.0 * (1 << 20));
}

// A link without a value has all bits set: msparser/stars/stars_chip_trans_parser.py:24, 55-58.
TEST(VendorLayouts, LinksOfA950) {  // S:114
  constexpr uint64_t kType = 0b011011;
  Decoding decoding("stars_soc_profile.data", k950);
  for (const uint64_t write : {uint64_t{77}, UINT64_MAX}) {
    decoding.Take(
        Pack("2HI3Q8L", {{0, uint64_t{2} << 10 | kType}, {1, kMagic}, {3, kTicks}, {4, write}, {5, 88}}));
  }
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].keys, (std::vector<int64_t>{2}));
  EXPECT_EQ(rows[0].values, (std::vector<double>{77, 88}));
}

// Which field is the tag: profiling_bean/struct_info/step_trace.py:33-38, 89-98.
TEST(VendorLayouts, StepsOfA950) {  // S:54, S:56
  const auto iterations = [](Chip chip, std::string_view format, size_t tag) {
    constexpr uint64_t kKind = 10, kBytes = 40;
    Decoding decoding("ts_track.data", chip);
    for (const uint64_t end : {0, 1}) {  // of the model
      decoding.Take(Pack(format, {{1, kKind}, {2, kBytes}, {4, kTicks + end}, {5, 7}, {6, 1}, {tag, end}}));
    }
    decoding.Finish();
    return decoding.sink.spans;
  };
  EXPECT_EQ(iterations(k910B, "BBHLQQQHHHH", 9), 1u);
  EXPECT_EQ(iterations(k950, "BBHLQQQHHI", 7), 1u);
}

// The firmware of a 310 logs its tasks' states: profiling_bean/struct_info/ts_time_line.py,
// viewer/calculate_rts_data.py:47-54, 233-262, msmodel/task_time/runtime_task_time_model.py.
TEST(VendorLayouts, TasksOfA310) {  // S:90
  constexpr uint64_t kWaiting = 1, kRunning = 2, kComplete = 3, kCoreStart = 7, kCoreDone = 8;
  std::string track;
  const auto state = [&track](uint64_t number, uint64_t ticks) {
    track += Pack(
        "BBHLHHHHQLL",
        {{1, 3}, {2, 32}, {4, 17}, {5, number}, {6, uint64_t{1} << 11 | 9}, {7, 42}, {8, kTicks + ticks}});
  };
  state(kWaiting, 10);
  state(kRunning, 100);
  state(kCoreStart, 101);
  track += Pack("BBHLQQQHHHH", {{1, 10}, {2, 40}, {4, kTicks}});  // a key point
  state(kCoreDone, 290);
  state(kComplete, 300);
  TaskLog log(TaskLog::LayoutOf("ts_track.data", Chip::k310));
  std::vector<DeviceTask> tasks;
  const std::span bytes = std::as_bytes(std::span(track));
  log.Take(bytes.first(72), tasks);  // in the midst of a record
  log.Take(bytes.subspan(72), tasks);
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].begin_ticks, kTicks + 100);
  EXPECT_EQ(tasks[0].end_ticks, kTicks + 300);
  EXPECT_EQ(tasks[0].stream, 9u);
  EXPECT_EQ(tasks[0].task, 42u);
  EXPECT_EQ(LoggedTaskTypeName(tasks[0].type, Chip::k310), "L2 SDMA memory copy task");
  EXPECT_EQ(log.foreign() + log.no_start() + log.no_end(), 0u);
  // Its key points are read beside it.
  Decoding decoding("ts_track.data", Chip::k310);
  decoding.Take(track);
  decoding.Finish();
  EXPECT_EQ(decoding.rejected(), 0u);
  EXPECT_TRUE(decoding.decoder().ignored().empty());
}

// What its cores counted by task: profiling_bean/struct_info/event_counter.py.
TEST(VendorLayouts, CountersByTaskOfA310) {  // S:93
  constexpr uint64_t kKind = 4, kBytes = 112;
  const std::string record = Pack("BBHLHHHHQ8QQQH3H", {{1, kKind},
                                                       {2, kBytes},
                                                       {5, uint64_t{1} << 11 | 9},
                                                       {6, 42},
                                                       {8, UINT64_MAX},
                                                       {9, 11},
                                                       {16, 88},
                                                       {17, 5000},
                                                       {18, kTicks},
                                                       {19, 2}});
  EXPECT_EQ(FindStreamFormat("aicore.data", Chip::k310, true)->record_bytes, record.size());
  CoreTasks tasks(CoreTasks::LayoutOf("aicore.data", Chip::k310));
  tasks.Take(std::as_bytes(std::span(record)));
  TaskCounters counters;
  ASSERT_TRUE(tasks.Find({.begin_ticks = 1, .end_ticks = 2, .stream = 9, .task = 42}, counters));
  EXPECT_TRUE(counters.core[0].counted);
  EXPECT_EQ(counters.core[0].cycles, 5000u);
  EXPECT_EQ(counters.core[0].blocks, 2u);
  EXPECT_EQ(counters.core[0].event[0], 11u);
  EXPECT_EQ(counters.core[0].event[7], 88u);
}

// Either the wait for other ranks, up to the last of them, or the instruction.
// profiling_bean/hardware/ccu_bean.py:88-110,
// csrc/domain/data_process/ai_task/ccu_mission_processor.cpp:392-400.
TEST(VendorLayouts, CcuMissions) {  // S:67
  Decoding decoding("ccu0.instr", k950);
  constexpr uint64_t kStream = 3, kTask = 7;
  const auto mission = [&](uint64_t notify) {
    decoding.Take(Pack("16HQHQQHHH", {{1, 500},  // of rank 14
                                      {15, 250},
                                      {16, notify},
                                      {17, 12},
                                      {18, kTicks + 1000},
                                      {19, kTicks},
                                      {20, 11},
                                      {21, kStream},
                                      {22, kTask}}));
  };
  mission(kTicks + 50);
  mission(0);
  decoding.Finish();
  ASSERT_EQ(decoding.sink.kept.size(), 2u);
  const auto& wait = decoding.sink.kept[0];
  EXPECT_EQ(wait.name, "Wait");
  EXPECT_EQ(wait.after_begin_ns, 1'000u);
  EXPECT_EQ(wait.ns, 500u * 4 * 20);
  EXPECT_EQ(wait.args, (std::map<std::string, uint64_t>{
                           {"Notify Instruction ID", 12}, {"Notify Rank ID", 14}, {"Die Id", 0}}));
  const auto& loop = decoding.sink.kept[1];
  EXPECT_EQ(loop.name, "LoopGroup");
  EXPECT_EQ(loop.after_begin_ns, 0u);
  EXPECT_EQ(loop.ns, 1000u * 20);
  EXPECT_EQ(loop.args, (std::map<std::string, uint64_t>{{"Instruction ID", 11}, {"Die Id", 0}}));
}

// 11 bits of the number: common_func/utils.py:208-215, profiling_bean/stars/stars_common.py:62-103,
// csrc/domain/services/parser/parser_item/stars_common.h:49-92.
TEST(VendorLayouts, Streams) {
  EXPECT_EQ(StarsIdsOf(0x0FFF, 5, false).stream, 0x7FFu);
  EXPECT_EQ(StarsIdsOf(0x1800 | 3, 5, false).stream, 3u);
  EXPECT_EQ(StarsIdsOf(0x2000 | 9, 0x1803, false).stream, 3u);
  EXPECT_EQ(StarsIdsOf(0x2000 | 9, 0x1803, false).task, 0x1009u);
  // 15 bits: bit 15 alone tells of an exchange, but in tasks of types 3 and 4.
  EXPECT_EQ(StarsIdsOf(0x3FFF, 5, true).stream, 0x3FFFu);
  EXPECT_EQ(StarsIdsOf(0x8000 | 9, 0x9803, true).stream, 0x1803u);
  EXPECT_EQ(StarsIdsOf(0x8000 | 9, 0x9803, true).task, 0x8009u);
  for (const uint8_t type : {3, 4}) {
    EXPECT_EQ(StarsIdsOf(0x8000 | 9, 0x9803, true, type).stream, 9u);
    EXPECT_EQ(StarsIdsOf(0x8000 | 9, 0x9803, true, type).task, 0x9803u);
  }
}

}  // namespace
}  // namespace profd::format
