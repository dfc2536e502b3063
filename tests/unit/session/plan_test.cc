// What is asked × what the node has: every verdict and every refusal. The bytes are in plan_start_test.cc.
#include "daemon/session/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/offers.h"
#include "daemon/session/plan/kinds.h"
#include "format/preset.h"
#include "tests/unit/driver/chips.h"

namespace profd::session {
namespace {

using base::Code;
using driver::MakeDevice;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

using driver::Chip;

NodeFacts TwoDevices(Chip chip_number = Chip::k910B) {
  NodeFacts facts;
  facts.library_loaded = true;
  facts.api_version = 0x072418;
  facts.host_counter_known = true;
  facts.devices = {MakeDevice(chip_number, 0), MakeDevice(chip_number, 1)};
  facts.processes = {{.pid = 42, .uid = 1000, .exists = true, .is_thread = false, .open_devices = {1}},
                     {.pid = 43, .uid = 1000, .exists = true, .is_thread = false, .open_devices = {}},
                     {.pid = 44, .uid = 1000, .exists = true, .is_thread = true, .open_devices = {}},
                     {.pid = 45, .uid = 0, .exists = false, .is_thread = false, .open_devices = {}}};
  return facts;
}

NodeFacts HostOnly() {
  NodeFacts facts = TwoDevices();
  facts.devices.clear();
  facts.library_loaded = false;
  facts.library_error = "cannot load the driver library; install the driver";
  return facts;
}

SessionSpec Ask(std::vector<KindRequest> kinds) {
  SessionSpec spec;
  spec.kinds = std::move(kinds);
  return spec;
}

SessionSpec AskPreset(std::string preset, std::vector<pid_t> pids = {}) {
  SessionSpec spec;
  spec.preset = std::move(preset);
  spec.pids = std::move(pids);
  return spec;
}

// "hbm@device:0" of every kind with this verdict.
// Agent kinds, which have tests of their own, aside.
std::vector<std::string> With(const Plan& plan, Verdict verdict) {
  std::vector<std::string> kinds;
  for (const KindState& state : plan.kinds) {
    if (state.verdict == verdict && !IsAgentKind(state.kind)) kinds.push_back(state.kind + "@" + state.unit);
  }
  return kinds;
}

const KindState& Find(const Plan& plan, const std::string& kind, const std::string& unit) {
  static const KindState kNone;
  for (const KindState& state : plan.kinds) {
    if (state.kind == kind && state.unit == unit) return state;
  }
  ADD_FAILURE() << "no " << kind << " on " << unit;
  return kNone;
}

Plan Good(const SessionSpec& spec, const NodeFacts& facts) {
  auto plan = MakePlan(spec, facts);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? std::move(plan).value() : Plan{};
}

base::Status Bad(const SessionSpec& spec, const NodeFacts& facts) {
  const auto plan = MakePlan(spec, facts);
  EXPECT_FALSE(plan.ok());
  EXPECT_THAT(plan.status().message(), Not(HasSubstr("\n")));
  return plan.status();
}

TEST(Plan, NamedKindOnEveryDevice) {
  const Plan plan = Good(Ask({{"hbm", "", 30}}), TwoDevices());
  EXPECT_THAT(With(plan, Verdict::kStarted), ElementsAre("hbm@device:0", "hbm@device:1"));
  EXPECT_THAT(plan.devices, ElementsAre(0, 1));
  ASSERT_EQ(plan.channels.size(), 2U);
  EXPECT_EQ(plan.channels[1].device, 1U);
  EXPECT_EQ(plan.channels[1].kind_index, 1U);
  EXPECT_EQ(plan.channels[0].file, "hbm.data");
  ASSERT_NE(plan.channels[0].format, nullptr);
  EXPECT_EQ(plan.channels[0].format->record_bytes, 24U);
  const KindState& state = plan.kinds[0];
  EXPECT_DOUBLE_EQ(state.requested_hz, 30);
  EXPECT_DOUBLE_EQ(state.effective_hz, 1000.0 / 33);
  EXPECT_THAT(state.reason, IsEmpty());
  EXPECT_NEAR(plan.bytes_per_second, 2 * 192 * 1000.0 / 33, 1);
}

TEST(Plan, EstimatesWhatIsStarted) {
  NodeFacts facts = TwoDevices();
  facts.cpus = 192;
  facts.processes[0].threads = 100;
  facts.processes[1].threads = 1;
  SessionSpec spec = Ask({{"aicore", "", 0},
                          {"aivector", "", 0},
                          {"low-power", "", 0},
                          {"host-cpu", "", 10},
                          {"host-sys-cpu", "", 0},
                          {"host-off-cpu", "", 0}});
  spec.devices = {0};
  spec.pids = {42, 43};
  const Plan plan = Good(spec, facts);
  const driver::DeviceFacts& device = facts.devices[0];
  const KindState& cores = Find(plan, "aicore", "device:0");
  EXPECT_DOUBLE_EQ(cores.bytes_per_s,
                   96.0 * static_cast<double>(device.ai_core_num + device.aiv_num) * cores.effective_hz);
  EXPECT_EQ(Find(plan, "aivector", "device:0").bytes_per_s, 0) << "counted with aicore";
  EXPECT_EQ(Find(plan, "low-power", "device:0").bytes_per_s, 0);
  EXPECT_EQ(Find(plan, "low-power", "device:0").record_bytes, 888U);
  EXPECT_NEAR(Find(plan, "host-cpu", "pid:42").bytes_per_s, 10 * 101 * 315, 400);
  EXPECT_EQ(Find(plan, "host-cpu", "pid:43").bytes_per_s, 0) << "counted with the first";
  EXPECT_GT(Find(plan, "host-sys-cpu", "host").bytes_per_s, 10 * 192 * 40);
  EXPECT_EQ(Find(plan, "host-off-cpu", "pid:42").bytes_per_s, 0);
  EXPECT_GT(Find(plan, "host-off-cpu", "pid:42").record_bytes, 0U);
  double sum = 0;
  for (const KindState& kind : plan.kinds) sum += kind.bytes_per_s;
  EXPECT_DOUBLE_EQ(plan.bytes_per_second, sum);
}

TEST(Plan, AFlightRecorderTakesWhatHasTimesOfItsOwn) {
  SessionSpec spec = Ask({{"hbm", "", 0}, {"host-disk", "", 0}, {"host-mem", "", 0}});
  spec.pids = {42};
  spec.flight_recorder = true;
  const Plan plan = Good(spec, TwoDevices());
  EXPECT_THAT(With(plan, Verdict::kSkipped), ElementsAre("host-disk@host"));
  spec.snapshot_on = SnapshotOn::kCrash;
  EXPECT_THAT(Bad(spec, TwoDevices()).message(), StartsWith("--snapshot-on is for what processes record"));
}

TEST(Plan, DefaultRateIsShownAsRequested) {
  const Plan plan = Good(Ask({{"nic", "", 0}, {"low-power", "", 0}}), TwoDevices());
  EXPECT_DOUBLE_EQ(Find(plan, "nic", "device:0").requested_hz, 100);
  EXPECT_DOUBLE_EQ(Find(plan, "nic", "device:0").effective_hz, 100);
  EXPECT_DOUBLE_EQ(Find(plan, "low-power", "device:0").requested_hz, 0);
  EXPECT_DOUBLE_EQ(Find(plan, "low-power", "device:0").effective_hz, 0);
}

TEST(Plan, NamedDevicesOnly) {
  SessionSpec spec = Ask({{"hbm", "", 0}});
  spec.devices = {1, 1};
  EXPECT_THAT(With(Good(spec, TwoDevices()), Verdict::kStarted), ElementsAre("hbm@device:1"));
}

TEST(Plan, DevicesOfATargetAreItsOpenOnes) {
  SessionSpec spec = Ask({{"hbm", "", 0}});
  spec.pids = {42};
  EXPECT_THAT(With(Good(spec, TwoDevices()), Verdict::kStarted), ElementsAre("hbm@device:1"));
  // A target without a device says nothing of which is meant.
  spec.pids = {43};
  EXPECT_THAT(With(Good(spec, TwoDevices()), Verdict::kStarted), ElementsAre("hbm@device:0", "hbm@device:1"));
  spec.all_devices = true;
  spec.pids = {42};
  EXPECT_THAT(With(Good(spec, TwoDevices()), Verdict::kStarted), ElementsAre("hbm@device:0", "hbm@device:1"));
}

TEST(Plan, NothingNamedSamplesTheNode) {
  const Plan plan = Good({}, TwoDevices());
  EXPECT_EQ(Find(plan, "hbm", "device:1").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(plan, "soc-profile", "device:0").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(plan, "host-sys-cpu", "host").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(plan, "host-network", "host").verdict, Verdict::kStarted);
  const KindState& absent = Find(plan, "ddr", "device:0");
  EXPECT_EQ(absent.verdict, Verdict::kSkipped);
  EXPECT_EQ(absent.reason, "a 910B has no ddr");
  for (const KindState& state : plan.kinds) {
    EXPECT_THAT((std::set<std::string>{"tscpu", "aicore", "aivector", "aicpu"}),
                Not(testing::Contains(state.kind)));
  }
}

TEST(Plan, OnlyATargetNamedSamplesItAndItsDevices) {
  SessionSpec spec;
  spec.pids = {42};
  const Plan plan = Good(spec, TwoDevices());
  for (const char* kind : {"host-cpu", "host-mem", "host-disk"}) {
    EXPECT_EQ(Find(plan, kind, "pid:42").verdict, Verdict::kStarted);
  }
  EXPECT_EQ(Find(plan, "host-network", "host").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(plan, "aicore", "device:1").verdict, Verdict::kStarted);
  EXPECT_THAT(plan.devices, ElementsAre(1));

  spec.pids = {43};
  const Plan host = Good(spec, TwoDevices());
  EXPECT_THAT(With(host, Verdict::kSkipped), IsEmpty()) << "it has no device open: none is asked for";
  EXPECT_THAT(host.devices, IsEmpty());
  EXPECT_EQ(host.host.size(), 4U);
}

TEST(Plan, OnlyDevicesNamedSamplesThoseLikeANode) {
  SessionSpec spec;
  spec.devices = {0};
  const Plan plan = Good(spec, TwoDevices());
  EXPECT_THAT(plan.devices, ElementsAre(0));
  EXPECT_EQ(Find(plan, "host-sys-mem", "host").verdict, Verdict::kStarted);
  spec.pids = {42};
  const Plan with_target = Good(spec, TwoDevices());
  EXPECT_THAT(with_target.devices, ElementsAre(0));
  EXPECT_EQ(Find(with_target, "host-cpu", "pid:42").verdict, Verdict::kStarted);
}

TEST(Plan, Presets) {
  const NodeFacts facts = TwoDevices();
  const auto kinds = [&](const SessionSpec& spec) {
    std::set<std::string> names;
    for (const KindState& state : Good(spec, facts).kinds) names.insert(state.kind);
    return names;
  };
  EXPECT_THAT(kinds(AskPreset("memory")),
              UnorderedElementsAre("hbm", "ddr", "llc", "npu-mem", "npu-app-mem", "npu-module-mem"));
  EXPECT_THAT(kinds(AskPreset("network")),
              UnorderedElementsAre("nic", "roce", "netdev", "hccs", "pcie", "ub", "host-network"));
  EXPECT_THAT(kinds(AskPreset("host")), UnorderedElementsAre("host-sys-cpu", "host-sys-mem", "host-network"));
  EXPECT_THAT(kinds(AskPreset("host", {42})),
              UnorderedElementsAre("host-cpu", "host-mem", "host-disk", "host-network"));
  const std::set<std::string> light = {"task",         "host-cpu",    "host-mem",
                                       "agent-step",   "agent-range", "agent-mark",
                                       "agent-kernel", "agent-comm",  "agent-api"};
  EXPECT_EQ(kinds(AskPreset("light", {42})), light);
  EXPECT_THAT(kinds(AskPreset("light")),
              UnorderedElementsAre("task", "npu-mem", "host-sys-cpu", "host-sys-mem"));
  std::set<std::string> detail = light;
  detail.insert({"agent-memory", "agent-counter", "aicore-task", "aivector-task", "l2", "aicpu", "ccu",
                 "ccu-task", "hccs", "pcie", "hbm", "ddr", "llc", "npu-mem", "npu-app-mem", "npu-module-mem",
                 "host-disk", "host-cpu-profile"});
  EXPECT_EQ(kinds(AskPreset("detail", {42})), detail);
  for (const std::string& kind : kinds(AskPreset("detail"))) EXPECT_FALSE(IsAgentKind(kind)) << kind;
  std::set<std::string> all;
  for (const format::Kind kind : format::kDeviceKinds) all.emplace(NameOf(kind));
  for (const char* kind : {"soc-pmu", "l2", "instr", "aicore-task", "aivector-task", "ctrlcpu", "dev-cpu",
                           "dev-mem", "dev-pid-cpu", "dev-pid-mem", "netdev"})
    EXPECT_EQ(all.erase(kind), 1U);
  for (const char* kind : {"host-network", "host-sys-cpu", "host-sys-mem", "host-pid-cpu", "host-pid-mem",
                           "host-net-devices", "host-hardware"})
    all.insert(kind);
  EXPECT_EQ(kinds(AskPreset("all")), all);
  // Without those that interrupt the process or slow it down.
  all.insert({"host-cpu", "host-mem", "host-disk", "host-cgroup"});
  for (const format::Kind kind : format::kAgentKindList) all.emplace(NameOf(kind));
  EXPECT_EQ(kinds(AskPreset("all", {42})), all);
  EXPECT_EQ(kinds(AskPreset("node")), kinds({}));
}

TEST(Plan, ANamedKindGoesBeforeThePreset) {
  SessionSpec spec = AskPreset("memory");
  spec.kinds = {{"hbm", "", 10}, {"llc", "write", 0}, {"pcie", "", 0}};
  const Plan plan = Good(spec, TwoDevices());
  EXPECT_DOUBLE_EQ(Find(plan, "hbm", "device:0").requested_hz, 10);
  EXPECT_DOUBLE_EQ(Find(plan, "npu-mem", "device:0").requested_hz, 50);
  EXPECT_EQ(Find(plan, "pcie", "device:0").verdict, Verdict::kStarted);
  const auto llc = std::find_if(plan.channels.begin(), plan.channels.end(), [](const ChannelStart& start) {
    return start.channel == driver::channel::kLlc;
  });
  ASSERT_NE(llc, plan.channels.end());
  EXPECT_EQ(llc->para.user_data[4], std::byte{2});
}

TEST(Plan, SeveralTargetsShareAHostStart) {
  SessionSpec spec = Ask({{"host-cpu", "", 20}, {"host-network", "", 0}, {"host-pid-mem", "", 0}});
  spec.pids = {42, 43, 42};
  const Plan plan = Good(spec, TwoDevices());
  EXPECT_THAT(With(plan, Verdict::kStarted),
              ElementsAre("host-cpu@pid:42", "host-cpu@pid:43", "host-network@host", "host-pid-mem@pid:42",
                          "host-pid-mem@pid:43"));
  ASSERT_EQ(plan.host.size(), 3U);
  EXPECT_EQ(plan.host[0].hz, 20U);
  EXPECT_EQ(plan.host[0].kind_index, 0U);
  EXPECT_THAT(plan.host[0].also_kinds, ElementsAre(1));
  EXPECT_EQ(plan.host[1].hz, 50U);
  EXPECT_THAT(plan.host[1].also_kinds, IsEmpty());
  EXPECT_EQ(plan.host[2].hz, 10U);
  EXPECT_EQ(plan.host[2].kind_index, 3U);
}

TEST(Plan, ProcessKindsOfEveryProcess) {
  EXPECT_THAT(With(Good(Ask({{"host-pid-cpu", "", 0}}), TwoDevices()), Verdict::kStarted),
              ElementsAre("host-pid-cpu@host"));
}

TEST(Plan, AKindThatNoDeviceHasIsSkippedBesideOthers) {
  const Plan plan = Good(Ask({{"ddr", "", 0}, {"hbm", "", 0}}), TwoDevices());
  EXPECT_THAT(With(plan, Verdict::kSkipped), ElementsAre("ddr@device:0", "ddr@device:1"));
  EXPECT_THAT(With(plan, Verdict::kStarted), ElementsAre("hbm@device:0", "hbm@device:1"));
}

TEST(Plan, NodesOfMixedChips) {
  NodeFacts facts = TwoDevices();
  facts.devices[1] = MakeDevice(Chip::k310P, 1);
  const Plan plan = Good(Ask({{"hbm", "", 0}, {"ddr", "", 0}}), facts);
  EXPECT_THAT(With(plan, Verdict::kStarted), ElementsAre("hbm@device:0", "ddr@device:1"));
  EXPECT_EQ(Find(plan, "hbm", "device:1").reason, "device 1 (310P) does not offer channel 1");
  // A mode that one of the devices knows is no bad input.
  facts.devices[1] = MakeDevice(Chip::k310, 1);
  const Plan modes = Good(Ask({{"llc", "write", 0}}), facts);
  EXPECT_EQ(Find(modes, "llc", "device:0").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(modes, "llc", "device:1").verdict, Verdict::kSkipped);
}

TEST(Plan, LateKindsArePending) {
  NodeFacts facts = TwoDevices();
  Plan plan = Good(Ask({{"aicpu", "", 0}}), facts);
  EXPECT_THAT(With(plan, Verdict::kPending), ElementsAre("aicpu@device:0", "aicpu@device:1"));
  EXPECT_THAT(plan.kinds[0].reason, Not(IsEmpty()));
  ASSERT_EQ(plan.channels.size(), 4U);
  EXPECT_TRUE(plan.channels[0].late);
  EXPECT_EQ(plan.channels[0].channel, 143U);
  EXPECT_EQ(plan.channels[1].channel, 144U);
  facts.devices[0].channels.push_back(143);
  plan = Good(Ask({{"aicpu", "", 0}}), facts);
  EXPECT_EQ(plan.kinds[0].verdict, Verdict::kStarted);
  EXPECT_EQ(plan.kinds[1].verdict, Verdict::kPending);
}

TEST(Plan, OneProcessOnADeviceServesAllThatItSamples) {
  const Plan plan =
      Good(Ask({{"dev-cpu", "", 5}, {"dev-mem", "", 0}, {"dev-pid-mem", "", 2}, {"ctrlcpu", "", 50}}),
           TwoDevices());
  ASSERT_EQ(plan.channels.size(), 2U);
  const ChannelStart& start = plan.channels[0];
  EXPECT_EQ(start.channel, 145U);
  EXPECT_EQ(start.para.period_ms, 40U);
  EXPECT_EQ(start.para.user_data_size, 0U);
  EXPECT_TRUE(start.late);
  ASSERT_TRUE(start.process.has_value());
  EXPECT_EQ(*start.process, (driver::ProcessPara{.system_ms = 100, .processes_ms = 500, .cpus_ms = 20}));
  EXPECT_EQ(start.files.size(), 4U);
  EXPECT_FALSE(start.twin.has_value());
  EXPECT_THAT(With(plan, Verdict::kPending).size(), 8);
  const KindState& cpu = Find(plan, "dev-cpu", "device:0");
  EXPECT_DOUBLE_EQ(cpu.requested_hz, 5);
  EXPECT_DOUBLE_EQ(cpu.effective_hz, 10) << "the process has one rate for both";
  EXPECT_THAT(cpu.reason, HasSubstr("neighbour"));
  EXPECT_DOUBLE_EQ(Find(plan, "dev-pid-mem", "device:0").effective_hz, 2);
  EXPECT_DOUBLE_EQ(Find(plan, "ctrlcpu", "device:1").effective_hz, 50);
  EXPECT_THAT(Bad(Ask({{"dev-cpu", "", 11}}), TwoDevices()).message(), HasSubstr("from 1 to 10 Hz"));
}

TEST(Plan, ASystemOfTwoDevicesIsCollectedOnce) {
  NodeFacts facts = TwoDevices(Chip::k950);
  for (driver::DeviceFacts& device : facts.devices) device.physical_id = device.id;
  const Plan plan = Good(Ask({{"dev-cpu", "", 0}, {"hbm", "", 0}}), facts);
  EXPECT_EQ(Find(plan, "dev-cpu", "device:0").verdict, Verdict::kPending);
  EXPECT_EQ(Find(plan, "dev-cpu", "device:1").verdict, Verdict::kSkipped);
  EXPECT_THAT(Find(plan, "dev-cpu", "device:1").reason, HasSubstr("device 0, too: it is collected there"));
  EXPECT_EQ(Find(plan, "hbm", "device:1").verdict, Verdict::kStarted);
  const auto system = std::ranges::find(plan.channels, 145U, &ChannelStart::channel);
  ASSERT_NE(system, plan.channels.end());
  EXPECT_EQ(system->twin, 1U);
  facts.devices[1].physical_id = 2;
  EXPECT_THAT(With(Good(Ask({{"dev-cpu", "", 0}}), facts), Verdict::kPending).size(), 2);
}

TEST(Plan, OneStartServesBothCoreKinds) {
  const Plan plan = Good(Ask({{"aivector", "", 20}, {"aicore", "", 0}}), TwoDevices());
  ASSERT_EQ(plan.channels.size(), 2U);
  EXPECT_EQ(plan.channels[0].channel, 54U);
  EXPECT_EQ(plan.channels[0].kind_index, 0U);
  EXPECT_THAT(plan.channels[0].also_kinds, ElementsAre(2));
  EXPECT_EQ(plan.kinds[0].kind, "aivector");
  EXPECT_EQ(plan.kinds[2].kind, "aicore");
  EXPECT_DOUBLE_EQ(plan.kinds[0].effective_hz, 20);
  EXPECT_DOUBLE_EQ(plan.kinds[2].effective_hz, 100);
  EXPECT_THAT(With(plan, Verdict::kStarted).size(), 4);
}

TEST(Plan, ARateBeyondTheDriversFloorIsSaid) {
  const Plan plan = Good(Ask({{"qos", "", 5000}, {"soc-profile", "", 5000}}), TwoDevices(Chip::k950));
  EXPECT_DOUBLE_EQ(Find(plan, "qos", "device:0").requested_hz, 5000);
  EXPECT_DOUBLE_EQ(Find(plan, "qos", "device:0").effective_hz, 100);
  EXPECT_THAT(Find(plan, "qos", "device:0").reason, HasSubstr("at most 100"));
  EXPECT_DOUBLE_EQ(Find(plan, "soc-profile", "device:0").effective_hz, 5000);
  EXPECT_THAT(Find(plan, "soc-profile", "device:0").reason, IsEmpty());
}

TEST(Plan, AHostWithoutALibraryHasItsHostKinds) {
  const Plan plan = Good({}, HostOnly());
  EXPECT_THAT(With(plan, Verdict::kStarted),
              ElementsAre("host-sys-cpu@host", "host-sys-mem@host", "host-network@host"));
  EXPECT_EQ(Find(plan, "hbm", "device:all").reason, HostOnly().library_error);
  EXPECT_THAT(plan.devices, IsEmpty());
  SessionSpec spec;
  spec.pids = {42};
  EXPECT_THAT(With(Good(spec, HostOnly()), Verdict::kSkipped), IsEmpty());
}

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

