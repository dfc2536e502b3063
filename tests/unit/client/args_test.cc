#include "client/words/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace profd::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Refused as bad usage, in one line that names the option and shows what was given.
template <typename T>
void ExpectUsage(const base::Result<T>& result, const std::string& option, const std::string& given) {
  ASSERT_FALSE(result.ok()) << option << " '" << given << "' was accepted";
  const base::Status status = result.status();
  EXPECT_EQ(status.code(), base::Code::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::StartsWith(option + " '"));
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
}

std::string Flat(const std::vector<v1::KindRequest>& kinds) {
  std::string text;
  for (const v1::KindRequest& kind : kinds) {
    text += kind.kind() + "|" + kind.mode() + "|" + std::to_string(kind.hz()) + ";";
  }
  return text;
}

TEST(Args, Collect) {
  EXPECT_EQ(Flat(*ParseCollect("hbm,pcie=100Hz,llc:write=50Hz")),
            "hbm||0.000000;pcie||100.000000;llc|write|50.000000;");
  EXPECT_EQ(Flat(*ParseCollect("host-cpu=0.5,qos=1kHz,npu-mem=2.5hz")),
            "host-cpu||0.500000;qos||1000.000000;npu-mem||2.500000;");
  EXPECT_EQ(Flat(*ParseCollect("llc:read,llc:write")), "llc|read|0.000000;llc|write|0.000000;");
  EXPECT_EQ(Flat(*ParseCollect("aicore:Custom:0x8,10=50Hz,hbm")),
            "aicore|Custom:0x8,10|50.000000;hbm||0.000000;");
  EXPECT_EQ(Flat(*ParseCollect("soc-pmu:HA:0x2,0x3;SMMU:0x10,llc:write")),
            "soc-pmu|HA:0x2,0x3;SMMU:0x10|0.000000;llc|write|0.000000;");
  EXPECT_EQ(Flat(*ParseCollect("task:blocks+firmware,hbm")), "task|blocks+firmware|0.000000;hbm||0.000000;");
}

TEST(Args, CollectRefused) {
  for (const char* text : {"",
                           ",",
                           "hbm,",
                           ",hbm",
                           "hbm,,pcie",
                           "=50Hz",
                           ":write",
                           "llc:",
                           "llc:=50Hz",
                           "hbm=",
                           "hbm=Hz",
                           "hbm=0",
                           "hbm=0Hz",
                           "hbm=-5Hz",
                           "hbm=abc",
                           "hbm=50MHz",
                           "hbm=50 Hz",
                           "hbm=1e3Hz",
                           "hbm=inf",
                           "hbm=nan",
                           "hbm=50Hz=60Hz",
                           "h bm",
                           "hbm;pcie",
                           "hbm\n",
                           "hbm,hbm",
                           "hbm=10Hz,hbm=20Hz",
                           "hbm,10",
                           "aicore:Custom:1=50Hz,2",
                           "../hbm",
                           "hbm=1Hz,llc:x=0"}) {
    ExpectUsage(ParseCollect(text), "--collect", text);
  }
}

