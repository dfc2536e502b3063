#include "client/options/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace profd::options {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string kSomeProcess{kProcess};

std::string Refusal(const Given& given, Chips chips = k910B) {
  const base::Status status = Check(given, chips);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), base::Code::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::Not(HasSubstr("\n")));
  return status.message();
}

// "hbm=50 llc:write=50"
std::string Kinds(const Given& given, Chips chips = k910B) {
  const base::Status status = Check(given, chips);
  EXPECT_TRUE(status.ok()) << status.message();
  std::string text;
  for (const Wish& wish : WishesOf(given, chips).kinds) {
    text += (text.empty() ? "" : " ") + std::string(wish.kind) + (wish.mode.empty() ? "" : ":" + wish.mode) +
            "=" + std::to_string(static_cast<int>(wish.hz));
  }
  return text;
}

std::vector<std::string> Remarks(const Given& given, Chips chips = k910B) {
  std::vector<std::string> texts;
  for (const Remark& remark : WishesOf(given, chips).remarks)
    texts.push_back((remark.unmet ? "unmet " : "") + std::string(remark.option->name) + ": " + remark.text);
  return texts;
}

TEST(OptionCheck, Values) {
  EXPECT_EQ(Refusal({{"sys-hardware-mem", "yes"}}), "--sys-hardware-mem=yes: must be on or off");
  EXPECT_EQ(Refusal({{"sys-interconnection-profiling", "on"}, {"sys-interconnection-freq", "51"}}),
            "--sys-interconnection-freq=51: must be a whole number from 1 to 50");
  for (const char* bad : {"0", "1001", "5.5", "-1", "", "abc", " 5", "99999999999999999999"}) {
    EXPECT_THAT(Refusal({{"sys-hardware-mem", "on"}, {"sys-hardware-mem-freq", bad}}),
                HasSubstr("must be a whole number from 1 to 100"));
  }
  for (const char* bad : {"100MB", "200", "200GB", "4294967296MB", "MB", "0x200MB", "200 MB"}) {
    EXPECT_THAT(Refusal({{"storage-limit", bad}}), HasSubstr("from 200 to 4294967295 with MB behind it"));
  }
  EXPECT_TRUE(Check({{"storage-limit", "200MB"}}, kNoChip).ok());
  EXPECT_THAT(Refusal({{"host-sys", "gpu"}, {kSomeProcess, "yes"}}),
              HasSubstr("some of cpu, mem, disk, network, osrt and numa"));
  EXPECT_THAT(Refusal({{"output", "/tmp/a;b"}}),
              HasSubstr("--output=/tmp/a;b: must be a path in which there is no quote"));
  EXPECT_THAT(Refusal({{"output", std::string(1025, 'a')}}), HasSubstr("at most 1024"));
}

TEST(OptionCheck, ValuesDifferByChip) {
  const Given fine{{"sys-hardware-mem", "on"}, {"sys-hardware-mem-freq", "10000"}};
  EXPECT_TRUE(Check(fine, k950).ok());
  EXPECT_THAT(Refusal(fine, k910), HasSubstr("from 1 to 100 (910)"));
  EXPECT_TRUE(Check(fine, k910 | k950).ok()) << "one of them takes it";
  const Given read{{"sys-hardware-mem", "on"}, {"llc-profiling", "read"}};
  EXPECT_TRUE(Check(read, k910B).ok());
  EXPECT_THAT(Refusal(read, k310), HasSubstr("must be capacity or bandwidth (310)"));
  EXPECT_TRUE(Check(read, kNoChip).ok()) << "no chip is known: right on any is right";
  const Given moved{{"ai-core", "on"}, {"aic-metrics", "MemoryAccess"}};
  EXPECT_TRUE(Check(moved, k910B).ok());
  EXPECT_THAT(Refusal(moved, k950), HasSubstr("L2Cache or Custom:…"));
  EXPECT_TRUE(Check({{"ai-core", "on"}, {"aic-metrics", "Custom:0x8,0xa"}}, k910).ok());
  for (const char* bad :
       {"Custom:", "Custom:0", "Custom:0x80000000", "Custom:1,", "Custom:x", "Custom:1,2,3,4,5,6,7,8,9"})
    EXPECT_THAT(Refusal({{"ai-core", "on"}, {"aic-metrics", bad}}, k910),
                HasSubstr("must be 1 to 8 numbers"));
  EXPECT_TRUE(Check({{"ai-core", "on"}, {"aic-metrics", "Custom:1,2,3,4,5,6,7,8,9,0x10"}}, k950).ok());
  EXPECT_TRUE(Check({{"ai-core", "on"}, {"aic-metrics", "Custom:1"}}, k310).ok());
}

