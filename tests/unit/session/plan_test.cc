// What is asked × what the node has: every verdict. Refusals are in plan_refusals_test.cc, what agents record
// in plan_agents_test.cc, the bytes in plan_start_test.cc.
#include "daemon/session/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "daemon/driver/ascend/start/channels.h"
#include "format/preset.h"
#include "tests/unit/session/plan_cases.h"

namespace profd::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

TEST(Plan, NamedKindOnEveryDevice) {
  const Plan plan = Good(Ask({{Kind::kHbm, "", 30}}), TwoDevices());
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
  SessionSpec spec = Ask({{Kind::kAiCore, "", 0},
                          {Kind::kAiVector, "", 0},
                          {Kind::kLowPower, "", 0},
                          {Kind::kHostCpu, "", 10},
                          {Kind::kHostSysCpu, "", 0},
                          {Kind::kHostOffCpu, "", 0}});
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
  SessionSpec spec = Ask({{Kind::kHbm, "", 0}, {Kind::kHostDisk, "", 0}, {Kind::kHostMem, "", 0}});
  spec.pids = {42};
  spec.flight_recorder = true;
  const Plan plan = Good(spec, TwoDevices());
  EXPECT_THAT(With(plan, Verdict::kSkipped), ElementsAre("host-disk@host"));
  spec.snapshot_on = SnapshotOn::kCrash;
  EXPECT_THAT(Bad(spec, TwoDevices()).message(), StartsWith("--snapshot-on needs an agent kind: "));
}

TEST(Plan, DefaultRateIsShownAsRequested) {
  const Plan plan = Good(Ask({{Kind::kNic, "", 0}, {Kind::kLowPower, "", 0}}), TwoDevices());
  EXPECT_DOUBLE_EQ(Find(plan, "nic", "device:0").requested_hz, 100);
  EXPECT_DOUBLE_EQ(Find(plan, "nic", "device:0").effective_hz, 100);
  EXPECT_DOUBLE_EQ(Find(plan, "low-power", "device:0").requested_hz, 0);
  EXPECT_DOUBLE_EQ(Find(plan, "low-power", "device:0").effective_hz, 0);
}

TEST(Plan, NamedDevicesOnly) {
  SessionSpec spec = Ask({{Kind::kHbm, "", 0}});
  spec.devices = {1, 1};
  EXPECT_THAT(With(Good(spec, TwoDevices()), Verdict::kStarted), ElementsAre("hbm@device:1"));
}

TEST(Plan, DevicesOfATargetAreItsOpenOnes) {
  SessionSpec spec = Ask({{Kind::kHbm, "", 0}});
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
                Not(testing::Contains(NameOf(state.kind))));
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
    for (const KindState& state : Good(spec, facts).kinds) names.emplace(NameOf(state.kind));
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
  for (const std::string& kind : kinds(AskPreset("detail"))) EXPECT_FALSE(kind.starts_with("agent-")) << kind;
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
  spec.kinds = {{Kind::kHbm, "", 10}, {Kind::kLlc, "write", 0}, {Kind::kPcie, "", 0}};
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
  SessionSpec spec = Ask({{Kind::kHostCpu, "", 20}, {Kind::kHostNetwork, "", 0}, {Kind::kHostPidMem, "", 0}});
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
  EXPECT_THAT(With(Good(Ask({{Kind::kHostPidCpu, "", 0}}), TwoDevices()), Verdict::kStarted),
              ElementsAre("host-pid-cpu@host"));
}

TEST(Plan, AKindThatNoDeviceHasIsSkippedBesideOthers) {
  const Plan plan = Good(Ask({{Kind::kDdr, "", 0}, {Kind::kHbm, "", 0}}), TwoDevices());
  EXPECT_THAT(With(plan, Verdict::kSkipped), ElementsAre("ddr@device:0", "ddr@device:1"));
  EXPECT_THAT(With(plan, Verdict::kStarted), ElementsAre("hbm@device:0", "hbm@device:1"));
}

