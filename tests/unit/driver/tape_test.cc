// What the driver was asked, within bounds; and that the library's calls are all in it.
#include "daemon/driver/tape.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "daemon/driver/ascend/ascend_hal.h"
#include "tests/unit/driver/scripted_hal.h"

namespace profd::driver {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kScriptedHal[] = PROFD_SCRIPTED_HAL;
constexpr uint64_t kRoom = 1 << 20;

TapedCall Read(uint32_t channel, size_t bytes) {
  TapedCall call{.device = 0, .channel = channel, .call = "prof_channel_read"};
  call.code = static_cast<int32_t>(bytes);
  call.answered.resize(bytes);
  return call;
}

TEST(Tape, GivesWhatItHasOnceInPieces) {
  Tape tape({0}, kRoom);
  for (const uint32_t channel : {1U, 2U, 3U}) tape.Add(Read(channel, 100));
  EXPECT_THAT(tape.Take(1), SizeIs(1)) << "at least one, however large";
  EXPECT_THAT(tape.Take(kRoom), SizeIs(2));
  EXPECT_THAT(tape.Take(kRoom), IsEmpty());
}

TEST(Tape, OneChannelHasAnEighthAndTheRestIsCounted) {
  Tape tape({0}, kRoom);
  for (int i = 0; i < 20; ++i) tape.Add(Read(1, kRoom / 16));
  tape.Add(Read(2, 100));
  uint64_t bytes = 0, calls = 0;
  for (const TapedCall& call : tape.Take(kRoom)) {
    bytes += call.answered.size();
    ++calls;
  }
  EXPECT_LE(bytes, kRoom / 8 + 100);
  EXPECT_EQ(calls, 2U) << "one of the flood, and the other channel's";
  EXPECT_EQ(tape.left_out().calls, 19U);
  EXPECT_EQ(tape.left_out().bytes, 19 * kRoom / 16);
}

TEST(Tape, WhatAChannelBroughtHasNoHole) {
  Tape tape({0}, kRoom);
  tape.Add(Read(1, 100));
  tape.Add(Read(1, kRoom));
  tape.Add(Read(1, 100));
  tape.Add({.device = 0, .channel = 1, .call = "prof_stop"});
  const std::vector<TapedCall> calls = tape.Take(UINT64_MAX);
  ASSERT_THAT(calls, SizeIs(2)) << "what is behind the hole is left out, too";
  EXPECT_EQ(calls[1].call, "prof_stop");
  EXPECT_EQ(tape.left_out().bytes, kRoom + 100);
}

TEST(Tape, AllInAllIsBoundedToo) {
  Tape tape({0}, kRoom);
  for (uint32_t channel = 1; channel < 100; ++channel) tape.Add(Read(channel, kRoom / 10));
  uint64_t bytes = 0;
  for (const TapedCall& call : tape.Take(UINT64_MAX)) bytes += call.answered.size();
  EXPECT_LE(bytes, kRoom);
  EXPECT_GT(tape.left_out().calls, 80U);
}

TEST(Tape, TakingMakesNoRoom) {
  Tape tape({0}, 1000);
  tape.Add(Read(1, 10));
  for (int i = 0; i < 20; ++i) {
    tape.Add(Read(static_cast<uint32_t>(i + 2), 10));
    tape.Take(UINT64_MAX);
  }
  EXPECT_GT(tape.left_out().calls, 0U) << "the bound is of all that was ever heard";
}

class TapedHalTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = AscendHal::Load(kScriptedHal);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    driver_ = std::move(loaded).value();
    void* library = ::dlopen(kScriptedHal, RTLD_LAZY | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr);
    script_ = reinterpret_cast<decltype(&ScriptedHalScript)>(::dlsym(library, "ScriptedHalScript"))();
    *script_ = Script{};
    script_->info[{0, 1}] = 5 << 8;
    script_->list = {1, 8};
    script_->list_count = 2;
    ::dlclose(library);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const TapedCall& call : tape_->Take(UINT64_MAX)) names.emplace_back(call.call);
    return names;
  }

  std::unique_ptr<Driver> driver_;
  Script* script_ = nullptr;
  std::shared_ptr<Tape> tape_ = std::make_shared<Tape>(std::vector<uint32_t>{3}, kRoom);
};

TEST_F(TapedHalTest, HasCallsOfItsDevicesAndOfNone) {
  driver_->SetTape(tape_);
  script_->device_count = 1;
  script_->device_ids = {3};
  ASSERT_TRUE(driver_->DeviceIds().ok());
  driver_->ReadFacts(3);
  EXPECT_THAT(Names(), testing::AllOf(Contains("drvGetDevNum"), Contains("halGetAPIVersion"),
                                      Contains("prof_drv_get_channels"), Contains("halGetDeviceInfo")));
  EXPECT_TRUE(driver_->Channels(4).ok());
  EXPECT_THAT(Names(), IsEmpty());
  driver_->SetTape(nullptr);
  EXPECT_TRUE(driver_->Channels(3).ok());
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(TapedHalTest, HasWhatWasGivenAndAnswered) {
  driver_->SetTape(tape_);
  StartPara para;
  para.channel_type = 1;
  para.period_ms = 20;
  para.user_data_size = 2;
  para.user_data[0] = std::byte{0xaa};
  para.user_data[1] = std::byte{0xbb};
  script_->start_code = kOccupied;
  EXPECT_EQ(driver_->Start(3, 8, para), kOccupied);
  script_->read_code = 4;
  std::byte out[16];
  EXPECT_EQ(driver_->Read(3, 8, out, sizeof out), 4);
  script_->read_code = 0;
  EXPECT_EQ(driver_->Read(3, 8, out, sizeof out), 0);
  script_->read_code = -4;
  EXPECT_EQ(driver_->Read(3, 8, out, sizeof out), -4);
  const std::vector<TapedCall> calls = tape_->Take(UINT64_MAX);
  ASSERT_THAT(calls, SizeIs(3)) << "a read of nothing says nothing";
  EXPECT_EQ(calls[0].code, kOccupied);
  uint32_t head[4];
  ASSERT_EQ(calls[0].given.size(), sizeof head + 2);
  std::memcpy(head, calls[0].given.data(), sizeof head);
  EXPECT_THAT(head, ElementsAre(1, 20, 1, 2));
  EXPECT_EQ(calls[0].given.back(), std::byte{0xbb});
  EXPECT_THAT(calls[0].answered, IsEmpty());
  EXPECT_EQ(calls[1].answered, std::vector<std::byte>(4, std::byte{'x'}));
  EXPECT_EQ(calls[2].code, -4);
  EXPECT_THAT(calls[2].answered, IsEmpty());
  EXPECT_GE(calls[1].ended_ns, calls[1].began_ns);
}

// A library that claims to have read more than there is room for must not have anybody read beyond it.
TEST_F(TapedHalTest, ALieAboutALengthReadsNothingBeyond) {
  driver_->SetTape(tape_);
  script_->read_code = 1 << 30;
  std::byte out[16];
  driver_->Read(3, 8, out, sizeof out);
  const std::vector<TapedCall> calls = tape_->Take(UINT64_MAX);
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_THAT(calls[0].answered, SizeIs(sizeof out));
}

}  // namespace
}  // namespace profd::driver