TEST(OptionCheck, AChipThatDoesNotHaveIt) {
  EXPECT_EQ(Refusal({{"sys-lp", "on"}}, k910B), "--sys-lp: a 910B does not have it, these do: 950");
  EXPECT_THAT(Refusal({{"sys-io-profiling", "on"}}, k310P), HasSubstr("a 310P does not have it"));
  EXPECT_TRUE(Check({{"sys-io-profiling", "on"}}, k310P | k910B).ok());
  for (const Chips chip : {k310, k910, k310P, k910B, k310B, k950}) {
    EXPECT_THAT(Refusal({{"ai-vector-core", "on"}}, chip),
                HasSubstr("does not have it: a chip for cars has it"));
    EXPECT_EQ(Check({{"sys-hardware-mem", "on"}, {"sys-mem-serviceflow", "s"}}, chip).ok(),
              chip == k910B || chip == k950);
    EXPECT_EQ(Check({{"task-block", "all"}, {"optype", "MatMul"}, {kSomeProcess, "yes"}}, chip).ok(),
              chip == k950);
  }
}

TEST(OptionCheck, Company) {
  EXPECT_EQ(Refusal({{"sys-hardware-mem-freq", "50"}}),
            "--sys-hardware-mem-freq needs --sys-hardware-mem=on: add it");
  EXPECT_THAT(Refusal({{"sys-hardware-mem", "off"}, {"llc-profiling", "read"}}), HasSubstr("needs"));
  EXPECT_THAT(Refusal({{"msproftx", "on"}}), AllOf(HasSubstr("--msproftx"), HasSubstr("process")));
  EXPECT_THAT(Refusal({{"delay", "1"}, {"dynamic", "on"}, {kSomeProcess, "yes"}}),
              HasSubstr("--delay and --dynamic: give one of them"));
  EXPECT_THAT(Refusal({{"instr-profiling", "on"}, {"ai-core", "on"}}),
              HasSubstr("--instr-profiling and --ai-core"));
  EXPECT_TRUE(Check({{"instr-profiling", "off"}, {"ai-core", "on"}}, k910B).ok());
  EXPECT_THAT(Refusal({{"aicore-shape", "on"}, {"task-time", "l1"}, {kSomeProcess, "yes"}}),
              HasSubstr("--aicore-shape needs --task-time=l0"));
  EXPECT_THAT(Refusal({{"export", "on"}, {"output", "d"}, {"type", "db"}, {"model-id", "1"}}),
              HasSubstr("--model-id and --type=db"));
}

