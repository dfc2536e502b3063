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

#include "format/decode/task_log.h"
#include "format/framing.h"
#include "tests/unit/decode/decoding.h"

namespace profd::format {
namespace {

constexpr double kMb = 1 << 20;
constexpr uint64_t kTicks = 145'000'000'000;  // of Decoding's start, at 50 MHz
constexpr uint64_t kMagic = 0x6BD3;
constexpr uint32_t k910B = 5, k310B = 7, k950 = 15;

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

bool IsPlausible(std::string_view file, uint32_t chip, std::string_view record) {
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
  const auto vector = [](uint32_t chip, uint64_t core) {
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
  const auto iterations = [](uint32_t chip, std::string_view format, size_t tag) {
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

// 11 bits of the number: common_func/utils.py:208-215, profiling_bean/stars/stars_common.py:62-103,
// csrc/domain/services/parser/parser_item/stars_common.h:49-92.
TEST(VendorLayouts, Streams) {
  EXPECT_EQ(StarsIdsOf(0x0FFF, 5).stream, 0x7FFu);
  EXPECT_EQ(StarsIdsOf(0x1800 | 3, 5).stream, 3u);
  EXPECT_EQ(StarsIdsOf(0x2000 | 9, 0x1803).stream, 3u);
  EXPECT_EQ(StarsIdsOf(0x2000 | 9, 0x1803).task, 0x1009u);
}

}  // namespace
}  // namespace profd::format
