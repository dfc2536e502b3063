// What is not allowed, not there or not to be asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "daemon/session/plan/plan.h"
#include "daemon/session/plan/spec_check.h"
#include "tests/unit/session/plan_cases.h"

namespace profd::session {
namespace {

using base::Code;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Plan, DeviceKindsThatPolicyDenies) {
  NodeFacts facts = TwoDevices();
  facts.device_kinds_allowed = false;
  facts.device_kinds_denied_reason = "device kinds are for root; ask your administrator";
  SessionSpec spec;
  spec.pids = {42};
  const Plan plan = Good(spec, facts);
  EXPECT_EQ(Find(plan, "hbm", "device:1").reason, facts.device_kinds_denied_reason);
  EXPECT_EQ(Find(plan, "hbm", "device:1").verdict, Verdict::kSkipped);
  EXPECT_EQ(Find(plan, "host-cpu", "pid:42").verdict, Verdict::kStarted);
  EXPECT_THAT(plan.channels, IsEmpty());

  const base::Status status = Bad(Ask({{Kind::kHbm, "", 0}}), facts);
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr(facts.device_kinds_denied_reason));
}

TEST(Plan, LeasedDevicesAreTaken) {
  NodeFacts facts = TwoDevices();
  facts.device_kinds_allowed = false;
  facts.device_kinds_denied_reason = "device kinds are for root; ask your administrator";
  facts.leased_devices = {1};
  const Plan plan = Good(Ask({{Kind::kHbm, "", 0}}), facts);
  EXPECT_EQ(Find(plan, "hbm", "device:0").reason, facts.device_kinds_denied_reason);
  EXPECT_EQ(Find(plan, "hbm", "device:1").verdict, Verdict::kStarted);
  EXPECT_THAT(plan.devices, ElementsAre(1));
}

TEST(Plan, LabelsAreInEveryListSoTheyAreShort) {
  SessionSpec spec;
  for (int i = 10; i < 42; ++i) spec.labels[std::to_string(i)] = std::string(126, 'v');
  EXPECT_TRUE(CheckSpec(spec, config::Config()).ok());
  spec.labels["10"] += "v";
  const base::Status status = CheckSpec(spec, config::Config());
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("the labels are 4097 bytes long; at most 4096 are taken"));
}

TEST(Plan, WholeHostKindsThatPolicyDenies) {
  NodeFacts facts = TwoDevices();
  facts.host_kinds_denied_reason = "the whole host is for root";
  const base::Status status = Bad(AskPreset("host"), facts);
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr(facts.host_kinds_denied_reason));
  // Beside a process of one's own its network, but nothing else.
  SessionSpec spec = AskPreset("all");
  spec.pids = {42};
  const Plan plan = Good(spec, facts);
  EXPECT_EQ(Find(plan, "host-network", "host").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(plan, "host-pid-cpu", "pid:42").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(plan, "host-sys-cpu", "host").reason, facts.host_kinds_denied_reason);
}

TEST(Plan, BreakpointsThatPolicyDenies) {
  NodeFacts facts = TwoDevices();
  facts.breakpoints_denied_reason = "breakpoints are for root";
  SessionSpec spec = Ask({{Kind::kHostPthread, "", 0}});
  spec.pids = {42};
  const base::Status status = Bad(spec, facts);
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr(facts.breakpoints_denied_reason));
  spec = Ask({{Kind::kHostPthread, "", 0}, {Kind::kHostOsrt, "", 0}});
  spec.pids = {42};
  const Plan plan = Good(spec, facts);
  EXPECT_EQ(Find(plan, "host-pthread", "pid:42").reason, facts.breakpoints_denied_reason);
  EXPECT_EQ(Find(plan, "host-osrt", "pid:42").verdict, Verdict::kStarted);
}

TEST(Plan, NothingAtAllIsRefusedWithTheReasons) {
  base::Status status = Bad(Ask({{Kind::kDdr, "", 0}, {Kind::kUb, "", 0}}), TwoDevices());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(
      status.message(),
      "nothing can be collected: a 910B has no ddr; a 910B has no ub; profctl devices shows what there is");
  status = Bad(AskPreset("memory"), HostOnly());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("cannot load the driver library"));

  NodeFacts lost = TwoDevices();
  for (driver::DeviceFacts& device : lost.devices) device.status = driver::kCommunicationLost;
  EXPECT_THAT(Bad(Ask({{Kind::kHbm, "", 0}}), lost).message(),
              HasSubstr("device 1 (910B) has lost communication"));
  lost.devices[0].status = driver::kWorking;
  EXPECT_THAT(With(Good(Ask({{Kind::kHbm, "", 0}}), lost), Verdict::kStarted), ElementsAre("hbm@device:0"));
}

struct BadInput {
  const char* name;
  SessionSpec (*spec)();
  Code code;
  const char* message;  // part of it
};

SessionSpec WithDevices(std::vector<uint32_t> devices) {
  SessionSpec spec = Ask({{Kind::kHbm, "", 0}});
  spec.devices = std::move(devices);
  return spec;
}

SessionSpec WithPids(std::vector<pid_t> pids) {
  SessionSpec spec = Ask({{Kind::kHostCpu, "", 0}});
  spec.pids = std::move(pids);
  return spec;
}

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

