// AscendHal and the plan's starts against the simulated driver libraries. Each test runs in a child process:
// a library reads its configuration once and stays loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "daemon/driver/ascend/ascend_hal.h"
#include "daemon/driver/ascend/port_counters.h"
#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/offers.h"
#include "daemon/session/plan/plan.h"

namespace profd::driver {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kSim = std::string(PROFD_BUILD_DIR) + "/sim/";

void InChild(const std::string& config, const std::function<void()>& body) {
  const std::string file =
      testing::TempDir() + "/driver_simulator_test_" + std::to_string(::getpid()) + ".yaml";
  std::ofstream(file) << config;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv("PROFD_SIM_CONFIG", file.c_str(), 1);
    body();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  std::remove(file.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child ended with status " << status;
}

std::unique_ptr<Driver> Load(const std::string& library) {
  auto loaded = AscendHal::Load(kSim + library);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? std::move(loaded).value() : nullptr;
}

TEST(Simulator, LinksToTheOtherDevices) {
  const auto links = [](Driver& driver, uint32_t device) {
    std::string text;
    for (const DeviceLink& link : driver.ReadFacts(device).links)
      text += std::to_string(link.device) + " " + link.kind + ", ";
    return text;
  };
  InChild("devices: 3\nchip: 910B\n", [&] {
    const auto driver = Load("libascend_hal.so");
    ASSERT_TRUE(driver->DeviceIds().ok());
    EXPECT_EQ(links(*driver, 1), "0 HCCS, 2 HCCS, ");
    EXPECT_EQ(driver->ReadFacts(1).pci.address, "0000:c2:00.0");
  });
  InChild("devices: 6\nchip: 910\n", [&] {
    const auto driver = Load("libascend_hal.so");
    ASSERT_TRUE(driver->DeviceIds().ok());
    EXPECT_EQ(links(*driver, 3), "0 HCCS, 1 HCCS, 2 HCCS, 4 SYS, 5 SYS, ");
  });
  InChild("devices: 2\n", [&] {
    const auto driver = Load("old/libascend_hal.so");  // which does not know the call
    ASSERT_TRUE(driver->DeviceIds().ok());
    EXPECT_EQ(links(*driver, 0), "");
    EXPECT_EQ(driver->ReadFacts(0).pci.address, "");
  });
}

TEST(Simulator, AProcessOnTheDeviceBringsItsChannel) {
  InChild("devices: 2\n", [] {
    const auto driver = Load("libascend_hal.so");
    EXPECT_EQ(driver->ReadFacts(0).no_process, "");
    EXPECT_THAT(*driver->Channels(0), Not(Contains(channel::kDeviceSystem)));
    const auto process = driver->OpenProcess(0, {.system_ms = 100});
    ASSERT_TRUE(process.ok()) << process.status().message();
    EXPECT_THAT(*driver->Channels(0), Contains(channel::kDeviceSystem));
    EXPECT_THAT(*driver->Channels(1), Not(Contains(channel::kDeviceSystem)));
    EXPECT_FALSE(driver->OpenProcess(0, {.system_ms = 100}).ok()) << "there is one";
    EXPECT_TRUE(driver->CloseProcess(0, *process).ok());
    EXPECT_THAT(*driver->Channels(0), Not(Contains(channel::kDeviceSystem)));
    EXPECT_FALSE(driver->CloseProcess(0, *process).ok());
  });
  InChild("devices: 1\n", [] {
    const auto driver = Load("old/libascend_hal.so");  // which has nothing beside it
    const auto refused = driver->OpenProcess(0, {.system_ms = 100});
    EXPECT_THAT(refused.status().message(), HasSubstr("libtsdclient.so"));
  });
  InChild("devices: 1\ndevice_process: {capable: false}\n", [] {
    const auto refused = Load("libascend_hal.so")->OpenProcess(0, {.system_ms = 100});
    EXPECT_THAT(refused.status().message(), HasSubstr("no process that samples its system"));
  });
}

TEST(Simulator, PortsOfDevicesByBothCardLibraries) {
  for (const char* folder : {"", "cards2"}) {
    InChild("devices: 3\n", [folder] {
      const auto cards = std::make_shared<Cards>(std::vector<std::string>{kSim + folder});
      EXPECT_EQ(cards->Missing(), "");
      PortCounters ports(cards);
      std::array<std::byte, 4096> bytes;
      const auto read = [&](uint32_t device) {
        return ports.Read(device, bytes.data(), static_cast<uint32_t>(bytes.size()));
      };
      EXPECT_EQ(read(0), kStoppedAlready);
      EXPECT_EQ(ports.Stop(0), kStateBusy);
      EXPECT_EQ(ports.Start(3, 10), folder[0] == '\0' ? 1 : 7) << "there is no such device";
      for (const uint32_t device : {0U, 2U}) {
        ASSERT_EQ(ports.Start(device, 10), kOk);
        EXPECT_EQ(ports.Start(device, 10), kStateBusy);
      }
      int got = 0;
      while ((got = read(2)) == 0) std::this_thread::yield();
      // One line, or more where the machine was busy.
      const std::string lines(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(got));
      EXPECT_EQ(lines.back(), '\n');
      EXPECT_EQ(std::count(lines.begin(), lines.end(), ' '),
                15 * std::count(lines.begin(), lines.end(), '\n'));
      EXPECT_EQ(ports.Stop(2), kOk);
      while (read(2) > 0) {  // what is there is still to be had
      }
      EXPECT_EQ(read(2), kStoppedAlready);
      EXPECT_EQ(ports.Start(2, 10), kOk);
    });
  }
}

// What the thread that asks has heard, once it has heard something.
DeviceHealth HealthOf(CardHealth& of, uint32_t device) {
  for (;;) {
    if (DeviceHealth health = of.Latest(device); health.wall_ns != 0) return health;
    std::this_thread::yield();
  }
}

TEST(Simulator, HealthOfDevicesByBothCardLibraries) {
  for (const char* folder : {"", "cards2"}) {
    InChild(
        "devices: 3\nhealth: {alarm: 2, temperature: 50, power: 1234, hbm_used_mb: 1024, uncorrected: 7}\n",
        [folder] {
          CardHealth cards(std::make_shared<Cards>(std::vector<std::string>{kSim + folder}));
          EXPECT_EQ(cards.Latest(0).wall_ns, 0U) << "nobody waits";
          for (const uint32_t device : {0U, 2U}) {
            const DeviceHealth health = HealthOf(cards, device);
            EXPECT_EQ(health.alarm, 2U);
            EXPECT_EQ(health.celsius, 50.0 + device);
            EXPECT_EQ(health.watts, 123.4 + device);
            EXPECT_EQ(health.memory_bytes, 64.0 * (1 << 30));
            EXPECT_EQ(health.memory_used_bytes, 1.0 * (1 << 30));
            EXPECT_EQ(health.memory_celsius, 52.0 + device);
            ASSERT_TRUE(health.ecc);
            EXPECT_EQ(health.ecc->corrected, 0U);
            EXPECT_EQ(health.ecc->uncorrected, 7U);
            EXPECT_EQ(health.faults, 0U);
            EXPECT_EQ(health.network, 0U);
          }
          EXPECT_FALSE(HealthOf(cards, 3).celsius) << "there is no such device";
        });
  }
}

TEST(Simulator, HealthThatCannotBeIsNone) {
  InChild("devices: 1\nhealth: {alarm: 9, temperature: 32767, power: -1, hbm_mb: 0}\n", [] {
    CardHealth cards(std::make_shared<Cards>(std::vector<std::string>{kSim}));
    const DeviceHealth health = HealthOf(cards, 0);
    EXPECT_FALSE(health.alarm || health.celsius || health.watts || health.memory_bytes);
    EXPECT_TRUE(health.faults);
  });
  InChild("devices: 1\nfaults: [{call: card_health, ones: true}]\n", [] {
    CardHealth cards(std::make_shared<Cards>(std::vector<std::string>{kSim}));
    const DeviceHealth health = HealthOf(cards, 0);
    EXPECT_FALSE(health.alarm || health.watts || health.memory_bytes || health.ecc || health.faults ||
                 health.network);
  });
  InChild("devices: 1\nfaults: [{call: card_health, delay_ms: 600000}]\n", [] {
    CardHealth cards(std::make_shared<Cards>(std::vector<std::string>{kSim}));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cards.Latest(0).wall_ns, 0U);
  });  // and it ends
}

TEST(Simulator, WhatADeviceSaysOfThisMoment) {
  InChild("devices: 2\nfaults: [{name: device_lost, device: 1}]\n", [] {
    const auto driver = Load("libascend_hal.so");
    const DeviceReading reading = driver->ReadNow(0);
    EXPECT_EQ(reading.status, kWorking);
    ASSERT_TRUE(reading.ai_core_mhz && reading.ai_core_utilization);
    // The load's own clock says what it is now: lower while little is to be done.
    EXPECT_LE(*reading.ai_core_mhz, driver->ReadFacts(0).aic_mhz);
    EXPECT_GE(*reading.ai_core_mhz, driver->ReadFacts(0).aic_mhz / 2);
    EXPECT_GE(*reading.ai_core_utilization, 0);
    EXPECT_LE(*reading.ai_core_utilization, 1);
    const DeviceReading lost = driver->ReadNow(1);
    EXPECT_EQ(lost.status, kCommunicationLost);
    EXPECT_FALSE(lost.ai_core_mhz || lost.ai_core_utilization);
    EXPECT_FALSE(driver->ReadNow(7).status);
  });
}

TEST(Simulator, FactsOfTheDefaultNode) {
  InChild("devices: 2\n", [] {
    const auto driver = Load("libascend_hal.so");
    ASSERT_NE(driver, nullptr);
    EXPECT_THAT(driver->missing_symbols(), IsEmpty());
    const auto ids = driver->DeviceIds();
    ASSERT_TRUE(ids.ok());
    EXPECT_GE(driver->api_version(), kApiProcessChannels) << "DeviceIds() asks for it";
    EXPECT_THAT(ids.value(), ElementsAre(0, 1));
    const DeviceFacts facts = driver->ReadFacts(1);
    EXPECT_THAT(facts.error, IsEmpty());
    EXPECT_EQ(facts.chip, Chip::k910B);
    EXPECT_EQ(facts.status, kWorking);
    EXPECT_EQ(facts.ai_core_num, 24);
    EXPECT_EQ(facts.aiv_num, 48);
    EXPECT_EQ(facts.aicpu_occupy_bitmap, 252);
    EXPECT_NEAR(facts.counter_mhz, 50, 0.5);
    EXPECT_THAT(facts.qos, Not(IsEmpty()));
    EXPECT_TRUE(Lists(facts, channel::kHbm));
    EXPECT_FALSE(Lists(facts, channel::kDdr));
    EXPECT_FALSE(driver->ReadFacts(9).error.empty()) << "no such device";
  });
}

// Device time and device ticks of two pairs must tell the same distance, and so must the host's clock.
TEST(Simulator, ClockPairsAreConsistent) {
  InChild("devices: 1\n", [] {
    const auto driver = Load("libascend_hal.so");
    ASSERT_NE(driver, nullptr);
    const double mhz = driver->ReadFacts(0).counter_mhz;
    const auto first = driver->PairClocks(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // between two looks at the clocks
    const auto second = driver->PairClocks(0);
    ASSERT_TRUE(first.ok() && second.ok());
    const auto apart = [&](auto member) {
      return static_cast<double>(second.value().*member) - static_cast<double>(first.value().*member);
    };
    const double host_ns = apart(&format::ClockPair::host_raw_ns);
    const double bound =
        static_cast<double>(first.value().error_ns + second.value().error_ns) + host_ns * 0.01;
    EXPECT_GE(host_ns, 50e6);
    EXPECT_NEAR(apart(&format::ClockPair::device_raw_ns), host_ns, bound);
    EXPECT_NEAR(apart(&format::ClockPair::device_counter) * 1000 / mhz, host_ns, bound);
  });
}

class SimulatedChip : public testing::TestWithParam<const char*> {};

// What the plan asks of a chip, its driver takes: every channel starts with our bytes, and stops.
TEST_P(SimulatedChip, TakesEveryStartOfThePlan) {
  InChild("devices: 1\nchip: \"" + std::string(GetParam()) + "\"\n", [] {
    const auto driver = Load("libascend_hal.so");
    ASSERT_NE(driver, nullptr);
    session::NodeFacts facts;
    facts.library_loaded = true;
    facts.api_version = driver->api_version();
    facts.host_counter_known = driver->HostCounterMhz(0).has_value();
    facts.devices = {driver->ReadFacts(0)};
    ASSERT_THAT(facts.devices[0].error, IsEmpty());
    EXPECT_EQ(ChipName(facts.devices[0].chip), GetParam());
    session::SessionSpec spec;
    spec.preset = "all";
    const auto plan = session::MakePlan(spec, facts);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    size_t started = 0;
    for (const session::ChannelStart& start : plan.value().channels) {
      if (start.late) continue;
      const int code = driver->Start(0, start.channel, start.para);
      EXPECT_EQ(code, kOk) << start.file << ": " << DescribeCode(code);
      EXPECT_EQ(driver->Start(0, start.channel, start.para), kStateBusy) << start.file;
      ++started;
    }
    EXPECT_GE(started, 7U);
    std::array<std::byte, 4096> bytes;
    for (const session::ChannelStart& start : plan.value().channels) {
      if (start.late) continue;
      // Read it empty first: a stop waits up to a second for somebody to do so.
      std::thread reader([&] {
        for (int code = 0; code >= 0; code = driver->Read(0, start.channel, bytes.data(), bytes.size())) {
          // Between two looks: the driver tells nobody of data.
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      });
      EXPECT_EQ(driver->Stop(0, start.channel), kOk) << start.file;
      reader.join();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Simulator, SimulatedChip,
                         testing::Values("310", "910", "310P", "910B", "310B", "950"),
                         [](const auto& info) { return "Chip" + std::string(info.param); });

TEST(Simulator, AnOldDriverLacksSymbolsAndStillSamples) {
  InChild("devices: 1\n", [] {
    const auto driver = Load("old/libascend_hal.so");
    ASSERT_NE(driver, nullptr);
    EXPECT_THAT(driver->missing_symbols(), Contains("halProfDataFlush"));
    uint32_t waiting = 1;
    EXPECT_EQ(driver->Flush(0, channel::kHbm, &waiting), kNotSupported);
    const DeviceFacts facts = driver->ReadFacts(0);
    EXPECT_EQ(facts.chip, Chip::k910B);
    EXPECT_EQ(facts.chip_name, "910B") << "no halGetChipInfo: the name of the chip number";
    EXPECT_TRUE(Lists(facts, channel::kHbm));
  });
}

TEST(Simulator, ALibraryWithoutSymbolsIsNoDriver) {
  InChild("devices: 1\n", [] {
    const auto loaded = AscendHal::Load(kSim + "empty/libascend_hal.so");
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.status().message(), HasSubstr("empty/libascend_hal.so is not a driver library"));
  });
}

}  // namespace
}  // namespace profd::driver
