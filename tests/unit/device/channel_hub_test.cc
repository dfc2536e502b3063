// Who takes part in a channel: alone, shared, for its newest records.
#include "tests/unit/device/hub_rig.h"

namespace profd::device {
namespace {

using testing::HasSubstr;
using What = ChannelEvent::What;

TEST_F(ChannelHubTest, AChannelIsStartedReadAndStopped) {
  const auto started = Start(Hbm(1));
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_EQ(started->period_ms, 20U);
  EXPECT_FALSE(started->shared || started->pending);
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(Records(1, 8));
  ASSERT_EQ(hub().Holdings().size(), 1U);
  EXPECT_EQ(hub().Holdings()[0].holder, "session 1 of alice");

  driver_->With(0, 1,
                [](FakeDriver::Channel& c) { c.at_stop = HbmPeriod(40'000, 2) + HbmPeriod(60'000, 3); });
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_EQ(writer_[1].records, 24U);  // the drain is in before `done`
  EXPECT_TRUE(writer_[1].bytes == HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2) + HbmPeriod(60'000, 3));
  EXPECT_TRUE(hub().Holdings().empty());
  EXPECT_EQ(Stops(0, 1), 1U);
}

TEST_F(ChannelHubTest, DataThatComesBeforeTheStartReturnsIsRead) {
  const auto gate = StartGate(0, 9);
  BeginStart(Request(1, 0, 9, "hccs.data", "hccs", 20, {}));
  ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  driver_->Deliver(0, 9, "3000:000000000 1 2\n");
  ASSERT_TRUE(Records(1, 1));
  EXPECT_FALSE(started_[1].has_value());
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return started_[1].has_value(); }));
}

// What counts from the channel's start has no time before that is known; then it counts from the clock pair.
TEST_F(ChannelHubTest, StampsFromTheStartWaitForItAndCountFromTheClockPair) {
  const auto gate = StartGate(0, 1);
  ChannelRequest request = Hbm(1);
  request.host_start_ns = base::RawNs() - 500 * kMs;
  const uint64_t pair_ns = request.host_start_ns;
  BeginStart(std::move(request));
  ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  const uint64_t called_ns = base::RawNs();
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2));
  ChannelRequest other = Hbm(2);  // comes meanwhile, paired its clocks 200 ms later
  other.host_start_ns = pair_ns + 200 * kMs;
  other.device_start_ns += 200 * kMs;
  BeginStart(std::move(other));
  ctl_.RunFor(20 * kMs);
  EXPECT_EQ(driver_->With(0, 1, [](FakeDriver::Channel& c) { return c.reads; }), 0U);
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return started_[1].has_value() && started_[2].has_value(); }));
  const uint64_t returned_ns = base::RawNs();
  ASSERT_TRUE(Records(1, 16));
  EXPECT_FALSE((*started_[1])->shared);
  EXPECT_TRUE((*started_[2])->shared);

  const StampShift shift = (*started_[1])->shift;
  EXPECT_TRUE(writer_[1].bytes == HbmPeriod(20'000 + static_cast<uint64_t>(shift.us), 1) +
                                      HbmPeriod(40'000 + static_cast<uint64_t>(shift.us), 2));
  EXPECT_EQ((*started_[2])->shift.us, shift.us - 200'000);
  // The middle of the call, which began before the gate and returned behind it.
  EXPECT_GE(shift.us, 500'000);
  EXPECT_LE(shift.us, static_cast<int64_t>((returned_ns - pair_ns) / 1000));
  EXPECT_GE(2 * shift.error_ns + 1, 20 * kMs);
  EXPECT_LE(shift.us * 1000 - static_cast<int64_t>(shift.error_ns),
            static_cast<int64_t>(called_ns - pair_ns));
}

TEST_F(ChannelHubTest, ARefusalSaysWhy) {
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.start_code = driver::kOccupied; });
  const auto started = Start(Hbm(1));
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().code(), Code::kAborted);
  EXPECT_THAT(started.status().message(), HasSubstr("-10"));
  EXPECT_THAT(started.status().message(), HasSubstr("hbm"));
  EXPECT_TRUE(hub().Holdings().empty());
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.start_code = driver::kOk; });
  EXPECT_TRUE(Start(Hbm(1)).ok());
}

