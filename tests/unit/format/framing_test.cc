#include "format/decode/framing.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "format/records/device.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"

namespace profd::format {
namespace {

using enum Chip;

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

uint64_t Between(Random& random, uint64_t least, uint64_t most) {
  return std::uniform_int_distribution<uint64_t>(least, most)(random);
}

template <typename Record>
void Append(Bytes& stream, const Record& record) {
  const size_t at = stream.size();
  stream.resize(at + sizeof record);
  Store(stream.data() + at, record);
}

// Streams as a busy device writes them: `periods` ticks of 20 ms.
struct Busy {
  const char* file;
  Chip chip;
  std::function<void(Random&, uint64_t period, Bytes&)> tick;
};

constexpr uint64_t kDeviceNow = 3'000'000'000'000;
constexpr uint64_t kTicksNow = 145'000'000'000;

const std::vector<Busy>& BusyStreams() {
  static const std::vector<Busy> streams = {
      {"hbm.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         for (uint32_t event = 0; event < 2; ++event) {
           for (uint32_t id = 0; id < 4; ++id) {
             Append(out, HbmRecord{period * 20'000, Between(random, 100'000, 40'000'000), event, id});
           }
         }
       }},
      {"ddr.data", k310P,
       [](Random& random, uint64_t period, Bytes& out) {
         for (uint32_t event = 0; event < 2; ++event) {
           Append(out, DdrRecord{static_cast<uint32_t>(period * 20'000),
                                 static_cast<uint32_t>(Between(random, 100'000, 40'000'000)), event, 0,
                                 0xFFFFFFFF});
         }
       }},
      {"llc.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         for (const uint32_t event : kLlcReadEvents) {
           Append(out, LlcRecord{period * 20'000, Between(random, 10'000, 400'000), event, 1});
         }
       }},
      {"pcie.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         PcieRecord record{};
         record.time_ns = kDeviceNow + period * 20'000'000;
         for (PcieTriple* triple :
              {&record.tx_posted, &record.tx_nonposted, &record.tx_completion, &record.tx_nonposted_latency,
               &record.rx_posted, &record.rx_nonposted, &record.rx_completion}) {
           *triple = {static_cast<uint32_t>(Between(random, 10, 100)),
                      static_cast<uint32_t>(Between(random, 200, 30'000)),
                      static_cast<uint32_t>(Between(random, 100, 200))};
         }
         Append(out, record);
       }},
      {"npu_mem.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         Append(out, NpuMemRecord{static_cast<uint32_t>(period * 20'000), 1, 0, 0,
                                  Between(random, 1, 64ull << 30)});
       }},
      {"npu_module_mem.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         for (const uint32_t module : {3u, 7u}) {
           Append(out, NpuModuleMemRecord{module, 0, kDeviceNow + period * 20'000'000,
                                          Between(random, 1 << 20, 1 << 30)});
         }
       }},
      {"qos.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         QosRecord record{};
         record.ticks = kTicksNow + period * 1'000'000;
         for (uint32_t& value : record.bandwidth_mb_s)
           value = static_cast<uint32_t>(Between(random, 0, 100'000));
         Append(out, record);
       }},
      {"ub.data", k950,
       [](Random& random, uint64_t period, Bytes& out) {
         UbRecord record{};
         record.magic = 0x6BD3;
         record.port = 3;
         record.time_us = period * 20'000;
         record.rx_mb_s = Between(random, 10, 100'000);
         record.tx_mb_s = Between(random, 10, 100'000);
         for (uint64_t& value : record.other) value = Between(random, 0, 1'000'000);
         Append(out, record);
       }},
      {"lpmInfoConv.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         LowPowerRecord record{};
         record.count = static_cast<uint32_t>(Between(random, 1, 55));
         record.type = static_cast<uint32_t>(period % 3);
         for (uint32_t i = 0; i < record.count; ++i) {
           record.sample[i] = {kTicksNow + period * 1'000'000 + i * 1'000,
                               static_cast<uint32_t>(Between(random, 800, 1800)), 0};
         }
         Append(out, record);
       }},
      {"stars_soc_profile.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         StarsAccPmuRecord record{};
         record.head = {static_cast<uint16_t>(StarsType::kAccPmu), kStarsMagic, 0,
                        kTicksNow + period * 1'000'000};
         record.write_bandwidth = random();
         record.read_bandwidth = random();
         Append(out, record);
       }},
      {"tscpu.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         TsCpuRecord record{};
         record.magic = kTsCpuMagic;
         record.pc = random();
         record.ticks = kTicksNow + period * 1'000'000;
         for (TsCpuCounter& counter : record.counter) counter = {Between(random, 0, 0xEC), random()};
         Append(out, record);
       }},
      {"ffts_profile.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         for (uint8_t core = 0; core < 72; ++core) {
           CoreSampleRecord record{};
           record.mode = 1;
           for (uint64_t& event : record.event) event = Between(random, 0, 20'000'000);
           record.cycles = Between(random, 0, 36'000'000);
           record.time_ns = kDeviceNow + period * 20'000'000;
           record.counters = 8;
           record.core = core;
           Append(out, record);
         }
       }},
      {"ffts_profile.data", k950,
       [](Random& random, uint64_t period, Bytes& out) {
         CoreSampleRecord950 record{};
         record.mode = 1;
         for (uint64_t& event : record.event) event = Between(random, 0, 20'000'000);
         record.cycles = Between(random, 0, 36'000'000);
         record.ticks = kTicksNow + period * 20'000'000;
         record.counters = 10;
         record.core = static_cast<uint8_t>(Between(random, 0, 63));
         Append(out, record);
       }},
      {"l2_cache.data", k910,
       [](Random& random, uint64_t period, Bytes& out) {
         L2CacheRecord record{};
         record.type = static_cast<uint16_t>(period % 3);
         record.stream = static_cast<uint16_t>(Between(random, 3, 40));
         record.task = static_cast<uint16_t>(period);
         for (uint64_t& event : record.event) event = Between(random, 10'000, 40'000'000);
         Append(out, record);
       }},
      {"socpmu.data", k910B,
       [](Random& random, uint64_t period, Bytes& out) {
         for (const uint16_t type : {uint16_t{1}, uint16_t{2}}) {
           SocPmuRecord record{};
           record.task_type = 1;
           record.stream = static_cast<uint16_t>(Between(random, 3, 40));
           record.task = static_cast<uint16_t>(period);
           record.data_type = type;
           for (uint64_t& event : record.event) event = Between(random, 10'000, 40'000'000);
           Append(out, record);
         }
       }},
      {"socpmu.data", k950,
       [](Random& random, uint64_t period, Bytes& out) {
         SocPmuRecord950 record{};
         record.data_type = static_cast<uint16_t>(1 + period % 4);
         record.stream = static_cast<uint16_t>(Between(random, 3, 40));
         record.task = static_cast<uint32_t>(period);
         for (uint64_t& event : record.event) event = Between(random, 10'000, 40'000'000);
         Append(out, record);
       }},
  };
  return streams;
}

Bytes Stream(const Busy& busy, size_t periods) {
  Random random(20231114);
  Bytes stream;
  for (uint64_t period = 1; period <= periods; ++period) busy.tick(random, period, stream);
  return stream;
}

TEST(Framing, EveryLegalRecordIsPlausible) {
  for (const Busy& busy : BusyStreams()) {
    const StreamFormat* format = FindStreamFormat(busy.file, busy.chip);
    ASSERT_NE(format, nullptr) << busy.file;
    const Bytes stream = Stream(busy, 1'000);
    ASSERT_EQ(stream.size() % format->record_bytes, 0u) << busy.file;
    for (size_t at = 0; at < stream.size(); at += format->record_bytes) {
      ASSERT_TRUE(format->plausible(stream.data() + at, 1, format->record_bytes) == 1)
          << busy.file << " at " << at;
    }
  }
}

// What resynchronising needs: at every wrong offset, a run of eight records holds an implausible one.
TEST(Framing, ShiftedStreamsAreRecognised) {
  constexpr size_t kRun = 8;
  for (const Busy& busy : BusyStreams()) {
    const StreamFormat* format = FindStreamFormat(busy.file, busy.chip);
    const Bytes stream = Stream(busy, 400);
    for (size_t shift = 1; shift < format->record_bytes; ++shift) {
      // A QoS record eight bytes on: the clock stands where an unknown field is, two bandwidths look like a
      // clock.
      if (format->file == "qos.data" && shift == 8) continue;
      // Of an L2 record one or two bytes back the upper bytes of a count, which are zero, are the task's
      // type.
      if (format->file == "l2_cache.data" && shift + 2 >= format->record_bytes) continue;
      size_t runs = 0;
      size_t taken_for_records = 0;
      for (size_t at = shift; at + kRun * format->record_bytes <= stream.size();
           at += kRun * format->record_bytes) {
        ++runs;
        taken_for_records += format->plausible(stream.data() + at, kRun, format->record_bytes) == kRun;
      }
      EXPECT_LE(taken_for_records * 100, runs)
          << busy.file << " chip " << NumberOf(busy.chip) << " shifted by " << shift;
    }
  }
}

TEST(Framing, RandomBytesAreHardlyEverRecords) {
  Random random(7);
  for (const Busy& busy : BusyStreams()) {
    const StreamFormat* format = FindStreamFormat(busy.file, busy.chip);
    Bytes bytes(format->record_bytes);
    size_t plausible = 0;
    for (int i = 0; i < 10'000; ++i) {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      plausible += format->plausible(bytes.data(), 1, format->record_bytes);
    }
    EXPECT_LE(plausible, 10u) << busy.file;
  }
}

template <typename Record>
bool Plausible(const char* file, Chip chip, const Record& record) {
  const StreamFormat* format = FindStreamFormat(file, chip);
  EXPECT_NE(format, nullptr) << file;
  EXPECT_EQ(format->record_bytes, sizeof(Record)) << file;
  std::byte bytes[sizeof(Record)];
  Store(bytes, record);
  return format->plausible(bytes, 1, format->record_bytes) == 1;
}

TEST(Framing, UnusualButLegalRecords) {
  EXPECT_TRUE(Plausible("hbm.data", k910B, HbmRecord{0, 0, 1, 3}));
  EXPECT_TRUE(Plausible("ddr.data", k310P, DdrRecord{0xFFFFFFFF, 0xFFFFFFFF, 1, 7, 5}));
  PcieRecord pcie{};
  pcie.time_ns = kDeviceNow;
  pcie.tx_posted = {0xFFFFF, 0, 0};  // "no value"
  EXPECT_TRUE(Plausible("pcie.data", k910B, pcie));
  EXPECT_TRUE(Plausible("npu_mem.app", k910B, NpuMemRecord{5, 0, 0, 0, 0}));
  EXPECT_TRUE(Plausible("npu_mem.app", k910B, NpuMemRecord{5, 1, 0x1'0000'0005, 1, 2}));
  LowPowerRecord low_power{};
  EXPECT_TRUE(Plausible("lpmFreqConv.data", k910B, low_power));  // nothing changed
  low_power.type = 2;
  EXPECT_TRUE(Plausible("lpmInfoConv.data", k910B, low_power));
  low_power.count = 55;
  for (LowPowerSample& sample : low_power.sample) sample = {kTicksNow, 1800, 0};
  EXPECT_TRUE(Plausible("lpmFreqConv.data", k910B, low_power));
}

TEST(Framing, FieldsOutOfRange) {
  EXPECT_FALSE(Plausible("hbm.data", k910B, HbmRecord{1, 1, 2, 0}));
  EXPECT_FALSE(Plausible("hbm.data", k910B, HbmRecord{1, 1, 0, 64}));
  EXPECT_FALSE(Plausible("hbm.data", k910B, HbmRecord{uint64_t{1} << 50, 1, 0, 0}));
  EXPECT_FALSE(Plausible("ddr.data", k310P, DdrRecord{1, 1, 0, 0, 0xFFFFFFFE}));
  EXPECT_FALSE(Plausible("llc.data", k910B, LlcRecord{1, 1, 0x12, 0}));
  EXPECT_FALSE(Plausible("llc.data", k910B, LlcRecord{1, 1, 64, 0}));
  EXPECT_FALSE(Plausible("npu_mem.data", k910B, NpuMemRecord{1, 1, 2, 0, 0}));
  EXPECT_FALSE(Plausible("npu_mem.data", k910B, NpuMemRecord{0, 1, 0, 0, 0}));
  EXPECT_FALSE(Plausible("npu_module_mem.data", k910B, NpuModuleMemRecord{1, 0, 0, 0}));
  LowPowerRecord low_power{};
  low_power.count = 56;
  low_power.sample[0] = {kTicksNow, 1800, 0};
  EXPECT_FALSE(Plausible("lpmInfoConv.data", k910B, low_power));
  low_power.count = 0;
  low_power.sample[40].value = 1;
  EXPECT_FALSE(Plausible("lpmInfoConv.data", k910B, low_power));
  CoreSampleRecord core{};
  core.time_ns = kDeviceNow;
  core.counters = 8;
  EXPECT_FALSE(Plausible("aicore.data", k310P, core));  // mode 0 ends the file for the vendor's reader
  core.mode = 1;
  EXPECT_TRUE(Plausible("aicore.data", k310P, core));
  core.counters = 0;
  EXPECT_FALSE(Plausible("aicore.data", k310P, core));
  core.counters = 9;
  EXPECT_FALSE(Plausible("aicore.data", k310P, core));
}

TEST(Framing, ChipVariants) {
  EXPECT_EQ(FindStreamFormat("ffts_profile.data", k910B)->record_bytes, 96u);
  EXPECT_EQ(FindStreamFormat("ffts_profile.data", k950)->record_bytes, 112u);
  EXPECT_EQ(FindStreamFormat("ffts_profile.data", k950)->stamp, StampDomain::kDeviceTicks);
  EXPECT_EQ(FindStreamFormat("tscpu.data", k910B)->record_bytes, 304u);
  EXPECT_EQ(FindStreamFormat("tscpu.data", kMdc)->record_bytes, 184u);
  EXPECT_EQ(FindStreamFormat("stars_soc.data", k310B)->record_bytes, 64u);
  EXPECT_EQ(FindStreamFormat("stars_soc.data", k950)->record_bytes, 32u);
  EXPECT_EQ(FindStreamFormat("llc.data", k310)->framing, Framing::kLines);
  EXPECT_EQ(FindStreamFormat("llc.data", k910)->framing, Framing::kFixed);
  EXPECT_EQ(FindStreamFormat("dvpp.data", k310P)->max_columns, 11u);
  EXPECT_EQ(FindStreamFormat("dvpp.vdec", k910B)->max_columns, 12u);
  // A chip nobody has described gets the common layouts.
  EXPECT_EQ(FindStreamFormat("ffts_profile.data", Chip{21})->record_bytes, 96u);
  EXPECT_EQ(FindStreamFormat("ffts_profile.data", Chip{4'000'000'000})->record_bytes, 96u);
  EXPECT_EQ(FindStreamFormat("none.data", k910B), nullptr);
  EXPECT_EQ(FindStreamFormat("", k910B), nullptr);
}

TEST(Framing, EveryDeviceFileIsKnown) {
  for (const char* file : {"hbm.data",
                           "ddr.data",
                           "llc.data",
                           "pcie.data",
                           "hccs.data",
                           "nic.data",
                           "roce.data",
                           "dvpp.data",
                           "dvpp.venc",
                           "dvpp.jpege",
                           "dvpp.vdec",
                           "dvpp.jpegd",
                           "dvpp.vpc",
                           "dvpp.png",
                           "dvpp.scd",
                           "netdev_stats.data",
                           "npu_mem.app",
                           "npu_mem.data",
                           "npu_module_mem.data",
                           "lpmFreqConv.data",
                           "lpmInfoConv.data",
                           "qos.data",
                           "ub.data",
                           "ccu0.instr",
                           "ccu1.instr",
                           "ccu0.stat",
                           "ccu1.stat",
                           "ts_track.data",
                           "ts_track.aiv_data",
                           "hwts.data",
                           "hwts.aiv_data",
                           "stars_soc.data",
                           "stars_soc_profile.data",
                           "stars_block.data",
                           "ffts_profile.data",
                           "aicore.data",
                           "aiVectorCore.data",
                           "l2_cache.data",
                           "socpmu.data",
                           "instr.group_3_aic",
                           "instr.biu_perf_group0_aiv1",
                           "aicpu.data",
                           "tscpu.data",
                           "ai_ctrl_cpu.data",
                           "SystemCpuUsage.data",
                           "Memory.data",
                           "4711-CpuUsage.data",
                           "4711-Memory.data",
                           "adprof"}) {
    for (uint32_t number = 0; number < 24; ++number) {
      const Chip chip{number};
      const StreamFormat* format = FindStreamFormat(file, chip);
      ASSERT_NE(format, nullptr) << file << " chip " << number;
      EXPECT_EQ(format->framing == Framing::kFixed, format->record_bytes != 0) << file;
      if (format->framing == Framing::kFixed && format->stamp != StampDomain::kNone) {
        const size_t stamp_bytes = format->stamp == StampDomain::kStartUs32 ? 4 : 8;
        EXPECT_LE(format->stamp_offset + stamp_bytes, format->record_bytes) << file;
      }
    }
  }
}

// The vendor keeps counters by task in files of the same names.
TEST(Framing, CoresByTask) {
  for (const char* file : {"ffts_profile.data", "aicore.data", "aiVectorCore.data"}) {
    for (uint32_t number = 0; number < 24; ++number) {
      const Chip chip{number};
      const StreamFormat* format = FindStreamFormat(file, chip, true);
      ASSERT_NE(format, nullptr) << file;
      const bool of_310 = chip == k310 && file == std::string_view("aicore.data");
      EXPECT_EQ(format->record_bytes, of_310 ? 112U : 128U) << file;
      EXPECT_NE(format, FindStreamFormat(file, chip)) << file;
    }
  }
  EXPECT_TRUE(DiffersByChip("aicore.data", true));
  EXPECT_FALSE(DiffersByChip("ffts_profile.data", true));
  EXPECT_EQ(FindStreamFormat("hbm.data", k910B, true), FindStreamFormat("hbm.data", k910B));
  FftsTaskRecord record{};
  record.magic = kStarsMagic;
  record.end_ticks = kTicksNow;
  const StreamFormat& format = *FindStreamFormat("ffts_profile.data", k910B, true);
  EXPECT_EQ(format.plausible(reinterpret_cast<const std::byte*>(&record), 1, 128), 1U);
  record.magic = 0;
  EXPECT_EQ(format.plausible(reinterpret_cast<const std::byte*>(&record), 1, 128), 0U);
}

TEST(Framing, InstructionProfiling) {
  const auto bytes = [](const char* file) { return FindStreamFormat(file, k910B)->record_bytes; };
  EXPECT_EQ(bytes("instr.group_3_aic"), 96u);
  EXPECT_EQ(bytes("instr.group_24_aiv1"), 64u);
  EXPECT_EQ(bytes("instr.biu_perf_group0_aic"), 4u);
  EXPECT_EQ(bytes("instr.pc_sampling_group0_aiv0"), 4u);
}

TEST(Framing, StampsAreWhereTheTableSays) {
  for (const Busy& busy : BusyStreams()) {
    const StreamFormat* format = FindStreamFormat(busy.file, busy.chip);
    if (format->stamp == StampDomain::kNone) continue;
    const Bytes stream = Stream(busy, 1);
    const std::byte* stamp = stream.data() + format->stamp_offset;
    const std::map<StampDomain, uint64_t> expected = {{StampDomain::kStartUs64, 20'000},
                                                      {StampDomain::kStartUs32, 20'000},
                                                      {StampDomain::kDeviceNs, kDeviceNow + 20'000'000},
                                                      {StampDomain::kHostCounter, kDeviceNow + 20'000'000}};
    if (format->stamp == StampDomain::kDeviceTicks) {
      EXPECT_GT(Load<uint64_t>(stamp), kTicksNow) << busy.file;
      EXPECT_LE(Load<uint64_t>(stamp), kTicksNow + 20'000'000) << busy.file;
    } else {
      const uint64_t value =
          format->stamp == StampDomain::kStartUs32 ? Load<uint32_t>(stamp) : Load<uint64_t>(stamp);
      EXPECT_EQ(value, expected.at(format->stamp)) << busy.file;
    }
  }
}

TEST(Framing, CombineModes) {
  const std::map<std::string, Combine> expected = {
      {"hbm.data", Combine::kSum},          {"ddr.data", Combine::kSum},
      {"llc.data", Combine::kSum},          {"pcie.data", Combine::kMinMaxAvg},
      {"hccs.data", Combine::kThin},        {"nic.data", Combine::kThin},
      {"dvpp.data", Combine::kThin},        {"qos.data", Combine::kThin},
      {"npu_mem.data", Combine::kThin},     {"ffts_profile.data", Combine::kSum},
      {"lpmInfoConv.data", Combine::kNone}, {"stars_soc_profile.data", Combine::kNone}};
  for (const auto& [file, combine] : expected)
    EXPECT_EQ(FindStreamFormat(file, k910B)->combine, combine) << file;
}

bool Line(const char* file, Chip chip, std::string_view line) {
  return PlausibleLine(*FindStreamFormat(file, chip), line);
}

TEST(Lines, LegalLines) {
  EXPECT_TRUE(Line("hccs.data", k910B, "3000:020000000 0 0"));
  EXPECT_TRUE(Line("hccs.data", k910B, "3000:020000000 18446744073709551615 4194304"));
  EXPECT_TRUE(
      Line("nic.data", k910B,
           "3000:020000000 100000 1000 1310720000 1000 1250000 0 0 2000 2621440000 2000 2500000 0 0"));
  EXPECT_TRUE(
      Line("nic.data", k910B,
           "3000:020000000 100000 1000 1310720000 1000 1250000 0 0 2000 2621440000 2000 2500000 0 0 0"));
  EXPECT_TRUE(Line("roce.data", k910B, "3000:020000000 100000 1 2 3 4 0 0 5 6 7 8 0 0 0 1"));
  EXPECT_TRUE(Line("dvpp.data", k910B, "3000:020000000 0 1 0 1000 10 30% 900 9 25% 5 1"));
  EXPECT_TRUE(Line("dvpp.data", k310P, "3000:020000000 1 0 1000 10 30% 900 9 25% 5 1"));
  EXPECT_TRUE(Line("netdev_stats.data", k910B, "5000020000000 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"));
}

TEST(Lines, TornLines) {
  for (const char* line :
       {"", " ", "3000:020000000", "3000:020000000 1", "3000:020000000 1 2 3", "3000:02000000 1 2",
        "3000:0200000001 1 2", "3000020000000 1 2", ":020000000 1 2", "3000:020000000 1 x",
        "3000:020000000 1 2.", "3000:020000000 1 .2", "3000:020000000 1 2.3.4", "3000:020000000 -1 2",
        "3000:02000000\x01 1 2", "time_stamp(s):time_stamp(ns) send_amount receive_amount",
        "3000:0200003000:020000000 1 2"}) {
    EXPECT_FALSE(Line("hccs.data", k910B, line)) << line;
  }
  EXPECT_FALSE(Line("dvpp.data", k910B, "3000:020000000 0 1 0 1000 10 30 900 9 25% 5 1"));
  EXPECT_FALSE(Line("dvpp.data", k910B, "3000:020000000 0 1 0 1000 10% 30% 900 9 25% 5 1"));
  EXPECT_FALSE(Line("dvpp.data", k910B, "3000:020000000 0 1 0 1000 10 % 900 9 25% 5 1"));
  EXPECT_FALSE(
      Line("roce.data", k910B, "3000:020000000 100000 1 2 3 4 0 0 5 6 7 8 0 0"));  // 14 columns are NIC's
  EXPECT_FALSE(Line("dvpp.data", k310P, "3000:020000000 0 1 0 1000 10 30% 900 9 25% 5 1"));
}

TEST(Lines, KindsWithoutAKnownShapeTakeAnything) {
  EXPECT_TRUE(Line("llc.data", k310, "0.1 5 hisi_l3c/dsid0/"));
}

TEST(Lines, Headers) {
  for (const std::string_view header : {kHccsHeader, kNetHeader, kDvppHeader, kDvppHeaderNoId}) {
    EXPECT_TRUE(IsHeaderLine(header));
  }
  EXPECT_FALSE(IsHeaderLine(""));
  EXPECT_FALSE(IsHeaderLine("3000:020000000 1 2"));
  EXPECT_FALSE(IsHeaderLine(" time"));
  EXPECT_FALSE(IsHeaderLine("s000:020000000 1 2"));  // damage
  EXPECT_EQ(FindStreamFormat("hccs.data", k910B)->every_slice_header, kHccsHeader);
  EXPECT_EQ(FindStreamFormat("dvpp.data", k910B)->first_slice_header, kDvppHeader);
  EXPECT_EQ(FindStreamFormat("dvpp.data", k310P)->first_slice_header, kDvppHeaderNoId);
  EXPECT_EQ(FindStreamFormat("roce.data", k910B)->first_slice_header, kNetHeader);
}

// What a plausible line is, column by column.
bool IsPlausibleByColumns(const StreamFormat& format, const std::string& line) {
  const auto digits = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  std::vector<std::string> columns;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) columns.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  if (columns.size() < format.min_columns || columns.size() > format.max_columns) return false;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::string column = columns[i];
    const bool is_time = i == 0 && format.stamp == StampDomain::kTextDeviceNs;
    if (!is_time && (format.percent_columns >> i & 1) != 0) {
      if (column.back() != '%') return false;
      column.pop_back();
    }
    const size_t point = column.find(is_time ? ':' : '.');
    if (point == std::string::npos) {
      if (is_time || !digits(column)) return false;
      continue;
    }
    if (!digits(column.substr(0, point)) || !digits(column.substr(point + 1))) return false;
    if (is_time && column.size() - point != 10) return false;
  }
  return true;
}

TEST(Lines, TheFastLookSaysWhatTheColumnsSay) {
  Random random(20261122);
  const std::string letters = "0123456789  ::..%%x-\0\xff";
  for (const char* file : {"hccs.data", "nic.data", "roce.data", "dvpp.data", "netdev_stats.data"}) {
    const StreamFormat* format = FindStreamFormat(file, k910B);
    if (format == nullptr || format->max_columns == 0) continue;
    int plausible = 0;
    for (int turn = 0; turn < 40'000; ++turn) {
      std::string line = format->stamp == StampDomain::kTextDeviceNs ? "12:000000345" : "1200";
      const uint64_t columns = Between(random, format->min_columns, format->max_columns);
      for (uint64_t i = 1; i < columns; ++i) {
        line += " " + std::to_string(Between(random, 0, 100'000));
        if ((format->percent_columns >> i & 1) != 0) line += '%';
      }
      for (uint64_t changes = Between(random, 0, 3); changes > 0; --changes) {
        const size_t at = Between(random, 0, line.size() - 1);
        const char letter = letters[Between(random, 0, letters.size() - 1)];
        if (Between(random, 0, 2) == 0) {
          line.insert(at, 1, letter);
        } else if (line.size() > 1 && Between(random, 0, 1) == 0) {
          line.erase(at, 1);
        } else {
          line[at] = letter;
        }
      }
      const bool is_plausible = PlausibleLine(*format, line);
      ASSERT_EQ(is_plausible, IsPlausibleByColumns(*format, line)) << file << ": '" << line << "'";
      plausible += is_plausible ? 1 : 0;
    }
    EXPECT_GT(plausible, 1000) << file;
  }
}

}  // namespace
}  // namespace profd::format
