// The hub over AscendHal and the simulated driver library: what is pushed must be what the simulator says it
// generated. Each test runs in a child process: the library reads its configuration once and stays loaded.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/device/channel_hub.h"
#include "daemon/driver/ascend/ascend_hal.h"
#include "fakes.h"
#include "format/records/packed.h"

namespace profd::device {
namespace {

constexpr uint64_t kMs = 1'000'000;

struct ChannelKind {
  uint32_t channel;
  const char* file;
  std::vector<uint32_t> payload;
  uint32_t period_ms = 20;
};
const ChannelKind kKinds[] = {
    {1, "hbm.data", {20, 0xFFFFFFFF, 2, 0, 1}},
    {3, "pcie.data", {}},
    {4, "nic.data", {}},
    {8, "llc.data", {20, 1}},
    {9, "hccs.data", {}},
    {129, "roce.data", {}},
    {131, "npu_mem.data", {20, 0, 1, 0}},
    {137, "dvpp.vdec", {}},
    {142, "npu_module_mem.data", {20, 0, 0, 0}},
    {52, "stars_soc_profile.data", {1, 20, 1, 20, 1, 20, 1, 20, 0, 0, 0, 0, 0, 0}, 0},
};

uint32_t Crc32(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (0xEDB88320U & (0U - (crc & 1)));
  }
  return ~crc;
}

// What the simulator says of a channel when it was stopped.
class Truth {
 public:
  Truth(const std::string& file, uint32_t device, uint32_t channel) {
    const std::string wanted = R"({"event":"stop","device":)" + std::to_string(device) + R"(,"channel":)" +
                               std::to_string(channel) + ",";
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      if (line.compare(0, wanted.size(), wanted) == 0) line_ = line;
    }
    EXPECT_NE(line_, "") << "channel " << channel;
  }
  uint64_t operator[](const std::string& field) const {
    const size_t at = line_.find("\"" + field + "\":");
    EXPECT_NE(at, std::string::npos) << field;
    return at == std::string::npos ? 0 : std::strtoull(line_.c_str() + at + field.size() + 3, nullptr, 10);
  }

 private:
  std::string line_;
};

// Runs all kinds on device 0 for a while; streams are numbered as kKinds.
class Collection {
 public:
  explicit Collection(std::string directory) : directory_(std::move(directory)) {}

  void Collect(uint64_t ns, FakeWriter& writer) {
    auto driver = driver::AscendHal::Load(std::string(PROFD_BUILD_DIR) + "/sim/libascend_hal.so");
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    // What is late here is the machine.
    constexpr uint64_t kPatience = 20'000 * kMs;
    ChannelHub hub(std::shared_ptr<driver::Driver>(std::move(*driver)),
                   {.driver_timeout_ns = kPatience,
                    .stop_timeout_ns = kPatience,
                    .read_timeout_ns = kPatience,
                    .stop_read_timeout_ns = kPatience},
                   ctl_, ctl_.Post());
    size_t answers = 0;
    for (uint32_t stream = 0; stream < std::size(kKinds); ++stream) {
      hub.Start(Request(stream, writer), [&](const base::Result<Started>& started) {
        EXPECT_TRUE(started.ok()) << started.status().message();
        ++answers;
      });
    }
    const auto all_answered = [&] {
      writer.Take();
      return answers == std::size(kKinds);
    };
    ASSERT_TRUE(ctl_.RunUntil(all_answered));
    const uint64_t until = base::MonotonicNs() + ns;
    ASSERT_TRUE(ctl_.RunUntil([&] {
      writer.Take();
      return base::MonotonicNs() > until;
    }));
    answers = 0;
    for (uint32_t stream = 0; stream < std::size(kKinds); ++stream) {
      hub.Stop({1, stream}, [&](const base::Status& status) {
        EXPECT_TRUE(status.ok()) << status.message();
        ++answers;
      });
    }
    ASSERT_TRUE(ctl_.RunUntil(all_answered));
    writer.Take();
  }

  Truth TruthOf(uint32_t stream) const { return {directory_ + "/truth", 0, kKinds[stream].channel}; }
  const chunk::StreamStats& stats(uint32_t stream) { return *stats_[stream]; }
  const format::StreamFormat& Format(uint32_t stream) const {
    return *format::FindStreamFormat(kKinds[stream].file, driver::Chip::k910B);
  }
  // Full rings may take more than the second that the driver waits for its reader at a stop.
  bool may_discard = false;

