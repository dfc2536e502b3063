// Every fault of the list: generic ones per call, and the named ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "format/records/device.h"
#include "sim/scenario/clock.h"
#include "sim/scenario/producers/channel_ids.h"
#include "tests/unit/sim/sim_library.h"

namespace profd::sim {
namespace {

constexpr uint64_t kRingData = (4U << 20) - 4096;

uint64_t Number(const nlohmann::json& object, const char* key) { return object[key].get<uint64_t>(); }

void ExpectBalanced(const nlohmann::json& stop) {
  EXPECT_EQ(Number(stop, "generated_bytes"), Number(stop, "delivered_bytes") + Number(stop, "dropped_bytes") +
                                                 Number(stop, "overwritten_bytes") +
                                                 Number(stop, "discarded_bytes"));
}

TEST(CallFaults, ReturnTheirCode) {
  const SimLibrary sim(R"(
faults:
  - {call: get_channels, device: 1, ret: 16}
  - {call: start, channel: 3, ret: -10}
  - {call: start, channel: 4, ret: 0xfffe}
  - {call: stop, channel: 9, ret: 7}
  - {call: read, channel: 9, ret: -1}
  - {call: flush, ret: 16}
  - {call: status, device: 1, ret: 7}
  - {call: info, device: 1, ret: 46}
)");
  ChannelList list{};
  char byte;
  uint32_t waiting = 0, status = 0;
  int64_t value = 0;
  EXPECT_EQ(sim.GetChannels(0, &list), 0);
  EXPECT_EQ(sim.GetChannels(1, &list), 16);
  EXPECT_EQ(sim.Start(0, 3), -10);
  EXPECT_EQ(sim.Stop(0, 3), code::kStatusFail) << "nothing to undo after a failed start";
  EXPECT_EQ(sim.Start(0, 4), 0xfffe);
  ASSERT_EQ(sim.Start(0, 9), 0);
  EXPECT_EQ(sim.Read(0, 9, &byte, 1), -1);
  EXPECT_EQ(sim.Stop(0, 9), 7);
  EXPECT_EQ(sim.Stop(0, 9), code::kStatusFail) << "whatever the device said, the channel has ended";
  ASSERT_EQ(sim.Start(0, channel::kTsfw, 0, AnyPayload(channel::kTsfw)), 0);
  EXPECT_EQ(sim.Flush(0, channel::kTsfw, &waiting), 16);
  sim.StopDraining(0, channel::kTsfw);
  const auto ask = sim.Call<int(uint32_t, uint32_t*)>("drvDeviceStatus");
  EXPECT_EQ(ask(0, &status), 0);
  EXPECT_EQ(ask(1, &status), 7);
  EXPECT_EQ(sim.Info(1, module::kSystem, info::kVersion, &value), 46);
}

TEST(CallFaults, OnesAreAnAnswer) {
  const SimLibrary sim("faults:\n  - {call: start, ones: true}\n  - {call: info, ones: true}\n");
  int64_t value = 0;
  EXPECT_EQ(sim.Info(0, module::kSystem, info::kVersion, &value), 0);
  EXPECT_EQ(value, -1);
  ASSERT_EQ(sim.Start(0, 9), 0);  // nothing has begun
  char byte;
  EXPECT_EQ(sim.Read(0, 9, &byte, 1), 0);
  EXPECT_EQ(sim.Stop(0, 9), 0);
}

TEST(CallFaults, TimetableAndCount) {
  const SimLibrary sim(R"(
faults:
  - {call: start, channel: 3, ret: -11, times: 2}
  - {call: start, channel: 4, ret: 40, at_s: 3, for_s: 3}
)");
  EXPECT_EQ(sim.Start(0, 3), -11);
  EXPECT_EQ(sim.Start(1, 3), -11);
  EXPECT_EQ(sim.Start(0, 3), 0);
  const auto try_start = [&] {
    const int result = sim.Start(0, 4);
    if (result == 0) sim.StopDraining(0, 4);
    return result;
  };
  EXPECT_EQ(try_start(), 0) << "not yet";
  Until(try_start, 40);
  Until(try_start, 0);
  sim.StopDraining(0, 3);
}

TEST(CallFaults, OnlyWhileTheirFileIsThere) {
  const SimLibrary sim(R"(
faults:
  - {call: start, channel: 3, ret: -11, while: $DIR/held}
  - {call: start, channel: 4, delay_ms: 600000, while: $DIR/held}
)");
  const std::string file = sim.folder() + "/held";
  ASSERT_EQ(sim.Start(0, 3), 0);
  sim.StopDraining(0, 3);
  std::ofstream(file).put('!');
  EXPECT_EQ(sim.Start(0, 3), -11);
  std::thread remover([&file] {
    SleepMs(50);  // the start is waiting by then; if it is not, it has nothing to wait for
    std::filesystem::remove(file);
  });
  EXPECT_EQ(sim.Start(0, 4), 0);
  remover.join();
  sim.StopDraining(0, 4);
  ASSERT_EQ(sim.Start(0, 3), 0);
  sim.StopDraining(0, 3);
}

TEST(CallFaults, PollFails) {
  const SimLibrary sim("faults: [{call: poll, ret: -1, times: 1}]");
  std::vector<PollInfo> ready;
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  EXPECT_EQ(sim.Poll(ready, 6, 1), -1);
  EXPECT_EQ(sim.Poll(ready, 6, 1), 1);
  sim.StopDraining(0, 1);
}

TEST(CallFaults, DelaysAreReal) {
  const SimLibrary sim(
      "faults: [{name: start_no_reply, channel: 3, delay_ms: 200}, {name: list_stall, delay_ms: 250}]");
  uint64_t before = RawNs();
  EXPECT_EQ(sim.Start(0, 3), code::kWaitTimeout);
  EXPECT_GE(RawNs() - before, 200'000'000U);
  before = RawNs();
  ChannelList list{};
  EXPECT_EQ(sim.GetChannels(0, &list), 0);
  EXPECT_GE(RawNs() - before, 250'000'000U);
}

TEST(NamedFaults, StopStallKeepsDelivering) {
  const SimLibrary sim("truth: $DIR/truth\nfaults: [{name: stop_stall, channel: 1, delay_ms: 300}]");
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  ASSERT_EQ(sim.Start(0, 3, 10), 0);
  const std::string bytes = sim.StopDraining(0, 1);
  EXPECT_GE(bytes.size(), 20 * 8 * sizeof(format::HbmRecord)) << "the device samples until it answers";
  EXPECT_GT(sim.Drain(0, 3).size(), 0U) << "other channels go on";
  sim.StopDraining(0, 3);
  ExpectBalanced(sim.Event("stop", 0, 1));
}

TEST(NamedFaults, DeviceLost) {
  const SimLibrary sim("truth: $DIR/truth\nfaults: [{name: device_lost, at_s: 3, for_s: 3, device: 0}]");
  constexpr uint32_t kWorking = 1, kLost = 4;
  const auto status = [&] {
    uint32_t value = 0;
    EXPECT_EQ(sim.Call<int(uint32_t, uint32_t*)>("drvDeviceStatus")(0, &value), 0);
    return value;
  };
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  ASSERT_EQ(sim.Start(1, 1, 10, HbmPayload()), 0);
  EXPECT_GT(sim.ReadAtLeast(0, 1, 192).size(), 0U);
  Until(status, kLost);
  ChannelList list{};
  EXPECT_NE(sim.GetChannels(0, &list), 0);
  EXPECT_NE(sim.Start(0, 3), 0);
  Until(status, kWorking);
  char buffer[256];
  EXPECT_EQ(sim.Read(0, 1, buffer, sizeof buffer), 0) << "what was started before stays silent";
  EXPECT_GT(sim.Drain(1, 1).size(), 0U) << "the other device never noticed";
  EXPECT_EQ(sim.Stop(0, 1), 0);
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  EXPECT_GT(sim.ReadAtLeast(0, 1, 192).size(), 0U);
  sim.StopDraining(0, 1);
  sim.StopDraining(1, 1);
  ExpectBalanced(sim.Event("stop", 0, 1));
}

TEST(NamedFaults, RingOverwriteTakesWholeRings) {
  const SimLibrary sim("truth: $DIR/truth\nfaults: [{name: ring_overwrite, channel: 1}]");
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  SleepMs(60);
  sim.Drain(0, 1);
  sim.StopDraining(0, 1);
  const auto stop = sim.Event("stop", 0, 1);
  EXPECT_EQ(Number(stop, "overwritten_bytes"), kRingData);
  EXPECT_GT(Number(stop, "generated_bytes"), kRingData);
  EXPECT_TRUE(stop["crc32"].is_null());
  ExpectBalanced(stop);
}

TEST(NamedFaults, RingDropKeepsWhatIsInTheRing) {
  const SimLibrary sim("chip: 950\ntruth: $DIR/truth\nfaults: [{name: ring_drop, channel: 1}]");
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  SleepMs(60);
  std::string bytes = sim.Drain(0, 1);
  bytes += sim.StopDraining(0, 1);
  EXPECT_EQ(bytes.size() % 192, 0U) << "only whole samples are dropped";
  EXPECT_GE(bytes.size(), kRingData - 192);
  const auto stop = sim.Event("stop", 0, 1);
  EXPECT_GT(Number(stop, "dropped_records"), 0U);
  EXPECT_EQ(Number(stop, "dropped_records") * sizeof(format::HbmRecord), Number(stop, "dropped_bytes"));
  EXPECT_EQ(Number(stop, "overwritten_bytes"), 0U);
  ExpectBalanced(stop);
}

TEST(NamedFaults, LostSlotsAreTenSamples) {
  const SimLibrary sim("truth: $DIR/truth\nfaults: [{name: lose_slots, at_s: 0.2, channel: 1}]");
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  SleepMs(500);
  const std::string bytes = sim.Drain(0, 1) + sim.StopDraining(0, 1);
  const auto stop = sim.Event("stop", 0, 1);
  EXPECT_EQ(Number(stop, "dropped_records"), 10U * 8);
  ExpectBalanced(stop);
  std::set<uint64_t> missing;
  for (const auto& sample : sim.Samples(0, 1)) {
    if (sample.value("dropped", false)) missing.insert(Number(sample, "stamp"));
  }
  ASSERT_EQ(missing.size(), 10U);
  EXPECT_EQ(*missing.rbegin() - *missing.begin(), 9 * 10'000U) << "in a row";
  for (const auto& record : Records<format::HbmRecord>(bytes)) EXPECT_EQ(missing.count(record.time_us), 0U);
}

TEST(NamedFaults, PollSpurious) {
  const SimLibrary sim("faults: [{name: poll_spurious, times: 3}]");
  std::vector<PollInfo> ready;
  ASSERT_EQ(sim.Start(0, 3, 10'000), 0);
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sim.Poll(ready, 6, 5), 0);
  EXPECT_EQ(sim.Poll(ready, 6, 5), 1);
  sim.StopDraining(0, 1);
  sim.StopDraining(0, 3);
}

TEST(NamedFaults, ClockStepStretchesAPoll) {
  const SimLibrary sim("faults: [{name: clock_step, step_s: 1.5, times: 1}]");
  std::vector<PollInfo> ready;
  ASSERT_EQ(sim.Start(0, 3, 10'000), 0);
  const uint64_t before = RawNs();
  EXPECT_EQ(sim.Poll(ready, 6, 1), 0);
  EXPECT_GE(RawNs() - before, 2'400'000'000U);
  sim.StopDraining(0, 3);
}

TEST(NamedFaults, BiuLossIsReportedAtStopAndTheDataStay) {
  const SimLibrary sim("faults: [{name: biu_loss}]");
  ASSERT_EQ(sim.Start(0, 11, 0, AnyPayload(11)), 0);
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  SleepMs(50);
  int result = 0;
  const std::string bytes = sim.Drain(0, 11) + sim.StopDraining(0, 11, &result);
  EXPECT_EQ(result, code::kBiuLoss);
  EXPECT_GT(bytes.size(), 0U);
  sim.StopDraining(0, 1);  // not a BIU channel: 0
}

TEST(NamedFaults, NoComputeProcessConcernsTheTaskScheduler) {
  const SimLibrary sim("faults: [{name: no_compute_process}]");
  EXPECT_EQ(sim.Start(0, channel::kTscpu, 10, AnyPayload(channel::kTscpu)), code::kNoComputeProcess);
  EXPECT_EQ(sim.Start(0, channel::kStarsLog, 0, AnyPayload(channel::kStarsLog)), code::kNoComputeProcess);
  EXPECT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  sim.StopDraining(0, 1);
}

TEST(NamedFaults, PermissionLooksLikeOnARealNode) {
  for (const int ret : {7, 87, 1}) {
    const SimLibrary sim("faults: [{name: permission, ret: " + std::to_string(ret) + "}]");
    uint32_t count = 0;
    ChannelList list{};
    EXPECT_EQ(sim.Call<int(uint32_t*)>("drvGetDevNum")(&count), ret);
    EXPECT_EQ(sim.GetChannels(0, &list), 3);
    EXPECT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0xfffe);
  }
}

}  // namespace
}  // namespace profd::sim