TEST(OptionWishes, Kinds) {
  EXPECT_EQ(Kinds({{"sys-hardware-mem", "on"}}),
            "ddr=50 hbm=50 llc=50 npu-app-mem=50 npu-mem=50 npu-module-mem=50 qos=50 soc-profile=50");
  EXPECT_EQ(Kinds({{"sys-hardware-mem", "off"}}), "");
  EXPECT_EQ(Kinds({{"sys-io-profiling", "on"}, {"sys-io-sampling-freq", "1"}}), "nic=1 roce=1 ub=1 netdev=1");
  EXPECT_EQ(Kinds({{"host-sys", "cpu,network"}, {kSomeProcess, "yes"}}), "host-cpu=0 host-network=0");
  EXPECT_EQ(Kinds({{"host-sys-usage", "mem"}}), "host-sys-mem=50 host-pid-mem=50");
  EXPECT_EQ(Kinds({{"ascendcl", "on"}, {"runtime-api", "on"}, {kSomeProcess, "yes"}}),
            "agent-api:runtime+acl+node=0");
  EXPECT_EQ(Kinds({{"ascendcl", "on"}, {kSomeProcess, "yes"}}), "agent-api:acl+node=0");
  EXPECT_EQ(Kinds({{"ascendcl", "off"}, {"runtime-api", "on"}, {kSomeProcess, "yes"}}),
            "agent-api:runtime=0");
  EXPECT_THAT(Kinds({{"sys-hardware-mem", "on"}, {"llc-profiling", "write"}}), HasSubstr(" llc:write=50 "));
  EXPECT_THAT(Kinds({{"sys-hardware-mem", "on"}, {"sys-mem-serviceflow", "s2,s1"}}),
              HasSubstr(" qos:streams:s2,s1=50 "));
  EXPECT_THAT(Kinds({{"sys-hardware-mem", "on"},
                     {"sys-hardware-mem-freq", "10"},
                     {"sys-interconnection-profiling", "on"}}),
              HasSubstr("soc-profile=50"))
      << "of two rates the higher";
  EXPECT_EQ(Kinds({{"ai-core", "on"}, {"aic-metrics", "Custom:0x8,10"}}),
            "aicore:Custom:0x8,10=100 aivector:Custom:0x8,10=100");
  EXPECT_EQ(Kinds({{"ai-core", "on"}, {"aic-metrics", "Memory"}}), "aicore:Memory=100 aivector:Memory=100");
  EXPECT_EQ(Kinds({{"l2", "on"}, {kSomeProcess, "yes"}}), "l2=0");
  // Counters by task: where it is asked for, or with a program and nobody says.
  EXPECT_EQ(Kinds({{"ai-core", "on"}, {"aic-mode", "task-based"}, {"aic-metrics", "Memory"}}),
            "aicore-task:Memory=0 aivector-task:Memory=0");
  EXPECT_EQ(Kinds({{"ai-core", "on"}, {kSomeProcess, "yes"}}), "aicore-task=0 aivector-task=0 low-power=0");
  EXPECT_EQ(Kinds({{"ai-core", "on"}, {kSomeProcess, "yes"}, {"host-sys-pid", "7"}}),
            "aicore=100 aivector=100");
  EXPECT_EQ(Kinds({{"ai-core", "on"}, {"aic-mode", "sample-based"}, {kSomeProcess, "yes"}}),
            "aicore=100 aivector=100");
  EXPECT_EQ(Kinds({{"task-tsfw", "on"}, {kSomeProcess, "yes"}}), "task:firmware=0");
  EXPECT_EQ(Kinds({{"task-block", "all"}, {kSomeProcess, "yes"}}), "task:blocks=0");
  EXPECT_EQ(Kinds({{"task-block", "on"}, {"task-tsfw", "on"}, {kSomeProcess, "yes"}}, k950),
            "task:few-blocks+firmware=0");
  EXPECT_EQ(Kinds({{"task-time", "on"}, {"task-tsfw", "on"}, {kSomeProcess, "yes"}}),
            "task:firmware=0 agent-kernel=0 agent-comm=0 ccu-task=0 ccu=0");
  EXPECT_EQ(Kinds({{"task-time", "l0"}, {kSomeProcess, "yes"}}), "task=0 agent-kernel=0");
  EXPECT_EQ(Kinds({{"task-time", "l3"}, {kSomeProcess, "yes"}}),
            "task=0 agent-kernel:attributes=0 agent-comm:parts=0");
  EXPECT_THAT(Kinds({{"task-time", "l2"}, {kSomeProcess, "yes"}}), HasSubstr(" ccu=0"));
  EXPECT_EQ(Kinds({{"sys-interconnection-profiling", "on"}}), "pcie=50 hccs=50 ub=50 soc-profile=50");
  EXPECT_THAT(Kinds({{"sys-interconnection-profiling", "on"}, {"sys-io-profiling", "on"}}),
              HasSubstr("ub=50"))
      << "of its two rates that of the links";
  EXPECT_EQ(Kinds({{"sys-lp", "on"}}, k950), "soc-profile:power=0");
  EXPECT_THAT(Kinds({{"sys-lp", "off"}, {"sys-interconnection-profiling", "on"}}, k950),
              HasSubstr("soc-profile:units=50"));
  EXPECT_EQ(Kinds({{"dvpp-profiling", "on"}, {"msprof", "yes"}}, k950), "dvpp=50 soc-profile:power=0");
  EXPECT_EQ(Kinds({{"dvpp-profiling", "on"}}, k950), "dvpp=50");
  EXPECT_EQ(Kinds({{"dvpp-profiling", "on"}, {"msprof", "yes"}}, k950 | k910B), "dvpp=50");
  EXPECT_EQ(Kinds({{"npu-events", "HA:0x2,0x3;SMMU:0x10"}}), "soc-pmu:HA:0x2,0x3;SMMU:0x10=0");
  EXPECT_EQ(Kinds({{"instr-profiling", "on"}}), "instr=0");
  EXPECT_EQ(Kinds({{"instr-profiling", "on"}, {"instr-profiling-freq", "500"}}), "instr:cycles:500=0");
  EXPECT_EQ(Kinds({{"sys-profiling", "on"}, {"sys-pid-profiling", "on"}, {"sys-pid-sampling-freq", "2"}}),
            "dev-cpu=10 dev-mem=10 dev-pid-cpu=2 dev-pid-mem=2");
  EXPECT_EQ(Kinds({{"sys-cpu-profiling", "on"}}), "tscpu=50 ctrlcpu=50");
  EXPECT_EQ(Kinds({{"npu-events", "0x2,0x3"}}), "soc-pmu:HA:0x2,0x3=0") << "without a unit of HA";
}

