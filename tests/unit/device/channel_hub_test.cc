#include "daemon/device/channel_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fakes.h"
#include "format/records/packed.h"

namespace profd::device {
namespace {

constexpr uint64_t kMs = 1'000'000;
using base::Code;
using testing::HasSubstr;
using What = ChannelEvent::What;

class ChannelHubTest : public testing::Test {
 protected:
  ChannelHubTest() { options_.sweep_ns = 5 * kMs; }
  ~ChannelHubTest() override {
    // Nothing may hang in the driver when it goes.
    for (const auto& gate : gates_) gate->Open();
    hub_.reset();
  }

  ChannelHub& hub() {
    if (hub_ == nullptr) hub_ = std::make_unique<ChannelHub>(driver_, options_, ctl_, ctl_.Post());
    return *hub_;
  }

  // HBM with the vendor's payload.
  ChannelRequest Hbm(uint32_t stream, uint32_t period_ms = 20, uint32_t device = 0) {
    return Request(stream, device, 1, "hbm.data", "hbm", period_ms, {period_ms, 0xFFFFFFFF, 2, 0, 1});
  }
  ChannelRequest Request(uint32_t stream, uint32_t device, uint32_t channel, std::string_view file,
                         std::string kind, uint32_t period_ms, const std::vector<uint32_t>& payload) {
    ChannelRequest request;
    request.device = device;
    request.channel = channel;
    request.para.period_ms = period_ms;
    request.para.user_data_size = static_cast<uint32_t>(payload.size() * sizeof(uint32_t));
    for (size_t i = 0; i < payload.size(); ++i) format::Store(&request.para.user_data[4 * i], payload[i]);
    request.format = format::FindStreamFormat(file, driver::Chip::k910B);
    request.kind = std::move(kind);
    request.holder = "session " + std::to_string(stream) + " of alice";
    request.device_start_ns = 1'000'000'000;
    request.key = {1, stream};
    request.stats = std::make_shared<chunk::StreamStats>();
    request.pipe = &writer_.pipe();
    request.on_event = [this, stream](const ChannelEvent& event) { events_[stream].push_back(event); };
    stats_[stream] = request.stats;
    return request;
  }
  ChannelRequest OfProcess(uint32_t stream, const driver::ProcessPara& process, uint32_t device = 0) {
    ChannelRequest request = Request(stream, device, 145, format::kDevicePackets, "dev-cpu", 40, {});
    request.late = true;
    request.process = process;
    return request;
  }
  // Nobody's data but the newest.
  ChannelRequest Held(uint32_t stream, uint32_t period_ms) {
    ChannelRequest request = Hbm(stream, period_ms);
    request.pipe = nullptr;
    request.yields = true;
    return request;
  }
  std::vector<Peeked> Peek() {
    std::optional<std::vector<Peeked>> answer;
    hub().Peek([&answer](std::vector<Peeked> peeked) { answer = std::move(peeked); });
    EXPECT_TRUE(ctl_.RunUntil([&] { return answer.has_value(); }));
    return answer.value_or(std::vector<Peeked>{});
  }
  std::shared_ptr<Gate> StartGate(uint32_t device, uint32_t channel) {
    return Closed(driver_.With(device, channel, [](FakeDriver::Channel& c) { return c.start_gate; }));
  }
  std::shared_ptr<Gate> StopGate(uint32_t device, uint32_t channel) {
    return Closed(driver_.With(device, channel, [](FakeDriver::Channel& c) { return c.stop_gate; }));
  }

