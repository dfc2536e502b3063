#include "format/decode/agents/device_marks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

namespace profd::format {
namespace {

constexpr int64_t kTid = 7;
constexpr DeviceMarks::What kWhat = {.name = 3, .domain = 1};
constexpr uint64_t kUs = 1000, kMs = 1'000'000;

class DeviceMarksTest : public testing::Test {
 protected:
  uint64_t Mark(uint64_t ns) { return marks_.Mark(kTid, ns, kWhat); }
  void Made(uint64_t id, uint64_t ns) { marks_.Made(id, kTid, ns, kWhat.name); }
  // Connection by the vendor's number, of those that the device came to.
  std::map<uint64_t, uint64_t> Ran(const std::vector<uint64_t>& ids) {
    for (const uint64_t id : ids) marks_.Ran(id, DeviceMarks::kMark, 5 * kMs, 0, 2);
    std::map<uint64_t, uint64_t> found;
    for (const DeviceMarks::Done& done : marks_.Take()) found[done.id] = done.connection;
    return found;
  }

  DeviceMarks marks_{100};
};

// The thread lost its CPU between the two records of the first mark: the second mark is the nearer one.
TEST_F(DeviceMarksTest, WhatComesFirstIsFirstThoughTheNextIsNearer) {
  Mark(0);
  Mark(300 * kUs);
  Made(1, 290 * kUs);
  Made(2, 301 * kUs);
  EXPECT_EQ(Ran({1, 2}), (std::map<uint64_t, uint64_t>{{1, 100}, {2, 101}}));
}

TEST_F(DeviceMarksTest, TheVendorsRecordsMayBeReadFirst) {
  Made(1, 1 * kUs);
  Made(2, 101 * kUs);
  Mark(0);
  Mark(100 * kUs);
  EXPECT_EQ(Ran({1, 2}), (std::map<uint64_t, uint64_t>{{1, 100}, {2, 101}}));
}

TEST_F(DeviceMarksTest, ALostHalfShiftsNobodyElse) {
  Mark(0);
  Mark(10 * kMs);
  Made(2, 10 * kMs + kUs);
  EXPECT_EQ(Ran({2}), (std::map<uint64_t, uint64_t>{{2, 101}}));
  Made(3, 20 * kMs);  // whose mark was lost
  Mark(30 * kMs);
  Made(4, 30 * kMs + kUs);
  EXPECT_EQ(Ran({3, 4}), (std::map<uint64_t, uint64_t>{{4, 102}}));
}

TEST_F(DeviceMarksTest, ARangeIsKnownByItsNumber) {
  const uint64_t connection = marks_.EndRange(9, kWhat);
  marks_.Ran(9, DeviceMarks::kBegin, 1 * kMs, 0, 2);
  EXPECT_TRUE(marks_.Take().empty());
  marks_.Ran(9, DeviceMarks::kEnd, 2 * kMs, 0, 2);
  const auto done = marks_.Take();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].connection, connection);
  EXPECT_EQ(done[0].end_ns - done[0].begin_ns, kMs);
}

}  // namespace
}  // namespace profd::format