TEST_F(ChannelHubTest, AChannelThatCannotExistIsRefused) {
  ChannelRequest request = Hbm(1);
  request.device = 64;
  EXPECT_EQ(Start(std::move(request)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Stop(7).code(), Code::kNotFound);
}

TEST_F(ChannelHubTest, BiuLossAtStopIsDataLoss) {
  ASSERT_TRUE(Start(Hbm(1)).ok());
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.stop_code = driver::kBiuLoss; });
  EXPECT_EQ(Stop(1).code(), Code::kDataLoss);
  EXPECT_TRUE(hub().Holdings().empty());
}

// -- sharing --

TEST_F(ChannelHubTest, ALaterSessionSharesTheRunningChannel) {
  ASSERT_TRUE(Start(Hbm(1, 20)).ok());
  ChannelRequest later = Hbm(2, 10);  // asks for more than runs
  later.device_start_ns += 30'000'000;
  const auto started = Start(std::move(later));
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_TRUE(started->shared);
  EXPECT_EQ(started->period_ms, 20U);
  EXPECT_EQ(Starts(0, 1), 1U);

  driver_->Deliver(0, 1, HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2) + HbmPeriod(60'000, 3));
  ASSERT_TRUE(Records(1, 24));
  ASSERT_TRUE(Records(2, 16));
  EXPECT_TRUE(writer_[1].bytes == HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2) + HbmPeriod(60'000, 3));
  EXPECT_TRUE(writer_[2].bytes == HbmPeriod(10'000, 2) + HbmPeriod(30'000, 3));
  EXPECT_EQ(hub().Holdings().size(), 2U);

  // The first goes, the other goes on.
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_EQ(Stops(0, 1), 0U);
  driver_->Deliver(0, 1, HbmPeriod(80'000, 4));
  ASSERT_TRUE(Records(2, 24));
  EXPECT_EQ(writer_[1].records, 24U);
  EXPECT_TRUE(Stop(2).ok());
  EXPECT_EQ(Stops(0, 1), 1U);
}

TEST_F(ChannelHubTest, WhoLeavesToAnHeirHasTheRecordThatTheHeirBeginsWith) {
  ASSERT_TRUE(Start(Hbm(1)).ok());
  ChannelRequest heir = Hbm(2);
  heir.device_start_ns += 30'000'000;
  ASSERT_TRUE(Start(std::move(heir)).ok());
  BeginStop(1, 2);
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));  // from before the heir
  ASSERT_TRUE(Records(1, 8));
  EXPECT_FALSE(stopped_[1].has_value());
  driver_->Deliver(0, 1, HbmPeriod(40'000, 2));
  ASSERT_TRUE(ctl_.RunUntil([&] { return stopped_[1].has_value(); }));
  driver_->Deliver(0, 1, HbmPeriod(60'000, 3));
  ASSERT_TRUE(Records(2, 16));
  EXPECT_TRUE(writer_[1].bytes == HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2));
  EXPECT_TRUE(writer_[2].bytes == HbmPeriod(10'000, 2) + HbmPeriod(30'000, 3));
  EXPECT_TRUE(Stop(2).ok());
}

TEST_F(ChannelHubTest, AnHeirWithoutRecordsHoldsNobodyUp) {
  ASSERT_TRUE(Start(Hbm(1)).ok());
  ASSERT_TRUE(Start(Hbm(2)).ok());
  BeginStop(1, 2);
  ASSERT_TRUE(ctl_.RunUntil([&] { return stopped_[1].has_value(); })) << "of a device that delivers nothing";
  ASSERT_TRUE(Start(Hbm(1)).ok());
  BeginStop(2, 1);
  ASSERT_TRUE(Stop(1).ok());
  ASSERT_TRUE(ctl_.RunUntil([&] { return stopped_[2].has_value(); })) << "the heir has left, too";
}

TEST_F(ChannelHubTest, ASlowerSessionGetsCombinedRecords) {
  ASSERT_TRUE(Start(Hbm(1, 20)).ok());
  const auto started = Start(Hbm(2, 105));
  ASSERT_TRUE(started.ok());
  EXPECT_EQ(started->period_ms, 100U);
  EXPECT_TRUE(started->shared);
  std::string stream;
  for (uint64_t i = 1; i <= 10; ++i) stream += HbmPeriod(20'000 * i, i);
  driver_->Deliver(0, 1, stream);
  ASSERT_TRUE(Records(1, 80));
  EXPECT_TRUE(Stop(2).ok());
  ASSERT_EQ(writer_[2].records, 16U);
  const auto record = format::Load<format::HbmRecord>(writer_[2].bytes.data());
  EXPECT_EQ(record.time_us, 100'000U);
  EXPECT_EQ(record.count, 8U * (1 + 2 + 3 + 4 + 5));
  EXPECT_TRUE(writer_[1].bytes == stream);
}

TEST_F(ChannelHubTest, AnotherPayloadIsRefusedNamingTheHolder) {
  const auto llc = [this](uint32_t stream, uint32_t period, uint32_t mode) {
    return Request(stream, 0, 8, "llc.data", "llc", period, {period, mode});
  };
  ASSERT_TRUE(Start(llc(1, 20, 1)).ok());
  const auto refused = Start(llc(2, 20, 2));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kAlreadyExists);
  EXPECT_THAT(refused.status().message(), HasSubstr("session 1 of alice"));
  EXPECT_TRUE(Start(llc(3, 40, 1)).ok());  // another period is no other payload
}

TEST_F(ChannelHubTest, SessionsThatAskDuringTheStartShareToo) {
  const auto gate = StartGate(0, 1);
  BeginStart(Hbm(1));
  BeginStart(Hbm(2));
  BeginStart(Hbm(3));
  BeginStop(3);
  ASSERT_TRUE(ctl_.RunUntil([&] { return stopped_[3].has_value() && started_[3].has_value(); }));
  EXPECT_EQ(started_[3]->status().code(), Code::kCancelled);
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return started_[1].has_value() && started_[2].has_value(); }));
  EXPECT_FALSE(started_[1]->value().shared);
  EXPECT_TRUE(started_[2]->value().shared);
  EXPECT_EQ(Starts(0, 1), 1U);
}

TEST_F(ChannelHubTest, TheFirstMayLeaveDuringTheStart) {
  const auto gate = StartGate(0, 1);
  BeginStart(Hbm(1));
  BeginStart(Hbm(2));
  EXPECT_TRUE(Stop(1).ok());
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return started_[2].has_value(); }));
  ASSERT_TRUE(started_[2]->ok());
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(Records(2, 8));
  EXPECT_EQ(writer_[1].records, 0U);
  EXPECT_TRUE(Stop(2).ok());
}