  void BeginStart(ChannelRequest request) {
    const uint32_t stream = request.key.stream;
    hub().Start(std::move(request), [this, stream](base::Result<Started> result) {
      EXPECT_FALSE(started_[stream].has_value()) << "answered twice";
      started_[stream].emplace(std::move(result));
    });
  }
  base::Result<Started> Start(ChannelRequest request) {
    const uint32_t stream = request.key.stream;
    started_.erase(stream);
    BeginStart(std::move(request));
    EXPECT_TRUE(ctl_.RunUntil([&] { return started_[stream].has_value(); }));
    return started_[stream].value_or(base::Status(Code::kUnknown, "no answer"));
  }
  void BeginStop(uint32_t stream) {
    hub().Stop({1, stream},
               [this, stream](base::Status status) { stopped_[stream].emplace(std::move(status)); });
  }
  base::Status Stop(uint32_t stream) {
    stopped_.erase(stream);
    BeginStop(stream);
    EXPECT_TRUE(ctl_.RunUntil([&] { return stopped_[stream].has_value(); }));
    return stopped_[stream].value_or(base::Status(Code::kUnknown, "no answer"));
  }
  bool Records(uint32_t stream, uint64_t records) {
    return ctl_.RunUntil([&] { return writer_[stream].records >= records; });
  }
  uint32_t Stops(uint32_t device, uint32_t channel) {
    return driver_.With(device, channel, [](FakeDriver::Channel& c) { return c.stops; });
  }
  size_t Starts(uint32_t device, uint32_t channel) {
    return driver_.With(device, channel, [](FakeDriver::Channel& c) { return c.starts.size(); });
  }

  FakeCtl ctl_;
  FakeDriver driver_;
  FakeWriter writer_;
  HubOptions options_;
  std::map<uint32_t, chunk::StreamStatsPtr> stats_;
  std::map<uint32_t, std::optional<base::Result<Started>>> started_;
  std::map<uint32_t, std::optional<base::Status>> stopped_;
  std::map<uint32_t, std::vector<ChannelEvent>> events_;

 private:
  std::shared_ptr<Gate> Closed(std::shared_ptr<Gate> gate) {
    gate->Close();
    gates_.push_back(gate);
    return gate;
  }

