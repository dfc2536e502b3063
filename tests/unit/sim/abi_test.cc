// The vendor's interface: names, argument checks, states, lists, payloads, periods, clocks (rules 1–5, 7–11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include "format/records/device.h"
#include "sim/hal/variant.h"
#include "sim/scenario/chip.h"
#include "sim/scenario/clock.h"
#include "sim/scenario/producers/channel_ids.h"
#include "tests/unit/sim/sim_library.h"

// The objects under test are linked in for their pure parts; this is the one name that each library defines
// itself.
const uint32_t profd::sim::kLibraryApiVersion = 0;

namespace profd::sim {
namespace {

using ::testing::ElementsAre;

constexpr const char* kAlways[] = {"prof_drv_get_channels", "prof_drv_start",     "prof_stop",
                                   "prof_channel_read",     "prof_channel_poll",  "drvGetDevNum",
                                   "drvGetDevIDs",          "drvGetPlatformInfo", "drvDeviceStatus",
                                   "halGetAPIVersion",      "halGetDeviceInfo",   "drvDeviceGetPhyIdByIndex"};
constexpr const char* kOptional[] = {
    "halProfDataFlush",      "halGetDeviceInfoByBuff",  "halGetChipInfo",          "drvGetDeviceSplitMode",
    "halProfSampleRegister", "halProfSampleRegisterEx", "halProfQueryAvailBufLen", "halProfSampleDataReport",
    "halEschedAttachDevice", "halEschedDettachDevice",  "halEschedCreateGrpEx",    "halEschedSubscribeEvent",
    "halEschedWaitEvent",    "halEschedSubmitEvent",    "halEschedQueryInfo",      "halQueryDevpid"};

TEST(Rule1Names, CurrentLibraryHasAllOldLacksTheOptionalEmptyHasNone) {
  const SimLibrary current("");
  const SimLibrary old("", SimLibrary::kOld);
  const SimLibrary empty("", SimLibrary::kEmpty);
  for (const char* name : kAlways) {
    EXPECT_NE(current.Symbol(name), nullptr) << name;
    EXPECT_NE(old.Symbol(name), nullptr) << name;
    EXPECT_EQ(empty.Symbol(name), nullptr) << name;
  }
  for (const char* name : kOptional) {
    EXPECT_NE(current.Symbol(name), nullptr) << name;
    EXPECT_EQ(old.Symbol(name), nullptr) << name;
    EXPECT_EQ(empty.Symbol(name), nullptr) << name;
  }
}

int ApiVersion(const SimLibrary& sim) {
  int version = 0;
  EXPECT_EQ(sim.Call<int(int*)>("halGetAPIVersion")(&version), 0);
  return version;
}

TEST(Rule1Names, ApiVersionIsTheLibrarysOrTheConfigured) {
  EXPECT_EQ(ApiVersion(SimLibrary("")), 0x07241a);
  EXPECT_EQ(ApiVersion(SimLibrary("", SimLibrary::kOld)), 0x071904);
  const SimLibrary sim("api_version: 0x072315\nlate_channels: {ids: [143]}");
  EXPECT_EQ(ApiVersion(sim), 0x072315);
  EXPECT_EQ(sim.Start(0, channel::kAicpu), code::kNotSupported) << "process channels came with 0x072316";
}

TEST(Rule2States, ArgumentsAreChecked) {
  const SimLibrary sim("");
  ChannelList list{};
  char byte;
  uint32_t waiting = 77;
  EXPECT_EQ(sim.GetChannels(64, &list), code::kInvalidValue);
  EXPECT_EQ(sim.GetChannels(0, nullptr), code::kInvalidValue);
  EXPECT_EQ(sim.Start(64, 1, 10, HbmPayload()), code::kInvalidValue);
  EXPECT_EQ(sim.Start(0, 160, 10), code::kInvalidValue);
  EXPECT_EQ(sim.Call<int(unsigned, unsigned, StartPara*)>("prof_drv_start")(0, 1, nullptr),
            code::kInvalidValue);
  StartPara no_data{
      .channel_type = 1, .sample_period_ms = 10, .real_time = 1, .user_data = nullptr, .user_data_size = 8};
  EXPECT_EQ(sim.Call<int(unsigned, unsigned, StartPara*)>("prof_drv_start")(0, 1, &no_data),
            code::kInvalidValue);
  EXPECT_EQ(sim.Stop(64, 1), code::kInvalidValue);
  EXPECT_EQ(sim.Stop(0, 160), code::kInvalidValue);
  EXPECT_EQ(sim.Read(64, 1, &byte, 1), code::kError);
  EXPECT_EQ(sim.Read(0, 160, &byte, 1), code::kError);
  EXPECT_EQ(sim.Read(0, 1, nullptr, 1), code::kError);
  EXPECT_EQ(sim.Flush(64, 44, &waiting), code::kInvalidValue);
  EXPECT_EQ(sim.Flush(0, 44, nullptr), code::kInvalidValue);
  EXPECT_EQ(sim.Call<int(uint32_t*)>("drvGetDevNum")(nullptr), code::kInvalidValue);
  EXPECT_EQ(sim.Call<int(uint32_t*)>("drvGetPlatformInfo")(nullptr), code::kInvalidHandle);
  EXPECT_EQ(waiting, 77U);
}

TEST(Rule2States, WalkThroughThem) {
  const SimLibrary sim("");
  char buffer[256];
  uint32_t waiting = 0;
  EXPECT_EQ(sim.Read(0, 1, buffer, sizeof buffer), code::kStoppedAlready);
  EXPECT_EQ(sim.Stop(0, 1), code::kStatusFail);
  EXPECT_EQ(sim.Flush(0, 44, &waiting), code::kStoppedAlready);
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  EXPECT_EQ(sim.Start(0, 1, 10, HbmPayload()), code::kStatusFail);
  EXPECT_GE(sim.Read(0, 1, buffer, sizeof buffer), 0);
  sim.StopDraining(0, 1);
  EXPECT_EQ(sim.Stop(0, 1), code::kStatusFail);
  EXPECT_EQ(sim.Read(0, 1, buffer, sizeof buffer), code::kStoppedAlready);
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0) << "a stopped channel starts again";
  sim.StopDraining(0, 1);
}

TEST(Rule2States, StopOfAStoppingChannelAndStartOfItAreBusy) {
  const SimLibrary sim("faults: [{call: stop, channel: 1, delay_ms: 3000}]");
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  std::thread stopper([&] { sim.StopDraining(0, 1); });
  uint32_t waiting = 0;
  Until([&] { return sim.Flush(0, 1, &waiting); }, code::kStatusFail);
  EXPECT_EQ(sim.Stop(0, 1), code::kStatusFail);
  EXPECT_EQ(sim.Start(0, 1, 10, HbmPayload()), code::kStatusFail);
  stopper.join();
}

TEST(Rule2States, AbsentDevice) {
  const SimLibrary sim("devices: 1");
  ChannelList list{};
  char byte;
  uint32_t waiting = 0;
  EXPECT_NE(sim.GetChannels(1, &list), 0);
  EXPECT_EQ(sim.Start(1, 1, 10, HbmPayload()), code::kNotSupported);
  EXPECT_EQ(sim.Read(1, 1, &byte, 1), code::kStoppedAlready);
  EXPECT_EQ(sim.Flush(1, 1, &waiting), code::kStoppedAlready);
  EXPECT_EQ(sim.Stop(1, 1), code::kStatusFail);
}

TEST(Rule2States, LongPayloadsAndUnknownChannels) {
  const SimLibrary hdc("");
  const SimLibrary ub("chip: 950");
  const std::string long_payload(129, 'x');
  EXPECT_EQ(hdc.Start(0, 7, 10, HbmPayload()), code::kNotSupported) << "a 910B has no DDR channel";
  EXPECT_EQ(hdc.Start(0, 1, 10, long_payload), code::kMemoryOptFail);
  EXPECT_EQ(ub.Start(0, 1, 10, long_payload), code::kInner);
}

TEST(Rule2States, FlushKnowsItsChannels) {
  const SimLibrary sim("");
  uint32_t waiting = 77;
  ASSERT_EQ(sim.Start(0, channel::kHbm, 10, HbmPayload()), 0);
  EXPECT_EQ(sim.Flush(0, channel::kHbm, &waiting), code::kNotSupported);
  EXPECT_EQ(waiting, 77U) << "not written on error";
  ASSERT_EQ(sim.Start(0, channel::kModuleMem, 10, AnyPayload(channel::kModuleMem)), 0);
  SleepMs(30);
  ASSERT_EQ(sim.Flush(0, channel::kModuleMem, &waiting), 0);
  EXPECT_GT(waiting, 0U);
  EXPECT_GE(sim.Drain(0, channel::kModuleMem).size(), waiting);
  sim.StopDraining(0, channel::kHbm);
  sim.StopDraining(0, channel::kModuleMem);
}

TEST(Rule3Lists, OnlyCountAndIdsAreWritten) {
  const SimLibrary sim("");
  ChannelList list;
  std::memset(&list, 0xEE, sizeof list);
  ASSERT_EQ(sim.GetChannels(0, &list), 0);
  EXPECT_EQ(list.chip_type, 0xEEEEEEEE);
  for (uint32_t i = 0; i < list.channel_num; ++i) {
    EXPECT_EQ(list.channel[i].type, 0xEEEEEEEE);
    EXPECT_EQ(static_cast<unsigned char>(list.channel[i].name[0]), 0xEE);
    EXPECT_NE(list.channel[i].id, 0xEEEEEEEE);
    if (i > 0) {
      EXPECT_GT(list.channel[i].id, list.channel[i - 1].id);
    }
  }
  EXPECT_EQ(list.channel[list.channel_num].id, 0xEEEEEEEE);
}

TEST(Rule3Lists, PresetsPerChip) {
  const SimLibrary sim(
      "devices: [{chip: 310}, {chip: 910}, {chip: 310P}, {chip: 910B}, {chip: 310B}, {chip: 950}]");
  EXPECT_THAT(sim.Channels(0), ElementsAre(4, 6, 7, 10, 43, 44, 130, 131, 142));
  EXPECT_THAT(sim.Channels(1), ElementsAre(1, 3, 4, 6, 7, 8, 9, 10, 43, 44, 45, 46, 47, 129, 130, 131, 132,
                                           133, 134, 135, 136, 137, 138, 139, 140, 141, 142));
  EXPECT_THAT(sim.Channels(2),
              ElementsAre(3, 7, 8, 10, 43, 44, 45, 46, 47, 130, 131, 134, 135, 136, 137, 138, 139, 142));
  EXPECT_THAT(sim.Channels(4),
              ElementsAre(4, 6, 7, 8, 10, 44, 47, 50, 52, 53, 54, 130, 131, 132, 134, 135, 137, 142));
  std::vector<uint32_t> a2;
  for (uint32_t id = 1; id <= 142; ++id) {
    const bool gap = id >= 99 && id <= 128;
    constexpr uint32_t kAbsent[] = {2, 5, 7, 43, 45, 46, 48, 49, 51, 85};
    if (!gap && std::find(std::begin(kAbsent), std::end(kAbsent), id) == std::end(kAbsent)) a2.push_back(id);
  }
  EXPECT_EQ(sim.Channels(3), a2);
  std::vector<uint32_t> a5 = a2;
  for (const uint32_t id : {146, 147, 148, 149, 151}) a5.push_back(id);
  EXPECT_EQ(sim.Channels(5), a5);
}

TEST(Rule4Periods, LimitsDependOnTheDriversAge) {
  const SimLibrary sim("devices: [{chip: 910B}, {chip: 910}]");
  EXPECT_NE(sim.Start(0, 1, 0, HbmPayload()), 0);
  EXPECT_NE(sim.Start(0, 1, 9, HbmPayload()), 0);
  EXPECT_NE(sim.Start(0, 1, 10'001, HbmPayload()), 0);
  EXPECT_EQ(sim.Start(0, channel::kModuleMem, 9, AnyPayload(channel::kModuleMem)), code::kInvalidValue);
  ASSERT_EQ(sim.Start(0, 1, 10'000, HbmPayload()), 0);
  EXPECT_NE(sim.Start(1, 1, 0, HbmPayload()), 0);
  ASSERT_EQ(sim.Start(1, 1, 1, HbmPayload()), 0);
  ASSERT_EQ(sim.Start(0, channel::kTsfw, 0, AnyPayload(channel::kTsfw)), 0) << "not a periodic channel";
  sim.StopDraining(0, 1);
  sim.StopDraining(1, 1);
  sim.StopDraining(0, channel::kTsfw);
}

TEST(Rule4Periods, OneSamplePerTickOnTheGrid) {
  const SimLibrary sim("");
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  const std::string bytes = sim.ReadAtLeast(0, 1, 12 * 8 * sizeof(format::HbmRecord));
  sim.StopDraining(0, 1);
  const auto records = Records<format::HbmRecord>(bytes);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].time_us, (i / 8 + 1) * 10'000);
    EXPECT_EQ(records[i].event, i % 8 / 4);
    EXPECT_EQ(records[i].hbm_id, i % 4);
  }
}

TEST(Rule4Periods, TextStartsWithItsHeader) {
  const SimLibrary sim("");
  for (const uint32_t id :
       {channel::kHccs, channel::kNic, channel::kRoce, channel::kDvpp, channel::kDvppVenc}) {
    ASSERT_EQ(sim.Start(0, id), 0);
    const auto lines = Lines(sim.ReadAtLeast(0, id, 600));
    sim.StopDraining(0, id);
    EXPECT_THAT(lines[0], testing::StartsWith("time_stamp(s):time_stamp(ns) ")) << id;
    EXPECT_THAT(lines[1], testing::MatchesRegex("[0-9]+:[0-9]{9} .*")) << id;
    EXPECT_THAT(lines[2], testing::MatchesRegex("[0-9]+:[0-9]{9} .*")) << id;
  }
}

TEST(Rule5Stream, ReadsOfAnySizeGiveTheSameBytes) {
  const SimLibrary sim("truth: $DIR/truth");
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  std::string bytes = sim.ReadAtLeast(0, 1, 20 * 8 * sizeof(format::HbmRecord), /*piece=*/7);
  bytes += sim.StopDraining(0, 1);
  EXPECT_EQ(bytes.size() % sizeof(format::HbmRecord), 0U);
  const auto stop = sim.Event("stop", 0, 1);
  EXPECT_EQ(stop["generated_bytes"], bytes.size());
  EXPECT_EQ(stop["delivered_bytes"], bytes.size());
}

TEST(Rule5Stream, ZeroSizedBufferIsAnErrorOnceDataWaits) {
  const SimLibrary sim("");
  char byte;
  ASSERT_EQ(sim.Start(0, 1, 1000, HbmPayload()), 0);
  EXPECT_EQ(sim.Read(0, 1, &byte, 0), 0);
  Until([&] { return sim.Read(0, 1, &byte, 0); }, code::kError);
  sim.StopDraining(0, 1);
}

TEST(Rule5Stream, RingsAreMappingsThatSmapsTellsApart) {
  const SimLibrary sim("late_channels: {ids: [143]}");
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  ASSERT_EQ(sim.Start(0, channel::kAicpu), 0);
  std::vector<uint64_t> kib;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("sim-ring") == std::string::npos) continue;
    size_t dash = 0;
    const uint64_t begin = std::stoull(line, &dash, 16);
    kib.push_back((std::stoull(line.substr(dash + 1), nullptr, 16) - begin) / 1024);
  }
  EXPECT_THAT(kib, testing::UnorderedElementsAre(4096, 8192));
  sim.StopDraining(0, 1);
  sim.StopDraining(0, channel::kAicpu);
}

TEST(Rule7Stop, DrainsWhatIsReadAndDiscardsTheRest) {
  const SimLibrary sim("truth: $DIR/truth");
  for (const bool read : {true, false}) {
    ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
    SleepMs(50);
    if (read) {
      sim.StopDraining(0, 1);
    } else {
      EXPECT_EQ(sim.Stop(0, 1), 0);
    }
    const auto stop = sim.Event("stop", 0, 1);
    EXPECT_GT(stop["generated_bytes"], 0);
    EXPECT_EQ(stop["delivered_bytes"], read ? stop["generated_bytes"].get<uint64_t>() : 0);
    EXPECT_EQ(stop["discarded_bytes"], read ? 0 : stop["generated_bytes"].get<uint64_t>());
    EXPECT_EQ(stop["crc32"].is_null(), !read);
  }
}

TEST(Rule8Payloads, FormsOfAllAges) {
  const SimLibrary sim("devices: [{chip: 910B}, {chip: 950}, {chip: 910}]");
  struct Case {
    uint32_t device, channel;
    size_t size;
    bool accepted;
  };
  for (const auto& [device, id, size, accepted] : std::vector<Case>{{0, channel::kStarsLog, 36, true},
                                                                    {0, channel::kStarsLog, 40, true},
                                                                    {0, channel::kStarsLog, 44, true},
                                                                    {0, channel::kStarsLog, 48, false},
                                                                    {0, channel::kStarsProfile, 48, true},
                                                                    {0, channel::kStarsProfile, 56, true},
                                                                    {0, channel::kStarsProfile, 84, true},
                                                                    {0, channel::kStarsProfile, 60, false},
                                                                    {0, 11, 8, true},
                                                                    {0, 98, 16, true},
                                                                    {0, 84, 17, true},
                                                                    {0, 11, 4, false},
                                                                    {0, channel::kLlc, 12, false},
                                                                    {0, channel::kPcie, 4, false},
                                                                    {1, 147, 0, true},
                                                                    {1, 147, 4, false},
                                                                    {2, channel::kHwts, 4, true},
                                                                    {2, channel::kHwts, 0, false}}) {
    const int result = sim.Start(device, id, 10, std::string(size, '\0'));
    EXPECT_EQ(result == 0, accepted) << "channel " << id << ", " << size << " bytes";
    if (result == 0) sim.StopDraining(device, id);
  }
  std::string core = CorePayload(10);
  EXPECT_EQ(sim.Start(0, channel::kFftsSample, 0, core), 0);
  EXPECT_NE(sim.Start(1, channel::kFftsSample, 0, core), 0) << "the 950 wants 88 bytes";
  core.resize(88);
  EXPECT_EQ(sim.Start(1, channel::kFftsSample, 0, core), 0);
  std::string events_missing = HbmPayload();
  events_missing.resize(16);
  EXPECT_NE(sim.Start(0, channel::kHbm, 10, events_missing), 0);
  sim.StopDraining(0, channel::kFftsSample);
  sim.StopDraining(1, channel::kFftsSample);
}

TEST(Rule8Payloads, AreRecorded) {
  const SimLibrary sim("truth: $DIR/truth");
  ASSERT_EQ(sim.Start(1, channel::kLlc, 20, Words({20, 2})), 0);
  sim.StopDraining(1, channel::kLlc);
  const auto start = sim.Event("start", 1, channel::kLlc);
  EXPECT_EQ(start["user_data"], "1400000002000000");
  EXPECT_EQ(start["period_ms"], 20);
}

TEST(Rule9Late, ProcessChannelsAppearAfterTheirDelay) {
  const SimLibrary sim("late_channels: {delay_s: 3, ids: [143, 145]}");
  EXPECT_THAT(sim.Channels(0), testing::Not(testing::Contains(143)));
  EXPECT_EQ(sim.Start(0, channel::kAicpu), code::kNotSupported);
  Until([&] { return sim.Start(0, channel::kAicpu); }, 0);
  sim.StopDraining(0, channel::kAicpu);
  EXPECT_THAT(sim.Channels(0), testing::IsSupersetOf({143, 145}));
  EXPECT_THAT(sim.Channels(0), testing::Not(testing::Contains(144)));
  EXPECT_EQ(sim.Start(0, channel::kAicpu, 10, std::string(9, 'x')), code::kMemoryOptFail);
  ASSERT_EQ(sim.Start(0, channel::kAicpu), 0);
  sim.StopDraining(0, channel::kAicpu);
}

TEST(Rule9Late, TheEventSchedulerTellsOfThem) {
  const SimLibrary sim("late_channels: {delay_s: 3, ids: [145]}");
  struct {
    int32_t type = 1;
    uint32_t threads = 1;
    char name[16] = "prof_adprof_grp";
    int32_t reserved[3] = {};
  } para;
  struct {
    int pid = 1;
    char name[16] = "prof_adprof_grp";
  } query;
  uint32_t group = 0;
  struct {
    void* buffer;
    unsigned length;
  } in{&query, sizeof query}, out{&group, sizeof group};
  int event[64] = {};
  const auto wait = sim.Call<int(unsigned, unsigned, unsigned, int, void*)>("halEschedWaitEvent");
  const auto ask = sim.Call<int(unsigned, int, const void*, const void*)>("halEschedQueryInfo");
  EXPECT_NE(ask(0, 0, &in, &out), 0);
  ASSERT_EQ(sim.Call<int(unsigned, const void*, unsigned*)>("halEschedCreateGrpEx")(0, &para, &group), 0);
  const uint32_t created = group;
  group = 0;
  ASSERT_EQ(ask(0, 0, &in, &out), 0);
  EXPECT_EQ(group, created);
  EXPECT_EQ(wait(0, group, 0, 1, event), code::kNoEvent);
  EXPECT_EQ(wait(0, group, 0, 60'000, event), 0);
  EXPECT_EQ(event[0], 48);
  EXPECT_EQ(wait(0, group, 0, 1, event), code::kNoEvent) << "told once";
}

// The vendor's collector starts the process first and makes the group on a thread of its own. A machine that
// is too busy to do both in time tries on the next device.
TEST(Rule9Late, AProcessWaitsForTheGroupOfItsCollector) {
  constexpr unsigned kDevices = 16;
  const SimLibrary sim("devices: 16");
  const auto open =
      sim.Call<int(unsigned, const char* const*, const size_t*, size_t, int*)>("halSimOpenProcess");
  const auto runs = sim.Call<bool(unsigned, int)>("halSimProcessRuns");
  const auto make = sim.Call<int(unsigned, const void*, unsigned*)>("halEschedCreateGrpEx");
  const auto wait = sim.Call<int(unsigned, unsigned, unsigned, int, void*)>("halEschedWaitEvent");
  const char* const argument = "sys_profiling:on";
  const size_t size = std::strlen(argument);
  struct {
    int32_t type = 1;
    uint32_t threads = 1;
    char name[16] = "prof_adprof_grp";
    int32_t reserved[3] = {};
  } para;
  unsigned device = 0;
  int process = 0;
  for (bool in_time = false; !in_time; ++device) {
    ASSERT_LT(device, kDevices);
    ASSERT_EQ(open(device, &argument, &size, 1, &process), 0);
    EXPECT_THAT(sim.Channels(device), testing::Not(testing::Contains(145)));
    unsigned group = 0;
    ASSERT_EQ(make(device, &para, &group), 0);
    int event[64] = {};
    in_time = runs(device, process) && wait(device, group, 0, 1000, event) == 0;
    if (in_time) {
      EXPECT_THAT(sim.Channels(device), testing::Contains(145));
    }
  }
}

int64_t InfoOf(const SimLibrary& sim, int module, int item) {
  int64_t value = -1;
  EXPECT_EQ(sim.Info(0, module, item, &value), 0);
  return value;
}

TEST(Rule10Clocks, DeviceTimeFollowsOffsetDriftAndFrequency) {
  const SimLibrary sim("clock: {offset_ns: 5000000000, drift_ppm: 200}");
  const uint64_t before = RawNs();
  const int64_t device_ns = InfoOf(sim, module::kSystem, info::kMonotonicRaw);
  const int64_t ticks = InfoOf(sim, module::kSystem, info::kSysCount);
  const uint64_t after = RawNs();
  const auto at = [](uint64_t host) { return static_cast<double>(host) * 1.0002 + 5e9; };
  EXPECT_GE(static_cast<double>(device_ns), at(before) - 1e3);
  EXPECT_LE(static_cast<double>(device_ns), at(after) + 1e3);
  EXPECT_GE(static_cast<double>(ticks), at(before) / 20 - 1e2);
  EXPECT_LE(static_cast<double>(ticks), at(after) / 20 + 1e2);
}

TEST(Rule10Clocks, FunctionsInvert) {
  const DeviceClock clock(-123'456'789, -35.5, 50'000);
  for (const uint64_t host : {1'000'000'000ULL, 987'654'321'012ULL, 40'000'000'000'000'000ULL}) {
    const uint64_t back = clock.HostNs(clock.DeviceNs(host));
    EXPECT_LE(back > host ? back - host : host - back, 1U);
  }
  EXPECT_EQ(clock.Ticks(1'000'000'000), 50'000'000U);
}

TEST(Rule10Clocks, OscillatorsAreMeasuredAfterAWhileAndOnlyByNewDrivers) {
  const SimLibrary sim("clock: {osc_busy_s: 3}");
  int64_t value = 77;
  EXPECT_EQ(sim.Info(0, module::kSystem, info::kDeviceOsc, &value), code::kBusy);
  EXPECT_EQ(value, 77) << "not touched on error";
  Until([&] { return sim.Info(0, module::kSystem, info::kDeviceOsc, &value); }, 0);
  EXPECT_EQ(value, 50'000);
  const SimLibrary old("", SimLibrary::kOld);
  EXPECT_EQ(old.Info(0, module::kSystem, info::kDeviceOsc, &value), code::kNotSupported);
}

// Raw time and counter as near to one instant as 200 tries give.
std::pair<double, double> PairClocks() {
  std::pair<double, double> best;
  uint64_t width = UINT64_MAX;
  for (int i = 0; i < 200; ++i) {
    const uint64_t before = HostCounter::Read(), raw = RawNs(), after = HostCounter::Read();
    if (after - before >= width) continue;
    width = after - before;
    best = {static_cast<double>(raw), static_cast<double>(before) + static_cast<double>(width) / 2};
  }
  return best;
}

TEST(Rule10Clocks, HostCounterConvertsIntoRawTime) {
  const SimLibrary sim("");
  const auto khz = static_cast<double>(InfoOf(sim, module::kSystem, info::kHostOsc));
  const auto [raw0, count0] = PairClocks();
  SleepMs(500);
  const auto [raw1, count1] = PairClocks();
  EXPECT_NEAR((count1 - count0) / khz * 1e6, raw1 - raw0, (raw1 - raw0) * 5e-6) << khz << " kHz";
}

TEST(Rule10Clocks, QueriesTakeTheirTime) {
  const SimLibrary sim("clock: {query_latency_us: 20000}");
  const uint64_t before = RawNs();
  InfoOf(sim, module::kSystem, info::kSysCount);
  EXPECT_GE(RawNs() - before, 20'000'000U);
}

TEST(Rule11Topology, DevicesAsConfigured) {
  const SimLibrary sim("devices: [{physical_id: 4}, {chip: 310P, physical_id: 6, split_mode: 1}]");
  uint32_t count = 0, ids[4] = {9, 9, 9, 9}, physical = 0, status = 0;
  unsigned mode = 9;
  ASSERT_EQ(sim.Call<int(uint32_t*)>("drvGetDevNum")(&count), 0);
  EXPECT_EQ(count, 2U);
  ASSERT_EQ(sim.Call<int(uint32_t*, uint32_t)>("drvGetDevIDs")(ids, 4), 0);
  EXPECT_THAT(ids, ElementsAre(0, 1, 9, 9));
  ASSERT_EQ(sim.Call<int(uint32_t, uint32_t*)>("drvDeviceGetPhyIdByIndex")(1, &physical), 0);
  EXPECT_EQ(physical, 6U);
  ASSERT_EQ(sim.Call<int(uint32_t, uint32_t*)>("drvDeviceStatus")(0, &status), 0);
  EXPECT_EQ(status, 1U);
  EXPECT_EQ(sim.Call<int(uint32_t, uint32_t*)>("drvDeviceStatus")(2, &status), code::kInvalidValue);
  ASSERT_EQ(sim.Call<int(unsigned, unsigned*)>("drvGetDeviceSplitMode")(1, &mode), 0);
  EXPECT_EQ(mode, 1U);
  ChipInfo chip{};
  ASSERT_EQ(sim.Call<int(unsigned, ChipInfo*)>("halGetChipInfo")(1, &chip), 0);
  EXPECT_STREQ(reinterpret_cast<const char*>(chip.name), "310P3");
  int64_t version = 0;
  ASSERT_EQ(sim.Info(1, module::kSystem, info::kVersion, &version), 0);
  EXPECT_EQ(version >> 8 & 0xFF, 4);
}

TEST(DeviceInfo, ReferenceSampleOfA910B) {
  const SimLibrary sim("");
  struct Fact {
    int module, info;
    int64_t value;
  };
  for (const auto& [module, item, expected] :
       std::vector<Fact>{{module::kSystem, info::kEnv, 0},
                         {module::kCcpu, info::kCoreNum, 1},
                         {module::kCcpu, info::kId, 0},
                         {module::kCcpu, info::kEndian, 1},
                         {module::kAicpu, info::kCoreNum, 6},
                         {module::kAicpu, info::kId, 2},
                         {module::kAicpu, info::kOccupy, 252},
                         {module::kTscpu, info::kCoreNum, 1},
                         {module::kAicore, info::kCoreNum, 24},
                         {module::kAicore, info::kId, 0},
                         {module::kAicore, info::kFrequency, 1800},
                         {module::kVectorCore, info::kCoreNum, 48},
                         {module::kVectorCore, info::kFrequency, 1800}}) {
    EXPECT_EQ(InfoOf(sim, module, item), expected) << module << "/" << item;
  }
  int64_t value = 77;
  EXPECT_EQ(sim.Info(0, 10, 3, &value), code::kNotSupported);
  EXPECT_EQ(sim.Info(2, 0, 1, &value), code::kInvalidValue);
  EXPECT_EQ(value, 77);
}

TEST(DeviceInfo, QosStreams) {
  const SimLibrary sim("");
  const auto ask = sim.Call<int(uint32_t, int32_t, int32_t, void*, int32_t*)>("halGetDeviceInfoByBuff");
  QosQuery query{};
  int32_t size = sizeof query;
  ASSERT_EQ(ask(0, module::kQos, info::kQosConfig, &query, &size), 0);
  ASSERT_EQ(query.stream_count, 3);
  EXPECT_EQ(query.mpam_id[2], 3);
  query = {};
  query.mode = 1;
  query.mpam_id[0] = 2;
  ASSERT_EQ(ask(0, module::kQos, info::kQosConfig, &query, &size), 0);
  EXPECT_STREQ(query.stream_name, "stream2");
  query.mode = 2;
  query.mpam_id[0] = 0;
  ASSERT_EQ(ask(0, module::kQos, info::kQosConfig, &query, &size), 0);
  EXPECT_EQ(query.mpam_id[0], 2);
  size = 100;
  EXPECT_NE(ask(0, module::kQos, info::kQosConfig, &query, &size), 0);
}

TEST(EveryChannel, OfEveryChipStartsAndSpeaks) {
  const char* chips[] = {"310", "910", "310P", "910B", "310B", "950"};
  for (const char* name : chips) {
    const SimLibrary sim(std::string("devices: [{chip: ") + name +
                         "}]\nscenario: {step_ms: 60}\ntruth: $DIR/truth");
    std::vector<uint32_t> ids = sim.Channels(0);
    std::erase_if(ids, [](uint32_t id) { return id > 12 && channel::IsBiu(id); });  // one of a kind is enough
    for (const uint32_t id : ids) {
      std::string payload = AnyPayload(id);
      if (std::string_view(name) == "950" && (id == channel::kFftsTask || id == channel::kFftsSample))
        payload.resize(88);
      ASSERT_EQ(sim.Start(0, id, 10, payload), 0) << name << " " << id;
    }
    SleepMs(250);
    std::map<uint32_t, size_t> bytes;
    for (const uint32_t stopped : ids) {
      // Of all, or the rings of those that come last overflow where this takes many seconds.
      for (const uint32_t id : ids) bytes[id] += sim.Drain(0, id).size();
      bytes[stopped] += sim.StopDraining(0, stopped).size();
    }
    size_t stops = 0;
    for (const auto& line : sim.Truth()) {
      if (line.value("event", "") != "stop") continue;
      const uint32_t id = line["channel"];
      EXPECT_GT(bytes[id], 0U) << name << " " << id;
      EXPECT_EQ(line["generated_bytes"], bytes[id]) << name << " " << id;
      EXPECT_GT(line["generated_records"], 0);
      ++stops;
    }
    EXPECT_EQ(stops, ids.size());
  }
}

}  // namespace
}  // namespace profd::sim
