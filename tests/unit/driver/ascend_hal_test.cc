#include "daemon/driver/ascend/ascend_hal.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "tests/unit/driver/scripted_hal.h"

namespace profd::driver {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kScriptedHal[] = PROFD_SCRIPTED_HAL;

class AscendHalTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = AscendHal::Load(kScriptedHal);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    driver_ = std::move(loaded).value();
    void* library = ::dlopen(kScriptedHal, RTLD_LAZY | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr);
    const auto get = reinterpret_cast<decltype(&ScriptedHalScript)>(::dlsym(library, "ScriptedHalScript"));
    ASSERT_NE(get, nullptr);
    script_ = get();
    *script_ = Script{};
    script_->info[{0, 1}] = 5 << 8 | 0x13;
    script_->list = {1, 8, 133};
    script_->list_count = 3;
    ::dlclose(library);
  }

  std::unique_ptr<Driver> driver_;
  Script* script_ = nullptr;
};

TEST_F(AscendHalTest, KnowsWhereItCameFrom) {
  EXPECT_EQ(driver_->path(), kScriptedHal);
  EXPECT_EQ(driver_->api_version(), 0U)
      << "a call of the library, which may hang: not where nobody expects one";
  ASSERT_TRUE(driver_->DeviceIds().ok());
  EXPECT_EQ(driver_->api_version(), 0x072418U);
  EXPECT_THAT(driver_->missing_symbols(), IsEmpty());
}

TEST_F(AscendHalTest, DeviceIdsAreSortedAndBounded) {
  script_->device_count = 4;
  script_->device_ids = {7, 64, 0, 7};
  const auto ids = driver_->DeviceIds();
  ASSERT_TRUE(ids.ok());
  EXPECT_THAT(ids.value(), ElementsAre(0, 7));
}

TEST_F(AscendHalTest, AnAbsurdDeviceCountIsCut) {
  script_->device_count = 0xFFFFFFFF;
  script_->device_ids.assign(1000, 3);
  const auto ids = driver_->DeviceIds();
  ASSERT_TRUE(ids.ok());
  EXPECT_THAT(ids.value(), ElementsAre(3));
}

TEST_F(AscendHalTest, AHostWithoutDevicesIsNoError) {
  script_->device_count_code = kNotSupported;
  auto ids = driver_->DeviceIds();
  ASSERT_TRUE(ids.ok());
  EXPECT_THAT(ids.value(), IsEmpty());
  script_->device_count_code = 0;
  ids = driver_->DeviceIds();
  ASSERT_TRUE(ids.ok());
  EXPECT_THAT(ids.value(), IsEmpty());
}

TEST_F(AscendHalTest, ADriverThatRefusesToCountSaysWhy) {
  script_->device_count_code = 87;
  const auto count = driver_->DeviceIds();
  ASSERT_FALSE(count.ok());
  EXPECT_THAT(count.status().message(), HasSubstr("(87)"));
  script_->device_count_code = 0;
  script_->device_count = 2;
  script_->device_ids_code = 88;
  const auto ids = driver_->DeviceIds();
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.status().code(), base::Code::kPermissionDenied);
}

TEST_F(AscendHalTest, ChannelListsAreSortedAndFreeOfNonsense) {
  script_->list = {133, 0, 8, 1, 8, 160, 0xFFFFFFFF};
  script_->list_count = 7;
  const auto channels = driver_->Channels(0);
  ASSERT_TRUE(channels.ok());
  EXPECT_THAT(channels.value(), ElementsAre(1, 8, 133));
}

TEST_F(AscendHalTest, ImpossibleChannelCountsAreRefused) {
  for (const uint32_t count : {0U, 161U, 0xFFFFFFFFU}) {
    script_->list_count = count;
    EXPECT_FALSE(driver_->Channels(0).ok()) << count;
  }
  script_->list_count = 3;
  script_->list_code = kNoReply;
  const auto channels = driver_->Channels(0);
  ASSERT_FALSE(channels.ok());
  EXPECT_THAT(channels.status().message(), HasSubstr("(16)"));
}