TEST(Plan, NodesOfMixedChips) {
  NodeFacts facts = TwoDevices();
  facts.devices[1] = MakeDevice(Chip::k310P, 1);
  const Plan plan = Good(Ask({{Kind::kHbm, "", 0}, {Kind::kDdr, "", 0}}), facts);
  EXPECT_THAT(With(plan, Verdict::kStarted), ElementsAre("hbm@device:0", "ddr@device:1"));
  EXPECT_EQ(Find(plan, "hbm", "device:1").reason, "device 1 (310P) does not offer channel 1");
  // A mode that one of the devices knows is no bad input.
  facts.devices[1] = MakeDevice(Chip::k310, 1);
  const Plan modes = Good(Ask({{Kind::kLlc, "write", 0}}), facts);
  EXPECT_EQ(Find(modes, "llc", "device:0").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(modes, "llc", "device:1").verdict, Verdict::kSkipped);
}

TEST(Plan, LateKindsArePending) {
  NodeFacts facts = TwoDevices();
  Plan plan = Good(Ask({{Kind::kAiCpu, "", 0}}), facts);
  EXPECT_THAT(With(plan, Verdict::kPending), ElementsAre("aicpu@device:0", "aicpu@device:1"));
  EXPECT_THAT(plan.kinds[0].reason, Not(IsEmpty()));
  ASSERT_EQ(plan.channels.size(), 4U);
  EXPECT_TRUE(plan.channels[0].late);
  EXPECT_EQ(plan.channels[0].channel, 143U);
  EXPECT_EQ(plan.channels[1].channel, 144U);
  facts.devices[0].channels.push_back(143);
  plan = Good(Ask({{Kind::kAiCpu, "", 0}}), facts);
  EXPECT_EQ(plan.kinds[0].verdict, Verdict::kStarted);
  EXPECT_EQ(plan.kinds[1].verdict, Verdict::kPending);
}