TEST(OptionWishes, LevelsOfTasksSayWhatTheyLack) {
  for (const char* level : {"on", "off", "l0", "l1"})
    EXPECT_THAT(Remarks({{"task-time", level}, {kSomeProcess, "yes"}}), ElementsAre()) << level;
  EXPECT_THAT(Remarks({{"task-time", "l2"}, {kSomeProcess, "yes"}}), ElementsAre());
  EXPECT_THAT(Remarks({{"task-time", "off"}, {"hccl", "on"}, {"msprof", "yes"}, {kSomeProcess, "yes"}}),
              ElementsAre(HasSubstr("unmet hccl: recorded, but in no table")));
  EXPECT_THAT(Remarks({{"task-time", "l3"}, {kSomeProcess, "yes"}}),
              ElementsAre(HasSubstr("unmet task-time: not collected: what PyPTO reports")));
  // MSPTI in the process receives what CANN reports, where it knows the chip.
  const auto no_attributes = HasSubstr("unmet task-time: not collected: attributes of operators");
  EXPECT_THAT(Remarks({{"task-time", "l2"}, {"mspti", "yes"}, {kSomeProcess, "yes"}}),
              ElementsAre(no_attributes));
  Given preloaded = {{"task-time", "l2"}, {"hccl", "on"}, {"task-memory", "on"}, {kSomeProcess, "yes"}};
  EXPECT_THAT(Remarks(preloaded), ElementsAre());
  preloaded.emplace("mspti", "yes");
  EXPECT_THAT(
      Remarks(preloaded),
      UnorderedElementsAre(HasSubstr("unmet hccl: not collected: parts of collectives"), no_attributes,
                           HasSubstr("unmet task-memory: not collected: memory of operators")));
  EXPECT_THAT(Remarks(preloaded, k310P), ElementsAre());
  // Of msprof's whole line parts are a matter of --task-time, too, which is on by itself.
  const auto line = [](std::string time, Chips chips = k910B) {
    return Remarks({{"task-time", time}, {"mspti", "yes"}, {"msprof", "yes"}, {kSomeProcess, "yes"}}, chips);
  };
  const auto no_parts = HasSubstr("unmet task-time: not collected: parts of collectives");
  EXPECT_THAT(line("on"), ElementsAre(no_parts));
  EXPECT_THAT(line("l2"), ElementsAre(no_parts, no_attributes));
  EXPECT_THAT(line("l0"), ElementsAre());
  EXPECT_THAT(line("on", k310P), ElementsAre());
}

