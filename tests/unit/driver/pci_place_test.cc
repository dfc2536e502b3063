#include "daemon/driver/pci_place.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace profd::driver {
namespace {

constexpr char kAddress[] = "0000:c1:00.0";

class PciPlaceTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Say(const char* file, const std::string& text) {
    std::filesystem::create_directories(folder_ / kAddress);
    std::ofstream(folder_ / kAddress / file) << text;
  }
  PciPlace Read(const std::string& address = kAddress) { return ReadPciPlace(folder_, address); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("pci-place-" + std::to_string(::getpid()));
};

TEST_F(PciPlaceTest, WhatTheKernelSays) {
  Say("numa_node", "3\n");
  Say("local_cpulist", "96-127,224-255\n");
  const PciPlace place = Read();
  EXPECT_EQ(place.address, kAddress);
  EXPECT_EQ(place.numa_node, 3);
  EXPECT_EQ(place.cpus, "96-127,224-255");
}

TEST_F(PciPlaceTest, NoNodeIsNone) {
  Say("numa_node", "-1\n");
  EXPECT_EQ(Read().numa_node, std::nullopt);
}

TEST_F(PciPlaceTest, WhatIsNotThereIsNotKnown) {
  const PciPlace place = Read();
  EXPECT_EQ(place.address, kAddress);
  EXPECT_EQ(place.numa_node, std::nullopt);
  EXPECT_EQ(place.cpus, "");
  EXPECT_EQ(Read("").address, "");
}

TEST_F(PciPlaceTest, WhatIsNoneIsNotTaken) {
  Say("numa_node", "3x\n");
  Say("local_cpulist", "all of them\n");
  const PciPlace place = Read();
  EXPECT_EQ(place.numa_node, std::nullopt);
  EXPECT_EQ(place.cpus, "");
}

}  // namespace
}  // namespace profd::driver