  const base::Status status = Bad(Ask({{"hbm", "", 0}}), facts);
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr(facts.device_kinds_denied_reason));
}

TEST(Plan, LeasedDevicesAreTaken) {
  NodeFacts facts = TwoDevices();
  facts.device_kinds_allowed = false;
  facts.device_kinds_denied_reason = "device kinds are for root; ask your administrator";
  facts.leased_devices = {1};
  const Plan plan = Good(Ask({{"hbm", "", 0}}), facts);
  EXPECT_EQ(Find(plan, "hbm", "device:0").reason, facts.device_kinds_denied_reason);
  EXPECT_EQ(Find(plan, "hbm", "device:1").verdict, Verdict::kStarted);
  EXPECT_THAT(plan.devices, ElementsAre(1));
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
  SessionSpec spec = Ask({{"host-pthread", "", 0}});
  spec.pids = {42};
  const base::Status status = Bad(spec, facts);
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr(facts.breakpoints_denied_reason));
  spec = Ask({{"host-pthread", "", 0}, {"host-osrt", "", 0}});
  spec.pids = {42};
  const Plan plan = Good(spec, facts);
  EXPECT_EQ(Find(plan, "host-pthread", "pid:42").reason, facts.breakpoints_denied_reason);
  EXPECT_EQ(Find(plan, "host-osrt", "pid:42").verdict, Verdict::kStarted);
}

