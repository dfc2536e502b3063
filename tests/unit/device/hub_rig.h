// A hub with a driver that does as it is told, and what comes of its sessions.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/device/channel_hub.h"
#include "fakes.h"
#include "format/records/packed.h"

namespace profd::device {

inline constexpr uint64_t kMs = 1'000'000;
using base::Code;

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
    return Closed(driver_->With(device, channel, [](FakeDriver::Channel& c) { return c.start_gate; }));
  }
  std::shared_ptr<Gate> StopGate(uint32_t device, uint32_t channel) {
    return Closed(driver_->With(device, channel, [](FakeDriver::Channel& c) { return c.stop_gate; }));
  }
  std::shared_ptr<Gate> ReadGate(uint32_t device, uint32_t channel) {
    const auto gate = Closed(std::make_shared<Gate>());
    driver_->With(device, channel, [&](FakeDriver::Channel& c) { c.read_gate = gate; });
    return gate;
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
  void BeginStop(uint32_t stream, uint32_t heir = 0) {
    std::optional<format::StreamKey> to;
    if (heir != 0) to = {1, heir};
    hub().Stop(
        {1, stream}, [this, stream](base::Status status) { stopped_[stream].emplace(std::move(status)); },
        to);
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
    return driver_->With(device, channel, [](FakeDriver::Channel& c) { return c.stops; });
  }
  size_t Starts(uint32_t device, uint32_t channel) {
    return driver_->With(device, channel, [](FakeDriver::Channel& c) { return c.starts.size(); });
  }

  FakeCtl ctl_;
  std::shared_ptr<FakeDriver> driver_ = std::make_shared<FakeDriver>();
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

}  // namespace profd::device
