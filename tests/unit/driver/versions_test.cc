#include "daemon/driver/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace profd::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// As the vendor's packages write them: driver and firmware 24.1.rc3, a CANN of the same time.
constexpr char kDriver[] =
    "Version=24.1.rc3\nascendhal_version=7.35.23\naicpu_version=1.0\n"
    "compatible_version=[V100R001C13],[V100R001C19]\ncompatible_version_fw=[6.4.0,6.4.99],[7.0.0,7.5.99]\n"
    "package_version=24.1.rc3\n";
constexpr char kFirmware[] = "Version=7.5.0.1.129\nfirmware_version=1.0\npackage_version=24.1.rc3\n";
constexpr char kCann[] =
    "Version=8.5.0.2.220\nversion_dir=8.5.0\nrequired_driver_ascendhal_version=\"4.0.0\"\n";

Versions Of(const std::string& driver, const std::string& firmware, const std::string& cann) {
  return VersionsOf(ParseVersionInfo(driver), ParseVersionInfo(firmware), ParseVersionInfo(cann));
}

std::string With(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Versions, ThoseThatBelongTogether) {
  const Versions versions = Of(kDriver, kFirmware, kCann);
  EXPECT_THAT(versions.of, ElementsAre(Pair("cann", "8.5.0.2.220"), Pair("driver", "24.1.rc3"),
                                       Pair("firmware", "7.5.0.1.129")));
  EXPECT_EQ(versions.note, "");
}

TEST(Versions, ThoseThatDoNot) {
  EXPECT_EQ(
      Of(kDriver, With(kFirmware, "7.5.0.1.129", "7.6.0.1"), kCann).note,
      "firmware 7.6.0.1 is none that driver 24.1.rc3 names as compatible: [6.4.0,6.4.99],[7.0.0,7.5.99]");
  EXPECT_EQ(Of(kDriver, With(kFirmware, "7.5.0.1.129", "6.4.12"), kCann).note, "");
  EXPECT_THAT(Of(kDriver, With(kFirmware, "7.5.0.1.129", "6.5"), kCann).note,
              HasSubstr("firmware 6.5 is none"));
  EXPECT_EQ(Of(kDriver, kFirmware, With(kCann, "4.0.0", "7.36")).note,
            "CANN 8.5.0.2.220 needs a driver of interface 7.36, this one has 7.35.23");
}

TEST(Versions, WhatCannotBeToldIsNoNote) {
  EXPECT_EQ(Of(kDriver, "", "").note, "");
  EXPECT_EQ(Of("", kFirmware, kCann).note, "");
  EXPECT_EQ(Of(With(kDriver, "[6.4.0,6.4.99],", "[6.4.0,"), kFirmware, kCann).note, "");
  EXPECT_EQ(Of(kDriver, With(kFirmware, "7.5.0.1.129", "7.5.rc1"), kCann).note, "");
  EXPECT_THAT(Of("", "", "").of, IsEmpty());
}

TEST(Versions, HostileText) {
  for (const std::string& text : {std::string("Version=\x1b[31m1\n"), std::string("Version=1 2\n"),
                                  std::string("Version=\xff\n"), "Version=" + std::string(300, '1') + "\n",
                                  std::string("=1\nVersion\nVersion=\n"), std::string(70'000, '=')})
    EXPECT_THAT(Of(text, text, text).of, IsEmpty()) << text.substr(0, 40);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "k" + std::to_string(i) + "=1\n";
  EXPECT_LE(ParseVersionInfo(many).size(), 64u);
  EXPECT_THAT(ParseVersionInfo("Version=1.2\r\nlast=3"),
              ElementsAre(Pair("Version", "1.2"), Pair("last", "3")));
}

TEST(Versions, OfFiles) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("versions_test." + std::to_string(::getpid()));
  const auto write = [](const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  write(root / "install.info", "UserName=a\nDriver_Install_Path_Param=" + root.string() + "\n");
  write(root / "driver/version.info", kDriver);
  write(root / "cann/runtime/version.info", kCann);
  // Whoever reads it waits for ever.
  fs::create_directories(root / "firmware");
  ASSERT_EQ(::mkfifo((root / "firmware/version.info").c_str(), 0600), 0);
  const Versions versions = ReadVersions(root / "install.info", {root / "none", root / "cann"});
  EXPECT_THAT(versions.of, ElementsAre(Pair("cann", "8.5.0.2.220"), Pair("driver", "24.1.rc3")));
  fs::remove_all(root);
}

}  // namespace
}  // namespace profd::driver
