// Records of FRAMEWORK/: the check bytes of Ascend's PyTorch Profiler, cut ones, and the clock.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "format/framework/info.h"
#include "format/framework/records.h"

namespace profd::format::framework {
namespace {

template <typename T>
void Put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
Bytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string Row(uint16_t type, const std::string& value) {
  std::string row;
  Put(row, type);
  Put(row, static_cast<uint32_t>(value.size()));
  return row + value;
}

std::string Range(const std::string& fields) {
  std::string value;
  Put<int64_t>(value, 5'000'009'999'000);
  Put<int64_t>(value, 5'000'011'796'000);
  Put<int64_t>(value, -1);
  for (const uint64_t number : {1, 2, 3, 4}) Put(value, number);
  Put<uint8_t>(value, 7);
  Put<uint8_t>(value, 0);
  return value + fields;
}

TEST(FrameworkRecordsTest, AnOperator) {
  const std::string row = Row(1, Range(Row(2, "ProfilerStep#10") + Row(4, "2,3;;") + Row(3, "")));
  // The same first bytes as in a recorded file.
  EXPECT_EQ(row.substr(0, 14), std::string("\x01\x00\x60\x00\x00\x00\x98\xe2\xd1\x27\x8c\x04\x00\x00", 14));
  ASSERT_EQ(RowBytes(BytesOf(row)), row.size());
  const auto range = ParseOpRange(ValueOf(BytesOf(row)));
  ASSERT_TRUE(range);
  EXPECT_EQ(range->start, 5'000'009'999'000);
  EXPECT_EQ(range->end - range->start, 1'797'000);
  EXPECT_EQ(range->sequence, -1);
  EXPECT_EQ(range->pid, 1u);
  EXPECT_EQ(range->start_tid, 2u);
  EXPECT_EQ(range->end_tid, 3u);
  EXPECT_EQ(range->forward_tid, 4u);
  EXPECT_EQ(range->scope, 7);
  EXPECT_EQ(range->name, "ProfilerStep#10");
  EXPECT_EQ(range->dims, "2,3;;");
  EXPECT_TRUE(range->has_types);
  EXPECT_EQ(range->types, "");
  EXPECT_FALSE(range->has_stack || range->has_modules || range->has_flops || range->is_torn);
}

TEST(FrameworkRecordsTest, WhatIsBeforeACutFieldIsThere) {
  std::string fields = Row(2, "aten::mm");
  for (const std::string& cut :
       {std::string("\x04"), std::string("\x04\x00\xff\xff\xff\xff", 6), Row(4, "2,3").substr(0, 8)}) {
    const std::string value = Range(fields + cut);
    const auto range = ParseOpRange(BytesOf(value));
    ASSERT_TRUE(range);
    EXPECT_EQ(range->name, "aten::mm");
    EXPECT_TRUE(range->is_torn);
    EXPECT_FALSE(range->has_dims);
  }
}

TEST(FrameworkRecordsTest, WhatIsTooShortOrOfNoKindIsNone) {
  const std::string bytes(57, '\1');
  EXPECT_FALSE(ParseOpRange(BytesOf(bytes)));
  EXPECT_FALSE(ParseOpMark(BytesOf(bytes).first(39)));
  EXPECT_FALSE(ParseOpMark(BytesOf(bytes)));  // its kind is 0x0101010101010101
  EXPECT_FALSE(ParseMemoryUse(BytesOf(bytes)));
  EXPECT_FALSE(ParseMemoryUse(BytesOf(std::string(77, '\7'))));
  EXPECT_FALSE(ParsePythonName(BytesOf(bytes).first(7)));
  EXPECT_FALSE(ParsePythonCall(BytesOf(std::string(33, '\4'))));
  EXPECT_EQ(RowBytes(BytesOf(bytes).first(5)), 0u);
  EXPECT_EQ(RowBytes(BytesOf(std::string(6, '\xff'))), 6 + uint64_t{UINT32_MAX});
}

TEST(FrameworkRecordsTest, CountsAreExactWhereTheVendorsRound) {
  Clock clock{true, 48.1, 1000, 5'000, 1'000'000};
  EXPECT_EQ(clock.WallNs(1000, false), 1'005'000);
  EXPECT_EQ(clock.WallNs(1000 + 48'100'000, false), 1'001'005'000);
  // A week: a double of 1000 / 48.1 has not enough digits.
  const int64_t week = 1000 + int64_t{48'100'000} * 604'800;
  EXPECT_EQ(clock.WallNs(week, false), 604'800'001'005'000);
  EXPECT_NEAR(static_cast<double>(clock.WallNs(week, true)), 604'800'001'005'000.0, 1000);
  for (const bool as_vendor : {false, true}) {
    EXPECT_EQ(clock.WallNs(INT64_MIN, as_vendor), 0);
    EXPECT_GT(clock.WallNs(INT64_MAX, as_vendor), 0);
  }
}

TEST(FrameworkRecordsTest, TheProfilersInfo) {
  const auto info = ParseProfilerInfo(
      R"({"config": {"experimental_config": {"_profiler_level": "Level2", "_l2_cache": true}},
          "start_info": {"syscnt_enable": true, "freq": 38.4, "start_cnt": 7, "start_monotonic": 9}, "rank_id": 3})");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->level, "Level2");
  EXPECT_TRUE(info->l2_cache && info->counts);
  EXPECT_EQ(info->rank, 3);
  EXPECT_EQ(info->counter_mhz, 38.4);
  EXPECT_FALSE(info->has_end);
  for (const char* const text : {"", "[]", "{\"start_info\": {\"syscnt_enable\": true, \"freq\": 0}}"}) {
    const auto none = ParseProfilerInfo(text);
    EXPECT_FALSE(none.ok());
  }
  EXPECT_TRUE(ParseProfilerInfo(R"({"rank_id": "x", "config": 3, "end_info": {}})").ok());
  EXPECT_EQ(ParseProfilerInfo(R"({"rank_id": "12"})")->rank, 12);  // as torch_npu has it from the environment
  EXPECT_EQ(ParseProfilerInfo(R"({"rank_id": "1x"})")->rank, -1);
}

}  // namespace
}  // namespace profd::format::framework
