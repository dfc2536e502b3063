// What the channels deliver survives the vendor's formulas and equals the truth file (rules 12, 13), flood
// and replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "format/records/tasks.h"
#include "sim/scenario/clock.h"
#include "sim/scenario/load.h"
#include "sim/scenario/producers/channel_ids.h"
#include "tests/unit/sim/sim_library.h"

namespace profd::sim {
namespace {

constexpr char kWithTruth[] = "truth: $DIR/truth\nscenario: {step_ms: 100}\n";

// Runs one channel for a while; all its bytes.
std::string Collect(const SimLibrary& sim, uint32_t id, size_t least, std::string payload = {},
                    uint32_t period_ms = 10) {
  if (payload.empty()) payload = AnyPayload(id);
  EXPECT_EQ(sim.Start(0, id, period_ms, payload), 0);
  std::string bytes = sim.ReadAtLeast(0, id, least);
  bytes += sim.StopDraining(0, id);
  return bytes;
}

TEST(Formulas, Hbm) {
  const SimLibrary sim(kWithTruth);
  const auto records = Records<format::HbmRecord>(Collect(sim, channel::kHbm, 30 * 192));
  const auto samples = sim.Samples(0, channel::kHbm);
  ASSERT_EQ(records.size(), samples.size() * 8);
  for (size_t i = 8; i < records.size(); ++i) {
    const auto& record = records[i];
    const double seconds = static_cast<double>(record.time_us - records[i - 8].time_us) / 1e6;
    const double mb_s = static_cast<double>(record.count) * 256 / 8 / (1 << 20) / seconds;
    const auto& values = samples[i / 8]["values"];
    EXPECT_DOUBLE_EQ(mb_s, values[record.event == 0 ? "read_mb_s" : "write_mb_s"][record.hbm_id]);
    EXPECT_EQ(samples[i / 8]["stamp"], record.time_us);
  }
}

TEST(Formulas, HbmIsTheLoadModel) {
  const SimLibrary sim("seed: 42\ntruth: $DIR/truth");
  const auto records = Records<format::HbmRecord>(Collect(sim, channel::kHbm, 20 * 192));
  const TrainingLoad load({}, 42, 0, *FindChip("910B"));
  const uint64_t start = sim.Event("start", 0, channel::kHbm)["host_raw_ns"];
  for (size_t sample = 0; sample < records.size() / 8; ++sample) {
    const uint64_t from = start + sample * 10'000'000, to = from + 10'000'000;
    uint64_t read = 0;
    for (size_t id = 0; id < 4; ++id) read += records[sample * 8 + id].count;
    EXPECT_NEAR(static_cast<double>(read), static_cast<double>(load.Between(Flow::kHbmRead, from, to)) / 32,
                8);
  }
}

TEST(Formulas, Llc) {
  for (const uint32_t mode : {1U, 2U}) {
    const SimLibrary sim(kWithTruth);
    const auto records =
        Records<format::LlcRecord>(Collect(sim, channel::kLlc, 20 * 2 * 8 * 24, Words({10, mode})));
    const auto samples = sim.Samples(0, channel::kLlc);
    ASSERT_EQ(records.size(), samples.size() * 16);
    const auto& events = mode == 1 ? format::kLlcReadEvents : format::kLlcWriteEvents;
    for (size_t at = 0; at < records.size(); at += 8) {
      const auto* e = &records[at];
      for (size_t slot = 0; slot < 8; ++slot) {
        EXPECT_EQ(e[slot].event, events[slot]);
        EXPECT_EQ(e[slot].llc_id, at / 8 % 2);
      }
      const double hits = static_cast<double>(e[2].count + e[3].count + e[5].count + e[7].count);
      const double rate = hits / static_cast<double>(e[4].count + e[6].count);
      // Lines of 64 bytes; the vendor's reader multiplies by 64 once more.
      const double mb_s = static_cast<double>(e[0].count + e[1].count) * 64 / (1 << 20) / 0.01;
      const auto& values = samples[at / 16]["values"];
      EXPECT_DOUBLE_EQ(rate, values["hit_rate"][at / 8 % 2]);
      EXPECT_NEAR(mb_s, values["throughput_mb_s"][at / 8 % 2], mb_s * 1e-12);
      EXPECT_GT(rate, 0.2);
      EXPECT_LT(rate, 1);
    }
  }
}

TEST(Formulas, DdrWidthDependsOnTheChip) {
  for (const auto& [chip, bits] : std::map<std::string, int>{{"310P", 256}, {"310B", 128}}) {
    const SimLibrary sim(std::string(kWithTruth) + "chip: " + chip);
    const auto records = Records<format::DdrRecord>(Collect(sim, channel::kDdr, 20 * 4 * 20));
    const auto samples = sim.Samples(0, channel::kDdr);
    for (size_t sample = 0; sample < samples.size(); ++sample) {
      double mb_s[2] = {};
      for (size_t i = sample * 4; i < sample * 4 + 4; ++i) {
        ASSERT_EQ(records[i].time_us, (sample + 1) * 10'000);
        EXPECT_EQ(records[i].master, 0xFFFFFFFFU);
        mb_s[records[i].event == 0 ? 0 : 1] +=
            static_cast<double>(records[i].count) * bits / 8 / (1 << 20) / 0.01;
      }
      EXPECT_NEAR(mb_s[0], samples[sample]["values"]["read_mb_s"], 1e-6);
      EXPECT_NEAR(mb_s[1], samples[sample]["values"]["write_mb_s"], 1e-6);
    }
  }
}

TEST(Formulas, PcieStampsAreDeviceTime) {
  const SimLibrary sim(std::string(kWithTruth) + "clock: {offset_ns: 7000000000, drift_ppm: 50}");
  const auto records = Records<format::PcieRecord>(Collect(sim, channel::kPcie, 30 * 96));
  const auto samples = sim.Samples(0, channel::kPcie);
  ASSERT_EQ(records.size(), samples.size());
  const DeviceClock clock(7'000'000'000, 50, 50'000);
  for (size_t i = 0; i < records.size(); ++i) {
    const auto& record = records[i];
    const uint64_t device_ns = clock.DeviceNs(samples[i]["host_raw_ns"]);
    EXPECT_LE(record.time_ns > device_ns ? record.time_ns - device_ns : device_ns - record.time_ns, 2U);
    if (i > 0) {
      EXPECT_EQ(record.time_ns - records[i - 1].time_ns, 10'000'000U);
    }
    EXPECT_LE(record.tx_posted.min, record.tx_posted.max);
    EXPECT_LE(record.tx_posted.avg, record.tx_posted.max);
    EXPECT_EQ(record.rx_completion.avg, samples[i]["values"]["rx_completion_bytes_us"][2]);
    if (record.tx_nonposted.min == 0xFFFFF) {
      EXPECT_EQ(samples[i]["values"]["tx_nonposted_bytes_us"][0], 0);
    }
  }
}

std::vector<uint64_t> Numbers(const std::string& line) {
  std::vector<uint64_t> numbers;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    word.erase(std::remove(word.begin(), word.end(), ':'), word.end());  // as the vendor's reader does
    numbers.push_back(std::stoull(word));
  }
  return numbers;
}

TEST(Formulas, HccsCountsUpFromTheStart) {
  const SimLibrary sim(kWithTruth);
  const auto lines = Lines(Collect(sim, channel::kHccs, 2000));
  const auto samples = sim.Samples(0, channel::kHccs);
  ASSERT_EQ(lines.size(), samples.size() + 1);
  uint64_t last_tx = 0, last_time = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto numbers = Numbers(lines[i]);
    ASSERT_EQ(numbers.size(), 3U);
    EXPECT_GE(numbers[1], last_tx);
    if (i > 1) {
      EXPECT_EQ(numbers[0] - last_time, 10'000'000U);
    }
    last_time = numbers[0];
    last_tx = numbers[1];
    EXPECT_EQ(numbers[1], samples[i - 1]["values"]["tx_bytes_total"]);
    EXPECT_EQ(numbers[2], samples[i - 1]["values"]["rx_bytes_total"]);
  }
}

TEST(Formulas, PortsHaveFifteenColumns) {
  for (const uint32_t id : {channel::kNic, channel::kRoce}) {
    const SimLibrary sim(kWithTruth);
    const auto lines = Lines(Collect(sim, id, 3000));
    const auto samples = sim.Samples(0, id);
    std::vector<uint64_t> last;
    for (size_t i = 1; i < lines.size(); ++i) {
      const auto n = Numbers(lines[i]);
      ASSERT_EQ(n.size(), 15U);
      const auto& values = samples[i - 1]["values"];
      EXPECT_EQ(n[1], values["bandwidth_mbit_s"]);
      EXPECT_EQ(n[3], values["rx_bytes_s"]);
      EXPECT_EQ(n[11], values["tx_bytes_total"]);
      EXPECT_EQ(n[14], 0U);
      EXPECT_LE(n[3] * 8, n[1] << 20) << "not more than the port can";
      if (!last.empty()) {
        EXPECT_EQ(n[3], (n[5] - last[5]) * 100) << "rate and total agree";
      }
      last = n;
    }
  }
}

TEST(Formulas, MediaEnginesColumnsByChip) {
  for (const auto& [chip, columns] : std::map<std::string, size_t>{{"310", 11}, {"910B", 12}}) {
    const SimLibrary sim(std::string(kWithTruth) + "chip: " + chip);
    const auto lines = Lines(Collect(sim, channel::kDvpp, 3000));
    for (size_t i = 1; i < lines.size(); ++i) {
      std::istringstream stream(lines[i]);
      const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
      ASSERT_EQ(words.size(), columns) << lines[i];
      EXPECT_EQ(std::stoul(words[columns - 10]), (i - 1) % 7) << "the engines in turn";
      EXPECT_EQ(words[columns - 6].back(), '%');
      EXPECT_LE(std::stoul(words[columns - 6]), 100U);
    }
  }
}

TEST(Formulas, OneMediaEnginePerChannel) {
  const SimLibrary sim(kWithTruth);
  const std::map<uint32_t, int> engine_of{{135, 5}, {136, 3}, {137, 0}, {138, 1},
                                          {139, 4}, {140, 2}, {141, 6}};
  for (const auto& [id, engine] : engine_of) {
    const auto lines = Lines(Collect(sim, id, 400));
    std::istringstream stream(lines[1]);
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    EXPECT_EQ(std::stoi(words[2]), engine) << id;
  }
}

TEST(Formulas, MemoryKindsStampTheirOwnWay) {
  const SimLibrary sim(kWithTruth);
  const auto app = Records<format::NpuMemRecord>(Collect(sim, channel::kNpuAppMem, 320));
  const auto device = Records<format::NpuMemRecord>(Collect(sim, channel::kNpuMem, 320));
  EXPECT_EQ(app[4].time_us, 50'000U);
  EXPECT_EQ(app[4].event, 0U);
  EXPECT_EQ(device[4].event, 1U);
  EXPECT_EQ(app[4].hbm_bytes, sim.Samples(0, channel::kNpuAppMem)[4]["values"]["hbm_bytes"]);

  const auto raw =
      Records<format::NpuModuleMemRecord>(Collect(sim, channel::kModuleMem, 400, Words({10, 0, 0, 0})));
  EXPECT_EQ(raw[0].time, sim.Samples(0, channel::kModuleMem)[0]["host_raw_ns"]);
  EXPECT_EQ(raw[0].time, raw[3].time);

  const uint64_t before = HostCounter::Read();
  const auto cycles =
      Records<format::NpuModuleMemRecord>(Collect(sim, channel::kModuleMem, 400, Words({10, 1, 0, 0})));
  const uint64_t after = HostCounter::Read();
  EXPECT_GE(cycles.front().time, before);
  EXPECT_LE(cycles.back().time, after);
}

TEST(Consistency, ChannelsOfOneTrafficAgree) {
  const SimLibrary sim("truth: $DIR/truth");
  const uint32_t ids[] = {channel::kHbm, channel::kQos, channel::kStarsProfile, channel::kHccs};
  const uint64_t before = RawNs();
  for (const uint32_t id : ids) {
    std::string payload = AnyPayload(id);
    if (id == channel::kQos) payload = Words({100, 3, 0x00030201, 0, 0, 0, 0});
    if (id == channel::kStarsProfile) payload = Words({1, 100, 1, 100, 1, 100, 1, 100, 0, 0, 0, 0, 0, 0});
    ASSERT_EQ(sim.Start(0, id, 100, payload), 0);
  }
  const uint64_t apart_ns = RawNs() - before;
  SleepMs(1200);
  for (const uint32_t id : ids) sim.StopDraining(0, id);

  // Sums over the same nine periods; the starts lie a moment apart, so the edges differ a little: by the part
  // of the time that is not common to all, of which there are two, at the load's peaks of twice the mean.
  const double edges = 4 * static_cast<double>(apart_ns) / 9e8;
  double hbm = 0, qos = 0, acc = 0, link = 0;
  const auto hbm_samples = sim.Samples(0, channel::kHbm), qos_samples = sim.Samples(0, channel::kQos);
  for (size_t i = 1; i < 10; ++i) {
    for (const double v : hbm_samples[i]["values"]["read_mb_s"]) hbm += v;
    for (const double v : hbm_samples[i]["values"]["write_mb_s"]) hbm += v;
    for (const double v : qos_samples[i]["values"]["mb_s"]) qos += v;
  }
  for (const auto& sample : sim.Samples(0, channel::kStarsProfile)) {
    if (sample["k"] < 2 || sample["k"] > 10) continue;
    const auto& values = sample["values"];
    if (values["type"] == "acc_pmu") {
      acc += 4 * (values["unit_read_mb_s"].get<double>() + values["unit_write_mb_s"].get<double>());
    }
    if (values["type"] == "chip_trans") link += values["link_tx_bytes"].get<double>();
  }
  const auto hccs = sim.Samples(0, channel::kHccs);
  const double hccs_bytes =
      hccs[9]["values"]["tx_bytes_total"].get<double>() - hccs[0]["values"]["tx_bytes_total"].get<double>();
  EXPECT_NEAR(qos, hbm, hbm * (0.01 + edges));
  EXPECT_NEAR(acc, hbm, hbm * (0.01 + edges));
  EXPECT_NEAR(link, hccs_bytes, hccs_bytes * (0.05 + edges));
}

TEST(Consistency, StarsRecordsAreTypedAndCarryTheMagic) {
  const SimLibrary sim(kWithTruth);
  const auto records = Records<format::StarsAccPmuRecord>(Collect(sim, channel::kStarsProfile, 64 * 40));
  std::map<uint16_t, int> types;
  for (const auto& record : records) {
    EXPECT_EQ(record.head.magic, format::kStarsMagic);
    ++types[record.head.header & 0x3F];
  }
  EXPECT_THAT(types, testing::UnorderedElementsAre(
                         testing::Key(static_cast<uint16_t>(format::StarsType::kAccPmu)),
                         testing::Key(static_cast<uint16_t>(format::StarsType::kSocInfo)),
                         testing::Key(static_cast<uint16_t>(format::StarsType::kSio)),
                         testing::Key(static_cast<uint16_t>(format::StarsType::kChipTrans))));
}

TEST(Consistency, SwitchedOffPartsOfTheProfileAreSilent) {
  const SimLibrary sim(kWithTruth);
  ASSERT_EQ(sim.Start(0, channel::kStarsProfile, 0, std::string(56, '\0')), 0);
  SleepMs(60);
  EXPECT_EQ(sim.Drain(0, channel::kStarsProfile), "");
  EXPECT_EQ(sim.Stop(0, channel::kStarsProfile), 0);
}

TEST(Consistency, A950CountsMicrosecondsAndBringsQos) {
  const SimLibrary sim("chip: 950\ntruth: $DIR/truth");
  std::string payload = Words({1, 20, 1, 20'000, 1, 20'000, 1, 20'000, 1, 10'000, 0, 0, 0, 0});
  payload += Words({20'000, 2, 0x0201, 0, 0, 0, 0});
  const auto records =
      Records<format::StarsQosRecord>(Collect(sim, channel::kStarsProfile, 64 * 60, payload));
  std::map<uint16_t, std::vector<uint64_t>> ticks;
  for (const auto& record : records) {
    const bool of_first_die = record.head.header >> 10 == 0;
    if (of_first_die) ticks[record.head.header & 0x3F].push_back(record.head.ticks);
  }
  const auto& qos = ticks[static_cast<uint16_t>(format::StarsType::kQos)];
  const auto& power = ticks[static_cast<uint16_t>(format::StarsType::kLowPower)];
  ASSERT_GE(qos.size(), 2U);
  ASSERT_GE(power.size(), 2U);
  EXPECT_EQ(qos[1] - qos[0], 20'000'000U) << "ticks of 1 GHz";
  EXPECT_EQ(power[1] - power[0], 10'000'000U);
  const auto first_qos = std::find_if(records.begin(), records.end(), [](const auto& record) {
    return (record.head.header & 0x3F) == static_cast<uint16_t>(format::StarsType::kQos);
  });
  EXPECT_EQ(first_qos->bandwidth_mb_s[2], 0U) << "two streams were asked for";
}

TEST(Consistency, TaskLogsTellOfTheSameTasks) {
  const SimLibrary sim("scenario: {step_ms: 100}");
  for (const uint32_t id : {channel::kTsfw, channel::kStarsLog, channel::kFftsTask}) {
    ASSERT_EQ(sim.Start(0, id, 0, AnyPayload(id)), 0);
  }
  SleepMs(400);
  std::map<uint32_t, std::string> bytes;
  for (const uint32_t id : {channel::kTsfw, channel::kStarsLog, channel::kFftsTask}) {
    bytes[id] = sim.Drain(0, id) + sim.StopDraining(0, id);
  }
  struct Span {
    uint64_t start = 0, end = 0;
  };
  std::map<std::pair<uint16_t, uint16_t>, Span> logged;
  uint16_t count = 0;
  for (const auto& record : Records<format::StarsTaskRecord>(bytes[channel::kStarsLog])) {
    EXPECT_EQ(record.magic, format::kStarsMagic);
    EXPECT_EQ(record.header >> 6 & 0xF, count++ % 16) << "a running count shows loss";
    Span& span = logged[{record.stream, record.task}];
    ((record.header & 0x3F) == 0 ? span.start : span.end) = record.ticks;
  }
  size_t matched = 0;
  for (const auto& record : Records<format::FftsTaskRecord>(bytes[channel::kFftsTask])) {
    EXPECT_EQ(record.header & 0x3F, format::kFftsTaskType);
    EXPECT_GT(record.cycles, 0U);
    const auto found = logged.find({record.stream, record.task});
    if (found == logged.end() || found->second.start == 0 || found->second.end == 0)
      continue;  // at the edges
    EXPECT_EQ(record.start_ticks, found->second.start);
    EXPECT_EQ(record.end_ticks, found->second.end);
    ++matched;
  }
  EXPECT_GT(matched, 50U);
  size_t tracked = 0;
  for (const auto& record : Records<format::TsTaskTypeRecord>(bytes[channel::kTsfw])) {
    if (record.head.kind != static_cast<uint8_t>(format::TsTrackKind::kTaskType)) continue;
    const auto found = logged.find({record.stream, record.task});
    if (found == logged.end() || found->second.start == 0) continue;  // at the edges
    EXPECT_EQ(record.head.ticks, found->second.start);
    ++tracked;
  }
  EXPECT_GT(tracked, 50U);
}

TEST(Consistency, CoreSamplesCoverTheMaskedCores) {
  const SimLibrary sim(kWithTruth);
  const auto records = Records<format::CoreSampleRecord>(Collect(sim, channel::kFftsSample, 96 * 72 * 3));
  std::map<uint8_t, uint64_t> cycles;
  for (const auto& record : records) {
    EXPECT_NE(record.mode, 0);
    EXPECT_EQ(record.counters, 8);
    cycles[record.core] += record.cycles;
    for (const uint64_t event : record.event) EXPECT_LE(event, record.cycles);
  }
  EXPECT_EQ(cycles.size(), 72U);
  EXPECT_EQ(cycles.count(23), 1U);
  EXPECT_EQ(cycles.count(24), 0U) << "vector cores count from 25";
  EXPECT_EQ(cycles.count(72), 1U);
}

TEST(Tails, AicpuEndsWithItsNames) {
  const SimLibrary sim("scenario: {step_ms: 100}\nlate_channels: {ids: [143]}\ntruth: $DIR/truth");
  const std::string bytes = Collect(sim, channel::kAicpu, 5 * sizeof(format::AiCpuRecord));
  const size_t tail = bytes.find("###drv_hashdata###");
  ASSERT_NE(tail, std::string::npos);
  EXPECT_EQ(tail % sizeof(format::AiCpuRecord), 0U);
  for (const auto& record : Records<format::AiCpuRecord>(bytes.substr(0, tail))) {
    EXPECT_EQ(record.magic, format::kReportMagic);
  }
  EXPECT_EQ(sim.Event("stop", 0, channel::kAicpu)["generated_bytes"], bytes.size());
}

TEST(Tails, AdprofPacketsUnpackIntoFiles) {
  const SimLibrary sim("late_channels: {ids: [145]}");
  std::map<std::string, std::string> files;
  for (const auto& packet : Records<format::AdprofPacket>(Collect(sim, channel::kAdprof, 4 * 1216, {}, 40))) {
    EXPECT_EQ(packet.magic, format::kAdprofMagic);
    ASSERT_LE(packet.chunk_size, sizeof packet.chunk);
    files[packet.file_name].append(packet.chunk, packet.chunk_size);
  }
  EXPECT_THAT(files["SystemCpuUsage.data"], testing::StartsWith("TimeStamp:"));
  EXPECT_THAT(files["Memory.data"], testing::HasSubstr("MemTotal:"));
  EXPECT_THAT(files["Memory.data"], testing::EndsWith("\n\n"));
}

TEST(LowPower, ChangesOfEveryPeriod) {
  const SimLibrary sim("truth: $DIR/truth\nscenario: {step_ms: 200}");
  const auto records = Records<format::LowPowerRecord>(Collect(sim, channel::kLowPower, 888 * 9, {}, 100));
  uint64_t last = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    ASSERT_EQ(records[i].type, i % 3) << "frequency, core and bus voltage in turn";
    ASSERT_LE(records[i].count, 55U);
    if (records[i].type != 0) continue;
    for (uint32_t change = 0; change < records[i].count; ++change) {
      EXPECT_GT(records[i].sample[change].ticks, last);
      last = records[i].sample[change].ticks;
      EXPECT_LE(records[i].sample[change].value, 1800U);
    }
  }
  const auto first = sim.Samples(0, channel::kLowPower).front();
  EXPECT_EQ(first["values"]["mhz"][0], records[0].sample[0].value);
}

TEST(Flood, EveryReadIsFullAndTheSumHolds) {
  const SimLibrary sim("mode: flood\ntruth: $DIR/truth");
  ASSERT_EQ(sim.Start(0, channel::kHbm, 20, HbmPayload()), 0);
  std::string buffer(1 << 20, '\0');
  uint64_t read = 0;
  for (int i = 0; i < 100; ++i) {
    const int n = sim.Read(0, channel::kHbm, buffer.data(), 1 << 20);
    ASSERT_GT(n, 0);
    read += static_cast<uint64_t>(n);
  }
  read += sim.StopDraining(0, channel::kHbm).size();
  const auto stop = sim.Event("stop", 0, channel::kHbm);
  EXPECT_EQ(stop["delivered_bytes"], read);
  EXPECT_EQ(stop["generated_bytes"], read);
  EXPECT_EQ(stop["generated_records"].get<uint64_t>() * sizeof(format::HbmRecord), read);
  EXPECT_EQ(read % sizeof(format::HbmRecord), 0U);
}

TEST(Flood, TheStreamIsWholeRecords) {
  const SimLibrary sim("mode: flood");
  ASSERT_EQ(sim.Start(0, channel::kHbm, 20, HbmPayload()), 0);
  std::string bytes;
  std::string buffer(999'983, '\0');
  while (bytes.size() < (size_t{12} << 20)) {
    const int n = sim.Read(0, channel::kHbm, buffer.data(), static_cast<uint32_t>(buffer.size()));
    bytes.append(buffer, 0, static_cast<size_t>(n));
  }
  sim.Stop(0, channel::kHbm);
  const auto records = Records<format::HbmRecord>(bytes);
  for (size_t i = 0; i < records.size(); ++i) {
    ASSERT_EQ(records[i].event, i % 8 / 4) << i;
    ASSERT_EQ(records[i].hbm_id, i % 4) << i;
  }
}

TEST(Flood, TextHasOneHeader) {
  const SimLibrary sim("mode: flood");
  ASSERT_EQ(sim.Start(0, channel::kRoce, 10), 0);
  std::string bytes;
  std::string buffer(1 << 20, '\0');
  while (bytes.size() < (size_t{9} << 20)) {
    bytes.append(buffer, 0, static_cast<size_t>(sim.Read(0, channel::kRoce, buffer.data(), 1 << 20)));
  }
  sim.Stop(0, channel::kRoce);
  const auto lines = Lines(bytes);
  EXPECT_EQ(lines[0] + "\n", format::kNetHeader);
  for (size_t i = 1; i + 1 < lines.size(); ++i)
    ASSERT_EQ(std::count(lines[i].begin(), lines[i].end(), ' '), 14) << i;
}

TEST(Flood, RateIsSharedAndWhatFindsNoRoomIsDropped) {
  // HBM would drop, too, if it were left alone for half of the time: two seconds.
  const SimLibrary sim("mode: flood\nrate_mb_s: 4\ntruth: $DIR/truth");
  ASSERT_EQ(sim.Start(0, channel::kHbm, 20, HbmPayload()), 0);
  ASSERT_EQ(sim.Start(0, channel::kPcie, 20), 0);
  const uint64_t end = RawNs() + 4'000'000'000;
  while (RawNs() < end) {
    SleepMs(10);
    sim.Drain(0, channel::kHbm);  // PCIe is left alone: 8 MB in 4 s do not fit into its ring
  }
  sim.StopDraining(0, channel::kHbm);
  sim.StopDraining(0, channel::kPcie);
  const auto hbm = sim.Event("stop", 0, channel::kHbm), pcie = sim.Event("stop", 0, channel::kPcie);
  EXPECT_EQ(hbm["dropped_bytes"], 0);
  EXPECT_GT(pcie["dropped_records"], 0);
  EXPECT_EQ(pcie["dropped_records"].get<uint64_t>() * sizeof(format::PcieRecord), pcie["dropped_bytes"]);
  EXPECT_NEAR(hbm["generated_bytes"].get<double>(), pcie["generated_bytes"].get<double>(), 4e6);
  for (const auto& stop : {hbm, pcie}) {
    EXPECT_EQ(stop["generated_bytes"].get<uint64_t>(),
              stop["delivered_bytes"].get<uint64_t>() + stop["dropped_bytes"].get<uint64_t>() +
                  stop["overwritten_bytes"].get<uint64_t>() + stop["discarded_bytes"].get<uint64_t>());
  }
}

TEST(Flood, PollKeepsReporting) {
  const SimLibrary sim("mode: flood");
  ASSERT_EQ(sim.Start(0, channel::kHbm, 20, HbmPayload()), 0);
  std::vector<PollInfo> ready;
  char buffer[4096];
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(sim.Poll(ready, 6, 5), 1);
    EXPECT_EQ(sim.Read(0, channel::kHbm, buffer, sizeof buffer), i == 0 ? 192 : 4096)
        << "the first sample comes alone";
  }
  sim.Stop(0, channel::kHbm);
}

TEST(Replay, DeliversTheRecordedBytes) {
  std::string recorded;
  for (uint64_t i = 0; i < 10'000; ++i) recorded += static_cast<char>(Mix(i));
  const std::string file = testing::TempDir() + "replay." + std::to_string(::getpid());
  std::ofstream(file, std::ios::binary) << recorded;
  const SimLibrary sim("truth: $DIR/truth\nreplay: {1: " + file + "}");
  ASSERT_EQ(sim.Start(0, channel::kHbm, 10, HbmPayload()), 0);
  std::string bytes = sim.ReadAtLeast(0, channel::kHbm, recorded.size());
  SleepMs(50);
  bytes += sim.StopDraining(0, channel::kHbm);
  EXPECT_EQ(bytes, recorded);
  std::filesystem::remove(file);
}

TEST(Determinism, TruthIsOnePerSampleAndFitsTheStop) {
  const SimLibrary sim(kWithTruth);
  const std::string bytes = Collect(sim, channel::kHbm, 10 * 192);
  const auto samples = sim.Samples(0, channel::kHbm);
  const auto stop = sim.Event("stop", 0, channel::kHbm);
  EXPECT_EQ(samples.size() * 192, bytes.size());
  EXPECT_EQ(stop["generated_records"], samples.size() * 8);
  EXPECT_FALSE(stop["crc32"].is_null());
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i]["k"], i + 1);
}

}  // namespace
}  // namespace profd::sim
