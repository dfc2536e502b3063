// Kinds that were asked for: when their data are missing, and which reason is told.
#include "client/export/read/missing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::client {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class MissingTest : public testing::Test {
 protected:
  MissingTest() {
    manifest().state = "sealed";
    manifest().settings["collect"] = "aicore=100Hz,aivector=100Hz";
  }
  format::Manifest& manifest() {
    if (!capture_.manifest) capture_.manifest.emplace();
    return *capture_.manifest;
  }
  void Kind(const std::string& kind, const std::string& unit, const std::string& verdict, uint64_t records,
            const std::string& reason = "") {
    manifest().kinds.push_back({kind, unit, 100, 100, verdict, reason, records * 100, records, 0});
  }
  void Stream(const std::string& kind, const std::string& unit, std::string_view file, uint64_t records) {
    format::ManifestStream stream;
    stream.kind = kind, stream.unit = unit, stream.folder = "device_0/data";
    stream.file = std::string(file) + ".0";
    stream.records = records;
    manifest().streams.push_back(stream);
  }
  std::vector<std::string> Missing() {
    Report report;
    ReportMissingKinds(capture_, {}, report);
    std::vector<std::string> all;
    for (const Skipped& skipped : report.skipped()) all.push_back(skipped.why);
    return all;
  }

  Capture capture_;
};

TEST_F(MissingTest, WhatLiesInAnotherKindsFileIsThere) {
  // The driver's stop was not answered in time: both kinds of one channel have failed, and their records are
  // there.
  Kind("aicore", "device:0", "failed", 10, "the driver has not answered");
  Kind("aivector", "device:0", "failed", 0, "the driver has not answered");
  Stream("aicore", "device:0", format::file::kBothCores, 10);
  EXPECT_THAT(Missing(), IsEmpty());
}

TEST_F(MissingTest, AStreamThatFellSilentIsTold) {
  manifest().settings["collect"] = "agent-kernel";
  Kind("agent-kernel", "pid:7", "started", 4,
       "no kernel for 8 s while calls went on: MSPTI of process 7 may have fallen silent");
  Stream("agent-kernel", "pid:7", "lane", 4);
  EXPECT_THAT(Missing(), IsEmpty());
  Report report;
  ReportMissingKinds(capture_, {}, report);
  ASSERT_THAT(report.notes(), SizeIs(1));
  EXPECT_THAT(report.notes()[0], HasSubstr("kind agent-kernel: no kernel for 8 s"));
}

TEST_F(MissingTest, AnEmptyFileOfBothHasNeither) {
  Kind("aicore", "device:0", "failed", 0, "the driver has not answered");
  Kind("aivector", "device:0", "failed", 0, "the driver has not answered");
  Stream("aicore", "device:0", format::file::kBothCores, 0);
  EXPECT_THAT(Missing(), SizeIs(2));
}

TEST_F(MissingTest, AFileOfOneOfThemHasNotTheOther) {
  Kind("aicore", "device:0", "started", 10);
  Kind("aivector", "device:0", "failed", 0, "no such channel");
  Stream("aicore", "device:0", format::file::kAiCore, 10);
  EXPECT_THAT(Missing(), testing::ElementsAre(HasSubstr("no such channel")));
}

TEST_F(MissingTest, TheReasonOfWhatWasTriedIsTold) {
  Kind("aicore", "device:0", "started", 10);
  Kind("aivector", "device:0", "skipped", 0, "a 310 has no aivector");
  Kind("aivector", "device:1", "failed", 0, "the driver has not answered");
  EXPECT_THAT(Missing(), testing::ElementsAre(HasSubstr("the driver has not answered")));
}

}  // namespace
}  // namespace profd::client
