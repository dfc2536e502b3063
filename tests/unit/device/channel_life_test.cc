// How channels begin and end: a driver that hangs, devices that are late or lost, processes on them.
#include "tests/unit/device/hub_rig.h"

namespace profd::device {
namespace {

using testing::HasSubstr;
using What = ChannelEvent::What;

// -- a driver that hangs --

TEST_F(ChannelHubTest, ABlockedStartLeavesOtherChannelsAlone) {
  options_.queue_patience_ns = 5 * kMs;
  const auto gate = StartGate(0, 1);
  BeginStart(Hbm(1));
  ASSERT_TRUE(Start(Request(3, 0, 3, "pcie.data", "pcie", 20, {})).ok());  // behind it, on a spare thread
  ASSERT_TRUE(Start(Hbm(4, 20, 1)).ok());                                  // another device
  driver_->Deliver(1, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(Records(4, 8));
  EXPECT_TRUE(Stop(3).ok());
  EXPECT_FALSE(started_[1].has_value());
}

TEST_F(ChannelHubTest, AStartThatTimesOutIsTakenBackWhenItSucceedsLater) {
  options_.driver_timeout_ns = 300 * kMs;
  const auto gate = StartGate(0, 1);
  const auto started = Start(Hbm(1));
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().code(), Code::kDeadlineExceeded);
  ASSERT_EQ(hub().Holdings().size(), 1U);
  EXPECT_THAT(hub().Holdings()[0].holder, HasSubstr("stuck"));
  EXPECT_EQ(Start(Hbm(2)).status().code(), Code::kUnavailable);
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return hub().Holdings().empty(); }));
  EXPECT_EQ(Starts(0, 1), 1U);
  EXPECT_EQ(Stops(0, 1), 1U);
  EXPECT_TRUE(Start(Hbm(2)).ok());
}

TEST_F(ChannelHubTest, AStuckStopEndsTheSessionsPartInTime) {
  options_.driver_timeout_ns = 300 * kMs;
  ASSERT_TRUE(Start(Hbm(1)).ok());
  driver_->Deliver(0, 1, HbmPeriod(20'000, 1));
  const auto gate = StopGate(0, 1);
  EXPECT_EQ(Stop(1).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(writer_[1].records, 8U);
  driver_->Deliver(0, 1, HbmPeriod(40'000, 2));
  ctl_.RunFor(20 * kMs);
  EXPECT_EQ(writer_[1].records, 8U);  // nothing after `done`
  ASSERT_EQ(hub().Holdings().size(), 1U);
  EXPECT_THAT(hub().Holdings()[0].holder, HasSubstr("stuck"));
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.ring.clear(); });
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return hub().Holdings().empty(); }));
  EXPECT_TRUE(Start(Hbm(2)).ok());
}

TEST_F(ChannelHubTest, AReadThatHangsLetsTheStopsOfOtherDevicesEndInTime) {
  options_.read_timeout_ns = 60'000 * kMs;
  options_.stop_read_timeout_ns = 100 * kMs;
  ASSERT_TRUE(Start(Hbm(1, 20, 0)).ok());
  ASSERT_TRUE(Start(Hbm(2, 20, 1)).ok());
  const auto gate = ReadGate(1, 1);
  ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  driver_->With(0, 1, [](FakeDriver::Channel& c) { c.at_stop = HbmPeriod(20'000, 1); });
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_EQ(writer_[1].records, 8U);
  ASSERT_EQ(events_[2].size(), 1U);
  EXPECT_THAT(events_[2][0].reason, HasSubstr("device 1 hangs: a read of hbm"));
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return events_[2].size() == 2; }));
  EXPECT_EQ(events_[2][1].what, What::kRecovered);
}

TEST_F(ChannelHubTest, CallsReportWhetherTheyRanInTime) {
  options_.driver_timeout_ns = 300 * kMs;
  const auto gate = std::make_shared<Gate>();
  std::optional<bool> quick;
  std::optional<bool> slow;
  hub().Call(
      0, [] {}, [&](bool in_time) { quick = in_time; });
  ASSERT_TRUE(ctl_.RunUntil([&] { return quick.has_value(); }));
  gate->Close();
  hub().Call(
      0, [gate] { gate->Pass(); }, [&](bool in_time) { slow = in_time; });
  ASSERT_TRUE(ctl_.RunUntil([&] { return slow.has_value(); }));
  EXPECT_TRUE(*quick);
  EXPECT_FALSE(*slow);
  gate->Open();
}