TEST(OptionWishes, ReportsOfCannStandForMspti) {
  const auto kinds = [](Given given, Chips chips = k910B) {
    given.emplace(kSomeProcess, "yes");
    return Kinds(given, chips);
  };
  const std::string by_mspti = "task=0 agent-kernel=0 agent-comm=0 ccu-task=0 ccu=0";
  EXPECT_EQ(kinds({{"task-time", "on"}, {"msprof", "yes"}}),
            "task=0 agent-kernel:operators=0 agent-comm:parts=0 ccu-task=0 ccu=0");
  EXPECT_EQ(kinds({{"task-time", "l0"}, {"msprof", "yes"}}), "task=0 agent-kernel:tasks=0");
  EXPECT_THAT(kinds({{"task-time", "l2"}, {"msprof", "yes"}}), HasSubstr("agent-kernel:attributes=0"));
  EXPECT_EQ(kinds({{"task-time", "off"}, {"hccl", "on"}, {"msprof", "yes"}}), "agent-comm:parts=0");
  EXPECT_EQ(kinds({{"task-time", "on"}, {"mspti", "yes"}, {"msprof", "yes"}}), by_mspti);
  EXPECT_EQ(kinds({{"task-memory", "on"}, {"msprof", "yes"}}), "agent-memory:operators=0");
  EXPECT_EQ(kinds({{"task-memory", "on"}, {"mspti", "yes"}, {"msprof", "yes"}}), "agent-memory=0");
  EXPECT_EQ(kinds({{"task-memory", "on"}, {"mspti", "yes"}, {"msprof", "yes"}}, k310P),
            "agent-memory:operators=0");
  // Beside profctl's own words for what MSPTI lacks.
  EXPECT_EQ(kinds({{"task-time", "on"}}), by_mspti);
  EXPECT_EQ(kinds({{"hccl", "on"}}), "agent-comm:parts=0");
  EXPECT_THAT(kinds({{"task-time", "l2"}}), HasSubstr("agent-kernel:attributes=0 agent-comm:parts=0"));
}

TEST(OptionWishes, WhatIsNotHadIsSaid) {
  EXPECT_THAT(Remarks({{"ge-api", "l0"}, {kSomeProcess, "yes"}}),
              ElementsAre(AllOf(HasSubstr("unmet ge-api: not collected: "))));
  EXPECT_THAT(Remarks({{"ge-api", "off"}, {kSomeProcess, "yes"}}), ElementsAre());
  EXPECT_THAT(Remarks({{"host-sys", "cpu,numa"}}), ElementsAre(HasSubstr("unmet host-sys: numa is not")));
  EXPECT_THAT(Remarks({{"ai-core", "on"}, {"aic-mode", "sample-based"}}), ElementsAre());
  EXPECT_THAT(Remarks({{"ai-core", "on"}, {"aic-mode", "task-based"}}), ElementsAre());
  EXPECT_THAT(Remarks({{"ai-vector-core", "on"}}, kNoChip),
              ElementsAre(HasSubstr("unmet ai-vector-core: not coll")));
  EXPECT_THAT(Remarks({{"task-block", "all"}, {"optype", "MatMul"}, {kSomeProcess, "yes"}}, k950),
              ElementsAre(HasSubstr("unmet optype: not collected: ")));
  EXPECT_THAT(Remarks({{"sys-hardware-mem", "on"}, {"sys-mem-serviceflow", "s"}}), ElementsAre());
  EXPECT_THAT(Remarks({{"export", "on"}, {"output", "d"}, {"reports", "f"}}),
              ElementsAre(HasSubstr("unmet reports: ")));
  EXPECT_THAT(Remarks({{"export", "on"}, {"output", "d"}, {"model-id", "1"}, {"summary-format", "json"}}),
              ElementsAre());
  EXPECT_THAT(Remarks({{"python-path", "/usr/bin/python3"}}),
              ElementsAre("python-path: taken and not used: the export needs no Python"));
  EXPECT_THAT(Remarks({{"sys-hardware-mem", "on"}, {"sys-hardware-mem-freq", "1000"}}),
              ElementsAre("sys-hardware-mem-freq: brought down from 1000 to 100, which is the most these "
                          "chips take"));
}

}  // namespace
}  // namespace profd::options