TEST(Plan, OneProcessOnADeviceServesAllThatItSamples) {
  const Plan plan = Good(Ask({{Kind::kDevCpu, "", 5},
                              {Kind::kDevMem, "", 0},
                              {Kind::kDevPidMem, "", 2},
                              {Kind::kCtrlCpu, "", 50}}),
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
  EXPECT_THAT(Bad(Ask({{Kind::kDevCpu, "", 11}}), TwoDevices()).message(), HasSubstr("from 1 to 10 Hz"));
}

TEST(Plan, ASystemOfTwoDevicesIsCollectedOnce) {
  NodeFacts facts = TwoDevices(Chip::k950);
  for (driver::DeviceFacts& device : facts.devices) device.physical_id = device.id;
  const Plan plan = Good(Ask({{Kind::kDevCpu, "", 0}, {Kind::kHbm, "", 0}}), facts);
  EXPECT_EQ(Find(plan, "dev-cpu", "device:0").verdict, Verdict::kPending);
  EXPECT_EQ(Find(plan, "dev-cpu", "device:1").verdict, Verdict::kSkipped);
  EXPECT_THAT(Find(plan, "dev-cpu", "device:1").reason, HasSubstr("device 0, too: it is collected there"));
  EXPECT_EQ(Find(plan, "hbm", "device:1").verdict, Verdict::kStarted);
  const auto system = std::ranges::find(plan.channels, 145U, &ChannelStart::channel);
  ASSERT_NE(system, plan.channels.end());
  EXPECT_EQ(system->twin, 1U);
  facts.devices[1].physical_id = 2;
  EXPECT_THAT(With(Good(Ask({{Kind::kDevCpu, "", 0}}), facts), Verdict::kPending).size(), 2);
}

TEST(Plan, OneStartServesBothCoreKinds) {
  const Plan plan = Good(Ask({{Kind::kAiVector, "", 20}, {Kind::kAiCore, "", 0}}), TwoDevices());
  ASSERT_EQ(plan.channels.size(), 2U);
  EXPECT_EQ(plan.channels[0].channel, 54U);
  EXPECT_EQ(plan.channels[0].kind_index, 0U);
  EXPECT_THAT(plan.channels[0].also_kinds, ElementsAre(2));
  EXPECT_EQ(plan.kinds[0].kind, Kind::kAiVector);
  EXPECT_EQ(plan.kinds[2].kind, Kind::kAiCore);
  EXPECT_DOUBLE_EQ(plan.kinds[0].effective_hz, 20);
  EXPECT_DOUBLE_EQ(plan.kinds[2].effective_hz, 100);
  EXPECT_THAT(With(plan, Verdict::kStarted).size(), 4);
}

TEST(Plan, ARateBeyondTheDriversFloorIsSaid) {
  const Plan plan =
      Good(Ask({{Kind::kQos, "", 5000}, {Kind::kSocProfile, "", 5000}}), TwoDevices(Chip::k950));
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

TEST(Plan, TheSameKindTwiceIsOnce) {
  const Plan plan = Good(Ask({{Kind::kHbm, "", 10}, {Kind::kHbm, "", 10}}), TwoDevices());
  EXPECT_EQ(plan.channels.size(), 2U);
}

TEST(KindOffers, SayWhatCanBeAskedFor) {
  const auto offers = [](Chip chip_number) {
    std::map<Kind, KindOffer> by_kind;
    for (KindOffer& offer : DeviceKinds(MakeDevice(chip_number), 0x072418)) {
      EXPECT_EQ(offer.available, offer.reason.empty()) << NameOf(offer.kind);
      by_kind[offer.kind] = std::move(offer);
    }
    EXPECT_EQ(by_kind.size(), format::kDeviceKinds.size());
    return by_kind;
  };
  auto on_910b = offers(Chip::k910B);
  EXPECT_THAT(on_910b[Kind::kLlc].modes, ElementsAre("read", "write"));
  EXPECT_DOUBLE_EQ(on_910b[Kind::kHbm].min_hz, 1);
  EXPECT_DOUBLE_EQ(on_910b[Kind::kHbm].max_hz, 100);
  EXPECT_DOUBLE_EQ(on_910b[Kind::kHbm].default_hz, 50);
  EXPECT_FALSE(on_910b[Kind::kDdr].available);
  EXPECT_THAT(offers(Chip::k310)[Kind::kLlc].modes, ElementsAre("capacity", "bandwidth"));
  const auto host = HostKinds();
  ASSERT_EQ(host.size(), format::kHostKinds.size());
  EXPECT_EQ(host[0].kind, Kind::kHostCpu);
  EXPECT_DOUBLE_EQ(host[0].default_hz, 50);
  EXPECT_DOUBLE_EQ(host[4].default_hz, 10);
  EXPECT_DOUBLE_EQ(host[4].max_hz, 50);
  EXPECT_EQ(host[8].kind, Kind::kHostCpuProfile);
  EXPECT_DOUBLE_EQ(host[8].default_hz, 99);
  EXPECT_DOUBLE_EQ(host[8].max_hz, 999);
}

TEST(Plan, RatesOfProfiles) {
  const auto asked = [](double hz) {
    SessionSpec spec = Ask({{Kind::kHostCpuProfile, "", hz}});
    spec.pids = {42};
    return spec;
  };
  EXPECT_EQ(Good(asked(0), TwoDevices()).host.at(0).hz, 99U);
  EXPECT_EQ(Good(asked(999), TwoDevices()).host.at(0).hz, 999U);
  EXPECT_EQ(MakePlan(asked(1000), TwoDevices()).status().code(), base::Code::kInvalidArgument);
  EXPECT_FALSE(MakePlan(Ask({{Kind::kHostCpuProfile, "", 0}}), TwoDevices()).ok());
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
}  // namespace profd::session