  // The header that a text channel delivers before its first line, and that the writer puts.
  std::string Header(uint32_t stream) const {
    return std::string(Format(stream).every_slice_header) + std::string(Format(stream).first_slice_header);
  }

 private:
  ChannelRequest Request(uint32_t stream, FakeWriter& writer) {
    const ChannelKind& kind = kKinds[stream];
    ChannelRequest request;
    request.channel = kind.channel;
    request.para.period_ms = kind.period_ms;
    request.para.user_data_size = static_cast<uint32_t>(kind.payload.size() * sizeof(uint32_t));
    for (size_t i = 0; i < kind.payload.size(); ++i) {
      format::Store(&request.para.user_data[i * sizeof(uint32_t)], kind.payload[i]);
    }
    request.format = &Format(stream);
    request.kind = kind.file;
    request.holder = "test";
    request.key = {1, stream};
    request.stats = stats_[stream] = std::make_shared<chunk::StreamStats>();
    request.pipe = &writer.pipe();
    request.on_event = [this, stream](const ChannelEvent& event) {
      if (may_discard && event.what == ChannelEvent::What::kDiscarded) return;
      ADD_FAILURE() << kKinds[stream].file << ": " << event.reason;
    };
    return request;
  }

  const std::string directory_;
  FakeCtl ctl_;
  std::map<uint32_t, chunk::StreamStatsPtr> stats_;
};

// `config` gets the line that names the truth file.
void InChild(const std::string& config, const std::function<void(Collection&)>& body) {
  std::string directory = testing::TempDir() + "/device_simulator_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::ofstream(directory + "/sim.yaml") << config << "truth: " << directory << "/truth\n";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv("PROFD_SIM_CONFIG", (directory + "/sim.yaml").c_str(), 1);
    Collection run(directory);
    body(run);
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "in the child process";
  std::filesystem::remove_all(directory);
}

TEST(HubOnTheSimulator, WhatIsPushedIsWhatWasGenerated) {
  InChild("devices: 1\n", [](Collection& run) {
    FakeWriter writer(256 << 10, 16);
    run.Collect(700 * kMs, writer);
    for (uint32_t stream = 0; stream < std::size(kKinds); ++stream) {
      SCOPED_TRACE(kKinds[stream].file);
      const Truth truth = run.TruthOf(stream);
      const std::string delivered = run.Header(stream) + writer[stream].bytes;
      EXPECT_EQ(delivered.size(), truth["generated_bytes"]);
      EXPECT_EQ(Crc32(delivered), truth["crc32"]);
      EXPECT_GT(writer[stream].records, 0U);
      EXPECT_EQ(run.stats(stream).lost_records, 0U);
      EXPECT_TRUE(writer[stream].losses.empty());
    }
    EXPECT_TRUE(writer.in_order());
  });
}

TEST(HubOnTheSimulator, AFloodIsStoredOrCounted) {
  InChild("devices: 1\nmode: flood\n", [](Collection& run) {
    FakeWriter writer(64 << 10, 8);
    run.may_discard = true;
    run.Collect(300 * kMs, writer);
    for (uint32_t stream = 0; stream < std::size(kKinds); ++stream) {
      SCOPED_TRACE(kKinds[stream].file);
      const Truth truth = run.TruthOf(stream);
      EXPECT_EQ(run.Header(stream).size() + writer[stream].bytes.size() + run.stats(stream).lost_bytes,
                truth["delivered_bytes"]);
      EXPECT_GT(writer[stream].records, 0U);
    }
    EXPECT_TRUE(writer.in_order());
  });
}

TEST(HubOnTheSimulator, PeriodsThatTheDeviceLostAreCounted) {
  InChild("devices: 1\nfaults:\n  - {name: lose_slots, at_s: 0.3, channel: 1}\n", [](Collection& run) {
    FakeWriter writer(256 << 10, 16);
    run.Collect(900 * kMs, writer);
    const Truth truth = run.TruthOf(0);
    EXPECT_GT(truth["dropped_records"], 0U);
    EXPECT_EQ(run.stats(0).lost_records, truth["dropped_records"]);
    EXPECT_EQ(writer[0].records + run.stats(0).lost_records, truth["generated_records"]);
    EXPECT_EQ(LostRecords(writer[0], format::Loss::Where::kDriver), truth["dropped_records"]);
  });
}

}  // namespace
}  // namespace profd::device