TEST_F(ChannelHubTest, AStopDuringTheStartStopsTheChannelAfterwards) {
  const auto gate = StartGate(0, 1);
  BeginStart(Hbm(1));
  BeginStop(1);
  ASSERT_TRUE(ctl_.RunUntil([&] { return started_[1].has_value(); }));
  EXPECT_EQ(started_[1]->status().code(), Code::kCancelled);
  EXPECT_FALSE(stopped_[1].has_value());
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return stopped_[1].has_value(); }));
  EXPECT_TRUE(stopped_[1]->ok());
  EXPECT_EQ(Stops(0, 1), 1U);
  EXPECT_TRUE(hub().Holdings().empty());
}

TEST_F(ChannelHubTest, ASessionThatAsksDuringTheStopStartsAnew) {
  ASSERT_TRUE(Start(Hbm(1)).ok());
  const auto gate = StopGate(0, 1);
  BeginStop(1);
  BeginStart(Hbm(2));
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return stopped_[1].has_value() && started_[2].has_value(); }));
  ASSERT_TRUE(started_[2]->ok());
  EXPECT_FALSE(started_[2]->value().shared);
  EXPECT_EQ(Starts(0, 1), 2U);
}

// -- ends --

TEST_F(ChannelHubTest, TheEndMarkFollowsTheLastChunk) {
  ASSERT_TRUE(Start(Hbm(1)).ok());
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.at_stop = HbmPeriod(20'000, 1); });
  hub().Stop({1, 1}, [this](base::Status) { hub().EndTrace(1, 0, &writer_.pipe()); });
  ASSERT_TRUE(ctl_.RunUntil([&] { return writer_.Take(), !writer_.ends().empty(); }));
  EXPECT_EQ(writer_[1].records, 8U);
}

TEST_F(ChannelHubTest, OnePumpPerDeviceOnRequest) {
  options_.pump_per_device = true;
  EXPECT_GT(hub().pump_count(), 1U);
  EXPECT_NE(hub().PumpOf(0), hub().PumpOf(1));
  FakeWriter other;
  ASSERT_TRUE(Start(Hbm(1)).ok());
  ChannelRequest second = Hbm(2, 20, 1);
  second.pipe = &other.pipe();
  ASSERT_TRUE(Start(std::move(second)).ok());
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));
  driver_->Deliver(1, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(Records(1, 8));
  ASSERT_TRUE(ctl_.RunUntil([&] { return other[2].records == 8; }));
  EXPECT_TRUE(Stop(2).ok());  // its pipe goes before the hub
}