TEST_F(ChannelHubTest, StopsOfOneDeviceDrainOneAfterTheOther) {
  options_.sweep_ns = 60'000 * kMs;  // only the pace of a stop drains them in time
  for (uint32_t i = 0; i < 8; ++i)
    ASSERT_TRUE(Start(Request(i + 1, 0, 135 + i % 7, "dvpp.vdec", "dvpp", 20, {})).ok());
  ctl_.RunFor(400 * kMs);  // new channels are looked at more often
  const std::string line = "7:000000001 0 0 0 10 20 30% 40 50 60% 70 80\n";
  for (uint32_t i = 0; i < 7; ++i) {
    driver_->With(0, 135 + i, [&](FakeDriver::Channel& c) { c.at_stop = line; });
  }
  for (uint32_t i = 0; i < 8; ++i) BeginStop(i + 1);
  ASSERT_TRUE(ctl_.RunUntil([&] {
    for (uint32_t i = 0; i < 8; ++i) {
      if (!stopped_[i + 1].has_value()) return false;
    }
    return true;
  }));
  for (uint32_t i = 1; i < 7; ++i) EXPECT_EQ(writer_[i + 1].bytes, line);
  EXPECT_EQ(writer_[8].bytes, line);  // the last to leave the channel it shares with the first
}

TEST_F(ChannelHubTest, GoesWhileAStartHangs) {
  auto gate = StartGate(0, 1);
  {
    ChannelHub hub(driver_, options_, ctl_, ctl_.Post());
    hub.Start(Hbm(1), [](const base::Result<Started>&) { FAIL() << "answered after the hub's end"; });
    ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  }
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return Starts(0, 1) == 1; }));
  ctl_.RunFor(5 * kMs);
}

// A call that returns as profd ends returns into the driver.
TEST_F(ChannelHubTest, TheDriverStaysForACallThatReturnsLater) {
  const auto gate = StartGate(0, 1);
  {
    ChannelHub hub(driver_, options_, ctl_, ctl_.Post());
    hub.Start(Hbm(1), [](const base::Result<Started>&) { FAIL() << "answered after the hub's end"; });
    ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  }
  const std::weak_ptr<FakeDriver> driver = driver_;
  driver_.reset();
  EXPECT_FALSE(driver.expired()) << "the call is in it";
  gate->Open();
  EXPECT_TRUE(ctl_.RunUntil([&] { return driver.expired(); }));
}

// -- late channels, lost devices --

TEST_F(ChannelHubTest, ALateChannelStartsWhenTheDeviceListsIt) {
  const auto late = [this](uint32_t stream) {
    ChannelRequest request = Request(stream, 0, 143, "aicpu.data", "aicpu", 10, {});
    request.late = true;
    return request;
  };
  const auto started = Start(late(1));
  ASSERT_TRUE(started.ok());
  EXPECT_TRUE(started->pending);
  EXPECT_TRUE(Start(late(2))->pending);
  EXPECT_EQ(Starts(0, 143), 0U);

  driver_->With(0, 143, [](FakeDriver::Channel& c) { c.start_code = driver::kNoComputeProcess; });
  driver_->SetListed({1, 143});
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_[1].empty() && !events_[2].empty(); }));
  EXPECT_EQ(events_[1][0].what, What::kFailed);
  EXPECT_THAT(events_[1][0].reason, HasSubstr("115"));

  driver_->With(0, 143, [](FakeDriver::Channel& c) { c.start_code = driver::kOk; });
  ASSERT_TRUE(ctl_.RunUntil([&] { return events_[1].size() == 2 && events_[2].size() == 2; }));
  EXPECT_EQ(events_[1][1].what, What::kStarted);
  format::AiCpuRecord record{};
  record.magic = format::kReportMagic;
  ASSERT_TRUE(ctl_.RunUntil([&] {  // what comes before it has joined is not the second's
    driver_->Deliver(0, 143, Bytes(record));
    return writer_[1].records > 0 && writer_[2].records > 0;
  }));
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_TRUE(Stop(2).ok());
  EXPECT_EQ(Stops(0, 143), 1U);
}

TEST_F(ChannelHubTest, APendingChannelCanBeGivenUp) {
  ChannelRequest request = Request(1, 0, 143, "aicpu.data", "aicpu", 10, {});
  request.late = true;
  ASSERT_TRUE(Start(std::move(request))->pending);
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_TRUE(hub().Holdings().empty());
  driver_->SetListed({143});
  ctl_.RunFor(20 * kMs);
  EXPECT_EQ(Starts(0, 143), 0U);
}

// -- channels of the vendor's process on the device --