const BadInput kBadInputs[] = {
    {"AbsentDevice", [] { return WithDevices({9}); }, Code::kNotFound,
     "device 9 does not exist: this node has devices 0,1; check --devices"},
    {"OneOfTheDevicesAbsent",
     [] {
       return WithDevices({0, 9});
     },
     Code::kNotFound, "device 9 does not exist"},
    {"AbsentDeviceBesideAll",
     [] {
       SessionSpec spec = WithDevices({64});
       spec.all_devices = true;
       return spec;
     },
     Code::kNotFound, "device 64 does not exist"},
    {"AbsentDeviceForHostKinds",
     [] {
       SessionSpec spec = Ask({{Kind::kHostSysCpu, "", 0}});
       spec.devices = {7};
       return spec;
     },
     Code::kNotFound, "device 7 does not exist"},
    {"MisspeltPreset", [] { return AskPreset("nodes"); }, Code::kInvalidArgument, "did you mean node?"},
    {"UnknownPreset", [] { return AskPreset("everything"); }, Code::kInvalidArgument,
     "node memory network host light detail all"},
    {"RateAboveTheRange",
     [] {
       return Ask({{Kind::kHbm, "", 101}});
     },
     Code::kInvalidArgument, "hbm=101Hz: the rate of hbm on a 910B is a whole number from 1 to 100 Hz"},
    {"RateAboveTheLinks",
     [] {
       return Ask({{Kind::kPcie, "", 51}});
     },
     Code::kInvalidArgument, "from 1 to 50 Hz"},
    {"RateOfOtherChips",
     [] {
       return Ask({{Kind::kQos, "", 5000}});
     },
     Code::kInvalidArgument, "on a 910B"},
    {"BrokenRate",
     [] {
       return Ask({{Kind::kHbm, "", 5.5}});
     },
     Code::kInvalidArgument, "hbm=5.5Hz"},
    {"RateBelowOne",
     [] {
       return Ask({{Kind::kHbm, "", 0.5}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"NegativeRate",
     [] {
       return Ask({{Kind::kHbm, "", -1}});
     },
     Code::kInvalidArgument, "hbm=-1Hz"},
    {"RateThatIsNoNumber",
     [] {
       return Ask({{Kind::kHbm, "", kNan}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"EndlessRate",
     [] {
       return Ask({{Kind::kHbm, "", kInfinity}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"HugeRate",
     [] {
       return Ask({{Kind::kHbm, "", 99999999999.0}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"RateOfAKindWithoutOne",
     [] {
       return Ask({{Kind::kLowPower, "", 10}});
     },
     Code::kInvalidArgument, "low-power has no rate"},
    {"RateOfAnAbsentKind",
     [] {
       return Ask({{Kind::kDdr, "", 101}, {Kind::kHbm, "", 0}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"HostRateAboveTheRange",
     [] {
       return Ask({{Kind::kHostSysCpu, "", 51}});
     },
     Code::kInvalidArgument, "the rate of host-sys-cpu is a whole number from 1 to 50 Hz"},
    {"BrokenHostRate",
     [] {
       return Ask({{Kind::kHostSysCpu, "", 1.5}});
     },
     Code::kInvalidArgument, "from 1 to 50"},
    {"UnknownMode",
     [] {
       return Ask({{Kind::kLlc, "bogus", 0}});
     },
     Code::kInvalidArgument, "llc:bogus: llc knows the modes read and write"},
    {"ModeOfOtherChips",
     [] {
       return Ask({{Kind::kLlc, "capacity", 0}});
     },
     Code::kInvalidArgument, "read and write"},
    {"ModeOfAKindWithoutAny",
     [] {
       return Ask({{Kind::kHbm, "read", 0}});
     },
     Code::kInvalidArgument, "hbm has no modes"},
    {"ModeOfAHostKind",
     [] {
       return Ask({{Kind::kHostSysCpu, "x", 0}});
     },
     Code::kInvalidArgument, "has no modes"},
    {"BothModesAtOnce",
     [] {
       return Ask({{Kind::kLlc, "read", 0}, {Kind::kLlc, "write", 0}});
     },
     Code::kInvalidArgument, "llc is asked for twice"},
    {"TwoRates",
     [] {
       return Ask({{Kind::kHbm, "", 10}, {Kind::kHbm, "", 20}});
     },
     Code::kInvalidArgument, "twice"},
    {"ProcessThatIsNotThere", [] { return WithPids({45}); }, Code::kNotFound, "process 45 does not exist"},
    {"ProcessNobodyLookedAt", [] { return WithPids({99999999}); }, Code::kNotFound,
     "process 99999999 does not exist"},
    {"OneOfTheProcessesGone",
     [] {
       return WithPids({42, 45});
     },
     Code::kNotFound, "process 45"},
    {"Thread", [] { return WithPids({44}); }, Code::kInvalidArgument, "44 is a thread"},
    {"ProcessKindWithoutAProcess",
     [] {
       return Ask({{Kind::kHostCpu, "", 0}});
     },
     Code::kInvalidArgument, "--pid"},
};

class BadInputTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsRefusedInOneClearLine) {
  const base::Status status = Bad(GetParam().spec(), TwoDevices());
  EXPECT_EQ(status.code(), GetParam().code);
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Plan, BadInputTest, testing::ValuesIn(kBadInputs),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Plan, DeviceNamedOnANodeWithoutALibrary) {
  SessionSpec spec;
  spec.devices = {0};
  const base::Status status = Bad(spec, HostOnly());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("cannot load the driver library"));
  NodeFacts empty = HostOnly();
  empty.library_loaded = true;
  EXPECT_EQ(Bad(spec, empty).code(), Code::kNotFound);
}

TEST(Plan, RateAndModeAreCheckedWithoutDevicesToo) {
  EXPECT_THAT(Bad(Ask({{Kind::kHbm, "", 101}}), HostOnly()).message(), StartsWith("hbm=101Hz"));
  EXPECT_THAT(Bad(Ask({{Kind::kLlc, "bogus", 0}}), HostOnly()).message(), StartsWith("llc:bogus"));
}

}  // namespace
}  // namespace profd::session