TEST_F(AscendHalTest, FactsOfAHealthyDevice) {
  script_->info = {{{0, 0}, 3},  {{0, 1}, 5 << 8}, {{0, 25}, 49999}, {{2, 9}, 0},   {{2, 3}, 1},
                   {{2, 11}, 1}, {{1, 3}, 6},      {{1, 9}, 2},      {{1, 8}, 252}, {{4, 3}, 24},
                   {{4, 9}, 0},  {{4, 4}, 1800},   {{7, 3}, 48},     {{5, 3}, 1}};
  script_->physical_id = 4;
  script_->split_mode = 1;
  script_->chip_name = "910B3";
  script_->qos = {{1, "read"}, {9, "all,to\n\"gether"}};
  script_->qos_count = 2;
  const DeviceFacts facts = driver_->ReadFacts(2);
  EXPECT_EQ(facts.id, 2U);
  EXPECT_EQ(facts.physical_id, 4U);
  EXPECT_EQ(facts.split_mode, 1U);
  EXPECT_EQ(facts.chip, Chip::k910B);
  EXPECT_EQ(facts.chip_name, "910B3");
  EXPECT_EQ(facts.status, kWorking);
  EXPECT_EQ(facts.env_type, 3);
  EXPECT_EQ(facts.ctrl_cpu_core_num, 1);
  EXPECT_EQ(facts.ai_cpu_core_num, 6);
  EXPECT_EQ(facts.ai_cpu_core_id, 2);
  EXPECT_EQ(facts.aicpu_occupy_bitmap, 252);
  EXPECT_EQ(facts.ai_core_num, 24);
  EXPECT_EQ(facts.aiv_num, 48);
  EXPECT_EQ(facts.ts_cpu_core_num, 1);
  EXPECT_TRUE(facts.counter_measured);
  EXPECT_DOUBLE_EQ(facts.counter_mhz, 49.999);
  EXPECT_DOUBLE_EQ(facts.aic_mhz, 1800);
  EXPECT_DOUBLE_EQ(facts.aiv_mhz, 1800)
      << "vector cores run with the AI cores unless the driver says otherwise";
  EXPECT_THAT(facts.channels, ElementsAre(1, 8, 133));
  ASSERT_EQ(facts.qos.size(), 2U);
  EXPECT_EQ(facts.qos[0].name, "read");
  EXPECT_EQ(facts.qos[1].mpam_id, 9);
  EXPECT_EQ(facts.qos[1].name, "all_to__gether") << "names go into comma lists and JSON";
  EXPECT_THAT(facts.error, IsEmpty());
}

TEST_F(AscendHalTest, FactsSurviveADriverThatKnowsNothing) {
  script_->info.clear();
  script_->list_code = 7;
  script_->status_code = 3;
  const DeviceFacts facts = driver_->ReadFacts(1);
  EXPECT_EQ(facts.id, 1U);
  EXPECT_EQ(facts.chip, Chip::kNotTold);
  EXPECT_THAT(facts.channels, IsEmpty());
  EXPECT_THAT(facts.error, HasSubstr("which chip"));
  EXPECT_THAT(facts.error, HasSubstr("(7)"));
  EXPECT_THAT(facts.error, HasSubstr("(3)"));
}

TEST_F(AscendHalTest, ALostDeviceIsNotAskedForMore) {
  script_->status = kCommunicationLost;
  const DeviceFacts facts = driver_->ReadFacts(0);
  EXPECT_EQ(facts.status, kCommunicationLost);
  EXPECT_THAT(facts.error, HasSubstr("lost communication"));
  EXPECT_THAT(facts.channels, IsEmpty());
  EXPECT_THAT(script_->asked, Not(Contains(std::pair<int32_t, int32_t>(4, 3))));
}

TEST_F(AscendHalTest, ChipNamesOutOfTheirField) {
  script_->chip_name = std::string(40, 'A');  // no NUL within the field
  EXPECT_EQ(driver_->ReadFacts(0).chip_name, std::string(32, 'A'));
  script_->chip_name.clear();
  EXPECT_EQ(driver_->ReadFacts(0).chip_name, "910B");
  script_->info[{0, 1}] = 23 << 8;
  EXPECT_EQ(driver_->ReadFacts(0).chip_name, "chip 23");
}

TEST_F(AscendHalTest, QosStreamsWithAndWithoutNames) {
  for (int i = 0; i < 20; ++i) script_->qos.emplace_back(static_cast<uint8_t>(i + 1), i == 3 ? "" : "s");
  script_->qos_count = 0xFFFF;
  const DeviceFacts facts = driver_->ReadFacts(0);
  ASSERT_EQ(facts.qos.size(), 20U) << "as many as a start has room for";
  EXPECT_EQ(facts.qos[3].name, "mpam4") << "a nameless stream still needs a name";
  script_->list = {1, 8};
  script_->list_count = 2;
  EXPECT_THAT(driver_->ReadFacts(0).qos, IsEmpty()) << "no QoS channel, no question";
}

TEST_F(AscendHalTest, QosNameOfFullLength) {
  script_->qos = {{1, std::string(300, 'q')}};
  script_->qos_count = 1;
  const DeviceFacts facts = driver_->ReadFacts(0);
  ASSERT_EQ(facts.qos.size(), 1U);
  EXPECT_EQ(facts.qos[0].name.size(), 256U);
}

