#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/ascend/start/qos_streams.h"
#include "daemon/driver/ascend/start/start_para.h"
#include "daemon/driver/offers.h"
#include "format/decode/framing.h"
#include "format/preset.h"
#include "tests/unit/driver/chips.h"

namespace profd::driver {
namespace {

using format::Kind;
using testing::HasSubstr;

constexpr uint32_t kApi = 0x072418;
constexpr Chip kChips[] = {Chip::k310,  Chip::k910, Chip::k310P,   Chip::k910B,
                           Chip::k310B, Chip::k950, Chip::k910_96, Chip::kNotTold};

std::string Available(const DeviceFacts& device) {
  std::string kinds;
  for (const Kind kind : format::kDeviceKinds) {
    if (LookUp(kind, device, kApi).available())
      kinds += (kinds.empty() ? "" : " ") + std::string(NameOf(kind));
  }
  return kinds;
}

TEST(Capabilities, KindsOfEveryChip) {
  const std::string kOfProcess = " ctrlcpu dev-cpu dev-mem dev-pid-cpu dev-pid-mem";
  EXPECT_EQ(Available(MakeDevice(Chip::k310)),
            "ddr nic dvpp npu-mem npu-app-mem npu-module-mem tscpu aicore aicore-task task");
  EXPECT_EQ(Available(MakeDevice(Chip::k910)),
            "hbm ddr llc pcie hccs nic roce dvpp npu-mem npu-app-mem npu-module-mem tscpu aicore aicore-task "
            "l2 aicpu task" +
                kOfProcess);
  EXPECT_EQ(Available(MakeDevice(Chip::k310P)),
            "ddr llc pcie dvpp npu-mem npu-app-mem npu-module-mem tscpu aicore aicore-task l2 aicpu task" +
                kOfProcess);
  EXPECT_EQ(
      Available(MakeDevice(Chip::k910B)),
      "hbm llc pcie hccs nic roce dvpp npu-mem npu-app-mem npu-module-mem qos soc-profile low-power tscpu "
      "aicore aivector aicore-task aivector-task soc-pmu l2 aicpu task instr" +
          kOfProcess);
  EXPECT_EQ(Available(MakeDevice(Chip::k310B)),
            "ddr llc nic dvpp npu-mem npu-app-mem soc-profile low-power tscpu aicore aivector aicore-task "
            "aivector-task l2 aicpu task");
  EXPECT_EQ(Available(MakeDevice(Chip::k950)),
            "hbm llc pcie hccs nic roce dvpp npu-mem npu-app-mem npu-module-mem qos soc-profile low-power ub "
            "ccu ccu-task tscpu "
            "aicore aivector aicore-task aivector-task soc-pmu l2 aicpu task instr" +
                kOfProcess);
  EXPECT_EQ(Available(MakeDevice(Chip::k910_96)), Available(MakeDevice(Chip::k950)));
}

// However long its list: a chip has no counters that it was not built with.
TEST(Capabilities, AGenerousListAddsNoKinds) {
  const auto absent = [](Chip chip) {
    DeviceFacts device = MakeDevice(chip);
    device.channels = ChannelsOf({{1, 159}});
    device.ai_core_num = device.aiv_num = 1;
    device.qos = {{1, "s"}};
    std::string kinds;
    for (const Kind kind : format::kDeviceKinds) {
      if (!LookUp(kind, device, kApi).available())
        kinds += (kinds.empty() ? "" : " ") + std::string(NameOf(kind));
    }
    return kinds;
  };
  EXPECT_EQ(absent(Chip::k310),
            "hbm llc pcie hccs roce netdev qos soc-profile low-power ub ccu ccu-task aivector aivector-task "
            "soc-pmu "
            "l2 aicpu instr ctrlcpu dev-cpu dev-mem dev-pid-cpu dev-pid-mem");
  EXPECT_EQ(absent(Chip::k910),
            "qos soc-profile low-power ub ccu ccu-task aivector aivector-task soc-pmu instr");
  EXPECT_EQ(absent(Chip::k310P),
            "nic roce netdev qos soc-profile ub ccu ccu-task aivector aivector-task soc-pmu instr");
  EXPECT_EQ(absent(Chip::k910B), "ddr ub ccu ccu-task");
  EXPECT_EQ(absent(Chip::k310B),
            "hbm pcie hccs roce netdev qos ub ccu ccu-task soc-pmu instr "
            "ctrlcpu dev-cpu dev-mem dev-pid-cpu dev-pid-mem");
  EXPECT_EQ(absent(Chip::k950), "ddr");
  EXPECT_EQ(absent(Chip{23}), "soc-pmu l2");
}

TEST(Capabilities, AnUnknownChipHasWhatItsListOffers) {
  DeviceFacts device = MakeDevice(Chip{23});
  device.channels = {7, 43, 85, 146};
  device.ai_core_num = device.aiv_num = 4;
  const auto file = [&](Kind kind) {
    const Offer offer = LookUp(kind, device, kApi);
    return offer.available() ? std::string(offer.channels[0].file) : offer.reason;
  };
  EXPECT_EQ(file(Kind::kDdr), "ddr.data");
  EXPECT_EQ(file(Kind::kUb), "ub.data");
  EXPECT_EQ(file(Kind::kAiCore), "aicore.data");
  EXPECT_EQ(file(Kind::kAiVector), "aiVectorCore.data");
  EXPECT_EQ(file(Kind::kHbm), "device 0 (chip 23) does not offer channel 1");
  EXPECT_EQ(format::TraitsOf(Chip{23}).core_events, 8U);
  // The newer channel is preferred where both are there.
  device.channels = {43, 54, 85};
  EXPECT_EQ(file(Kind::kAiCore), "ffts_profile.data");
  EXPECT_EQ(file(Kind::kAiVector), "ffts_profile.data");
}

TEST(Capabilities, DevicesThatOneSystemRuns) {
  const auto share = [](Chip chip, const char* name, uint32_t first, uint32_t second) {
    DeviceFacts a = MakeDevice(chip), b = MakeDevice(chip);
    a.chip_name = b.chip_name = name;
    a.id = a.physical_id = first;
    b.id = b.physical_id = second;
    return ShareSystem(a, b);
  };
  EXPECT_TRUE(share(Chip::k950, "950", 0, 1));
  EXPECT_TRUE(share(Chip::k910B, "910_9392", 7, 6));
  EXPECT_FALSE(share(Chip::k910B, "910_9392", 1, 2));
  EXPECT_FALSE(share(Chip::k910B, "910B3", 0, 1));
  EXPECT_FALSE(share(Chip::k950, "950", 3, 3)) << "itself";
}

TEST(Capabilities, ReasonsWhyNot) {
  const auto why = [](Kind kind, const DeviceFacts& device, uint32_t api = kApi) {
    const Offer offer = LookUp(kind, device, api);
    EXPECT_FALSE(offer.available()) << NameOf(kind);
    return offer.reason;
  };
  EXPECT_EQ(why(Kind::kDdr, MakeDevice(Chip::k910B)), "a 910B has no ddr");
  EXPECT_THAT(why(Kind::kLlc, MakeDevice(Chip::k310)), HasSubstr("perf script"));
  EXPECT_THAT(why(Kind::kAiCpu, MakeDevice(Chip::k310)), HasSubstr("310"));
  EXPECT_THAT(why(Kind::kAiCpu, MakeDevice(Chip::k910B), 0x072315), HasSubstr("too old"));

  DeviceFacts split = MakeDevice(Chip::k310P);
  split.split_mode = 1;
  EXPECT_THAT(why(Kind::kAiCpu, split), HasSubstr("virtual"));
  split = MakeDevice(Chip::k910B);
  split.split_mode = 1;
  EXPECT_TRUE(LookUp(Kind::kAiCpu, split, kApi).available());

  for (const Kind kind : {Kind::kDevCpu, Kind::kDevMem, Kind::kDevPidCpu, Kind::kDevPidMem, Kind::kCtrlCpu}) {
    EXPECT_THAT(why(kind, MakeDevice(Chip::k310)), HasSubstr("message link"));
    EXPECT_THAT(why(kind, MakeDevice(Chip::k310B)), HasSubstr("message link"));
    EXPECT_THAT(why(kind, MakeDevice(Chip::k910B), 0x072315), HasSubstr("too old"));
    DeviceFacts without = MakeDevice(Chip::k910B);
    without.no_process = "libtsdclient.so is not there";
    EXPECT_EQ(why(kind, without), without.no_process);
  }

  DeviceFacts ports = MakeDevice(Chip::k910B);
  EXPECT_EQ(why(Kind::kNetdev, ports), "device 0 (910B) has no network port");
  ports.no_cards = "libdcmi.so is not there";
  EXPECT_EQ(why(Kind::kNetdev, ports), ports.no_cards);
  EXPECT_EQ(why(Kind::kNetdev, MakeDevice(Chip::k310B)), "a 310B has no netdev");

  DeviceFacts bare = MakeDevice(Chip::k910B);
  bare.qos.clear();
  bare.ai_core_num = bare.aiv_num = 0;
  EXPECT_THAT(why(Kind::kQos, bare), HasSubstr("QoS"));
  EXPECT_THAT(why(Kind::kAiCore, bare), HasSubstr("AI cores"));
  EXPECT_THAT(why(Kind::kAiVector, bare), HasSubstr("vector cores"));

  DeviceFacts lost = MakeDevice(Chip::k910B, 3);
  lost.status = kCommunicationLost;
  EXPECT_THAT(why(Kind::kHbm, lost), HasSubstr("device 3 (910B) has lost communication"));
  DeviceFacts failed = MakeDevice(Chip::k910B);
  failed.channels.clear();
  failed.error = "cannot list the channels of device 0: timeout";
  EXPECT_THAT(why(Kind::kHbm, failed), HasSubstr("timeout"));
  DeviceFacts poor = MakeDevice(Chip::k910B);
  poor.channels = {3};
  EXPECT_THAT(why(Kind::kDvpp, poor), HasSubstr("135, 136, 137, 138, 139, 140, 141, 6"));
}

TEST(Capabilities, DvppTakesTheEnginesThatAreThere) {
  const Offer offer = LookUp(Kind::kDvpp, MakeDevice(Chip::k310B), kApi);
  ASSERT_EQ(offer.channels.size(), 3U);
  EXPECT_EQ(offer.channels[0].file, "dvpp.venc");
  EXPECT_EQ(offer.channels[1].file, "dvpp.vdec");
  EXPECT_EQ(offer.channels[2].file, "dvpp.data");
  EXPECT_TRUE(offer.capability->one_slice);
}

// Files that a channel brings are those of its kind, by the names of the table.
TEST(Capabilities, EveryFileIsOfItsKind) {
  for (const format::ChipTraits& chip : format::kChips) {
    DeviceFacts device = MakeDevice(chip.chip);
    device.channels = ChannelsOf({{1, 159}});
    for (const Kind kind : format::kDeviceKinds) {
      const format::KindTraits& traits = TraitsOf(kind);
      for (const ChannelUse& use : LookUp(kind, device, kApi).channels) {
        const bool is_claimed = std::ranges::any_of(traits.files, [&use](std::string_view file) {
          return !file.empty() &&
                 (use.file == file || (file.starts_with("instr.") && use.file.starts_with("instr.")));
        });
        EXPECT_TRUE(is_claimed || use.file == format::kDevicePackets) << use.file << " of " << traits.name;
      }
    }
  }
}

// A table that forgot a chip would leave it with nothing but what nobody knows.
TEST(Capabilities, EveryChipWithANameHasWhatAllHave) {
  for (const format::ChipTraits& chip : format::kChips) {
    if (chip.name.empty()) continue;
    DeviceFacts device = MakeDevice(chip.chip);
    device.channels = ChannelsOf({{1, 159}});
    device.ai_core_num = 1;
    for (const Kind kind : {Kind::kNpuMem, Kind::kTsCpu, Kind::kAiCore, Kind::kAiCoreTask, Kind::kTask})
      EXPECT_TRUE(LookUp(kind, device, kApi).available()) << NameOf(kind) << " of a " << chip.name;
    EXPECT_TRUE(LookUp(Kind::kHbm, device, kApi).available() || LookUp(Kind::kDdr, device, kApi).available())
        << chip.name;
    for (const Kind kind : format::kDeviceKinds) {
      const Offer offer = LookUp(kind, device, kApi);
      EXPECT_NE(offer.available(), !offer.reason.empty()) << NameOf(kind) << " of a " << chip.name;
    }
  }
}

TEST(Capabilities, EveryDeviceKindIsOfSomeChip) {
  for (const Kind kind : format::kDeviceKinds) EXPECT_NE(AnyCapability(kind), nullptr) << NameOf(kind);
  EXPECT_EQ(AnyCapability(Kind::kHostCpu), nullptr);
}

// A kind whose records nobody can frame would be started in vain.
TEST(Capabilities, EveryFileHasAFormat) {
  for (const Chip chip : kChips) {
    const DeviceFacts device = MakeDevice(chip);
    for (const Kind kind : format::kDeviceKinds) {
      for (const ChannelUse& use : LookUp(kind, device, kApi).channels) {
        EXPECT_NE(format::FindStreamFormat(use.file, chip), nullptr) << use.file << " on " << ChipName(chip);
      }
    }
  }
}

TEST(Capabilities, EveryChannelHasAPlaceInTheStartOrder) {
  const size_t nowhere = StartRank(9999);
  for (const Chip chip : kChips) {
    DeviceFacts device = MakeDevice(chip);
    device.channels = ChannelsOf({{1, 159}});
    for (const Kind kind : format::kDeviceKinds) {
      for (const ChannelUse& use : LookUp(kind, device, kApi).channels)
        EXPECT_LT(StartRank(use.channel), nowhere);
    }
  }
}

TEST(Capabilities, RatesOfTheOptionsTable) {
  const auto rate = [](Kind kind, Chip chip) {
    const RateRange range = LookUp(kind, MakeDevice(chip), kApi).capability->rate;
    return std::to_string(static_cast<int>(range.min_hz)) + ".." +
           std::to_string(static_cast<int>(range.max_hz)) + " " +
           std::to_string(static_cast<int>(range.default_hz));
  };
  for (const Kind kind : {Kind::kHbm, Kind::kLlc, Kind::kNpuMem, Kind::kNpuAppMem, Kind::kNpuModuleMem,
                          Kind::kDvpp, Kind::kQos, Kind::kSocProfile}) {
    EXPECT_EQ(rate(kind, Chip::k910B), "1..100 50") << NameOf(kind);
  }
  EXPECT_EQ(rate(Kind::kHbm, Chip::k950), "1..100 50");
  EXPECT_EQ(rate(Kind::kQos, Chip::k950), "1..10000 50");
  EXPECT_EQ(rate(Kind::kSocProfile, Chip::k950), "1..10000 50");
  for (const Kind kind : {Kind::kPcie, Kind::kHccs, Kind::kTsCpu})
    EXPECT_EQ(rate(kind, Chip::k910B), "1..50 50") << NameOf(kind);
  for (const Kind kind : {Kind::kNic, Kind::kRoce, Kind::kAiCore, Kind::kAiVector}) {
    EXPECT_EQ(rate(kind, Chip::k910B), "1..100 100") << NameOf(kind);
  }
  EXPECT_EQ(rate(Kind::kUb, Chip::k950), "1..100 100");
  EXPECT_FALSE(LookUp(Kind::kLowPower, MakeDevice(Chip::k910B), kApi).capability->rate.exists());
  EXPECT_FALSE(LookUp(Kind::kAiCpu, MakeDevice(Chip::k910B), kApi).capability->rate.exists());
}

TEST(Capabilities, FilesThatDependOnTheChip) {
  const auto file = [](Kind kind, Chip chip) {
    return LookUp(kind, MakeDevice(chip), kApi).channels.at(0).file;
  };
  EXPECT_EQ(file(Kind::kLowPower, Chip::k910B), "lpmInfoConv.data");
  EXPECT_EQ(file(Kind::kLowPower, Chip::k950), "lpmFreqConv.data");
  EXPECT_EQ(file(Kind::kLowPower, Chip::k310B), "lpmFreqConv.data");
  EXPECT_EQ(file(Kind::kL2, Chip::k910), "l2_cache.data");
  EXPECT_EQ(file(Kind::kL2, Chip::k310B), "l2_cache.data");
  EXPECT_EQ(file(Kind::kL2, Chip::k910B), "socpmu.data");
  EXPECT_EQ(file(Kind::kL2, Chip::k950), "socpmu.data");
  EXPECT_EQ(file(Kind::kAiCore, Chip::k910), "aicore.data");
  EXPECT_EQ(file(Kind::kAiCore, Chip::k910B), "ffts_profile.data");
}

TEST(StartPara, PeriodsAreRoundedDownAndNeverBelowTheDriversFloor) {
  EXPECT_EQ(PeriodOf(30).ms, 33U);
  EXPECT_EQ(PeriodOf(30).us, 33'333U);
  EXPECT_EQ(PeriodOf(1).ms, 1000U);
  EXPECT_EQ(PeriodOf(100).ms, 10U);
  EXPECT_EQ(PeriodOf(10'000).ms, 10U);
  EXPECT_EQ(PeriodOf(10'000).us, 100U);
  EXPECT_DOUBLE_EQ(EffectiveHz(channel::kHbm, MakeDevice(Chip::k910B), PeriodOf(30)), 1000.0 / 33);
  EXPECT_DOUBLE_EQ(EffectiveHz(channel::kSocProfile, MakeDevice(Chip::k950), PeriodOf(10'000)), 10'000);
  EXPECT_DOUBLE_EQ(EffectiveHz(channel::kSocProfile, MakeDevice(Chip::k910B), PeriodOf(30)), 1000.0 / 33);
}

// The cache's own channel where the other one is not there.
TEST(Capabilities, L2WithoutTheTranslation) {
  DeviceFacts device = MakeDevice(Chip::k910B);
  device.channels = {47};
  EXPECT_EQ(LookUp(Kind::kL2, device, kApi).channels.at(0).file, "l2_cache.data");
  device.channels = {1};
  EXPECT_EQ(LookUp(Kind::kL2, device, kApi).reason, "device 0 (910B) does not offer channel 134, 47");
  EXPECT_EQ(LookUp(Kind::kL2, MakeDevice(Chip::k310), kApi).reason, "a 310 has no l2");
  EXPECT_EQ(LookUp(Kind::kInstr, device, kApi).reason, "device 0 (910B) does not offer channel 11 to 98");
  EXPECT_THAT(LookUp(Kind::kL2, MakeDevice(Chip{23}), kApi).reason, HasSubstr("not known"));
}

// One bit per core, never a shift by 32 or more.
TEST(StartPara, CoreMasks) {
  const auto mask = [](int64_t cores) {
    DeviceFacts device = MakeDevice(Chip::k910);
    device.ai_core_num = cores;
    StartChoice choice;
    choice.period = PeriodOf(100);
    const StartPara para = MakeStartPara(channel::kAiCore, device, choice);
    uint32_t word = 0;
    std::memcpy(&word, para.user_data.data() + 12, sizeof word);
    return word;
  };
  EXPECT_EQ(mask(1), 1U);
  EXPECT_EQ(mask(31), 0x7FFFFFFFU);
  EXPECT_EQ(mask(32), 0xFFFFFFFFU);
  EXPECT_EQ(mask(48), 0xFFFFFFFFU);
  EXPECT_EQ(mask(-1), 0U);
  EXPECT_EQ(mask(INT64_MAX), 0xFFFFFFFFU);
}

TEST(StartPara, AtMostEightQosStreams) {
  DeviceFacts device = MakeDevice(Chip::k910B);
  device.qos.assign(20, {7, "s"});
  StartChoice choice;
  choice.period = PeriodOf(50);
  choice.streams = *StreamsOf(kFirstStreams, device);
  const StartPara para = MakeStartPara(channel::kQos, device, choice);
  ASSERT_EQ(para.user_data_size, 28U);
  EXPECT_EQ(para.user_data[4], std::byte{8});
  EXPECT_EQ(para.user_data[8 + 7], std::byte{7});
  EXPECT_EQ(para.user_data[8 + 8], std::byte{0});
}

// As GetQosProfileInfo() of the vendor's collector (common/platform/platform.cpp).
TEST(StartPara, QosStreamsByName) {
  const auto names = [](const std::vector<QosStream>& streams) {
    std::string text;
    for (const QosStream& stream : streams) text += stream.name + std::to_string(stream.mpam_id) + " ";
    return text;
  };
  for (const Chip chip : {Chip::k910B, Chip::k950}) {
    const DeviceFacts device = MakeDevice(chip);
    StartChoice choice;
    choice.period = PeriodOf(50);
    choice.soc_memory = true;
    choice.streams = *StreamsOf("streams:stream3,stream2", device);
    const StartPara para = MakeStartPara(channel::kQos, device, choice);
    EXPECT_EQ(names(StreamsOfStart(channel::kQos, para, device)), "stream33 stream22 ");
    const StartPara profile = MakeStartPara(channel::kSocProfile, device, choice);
    EXPECT_EQ(names(StreamsOfStart(channel::kSocProfile, profile, device)),
              chip == Chip::k950 ? "stream33 stream22 " : "");
  }
  const DeviceFacts device = MakeDevice(Chip::k910B);
  EXPECT_EQ(names(*StreamsOf("streams:stream1+stream2", device)), "stream11 stream22 ");
  EXPECT_EQ(names(*StreamsOf("", device)), "stream11 stream22 stream33 ");
  EXPECT_EQ(CheckMode(Kind::kQos, "streams:stream4", device).message(),
            "device 0 has no memory stream 'stream4': it has stream1, stream2, stream3");
  EXPECT_FALSE(CheckMode(Kind::kQos, "streams:", device).ok());
  std::string nine = "streams:stream1";
  for (int i = 0; i < 8; ++i) nine += ",stream1";
  EXPECT_FALSE(CheckMode(Kind::kQos, nine, device).ok());
}

TEST(Capabilities, NothingIsHadOfAClockThatNobodyKnows) {
  DeviceFacts device = MakeDevice(Chip::kNotTold);
  EXPECT_NE(Available(device), "");
  device.counter_mhz = 0;
  EXPECT_EQ(Available(device), "");
  EXPECT_THAT(LookUp(Kind::kHbm, device, kApi).reason, HasSubstr("nor the speed of the device's counter"));
}

}  // namespace
}  // namespace profd::driver
