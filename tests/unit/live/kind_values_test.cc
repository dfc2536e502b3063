#include "daemon/live/values/kind_values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/offers.h"
#include "format/records/device.h"

namespace profd::live {
namespace {

constexpr format::Chip k910B = format::Chip::k910B;
constexpr double kBytesPerCount = 32;

device::Peeked Hbm(const std::vector<format::HbmRecord>& records) {
  device::Peeked peeked;
  peeked.channel = driver::channel::kHbm;
  peeked.kind = "hbm";
  peeked.format = format::FindStreamFormat("hbm.data", k910B);
  peeked.counter_mhz = 50;
  peeked.records.resize(records.size() * sizeof(format::HbmRecord));
  std::memcpy(peeked.records.data(), records.data(), peeked.records.size());
  return peeked;
}

std::vector<format::HbmRecord> Period(uint64_t time_us, uint64_t count) {
  std::vector<format::HbmRecord> records;
  for (uint32_t stack = 0; stack < 4; ++stack) {
    for (uint32_t event = 0; event < 2; ++event) {
      format::HbmRecord record{};
      record.time_us = time_us;
      record.count = count + event;
      record.event = event;
      record.hbm_id = stack;
      records.push_back(record);
    }
  }
  return records;
}

std::vector<Sample> ValuesOf(const device::Peeked& peeked) {
  driver::DeviceFacts facts;
  facts.chip = k910B;
  std::vector<Sample> samples;
  AddKindValues(peeked, facts, {{"device", "0"}}, samples);
  return samples;
}

TEST(KindValues, AreThoseOfTheNewestPeriodOverAllStacks) {
  auto records = Period(20'000, 1);
  for (const auto& next : {Period(40'000, 100), Period(60'000, 1000)}) {
    records.insert(records.end(), next.begin(), next.end());
  }
  const std::vector<Sample> samples = ValuesOf(Hbm(records));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].metric->name, "profd_device_hbm_bytes_per_second");
  EXPECT_EQ(samples[0].labels, (std::vector<Label>{{"device", "0"}, {"direction", "read"}}));
  EXPECT_DOUBLE_EQ(samples[0].value, 4 * 1000 * kBytesPerCount / 0.02);
  EXPECT_EQ(samples[1].labels.back(), (Label{"direction", "write"}));
  EXPECT_DOUBLE_EQ(samples[1].value, 4 * 1001 * kBytesPerCount / 0.02);
}

TEST(KindValues, APeriodWhoseRestIsStillToComeDoesNotCount) {
  auto records = Period(20'000, 1);
  const auto second = Period(40'000, 100), third = Period(60'000, 1000);
  records.insert(records.end(), second.begin(), second.end());
  records.insert(records.end(), third.begin(), third.end() - 3);
  const std::vector<Sample> samples = ValuesOf(Hbm(records));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_DOUBLE_EQ(samples[0].value, 4 * 100 * kBytesPerCount / 0.02);
}

TEST(KindValues, OnePeriodHasNoRateYet) { EXPECT_TRUE(ValuesOf(Hbm(Period(20'000, 5))).empty()); }

TEST(KindValues, NothingOfAKindWithoutValues) {
  device::Peeked peeked = Hbm(Period(20'000, 5));
  peeked.kind = "tscpu";
  EXPECT_TRUE(ValuesOf(peeked).empty());
  EXPECT_TRUE(HasValues("hbm"));
  EXPECT_FALSE(HasValues("tscpu"));
}

}  // namespace
}  // namespace profd::live