  std::vector<std::shared_ptr<Gate>> gates_;
  std::unique_ptr<ChannelHub> hub_;
};

TEST_F(ChannelHubTest, AChannelIsStartedReadAndStopped) {
  const auto started = Start(Hbm(1));
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_EQ(started->period_ms, 20U);
  EXPECT_FALSE(started->shared || started->pending);
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(Records(1, 8));
  ASSERT_EQ(hub().Holdings().size(), 1U);
  EXPECT_EQ(hub().Holdings()[0].holder, "session 1 of alice");

  driver_.With(0, 1, [](FakeDriver::Channel& c) { c.at_stop = HbmPeriod(40'000, 2) + HbmPeriod(60'000, 3); });
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
  driver_.Deliver(0, 9, "3000:000000000 1 2\n");
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
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2));
  ChannelRequest other = Hbm(2);  // comes meanwhile, paired its clocks 200 ms later
  other.host_start_ns = pair_ns + 200 * kMs;
  other.device_start_ns += 200 * kMs;
  BeginStart(std::move(other));
  ctl_.RunFor(20 * kMs);
  EXPECT_EQ(driver_.With(0, 1, [](FakeDriver::Channel& c) { return c.reads; }), 0U);
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
  driver_.With(0, 1, [](FakeDriver::Channel& c) { c.start_code = driver::kOccupied; });
  const auto started = Start(Hbm(1));
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().code(), Code::kAborted);
  EXPECT_THAT(started.status().message(), HasSubstr("-10"));
  EXPECT_THAT(started.status().message(), HasSubstr("hbm"));
  EXPECT_TRUE(hub().Holdings().empty());
  driver_.With(0, 1, [](FakeDriver::Channel& c) { c.start_code = driver::kOk; });
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
  driver_.With(0, 1, [](FakeDriver::Channel& c) { c.stop_code = driver::kBiuLoss; });
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

  driver_.Deliver(0, 1, HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2) + HbmPeriod(60'000, 3));
  ASSERT_TRUE(Records(1, 24));
  ASSERT_TRUE(Records(2, 16));
  EXPECT_TRUE(writer_[1].bytes == HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2) + HbmPeriod(60'000, 3));
  EXPECT_TRUE(writer_[2].bytes == HbmPeriod(10'000, 2) + HbmPeriod(30'000, 3));
  EXPECT_EQ(hub().Holdings().size(), 2U);

  // The first goes, the other goes on.
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_EQ(Stops(0, 1), 0U);
  driver_.Deliver(0, 1, HbmPeriod(80'000, 4));
  ASSERT_TRUE(Records(2, 24));
  EXPECT_EQ(writer_[1].records, 24U);
  EXPECT_TRUE(Stop(2).ok());
  EXPECT_EQ(Stops(0, 1), 1U);
}

TEST_F(ChannelHubTest, ASlowerSessionGetsCombinedRecords) {
  ASSERT_TRUE(Start(Hbm(1, 20)).ok());
  const auto started = Start(Hbm(2, 105));
  ASSERT_TRUE(started.ok());
  EXPECT_EQ(started->period_ms, 100U);
  EXPECT_TRUE(started->shared);
  std::string stream;
  for (uint64_t i = 1; i <= 10; ++i) stream += HbmPeriod(20'000 * i, i);
  driver_.Deliver(0, 1, stream);
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
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1));
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

// -- a driver that hangs --

TEST_F(ChannelHubTest, ABlockedStartLeavesOtherChannelsAlone) {
  options_.queue_patience_ns = 5 * kMs;
  const auto gate = StartGate(0, 1);
  BeginStart(Hbm(1));
  ASSERT_TRUE(Start(Request(3, 0, 3, "pcie.data", "pcie", 20, {})).ok());  // behind it, on a spare thread
  ASSERT_TRUE(Start(Hbm(4, 20, 1)).ok());                                  // another device
  driver_.Deliver(1, 1, HbmPeriod(20'000, 1));
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
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1));
  const auto gate = StopGate(0, 1);
  EXPECT_EQ(Stop(1).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(writer_[1].records, 8U);
  driver_.Deliver(0, 1, HbmPeriod(40'000, 2));
  ctl_.RunFor(20 * kMs);
  EXPECT_EQ(writer_[1].records, 8U);  // nothing after `done`
  ASSERT_EQ(hub().Holdings().size(), 1U);
  EXPECT_THAT(hub().Holdings()[0].holder, HasSubstr("stuck"));
  driver_.With(0, 1, [](FakeDriver::Channel& c) { c.ring.clear(); });
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return hub().Holdings().empty(); }));
  EXPECT_TRUE(Start(Hbm(2)).ok());
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
    driver_.With(0, 135 + i, [&](FakeDriver::Channel& c) { c.at_stop = line; });
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

  driver_.With(0, 143, [](FakeDriver::Channel& c) { c.start_code = driver::kNoComputeProcess; });
  driver_.SetListed({1, 143});
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_[1].empty() && !events_[2].empty(); }));
  EXPECT_EQ(events_[1][0].what, What::kFailed);
  EXPECT_THAT(events_[1][0].reason, HasSubstr("115"));

  driver_.With(0, 143, [](FakeDriver::Channel& c) { c.start_code = driver::kOk; });
  ASSERT_TRUE(ctl_.RunUntil([&] { return events_[1].size() == 2 && events_[2].size() == 2; }));
  EXPECT_EQ(events_[1][1].what, What::kStarted);
  format::AiCpuRecord record{};
  record.magic = format::kReportMagic;
  ASSERT_TRUE(ctl_.RunUntil([&] {  // what comes before it has joined is not the second's
    driver_.Deliver(0, 143, Bytes(record));
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
  driver_.SetListed({143});
  ctl_.RunFor(20 * kMs);
  EXPECT_EQ(Starts(0, 143), 0U);
}

// -- channels of the vendor's process on the device --

TEST_F(ChannelHubTest, AProcessIsStartedOnceAndEndedWithTheLast) {
  const auto started = Start(OfProcess(1, {.system_ms = 100, .processes_ms = 200}));
  ASSERT_TRUE(started.ok());
  EXPECT_TRUE(started->pending);
  EXPECT_EQ(driver_.Processes(), (std::vector<driver::ProcessPara>{{.system_ms = 100, .processes_ms = 200}}));
  EXPECT_TRUE(Start(OfProcess(2, {.system_ms = 100}))->pending) << "a part of what runs";
  for (const driver::ProcessPara other :
       {driver::ProcessPara{.system_ms = 200}, driver::ProcessPara{.cpus_ms = 20}}) {
    const auto refused = Start(OfProcess(3, other));
    EXPECT_EQ(refused.status().code(), Code::kAlreadyExists);
    EXPECT_THAT(refused.status().message(), HasSubstr("session 1 of alice"));
  }
  driver_.SetListed({145});
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_[1].empty() && !events_[2].empty(); }));
  EXPECT_EQ(events_[1][0].what, What::kStarted);
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_EQ(driver_.OpenProcesses(), 1);
  EXPECT_TRUE(Stop(2).ok());
  EXPECT_EQ(Stops(0, 145), 1U);
  EXPECT_TRUE(ctl_.RunUntil([&] { return driver_.OpenProcesses() == 0; }));
  EXPECT_EQ(driver_.Processes().size(), 1U);
}