TEST_F(AscendHalTest, CounterFrequencies) {
  // Not measured yet: the chip's nominal value.
  DeviceFacts facts = driver_->ReadFacts(0);
  EXPECT_FALSE(facts.counter_measured);
  EXPECT_DOUBLE_EQ(facts.counter_mhz, 50);
  EXPECT_DOUBLE_EQ(facts.aic_mhz, 800);
  EXPECT_EQ(driver_->HostCounterMhz(0), std::nullopt);

  script_->info[{0, 24}] = 2'400'000;
  EXPECT_EQ(driver_->HostCounterMhz(0), 2400.0);
  for (const int64_t bad : {int64_t{-1}, int64_t{0}, int64_t{0xFFFFFFFF}}) {
    script_->info[{0, 24}] = bad;
    EXPECT_EQ(driver_->HostCounterMhz(0), std::nullopt) << bad;
    script_->info[{0, 25}] = bad;
    EXPECT_FALSE(driver_->ReadFacts(0).counter_measured) << bad;
  }

  // Drivers before 7.19.5 are not asked.
  script_->info[{0, 24}] = 2'400'000;
  script_->info[{0, 25}] = 49'000;
  script_->api_version = 0x071904;
  EXPECT_EQ(driver_->HostCounterMhz(0), std::nullopt);
  EXPECT_DOUBLE_EQ(driver_->ReadFacts(0).counter_mhz, 50);
  script_->api_version = 0x071905;
  EXPECT_DOUBLE_EQ(driver_->ReadFacts(0).counter_mhz, 49);
}

TEST_F(AscendHalTest, A950FarFromNominalIsNominal) {
  script_->info[{0, 1}] = 15 << 8;
  script_->info[{0, 25}] = 999'800;
  EXPECT_DOUBLE_EQ(driver_->ReadFacts(0).counter_mhz, 999.8);
  script_->info[{0, 25}] = 999'400;
  const DeviceFacts facts = driver_->ReadFacts(0);
  EXPECT_DOUBLE_EQ(facts.counter_mhz, 1000);
  EXPECT_FALSE(facts.counter_measured);
}

TEST_F(AscendHalTest, ClockPairTakesFiveWarmUpsAndFiveRounds) {
  script_->info[{0, 14}] = 123'456'789;
  script_->info[{0, 13}] = 777;
  const uint64_t raw_before = base::RawNs();
  const uint64_t wall_before = base::WallNs();
  const auto pair = driver_->PairClocks(0);
  const uint64_t raw_after = base::RawNs();
  const uint64_t wall_after = base::WallNs();
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair.value().device_raw_ns, 123'456'789U);
  EXPECT_EQ(pair.value().device_counter, 777U);
  EXPECT_GE(pair.value().host_raw_ns, raw_before);
  EXPECT_LE(pair.value().host_raw_ns, raw_after);
  EXPECT_GE(pair.value().wall_ns, wall_before);
  EXPECT_LE(pair.value().wall_ns, wall_after);
  EXPECT_LE(pair.value().error_ns, raw_after - raw_before);
  EXPECT_EQ(script_->asked.size(), 20U);
  EXPECT_EQ(script_->asked[0], (std::pair<int32_t, int32_t>(0, 14))) << "device time first, then the counter";
  EXPECT_EQ(script_->asked[1], (std::pair<int32_t, int32_t>(0, 13)));
}

TEST_F(AscendHalTest, ClockPairIsOfTheQuickestRound) {
  script_->info[{0, 13}] = 1;
  script_->monotonic_raw = {1, 2, 3, 4, 5, 60, 70, 80, 90, 100};
  script_->slow_ms = {0, 0, 0, 0, 0, 30, 30, 0, 30, 30};  // the warm-ups are quick, and do not count
  const auto pair = driver_->PairClocks(0);
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair.value().device_raw_ns, 80U);
}

TEST_F(AscendHalTest, NoClockNoPair) {
  script_->info[{0, 14}] = 5;
  const auto pair = driver_->PairClocks(0);
  ASSERT_FALSE(pair.ok());
  EXPECT_THAT(pair.status().message(), HasSubstr("clocks of device 0"));
}

TEST_F(AscendHalTest, StartPassesEveryFieldOn) {
  StartPara para;
  para.channel_type = 0;
  para.period_ms = 20;
  para.user_data_size = 3;
  para.user_data[0] = std::byte{0xa};
  para.user_data[2] = std::byte{0xc};
  para.user_data[3] = std::byte{0xd};  // beyond the size
  script_->start_code = kOccupied;
  EXPECT_EQ(driver_->Start(3, 54, para), kOccupied);
  StartPara bare;
  bare.period_ms = 10;
  EXPECT_EQ(driver_->Start(0, 3, bare), kOccupied);
  ASSERT_EQ(script_->starts.size(), 2U);
  const ScriptedStart& start = script_->starts[0];
  EXPECT_EQ(start.device, 3U);
  EXPECT_EQ(start.channel, 54U);
  EXPECT_EQ(start.channel_type, 0);
  EXPECT_EQ(start.period_ms, 20U);
  EXPECT_EQ(start.real_time, 1U);
  EXPECT_THAT(start.user_data, ElementsAre(std::byte{0xa}, std::byte{0}, std::byte{0xc}));
  EXPECT_FALSE(script_->starts[1].has_user_data) << "no payload is a null pointer";
  EXPECT_EQ(script_->starts[1].channel_type, 1);
}