TEST_F(ChannelHubTest, AProcessIsStartedOnceAndEndedWithTheLast) {
  const auto started = Start(OfProcess(1, {.system_ms = 100, .processes_ms = 200}));
  ASSERT_TRUE(started.ok());
  EXPECT_TRUE(started->pending);
  EXPECT_EQ(driver_->Processes(),
            (std::vector<driver::ProcessPara>{{.system_ms = 100, .processes_ms = 200}}));
  EXPECT_TRUE(Start(OfProcess(2, {.system_ms = 100}))->pending) << "a part of what runs";
  for (const driver::ProcessPara other :
       {driver::ProcessPara{.system_ms = 200}, driver::ProcessPara{.cpus_ms = 20}}) {
    const auto refused = Start(OfProcess(3, other));
    EXPECT_EQ(refused.status().code(), Code::kAlreadyExists);
    EXPECT_THAT(refused.status().message(), HasSubstr("session 1 of alice"));
  }
  driver_->SetListed({145});
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_[1].empty() && !events_[2].empty(); }));
  EXPECT_EQ(events_[1][0].what, What::kStarted);
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_EQ(driver_->OpenProcesses(), 1);
  EXPECT_TRUE(Stop(2).ok());
  EXPECT_EQ(Stops(0, 145), 1U);
  EXPECT_TRUE(ctl_.RunUntil([&] { return driver_->OpenProcesses() == 0; }));
  EXPECT_EQ(driver_->Processes().size(), 1U);
}

TEST_F(ChannelHubTest, AProcessThatCannotBeStartedIsARefusal) {
  driver_->RefuseProcesses({Code::kUnavailable, "there is no toolkit"});
  const auto refused = Start(OfProcess(1, {.system_ms = 100}));
  EXPECT_EQ(refused.status().code(), Code::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("there is no toolkit"));
  EXPECT_TRUE(hub().Holdings().empty());
  driver_->RefuseProcesses({});
  EXPECT_TRUE(Start(OfProcess(1, {.system_ms = 100}))->pending);
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_EQ(driver_->OpenProcesses(), 0) << "also where the device has never listed its channel";
}

TEST_F(ChannelHubTest, AStopWhileTheProcessIsBeingStartedEndsIt) {
  driver_->process_gate().Close();
  BeginStart(OfProcess(1, {.system_ms = 100}));
  ASSERT_TRUE(ctl_.RunUntil([&] { return driver_->process_gate().waiting() > 0; }));
  BeginStop(1);
  ctl_.RunFor(5 * kMs);
  EXPECT_FALSE(stopped_[1].has_value());
  driver_->process_gate().Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return stopped_[1].has_value(); }));
  EXPECT_EQ(driver_->OpenProcesses(), 0);
  EXPECT_TRUE(hub().Holdings().empty());
}

TEST_F(ChannelHubTest, AProcessThatAnswersTooLateIsEnded) {
  options_.driver_timeout_ns = 20 * kMs;
  driver_->process_gate().Close();
  EXPECT_EQ(Start(OfProcess(1, {.system_ms = 100})).status().code(), Code::kDeadlineExceeded);
  driver_->process_gate().Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return hub().Holdings().empty(); }));
  EXPECT_EQ(driver_->OpenProcesses(), 0);
}

TEST_F(ChannelHubTest, TwoDevicesOfOneSystemAreNotCollectedBoth) {
  ASSERT_TRUE(Start(OfProcess(1, {.system_ms = 100})).ok());
  ChannelRequest request = OfProcess(2, {.system_ms = 100}, 1);
  request.twin = 0;
  const auto refused = Start(std::move(request));
  EXPECT_EQ(refused.status().code(), Code::kAlreadyExists);
  EXPECT_THAT(refused.status().message(), HasSubstr("device 0 is run by the same system"));
  EXPECT_TRUE(Stop(1).ok());
}

TEST_F(ChannelHubTest, ALostDeviceIsToldOnceAndItsReturnToo) {
  ASSERT_TRUE(Start(Hbm(1)).ok());
  driver_->SetStatus(4);
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_[1].empty(); }));
  EXPECT_EQ(events_[1][0].what, What::kFailed);
  EXPECT_THAT(events_[1][0].reason, HasSubstr("lost"));
  driver_->SetStatus(1);
  ASSERT_TRUE(ctl_.RunUntil([&] { return events_[1].size() > 1; }));
  EXPECT_EQ(events_[1].size(), 2U);
  EXPECT_EQ(events_[1][1].what, What::kRecovered);
}

}  // namespace
}  // namespace profd::device