TEST(Plan, NothingAtAllIsRefusedWithTheReasons) {
  base::Status status = Bad(Ask({{"ddr", "", 0}, {"ub", "", 0}}), TwoDevices());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(), "nothing can be collected: a 910B has no ddr; a 910B has no ub");
  status = Bad(AskPreset("memory"), HostOnly());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("cannot load the driver library"));

  NodeFacts lost = TwoDevices();
  for (driver::DeviceFacts& device : lost.devices) device.status = driver::kCommunicationLost;
  EXPECT_THAT(Bad(Ask({{"hbm", "", 0}}), lost).message(),
              HasSubstr("device 1 (910B) has lost communication"));
  lost.devices[0].status = driver::kWorking;
  EXPECT_THAT(With(Good(Ask({{"hbm", "", 0}}), lost), Verdict::kStarted), ElementsAre("hbm@device:0"));
}

struct BadInput {
  const char* name;
  SessionSpec (*spec)();
  Code code;
  const char* message;  // part of it
};

SessionSpec WithDevices(std::vector<uint32_t> devices) {
  SessionSpec spec = Ask({{"hbm", "", 0}});
  spec.devices = std::move(devices);
  return spec;
}

SessionSpec WithPids(std::vector<pid_t> pids) {
  SessionSpec spec = Ask({{"host-cpu", "", 0}});
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
       SessionSpec spec = Ask({{"host-sys-cpu", "", 0}});
       spec.devices = {7};
       return spec;
     },
     Code::kNotFound, "device 7 does not exist"},
    {"MisspeltKind",
     [] {
       return Ask({{"hmb", "", 0}});
     },
     Code::kInvalidArgument, "unknown kind 'hmb'; did you mean hbm?"},
    {"MisspeltHostKind",
     [] {
       return Ask({{"host-mme", "", 0}});
     },
     Code::kInvalidArgument, "did you mean host-mem?"},
    {"ForeignKind",
     [] {
       return Ask({{"gpu-utilisation", "", 0}});
     },
     Code::kInvalidArgument, "there are: hbm ddr llc pcie"},
    {"NoKind",
     [] {
       return Ask({{"", "", 0}});
     },
     Code::kInvalidArgument, "unknown kind ''"},
    {"KindInCapitals",
     [] {
       return Ask({{"HBM", "", 0}});
     },
     Code::kInvalidArgument, "unknown kind 'HBM'"},
    {"UnknownKindBesideAGoodOne",
     [] {
       return Ask({{"hbm", "", 0}, {"osrt", "", 0}});
     },
     Code::kInvalidArgument, "unknown kind 'osrt'"},
    {"MisspeltPreset", [] { return AskPreset("nodes"); }, Code::kInvalidArgument, "did you mean node?"},
    {"UnknownPreset", [] { return AskPreset("everything"); }, Code::kInvalidArgument,
     "node memory network host light detail all"},
    {"RateAboveTheRange",
     [] {
       return Ask({{"hbm", "", 101}});
     },
     Code::kInvalidArgument, "hbm=101Hz: the rate of hbm on a 910B is a whole number from 1 to 100 Hz"},
    {"RateAboveTheLinks",
     [] {
       return Ask({{"pcie", "", 51}});
     },
     Code::kInvalidArgument, "from 1 to 50 Hz"},
    {"RateOfOtherChips",
     [] {
       return Ask({{"qos", "", 5000}});
     },
     Code::kInvalidArgument, "on a 910B"},
    {"BrokenRate",
     [] {
       return Ask({{"hbm", "", 5.5}});
     },
     Code::kInvalidArgument, "hbm=5.5Hz"},
    {"RateBelowOne",
     [] {
       return Ask({{"hbm", "", 0.5}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"NegativeRate",
     [] {
       return Ask({{"hbm", "", -1}});
     },
     Code::kInvalidArgument, "hbm=-1Hz"},
    {"RateThatIsNoNumber",
     [] {
       return Ask({{"hbm", "", kNan}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"EndlessRate",
     [] {
       return Ask({{"hbm", "", kInfinity}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"HugeRate",
     [] {
       return Ask({{"hbm", "", 99999999999.0}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"RateOfAKindWithoutOne",
     [] {
       return Ask({{"low-power", "", 10}});
     },
     Code::kInvalidArgument, "low-power has no rate"},
    {"RateOfAnAbsentKind",
     [] {
       return Ask({{"ddr", "", 101}, {"hbm", "", 0}});
     },
     Code::kInvalidArgument, "from 1 to 100"},
    {"HostRateAboveTheRange",
     [] {
       return Ask({{"host-sys-cpu", "", 51}});
     },
     Code::kInvalidArgument, "the rate of host-sys-cpu is a whole number from 1 to 50 Hz"},
    {"BrokenHostRate",
     [] {
       return Ask({{"host-sys-cpu", "", 1.5}});
     },
     Code::kInvalidArgument, "from 1 to 50"},
    {"UnknownMode",
     [] {
       return Ask({{"llc", "bogus", 0}});
     },
     Code::kInvalidArgument, "llc:bogus: llc knows the modes read and write"},
    {"ModeOfOtherChips",
     [] {
       return Ask({{"llc", "capacity", 0}});
     },
     Code::kInvalidArgument, "read and write"},
    {"ModeOfAKindWithoutAny",
     [] {
       return Ask({{"hbm", "read", 0}});
     },
     Code::kInvalidArgument, "hbm has no modes"},
    {"ModeOfAHostKind",
     [] {
       return Ask({{"host-sys-cpu", "x", 0}});
     },
     Code::kInvalidArgument, "has no modes"},
    {"BothModesAtOnce",
     [] {
       return Ask({{"llc", "read", 0}, {"llc", "write", 0}});
     },
     Code::kInvalidArgument, "llc is asked for twice"},
    {"TwoRates",
     [] {
       return Ask({{"hbm", "", 10}, {"hbm", "", 20}});
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
       return Ask({{"host-cpu", "", 0}});
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

TEST(Plan, TheSameKindTwiceIsOnce) {
  const Plan plan = Good(Ask({{"hbm", "", 10}, {"hbm", "", 10}}), TwoDevices());
  EXPECT_EQ(plan.channels.size(), 2U);
}

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
  EXPECT_THAT(Bad(Ask({{"hbm", "", 101}}), HostOnly()).message(), StartsWith("hbm=101Hz"));
  EXPECT_THAT(Bad(Ask({{"llc", "bogus", 0}}), HostOnly()).message(), StartsWith("llc:bogus"));
}

TEST(KindOffers, SayWhatCanBeAskedFor) {
  const auto offers = [](Chip chip_number) {
    std::map<std::string, KindOffer> by_kind;
    for (KindOffer& offer : DeviceKinds(MakeDevice(chip_number), 0x072418)) {
      EXPECT_EQ(offer.available, offer.reason.empty()) << offer.kind;
      by_kind[offer.kind] = std::move(offer);
    }
    EXPECT_EQ(by_kind.size(), format::kDeviceKinds.size());
    return by_kind;
  };
  auto on_910b = offers(Chip::k910B);
  EXPECT_THAT(on_910b["llc"].modes, ElementsAre("read", "write"));
  EXPECT_DOUBLE_EQ(on_910b["hbm"].min_hz, 1);
  EXPECT_DOUBLE_EQ(on_910b["hbm"].max_hz, 100);
  EXPECT_DOUBLE_EQ(on_910b["hbm"].default_hz, 50);
  EXPECT_FALSE(on_910b["ddr"].available);
  EXPECT_THAT(offers(Chip::k310)["llc"].modes, ElementsAre("capacity", "bandwidth"));
  const auto host = HostKinds();
  ASSERT_EQ(host.size(), format::kHostKinds.size());
  EXPECT_EQ(host[0].kind, "host-cpu");
  EXPECT_DOUBLE_EQ(host[0].default_hz, 50);
  EXPECT_DOUBLE_EQ(host[4].default_hz, 10);
  EXPECT_DOUBLE_EQ(host[4].max_hz, 50);
  EXPECT_EQ(host[8].kind, "host-cpu-profile");
  EXPECT_DOUBLE_EQ(host[8].default_hz, 99);
  EXPECT_DOUBLE_EQ(host[8].max_hz, 999);
}

TEST(Plan, RatesOfProfiles) {
  const auto asked = [](double hz) {
    SessionSpec spec = Ask({{"host-cpu-profile", "", hz}});
    spec.pids = {42};
    return spec;
  };
  EXPECT_EQ(Good(asked(0), TwoDevices()).host.at(0).hz, 99U);
  EXPECT_EQ(Good(asked(999), TwoDevices()).host.at(0).hz, 999U);
  EXPECT_EQ(MakePlan(asked(1000), TwoDevices()).status().code(), base::Code::kInvalidArgument);
  EXPECT_FALSE(MakePlan(Ask({{"host-cpu-profile", "", 0}}), TwoDevices()).ok());
}

TEST(Names, OfTheWire) {
  EXPECT_STREQ(VerdictName(Verdict::kStarted), "started");
  EXPECT_STREQ(VerdictName(Verdict::kPending), "pending");
  EXPECT_STREQ(VerdictName(Verdict::kSkipped), "skipped");
  EXPECT_STREQ(VerdictName(Verdict::kFailed), "failed");
  EXPECT_STREQ(StateName(State::kPending), "pending");
  EXPECT_STREQ(StateName(State::kArmed), "armed");
  EXPECT_STREQ(StateName(State::kRunning), "running");
  EXPECT_STREQ(StateName(State::kStopping), "stopping");
  EXPECT_STREQ(StateName(State::kSealed), "sealed");
  EXPECT_STREQ(StateName(State::kFailed), "failed");
  EXPECT_STREQ(EndReasonName(EndReason::kNone), "");
  EXPECT_STREQ(EndReasonName(EndReason::kStopped), "stopped");
  EXPECT_STREQ(EndReasonName(EndReason::kDuration), "duration");
  EXPECT_STREQ(EndReasonName(EndReason::kTargetExit), "target_exit");
  EXPECT_STREQ(EndReasonName(EndReason::kDaemonStop), "daemon_stop");
  EXPECT_STREQ(EndReasonName(EndReason::kFailed), "failed");
  EXPECT_STREQ(EndReasonName(EndReason::kInterrupted), "interrupted");
}

}  // namespace
AgentFacts Agent() {
  AgentFacts agent;
  for (const format::Kind kind : format::kAgentKindList) {
    const bool mspti = kind == format::Kind::kAgentKernel;
    agent.capabilities.push_back({std::string(NameOf(kind)), !mspti, mspti ? "libmspti.so is missing" : ""});
  }
  return agent;
}

TEST(Plan, AProcessWithAnAgentRecordsWhatItCan) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  SessionSpec spec;
  spec.pids = {42, 43};
  const base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->agents.size(), 1U);
  const AgentStart& start = plan->agents[0];
  EXPECT_EQ(start.pid, 42);
  EXPECT_EQ(start.kinds.size(), format::kAgentKindList.size() - 1);
  const auto kernel = static_cast<size_t>(format::AgentKind::kKernel);
  EXPECT_EQ(start.kind_index[kernel], kNoKind);
  for (size_t i = 0; i < start.kind_index.size(); ++i) {
    if (i == kernel) continue;
    EXPECT_EQ(plan->kinds.at(start.kind_index[i]).kind, NameOf(format::kAgentKindList.begin()[i]));
    EXPECT_EQ(plan->kinds.at(start.kind_index[i]).unit, "pid:42");
    EXPECT_EQ(plan->kinds.at(start.kind_index[i]).verdict, Verdict::kStarted);
  }
  size_t missing = 0;
  for (const KindState& kind : plan->kinds) {
    if (kind.kind == "agent-kernel" && kind.unit == "pid:42") {
      EXPECT_EQ(kind.reason, "libmspti.so is missing");
    }
    if (kind.unit != "pid:43" || !IsAgentKind(kind.kind)) continue;
    ++missing;
    EXPECT_EQ(kind.verdict, Verdict::kSkipped);
    EXPECT_THAT(kind.reason, HasSubstr("profctl run"));
  }
  EXPECT_EQ(missing, format::kAgentKindList.size());
}

// Both need the same channels of the driver, and the agent's records say more.
TEST(Plan, TasksAreLeftToAnAgentThatRecordsKernels) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  for (agent::Capability& capability : facts.processes[0].agent->capabilities) capability.available = true;
  SessionSpec spec;
  spec.pids = {42};
  spec.devices = {0, 1};
  const auto verdicts = [&] {
    const base::Result<Plan> plan = MakePlan(spec, facts);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    std::map<std::string, std::string> found;
    for (const KindState& kind : plan->kinds) {
      if (kind.kind == "task") found[kind.unit] = kind.verdict == Verdict::kStarted ? "" : kind.reason;
    }
    for (const ChannelStart& start : plan->channels) {
      EXPECT_EQ(found.at("device:" + std::to_string(start.device)), "") << start.channel;
    }
    return found;
  };
  spec.kinds = {{"task", "", 0}, {"agent-kernel", "", 0}};
  auto found = verdicts();
  EXPECT_EQ(found["device:0"], "");
  EXPECT_EQ(found["device:1"], "the agent of process 42 records agent-kernel, which needs the same channels");
  spec.kinds = {{"task", "", 0}, {"agent-range", "", 0}};
  found = verdicts();
  EXPECT_EQ(found["device:1"], "");
  // Which devices it uses is not known: each kernel would perhaps be there twice.
  facts.processes[0].open_devices.clear();
  spec.kinds = {{"task", "", 0}, {"agent-kernel", "", 0}};
  found = verdicts();
  EXPECT_NE(found["device:0"], "");
  EXPECT_NE(found["device:1"], "");
}

// What MSPTI does not support keeps its task log, whether or not the library is there.
TEST(Plan, TasksOfChipsWithoutMsptiStayWithTheLog) {
  for (const Chip chip : {Chip::k310, Chip::k910, Chip::k310P, Chip::k910_96}) {
    NodeFacts facts = TwoDevices(chip);
    facts.processes[0].agent = Agent();
    for (agent::Capability& capability : facts.processes[0].agent->capabilities) capability.available = true;
    SessionSpec spec;
    spec.pids = {42};
    spec.devices = {0, 1};
    spec.kinds = {{"task", "", 0}, {"agent-range", "", 0}};
    for (const char* kind : {"agent-kernel", "agent-comm", "agent-api", "agent-memory"})
      spec.kinds.push_back({kind, "", 0});
    base::Result<Plan> plan = MakePlan(spec, facts);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(Find(*plan, "task", "device:1").verdict, Verdict::kStarted);
    EXPECT_EQ(Find(*plan, "agent-kernel", "pid:42").verdict, Verdict::kSkipped);
    EXPECT_THAT(Find(*plan, "agent-kernel", "pid:42").reason, HasSubstr("MSPTI does not support"));
    EXPECT_THAT(plan->agents.at(0).kinds, ElementsAre("agent-range"));
    // One that is not there yet gets them no more than one that is.
    facts.processes[0].agent.reset();
    facts.processes[0].agent_expected = true;
    plan = MakePlan(spec, facts);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_THAT(plan->agents.at(0).kinds, ElementsAre("agent-range"));
  }
}

// Until it is known whether there will be any kernels.
TEST(Plan, TasksGiveWayWhenCannComes) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  for (agent::Capability& capability : facts.processes[0].agent->capabilities) {
    capability.available = true;
    if (capability.kind == "agent-kernel") {
      capability.later = true;
      capability.reason = "CANN is not loaded yet";
    }
  }
  SessionSpec spec;
  spec.pids = {42};
  spec.devices = {0, 1};
  spec.kinds = {{"task", "", 0}, {"agent-kernel", "", 0}};
  base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(Find(*plan, "task", "device:1").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(*plan, "agent-kernel", "pid:42").verdict, Verdict::kPending);
  EXPECT_EQ(Find(*plan, "agent-kernel", "pid:42").reason, "CANN is not loaded yet");
  EXPECT_TRUE(plan->agents.at(0).announce);
  for (const ChannelStart& start : plan->channels)  // it has device 1 open
    EXPECT_EQ(start.gives_way, start.device == 1 ? std::vector<pid_t>{42} : std::vector<pid_t>{});
  // A channel that another kind reads, too, stays.
  spec.kinds = {{"agent-kernel", "", 0}, {"agent-mark", "", 0}};
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->agents.at(0).announce);
}

TEST(Plan, AnAgentThatHasNotRegisteredYetIsWaitedFor) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent_expected = true;
  SessionSpec spec;
  spec.pids = {42};
  spec.kinds = {{"agent-range", "", 0}};
  const base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(Find(*plan, "agent-range", "pid:42").verdict, Verdict::kPending);
  EXPECT_EQ(plan->agents.size(), 1U);
}

TEST(Plan, AnAgentThatIsTakenOrOfNoUseIsSkippedSayingSo) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  facts.processes[0].agent->holder = "session 1234 of bob";
  SessionSpec spec;
  spec.pids = {42};
  spec.kinds = {{"agent-range", "", 0}, {"host-cpu", "", 0}};
  base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->agents.empty());
  EXPECT_THAT(plan->kinds[0].reason, HasSubstr("session 1234 of bob"));
  facts.processes[0].agent->holder.clear();
  facts.processes[0].agent->usable = {base::Code::kFailedPrecondition, "speaks protocol 9"};
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->kinds[0].reason, "speaks protocol 9");
}

TEST(Plan, AgentKindsTakeNoRateAndNeedAProcess) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  SessionSpec spec;
  spec.kinds = {{"agent-range", "", 0}};
  EXPECT_EQ(MakePlan(spec, facts).status().code(), base::Code::kInvalidArgument);
  spec.pids = {42};
  spec.kinds = {{"agent-range", "", 50}};
  EXPECT_EQ(MakePlan(spec, facts).status().code(), base::Code::kInvalidArgument);
  spec.kinds = {{"agent-range", "write", 0}};
  EXPECT_EQ(MakePlan(spec, facts).status().code(), base::Code::kInvalidArgument);
  spec.kinds = {{"host-cpu", "", 0}};
  spec.steps.active = 3;
  EXPECT_EQ(MakePlan(spec, facts).status().code(), base::Code::kFailedPrecondition);
}

}  // namespace profd::session