TEST_F(ChannelHubTest, PeekShowsTheNewestRecordsAndWhatTheyAre) {
  options_.keep_tails = true;
  ASSERT_TRUE(Start(Hbm(1)).ok());
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2));
  ASSERT_TRUE(Records(1, 16));
  const std::vector<Peeked> peeked = Peek();
  ASSERT_EQ(peeked.size(), 1u);
  EXPECT_EQ(peeked[0].kind, "hbm");
  EXPECT_EQ(peeked[0].device, 0u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(peeked[0].records.data()), peeked[0].records.size()),
            HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2));
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_TRUE(Peek().empty());
}

TEST_F(ChannelHubTest, WithoutTailsThereIsNothingToPeekAt) {
  ASSERT_TRUE(Start(Hbm(1)).ok());
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(Records(1, 8));
  EXPECT_TRUE(Peek().empty());
}

TEST_F(ChannelHubTest, WhatIsHeldForItsNewestRecordsYieldsToASessionAtItsOwnRate) {
  options_.keep_tails = true;
  ASSERT_TRUE(Start(Held(7, 1000)).ok());
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(ctl_.RunUntil([&] { return driver_->Empty(0, 1); }));
  EXPECT_EQ(Peek().size(), 1u);
  const base::Result<Started> started = Start(Hbm(1, 20));
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_EQ(started->period_ms, 20u);
  EXPECT_FALSE(started->shared);
  EXPECT_EQ(Stops(0, 1), 1u);
  ASSERT_EQ(events_[7].size(), 1u);
  EXPECT_EQ(events_[7][0].what, What::kYielded);
  // It is not had back while the session has it.
  const base::Result<Started> refused = Start(Held(7, 1000));
  EXPECT_EQ(refused.status().code(), Code::kAlreadyExists);
  EXPECT_THAT(refused.status().message(), HasSubstr("session 1 of alice"));
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));
  EXPECT_TRUE(Records(1, 8));
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_TRUE(Start(Held(7, 1000)).ok());
  EXPECT_TRUE(Stop(7).ok());
}

TEST_F(ChannelHubTest, ASessionWaitsForAHeldChannelThatIsStillStarting) {
  options_.keep_tails = true;
  const auto gate = StartGate(0, 1);
  BeginStart(Held(7, 1000));
  BeginStart(Hbm(1, 20));
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return started_[1].has_value(); }));
  EXPECT_TRUE(started_[1]->ok());
  EXPECT_EQ(Starts(0, 1), 2u);
}

}  // namespace
}  // namespace profd::device