TEST_F(AscendHalTest, FlushAndReadReportRawCodes) {
  uint32_t waiting = 7;
  EXPECT_EQ(driver_->Flush(0, 1, &waiting), 0);
  EXPECT_EQ(waiting, 42U);
  script_->flush_code = kNotSupported;
  waiting = 7;
  EXPECT_EQ(driver_->Flush(0, 1, &waiting), kNotSupported);
  EXPECT_EQ(waiting, 0U) << "nothing waits where nothing was answered";
  std::byte bytes[4];
  script_->read_code = kStoppedAlready;
  EXPECT_EQ(driver_->Read(0, 1, bytes, sizeof bytes), kStoppedAlready);
  script_->read_code = 4;
  EXPECT_EQ(driver_->Read(0, 1, bytes, sizeof bytes), 4);
  EXPECT_EQ(bytes[3], std::byte{'x'});
}

TEST(AscendHalLoad, FilesThatAreNoLibrary) {
  const std::string folder = testing::TempDir() + "/profd_hal_test";
  std::filesystem::create_directories(folder);
  const std::string text = folder + "/libascend_hal.so";
  std::ofstream(text) << "this is no library";
  for (const std::string& path : {text, folder, folder + "/none.so"}) {
    const auto loaded = AscendHal::Load(path);
    ASSERT_FALSE(loaded.ok()) << path;
    EXPECT_EQ(loaded.status().code(), base::Code::kInvalidArgument);
    EXPECT_THAT(loaded.status().message(), HasSubstr(path));
    EXPECT_THAT(loaded.status().message(), Not(HasSubstr("\n")));
  }
  std::filesystem::remove_all(folder);
}

TEST(AscendHalLoad, ALibraryOfSomebodyElse) {
  const auto loaded = AscendHal::Load("libm.so.6");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), base::Code::kInvalidArgument);
  EXPECT_THAT(loaded.status().message(), HasSubstr("libm.so.6 is not a driver library"));
  EXPECT_THAT(loaded.status().message(), HasSubstr("--hal"));
}

TEST(InstallRecord, NamesTheLibrary) {
  EXPECT_THAT(InstalledLibraries("UserName=HwHiAiUser\nDriver_Install_Path_Param=/usr/local/Ascend\nX=1\n"),
              ElementsAre("/usr/local/Ascend/driver/lib64/driver/libascend_hal.so",
                          "/usr/local/Ascend/driver/lib64/common/libascend_hal.so",
                          "/usr/local/Ascend/driver/lib64/libascend_hal.so"));
  EXPECT_THAT(InstalledLibraries("Driver_Install_Path_Param=/opt/npu/ \r\n"),
              Contains("/opt/npu/driver/lib64/driver/libascend_hal.so"));
  EXPECT_THAT(InstalledLibraries("Driver_Install_Path_Param=\n"), IsEmpty());
  EXPECT_THAT(InstalledLibraries("Driver_Install_Path_Param=relative\n"), IsEmpty());
  EXPECT_THAT(InstalledLibraries("Firmware_Install_Path_Param=/usr/local/Ascend\n"), IsEmpty());
  EXPECT_THAT(InstalledLibraries(""), IsEmpty());
}

TEST(DescribeCode, EveryKnownCodeHasItsOwnLine) {
  for (const int code : {0,
                         -1,
                         -2,
                         -3,
                         -4,
                         -5,
                         -6,
                         -7,
                         -8,
                         -9,
                         -10,
                         -11,
                         -12,
                         -13,
                         1,
                         2,
                         3,
                         4,
                         6,
                         7,
                         8,
                         9,
                         10,
                         11,
                         13,
                         14,
                         16,
                         17,
                         30,
                         36,
                         40,
                         46,
                         58,
                         62,
                         81,
                         87,
                         88,
                         98,
                         kNoComputeProcess,
                         kBiuLoss,
                         kNotSupported}) {
    const std::string text = DescribeCode(code);
    EXPECT_THAT(text, testing::EndsWith("(" + std::to_string(code) + ")"));
    EXPECT_THAT(text, Not(HasSubstr("unknown"))) << code;
    EXPECT_THAT(text, Not(HasSubstr("\n")));
  }
  EXPECT_EQ(DescribeCode(4711), "unknown code of the driver (4711)");
  EXPECT_THAT(DescribeCode(kOccupied), HasSubstr("another process"));
}

}  // namespace
}  // namespace profd::driver