TEST(Args, Duration) {
  EXPECT_EQ(*ParseDurationNs("--duration", "500ms"), 500'000'000U);
  EXPECT_EQ(*ParseDurationNs("--duration", "10s"), 10'000'000'000U);
  EXPECT_EQ(*ParseDurationNs("--duration", "5m"), 300'000'000'000U);
  EXPECT_EQ(*ParseDurationNs("--duration", "1h"), 3'600'000'000'000U);
  EXPECT_EQ(*ParseDurationNs("--duration", "1.5h"), 5'400'000'000'000U);
  EXPECT_EQ(*ParseDurationNs("--duration", "30d"), 30ULL * 86'400'000'000'000);
  EXPECT_EQ(*ParseDurationNs("--duration", "1ms"), 1'000'000U);
}

TEST(Args, DurationRefused) {
  for (const char* text : {"",     "0",    "0s",    "-1s",
                           "s",    "10",   "10x",   "10 s",
                           "abc",  "31d",  "721h",  "99999999999s",
                           "inf",  "nans", "0.5ms", "10s5",
                           "1e9s", "+1s",  "0x10s", "999999999999999999999999999s"}) {
    ExpectUsage(ParseDurationNs("--duration", text), "--duration", text);
  }
  ExpectUsage(ParseDurationNs("--delay", "0"), "--delay", "0");
  EXPECT_THAT(ParseDurationNs("--duration", "10").status().message(), HasSubstr("10s"));
}

TEST(Args, StorageLimit) {
  EXPECT_EQ(*ParseStorageLimit("200MB"), 200'000'000U);
  EXPECT_EQ(*ParseStorageLimit("4294967295MB"), 4'294'967'295'000'000U);
  EXPECT_EQ(*ParseStorageLimit("500MB"), 500'000'000U);
  EXPECT_EQ(*ParseStorageLimit("1GiB"), 1'073'741'824U);
  EXPECT_EQ(*ParseStorageLimit("1.5GB"), 1'500'000'000U);
  EXPECT_EQ(*ParseStorageLimit("200000KB"), 200'000'000U);
  EXPECT_EQ(*ParseStorageLimit("1TB"), 1'000'000'000'000U);
}

TEST(Args, StorageLimitRefused) {
  for (const char* text : {"", "0", "200", "100MB", "199.9MB", "4294967296MB", "-500MB", "MB", "500mb",
                           "500M", "500 MB", "abcMB", "infMB", "5000TB"}) {
    ExpectUsage(ParseStorageLimit(text), "--storage-limit", text);
  }
}

TEST(Args, Pids) {
  EXPECT_THAT(*ParsePids("1"), ElementsAre(1));
  EXPECT_THAT(*ParsePids("30,1,30,2"), ElementsAre(30, 1, 2));
}

TEST(Args, PidsRefused) {
  for (const char* text :
       {"", "0", "-1", "abc", "1,", ",1", "1 2", "1.5", "99999999999", "0x10", "1;2", "+1"}) {
    ExpectUsage(ParsePids(text), "--pid", text);
  }
}

TEST(Args, Devices) {
  EXPECT_TRUE((*ParseDevices("all")).all);
  EXPECT_THAT((*ParseDevices("all")).devices, IsEmpty());
  EXPECT_FALSE((*ParseDevices("0")).all);
  EXPECT_THAT((*ParseDevices("3,0,3,1")).devices, ElementsAre(0U, 1U, 3U));
}

TEST(Args, DevicesRefused) {
  for (const char* text : {"", "x", "-1", "0,", "0,all", "all,0", "ALL", "0-3", "4294967296", "0 1"}) {
    ExpectUsage(ParseDevices(text), "--devices", text);
  }
}

TEST(Args, Labels) {
  EXPECT_EQ(*ParseLabel("job=llm"), std::pair(std::string("job"), std::string("llm")));
  EXPECT_EQ(*ParseLabel("a.b/c-d_e=x=y"), std::pair(std::string("a.b/c-d_e"), std::string("x=y")));
  EXPECT_EQ(*ParseLabel("k="), std::pair(std::string("k"), std::string()));
}

TEST(Args, LabelsRefused) {
  for (const std::string& text : {std::string("job"), std::string("=x"), std::string(""),
                                  std::string("a b=x"), std::string("k=\x1b[31m"), std::string("k=\xff"),
                                  std::string(64, 'k') + "=v", "k=" + std::string(129, 'v')}) {
    ExpectUsage(ParseLabel(text), "--label", text);
  }
}

TEST(Args, Names) {
  EXPECT_TRUE(CheckName("--name", "").ok());
  EXPECT_TRUE(CheckName("--name", "größer 训练").ok());
  EXPECT_FALSE(CheckName("--name", "two\nlines").ok());
  EXPECT_FALSE(CheckName("--name", "\xc3").ok());
  EXPECT_FALSE(CheckName("--name", std::string(129, 'x')).ok());
}

TEST(Args, SocketFromOptionEnvironmentOrDefault) {
  EXPECT_EQ(*SocketPath("", nullptr), "/run/profd/profd.sock");
  EXPECT_EQ(*SocketPath("", ""), "/run/profd/profd.sock");
  EXPECT_EQ(*SocketPath("", "/a/b"), "/a/b");
  EXPECT_EQ(*SocketPath("", "unix:/a/b"), "/a/b");
  EXPECT_EQ(*SocketPath("", "unix:///a/b"), "/a/b");
  EXPECT_EQ(*SocketPath("/c", "/a/b"), "/c");
  EXPECT_EQ(*SocketPath("c/d", nullptr), std::filesystem::current_path() / "c/d");
}

TEST(Args, SocketRefused) {
  ExpectUsage(SocketPath("", "unix:"), "PROFD_ADDRESS", "unix:");
  ExpectUsage(SocketPath("unix:", nullptr), "--socket", "unix:");
  ExpectUsage(SocketPath("", "http://host:1"), "PROFD_ADDRESS", "http://host:1");
}

TEST(Args, PathsMayHoldProcessAndHost) {
  char host[256] = "";
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(*WithNames("--output", "/d/%h-%p/%p%", 42), std::string("/d/") + host + "-42/42%");
  EXPECT_EQ(*WithNames("--output", "/d/%h", 0), std::string("/d/") + host);
  EXPECT_FALSE(WithNames("--output", "/d/%p", 0).ok());
  // The next that is free: a script that says the same each time overwrites nothing.
  const std::string folder = ::testing::TempDir() + "numbers" + std::to_string(::getpid());
  for (int number = 1; number <= 3; ++number) {
    const std::string path = folder + "/run" + std::to_string(number);
    EXPECT_EQ(*WithNames("--output", folder + "/run%n", 0), path);
    std::filesystem::create_directories(path);
  }
  std::filesystem::remove_all(folder);
}

TEST(Args, NamesMayHoldTheEnvironment) {
  ::setenv("PROFD_TEST_NAME", "17%p", 1);
  EXPECT_EQ(*WithEnvironment("--name", "a-%q{PROFD_TEST_NAME}-%q{PROFD_TEST_NAME}%h"), "a-17%p-17%p%h");
  EXPECT_EQ(*WithEnvironment("--name", "50%"), "50%");
  EXPECT_FALSE(WithEnvironment("--name", "%q{PROFD_TEST_NO_NAME}").ok());
  EXPECT_FALSE(WithEnvironment("--name", "%q{PROFD_TEST_NAME").ok());
}

}  // namespace
}  // namespace profd::client