TEST_F(ChannelHubTest, AProcessThatCannotBeStartedIsARefusal) {
  driver_.RefuseProcesses({Code::kUnavailable, "there is no toolkit"});
  const auto refused = Start(OfProcess(1, {.system_ms = 100}));
  EXPECT_EQ(refused.status().code(), Code::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("there is no toolkit"));
  EXPECT_TRUE(hub().Holdings().empty());
  driver_.RefuseProcesses({});
  EXPECT_TRUE(Start(OfProcess(1, {.system_ms = 100}))->pending);
  EXPECT_TRUE(Stop(1).ok());
  EXPECT_EQ(driver_.OpenProcesses(), 0) << "also where the device has never listed its channel";
}

TEST_F(ChannelHubTest, AStopWhileTheProcessIsBeingStartedEndsIt) {
  driver_.process_gate().Close();
  BeginStart(OfProcess(1, {.system_ms = 100}));
  ASSERT_TRUE(ctl_.RunUntil([&] { return driver_.process_gate().waiting() > 0; }));
  BeginStop(1);
  ctl_.RunFor(5 * kMs);
  EXPECT_FALSE(stopped_[1].has_value());
  driver_.process_gate().Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return stopped_[1].has_value(); }));
  EXPECT_EQ(driver_.OpenProcesses(), 0);
  EXPECT_TRUE(hub().Holdings().empty());
}

TEST_F(ChannelHubTest, AProcessThatAnswersTooLateIsEnded) {
  options_.driver_timeout_ns = 20 * kMs;
  driver_.process_gate().Close();
  EXPECT_EQ(Start(OfProcess(1, {.system_ms = 100})).status().code(), Code::kDeadlineExceeded);
  driver_.process_gate().Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return hub().Holdings().empty(); }));
  EXPECT_EQ(driver_.OpenProcesses(), 0);
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
  driver_.SetStatus(4);
  ASSERT_TRUE(ctl_.RunUntil([&] { return !events_[1].empty(); }));
  EXPECT_EQ(events_[1][0].what, What::kFailed);
  EXPECT_THAT(events_[1][0].reason, HasSubstr("lost"));
  driver_.SetStatus(1);
  ASSERT_TRUE(ctl_.RunUntil([&] { return events_[1].size() > 1; }));
  EXPECT_EQ(events_[1].size(), 2U);
  EXPECT_EQ(events_[1][1].what, What::kRecovered);
}

// -- ends --

TEST_F(ChannelHubTest, TheEndMarkFollowsTheLastChunk) {
  ASSERT_TRUE(Start(Hbm(1)).ok());
  driver_.With(0, 1, [](FakeDriver::Channel& c) { c.at_stop = HbmPeriod(20'000, 1); });
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
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1));
  driver_.Deliver(1, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(Records(1, 8));
  ASSERT_TRUE(ctl_.RunUntil([&] { return other[2].records == 8; }));
  EXPECT_TRUE(Stop(2).ok());  // its pipe goes before the hub
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

TEST_F(ChannelHubTest, PeekShowsTheNewestRecordsAndWhatTheyAre) {
  options_.keep_tails = true;
  ASSERT_TRUE(Start(Hbm(1)).ok());
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2));
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
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(Records(1, 8));
  EXPECT_TRUE(Peek().empty());
}

TEST_F(ChannelHubTest, WhatIsHeldForItsNewestRecordsYieldsToASessionAtItsOwnRate) {
  options_.keep_tails = true;
  ASSERT_TRUE(Start(Held(7, 1000)).ok());
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1));
  ASSERT_TRUE(ctl_.RunUntil([&] { return driver_.Empty(0, 1); }));
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
  driver_.Deliver(0, 1, HbmPeriod(20'000, 1));
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
