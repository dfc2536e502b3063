// Every start, byte for byte, in order, per chip. The 910B's were seen from the vendor's own collector; the
// others differ from them as the public driver and collector tables say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "daemon/session/plan/plan.h"
#include "tests/unit/driver/chips.h"

namespace profd::session {
namespace {

using driver::Chip;
using driver::MakeDevice;
using format::Kind;

// "(1,1,20) 14 ffffffff 2 0 1 hbm.data": channel, type, period in ms, payload as hex words, file.
std::string Text(const ChannelStart& start) {
  char text[64];
  std::snprintf(text, sizeof text, "(%u,%u,%u)", start.channel, start.para.channel_type,
                start.para.period_ms);
  std::string line = text;
  for (uint32_t at = 0; at < start.para.user_data_size; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, start.para.user_data.data() + at, std::min(start.para.user_data_size - at, 4U));
    std::snprintf(text, sizeof text, " %x", word);
    line += text;
  }
  return line + " " + start.file + (start.one_slice ? " one" : "") + (start.late ? " late" : "") + "\n";
}

std::string Starts(const driver::DeviceFacts& device, SessionSpec spec, bool host_counter_known = true,
                   uint32_t api_version = 0x072418) {
  NodeFacts facts;
  facts.library_loaded = true;
  facts.api_version = api_version;
  facts.host_counter_known = host_counter_known;
  facts.devices = {device};
  const auto plan = MakePlan(spec, facts);
  if (!plan.ok()) return plan.status().message();
  std::string text;
  for (const ChannelStart& start : plan.value().channels) text += Text(start);
  return text;
}

std::string Starts(Chip chip, std::vector<KindRequest> kinds) {
  SessionSpec spec;
  spec.kinds = std::move(kinds);
  return Starts(MakeDevice(chip), std::move(spec));
}

std::string Everything(Chip chip) {
  SessionSpec spec;
  spec.preset = "all";
  return Starts(MakeDevice(chip), std::move(spec));
}

TEST(PlanStarts, Everything910B) {
  EXPECT_EQ(
      Everything(Chip::k910B),
      "(1,1,20) 14 ffffffff 2 0 1 hbm.data\n"
      "(8,1,20) 14 1 llc.data\n"
      "(135,1,20) dvpp.venc one\n"
      "(136,1,20) dvpp.jpege one\n"
      "(137,1,20) dvpp.vdec one\n"
      "(138,1,20) dvpp.jpegd one\n"
      "(139,1,20) dvpp.vpc one\n"
      "(140,1,20) dvpp.png one\n"
      "(141,1,20) dvpp.scd one\n"
      "(6,1,20) dvpp.data one\n"
      "(4,1,10) nic.data\n"
      "(3,1,20) pcie.data\n"
      "(9,1,20) hccs.data\n"
      "(129,1,10) roce.data one\n"
      "(130,1,20) 14 0 0 0 npu_mem.app\n"
      "(131,1,20) 14 0 1 0 npu_mem.data\n"
      "(142,1,20) 14 1 0 0 npu_module_mem.data\n"
      "(132,1,100) 64 1 lpmInfoConv.data\n"
      "(133,1,100) 14 3 30201 0 0 0 0 qos.data\n"
      "(143,1,10) aicpu.data late\n"
      "(144,1,10) aicpu.data late\n"
      "(10,0,20) 14 2 8 11 tscpu.data\n"
      "(44,0,20) 14 0 0 0 0 0 1 86000001 1 ts_track.data\n"
      "(50,0,0) 1 0 0 0 0 0 1 0 0 0 0 stars_soc.data\n"
      "(52,1,0) 1 14 1 14 1 14 1 14 0 0 0 0 0 0 stars_soc_profile.data\n"
      "(54,0,0) 3 a a ffffff 8 4170416 3020009 303000c 550054 a a ffffffff 8 a0008 b0009 d000c 550054 0 "
      "ffts_profile.data\n");
}

TEST(PlanStarts, Everything910) {
  EXPECT_EQ(Everything(Chip::k910),
            "(7,1,20) 14 ffffffff 2 0 1 ddr.data\n"
            "(1,1,20) 14 ffffffff 2 0 1 hbm.data\n"
            "(8,1,20) 14 1 llc.data\n"
            "(43,0,10) 1 6666 a ffffffff 8 8 a 9 b c d 54 55 0 aicore.data\n"
            "(6,1,20) dvpp.data one\n"
            "(4,1,10) nic.data\n"
            "(3,1,20) pcie.data\n"
            "(9,1,20) hccs.data\n"
            "(129,1,10) roce.data one\n"
            "(130,1,20) 14 0 0 0 npu_mem.app\n"
            "(131,1,20) 14 0 1 0 npu_mem.data\n"
            "(142,1,20) 14 1 0 0 npu_module_mem.data\n"
            "(143,1,10) aicpu.data late\n"
            "(144,1,10) aicpu.data late\n"
            "(10,0,20) 14 2 8 11 tscpu.data\n"
            "(44,0,20) 14 0 0 0 0 0 1 86000001 1 ts_track.data\n"
            "(45,0,0) 0 hwts.data\n");
}

TEST(PlanStarts, Everything310) {
  EXPECT_EQ(Everything(Chip::k310),
            "(7,1,20) 14 ffffffff 2 0 1 ddr.data\n"
            "(43,0,10) 1 6666 a 3 8 8 a 9 b c d 54 55 0 aicore.data\n"
            "(6,1,20) dvpp.data one\n"
            "(4,1,10) nic.data\n"
            "(130,1,20) 14 0 0 0 npu_mem.app\n"
            "(131,1,20) 14 0 1 0 npu_mem.data\n"
            "(142,1,20) 14 1 0 0 npu_module_mem.data\n"
            "(10,0,20) 14 2 8 11 tscpu.data\n"
            "(44,0,20) 14 0 0 0 1 0 1 86000001 1 ts_track.data\n");
}

TEST(PlanStarts, Everything310P) {
  EXPECT_EQ(Everything(Chip::k310P),
            "(7,1,20) 14 ffffffff 2 0 1 ddr.data\n"
            "(8,1,20) 14 1 llc.data\n"
            "(43,0,10) 1 6666 a ff 8 8 a 9 b c d 54 55 0 aicore.data\n"
            "(135,1,20) dvpp.venc one\n"
            "(136,1,20) dvpp.jpege one\n"
            "(137,1,20) dvpp.vdec one\n"
            "(138,1,20) dvpp.jpegd one\n"
            "(139,1,20) dvpp.vpc one\n"
            "(3,1,20) pcie.data\n"
            "(130,1,20) 14 0 0 0 npu_mem.app\n"
            "(131,1,20) 14 0 1 0 npu_mem.data\n"
            "(142,1,20) 14 1 0 0 npu_module_mem.data\n"
            "(143,1,10) aicpu.data late\n"
            "(144,1,10) aicpu.data late\n"
            "(10,0,20) 14 2 8 11 tscpu.data\n"
            "(44,0,20) 14 0 0 0 0 0 1 86000001 1 ts_track.data\n"
            "(45,0,0) 0 hwts.data\n");
}

TEST(PlanStarts, Everything310B) {
  EXPECT_EQ(Everything(Chip::k310B),
            "(7,1,20) 14 ffffffff 2 0 1 ddr.data\n"
            "(8,1,20) 14 1 llc.data\n"
            "(135,1,20) dvpp.venc one\n"
            "(137,1,20) dvpp.vdec one\n"
            "(6,1,20) dvpp.data one\n"
            "(4,1,10) nic.data\n"
            "(130,1,20) 14 0 0 0 npu_mem.app\n"
            "(131,1,20) 14 0 1 0 npu_mem.data\n"
            "(132,1,100) 64 1 lpmFreqConv.data\n"
            "(143,1,10) aicpu.data late\n"
            "(144,1,10) aicpu.data late\n"
            "(10,0,20) 14 2 8 11 tscpu.data\n"
            "(44,0,20) 14 0 0 0 0 0 1 86000001 1 ts_track.data\n"
            "(50,0,0) 1 0 0 0 0 0 1 0 0 0 0 stars_soc.data\n"
            "(52,1,0) 1 14 1 14 0 0 0 0 0 0 0 0 0 0 stars_soc_profile.data\n"
            "(54,0,0) 3 a a 1 8 49012c 9004a c0302 303000d a a 1 8 49012c 9004a c0302 303000d 0 "
            "ffts_profile.data\n");
}

TEST(PlanStarts, Everything950) {
  EXPECT_EQ(
      Everything(Chip::k950),
      "(1,1,20) 14 ffffffff 2 0 1 hbm.data\n"
      "(8,1,20) 14 1 llc.data\n"
      "(135,1,20) dvpp.venc one\n"
      "(136,1,20) dvpp.jpege one\n"
      "(137,1,20) dvpp.vdec one\n"
      "(138,1,20) dvpp.jpegd one\n"
      "(139,1,20) dvpp.vpc one\n"
      "(140,1,20) dvpp.png one\n"
      "(141,1,20) dvpp.scd one\n"
      "(6,1,20) dvpp.data one\n"
      "(4,1,10) nic.data\n"
      "(3,1,20) pcie.data\n"
      "(9,1,20) hccs.data\n"
      "(146,1,10) ub.data\n"
      "(129,1,10) roce.data one\n"
      "(130,1,20) 14 0 0 0 npu_mem.app\n"
      "(131,1,20) 14 0 1 0 npu_mem.data\n"
      "(142,1,20) 14 1 0 0 npu_module_mem.data\n"
      "(132,1,100) 64 1 lpmFreqConv.data\n"
      "(133,1,100) 14 3 30201 0 0 0 0 qos.data\n"
      "(143,1,10) aicpu.data late\n"
      "(144,1,10) aicpu.data late\n"
      "(10,0,20) 14 2 8 11 tscpu.data\n"
      "(44,0,0) 0 0 0 0 0 0 1 86000001 1 ts_track.data\n"
      "(147,0,0) ccu0.instr\n"
      "(149,0,0) ccu1.instr\n"
      "(148,0,0) ccu0.stat\n"
      "(151,0,0) ccu1.stat\n"
      "(50,0,0) 1 0 0 0 0 0 1 0 0 0 0 stars_soc.data\n"
      "(52,1,0) 1 14 1 4e20 1 4e20 1 4e20 1 2710 0 0 0 0 4e20 3 30201 0 0 0 0 stars_soc_profile.data\n"
      "(54,0,10) 3 a a ffffff 9 3010501 7010001 2030202 350034 714 a a ffffffff 9 3010501 7010001 2030202 "
      "350034 714 0 0 0 ffts_profile.data\n");
  EXPECT_EQ(Everything(Chip::k910_96), Everything(Chip::k950));
}

TEST(PlanStarts, RatesReachCallAndPayload) {
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kHbm, "", 100}}), "(1,1,10) a ffffffff 2 0 1 hbm.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kQos, "", 100}}), "(133,1,100) a 3 30201 0 0 0 0 qos.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kNic, "", 1}}), "(4,1,1000) nic.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kPcie, "", 30}}), "(3,1,33) pcie.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kLlc, "write", 0}}), "(8,1,20) 14 2 llc.data\n");
  EXPECT_EQ(Starts(Chip::k910, {{Kind::kAiCore, "", 50}}),
            "(43,0,20) 1 6666 14 ffffffff 8 8 a 9 b c d 54 55 0 aicore.data\n");
}

// Channel 52 follows the families that are asked for; its accelerator part keeps 20 ms at any rate.
TEST(PlanStarts, SocProfileFollowsItsCompany) {
  const auto soc = [](Chip chip, std::vector<KindRequest> kinds) {
    const std::string all = Starts(chip, std::move(kinds));
    const size_t at = all.find("(52,");
    return at == std::string::npos ? all : all.substr(at, all.find('\n', at) - at);
  };
  EXPECT_EQ(soc(Chip::k910B, {{Kind::kSocProfile, "", 0}}),
            "(52,1,0) 1 14 1 14 1 14 1 14 0 0 0 0 0 0 stars_soc_profile.data");
  EXPECT_EQ(soc(Chip::k910B, {{Kind::kSocProfile, "", 100}, {Kind::kHbm, "", 0}}),
            "(52,1,0) 1 14 1 a 0 0 0 0 0 0 0 0 0 0 stars_soc_profile.data");
  EXPECT_EQ(soc(Chip::k910B, {{Kind::kHccs, "", 0}, {Kind::kSocProfile, "", 0}}),
            "(52,1,0) 0 0 0 0 1 14 1 14 0 0 0 0 0 0 stars_soc_profile.data");
  EXPECT_EQ(soc(Chip::k910B, {{Kind::kPcie, "", 0}, {Kind::kQos, "", 0}, {Kind::kSocProfile, "", 0}}),
            "(52,1,0) 1 14 1 14 1 14 1 14 0 0 0 0 0 0 stars_soc_profile.data");
  EXPECT_EQ(soc(Chip::k910B, {{Kind::kNic, "", 0}, {Kind::kSocProfile, "", 0}}),
            "(52,1,0) 1 14 1 14 1 14 1 14 0 0 0 0 0 0 stars_soc_profile.data")
      << "neither family: all of it";
  EXPECT_EQ(soc(Chip::k910B, {{Kind::kDdr, "", 0}, {Kind::kPcie, "", 0}, {Kind::kSocProfile, "", 0}}),
            "(52,1,0) 0 0 0 0 1 14 1 14 0 0 0 0 0 0 stars_soc_profile.data")
      << "a kind that the chip lacks is no company";
  EXPECT_EQ(soc(Chip::k950, {{Kind::kPcie, "", 0}, {Kind::kSocProfile, "", 10'000}}),
            "(52,1,0) 0 0 0 0 1 64 1 64 1 2710 0 0 0 0 0 0 0 0 0 0 0 stars_soc_profile.data");
  EXPECT_EQ(soc(Chip::k950, {{Kind::kHbm, "", 0}, {Kind::kSocProfile, "", 0}}),
            "(52,1,0) 1 14 1 4e20 0 0 0 0 1 2710 0 0 0 0 4e20 3 30201 0 0 0 0 stars_soc_profile.data");
}

// Of a 950 what its power management does is in channel 52, too, alone where nothing else is asked for.
TEST(PlanStarts, PowerOfThe950) {
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kSocProfile, "power", 0}}),
            "(52,1,0) 0 0 0 0 0 0 0 0 1 2710 0 0 0 0 0 0 0 0 0 0 0 stars_soc_profile.data\n");
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kSocProfile, "power", 0}, {Kind::kHccs, "", 0}}),
            "(9,1,20) hccs.data\n"
            "(52,1,0) 0 0 0 0 1 4e20 1 4e20 1 2710 0 0 0 0 0 0 0 0 0 0 0 stars_soc_profile.data\n");
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kSocProfile, "units", 0}, {Kind::kHccs, "", 0}}),
            "(9,1,20) hccs.data\n"
            "(52,1,0) 0 0 0 0 1 4e20 1 4e20 0 0 0 0 0 0 0 0 0 0 0 0 0 stars_soc_profile.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kSocProfile, "power", 0}}),
            "soc-profile:power: soc-profile has no modes; ask for it without one");
}

// The period in the payload has no floor: 0 at 10 kHz.
TEST(PlanStarts, QosOfThe950AtItsHighestRate) {
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kQos, "", 10000}}), "(133,1,100) 0 3 30201 0 0 0 0 qos.data\n");
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kQos, "", 500}}), "(133,1,100) 2 3 30201 0 0 0 0 qos.data\n");
}

TEST(PlanStarts, CoreKindsAlone) {
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kAiCore, "", 50}}),
            "(54,0,0) 1 a 14 ffffff 8 4170416 3020009 303000c 550054 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kAiVector, "", 0}}),
            "(54,0,0) 2 0 0 0 0 0 0 0 0 a a ffffffff 8 a0008 b0009 d000c 550054 0 ffts_profile.data\n");
  EXPECT_EQ(
      Starts(Chip::k910B, {{Kind::kAiVector, "", 20}, {Kind::kAiCore, "", 50}}),
      "(54,0,0) 3 a 14 ffffff 8 4170416 3020009 303000c 550054 a 32 ffffffff 8 a0008 b0009 d000c 550054 0 "
      "ffts_profile.data\n");
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kAiVector, "", 50}}),
            "(54,0,20) 2 0 0 0 0 0 0 0 0 0 a 14 ffffffff 9 3010501 7010001 2030202 350034 714 0 0 0 "
            "ffts_profile.data\n");
  // No vector cores: aivector is skipped, and the start is that of aicore alone.
  driver::DeviceFacts device = MakeDevice(Chip::k310B);
  device.aiv_num = 0;
  SessionSpec spec;
  spec.kinds = {{Kind::kAiCore, "", 0}, {Kind::kAiVector, "", 0}};
  EXPECT_EQ(Starts(device, std::move(spec)),
            "(54,0,0) 1 a a 1 8 49012c 9004a c0302 303000d 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
}

// Cores by task: period 0, the vendor's bits for tasks and their parts.
TEST(PlanStarts, CoreKindsByTask) {
  const KindRequest ai_core{Kind::kAiCoreTask, "", 0}, vector{Kind::kAiVectorTask, "", 0};
  EXPECT_EQ(Starts(Chip::k910, {ai_core}), "(43,0,0) 0 0 0 0 8 8 a 9 b c d 54 55 0 aicore.data\n");
  EXPECT_EQ(Starts(Chip::k310P, {{Kind::kAiCoreTask, "Custom:0x8,10", 0}}),
            "(43,0,0) 0 0 0 0 2 8 a 0 0 0 0 0 0 0 aicore.data\n");
  EXPECT_EQ(
      Starts(Chip::k910B, {ai_core, vector}),
      "(53,0,0) 3 9 0 ffffff 8 4170416 3020009 303000c 550054 9 0 ffffffff 8 a0008 b0009 d000c 550054 0 "
      "ffts_profile.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kAiVectorTask, "ResourceConflictRatio", 0}}),
            "(53,0,0) 2 0 0 0 0 0 0 0 0 9 0 ffffffff 3 650064 66 0 0 0 ffts_profile.data\n");
  EXPECT_EQ(Starts(Chip::k950, {ai_core}),
            "(53,0,0) 1 9 0 ffffff 9 3010501 7010001 2030202 350034 714 0 0 0 0 0 0 0 0 0 0 0 0 "
            "ffts_profile.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kTask, "blocks", 0}, ai_core}),
            "(44,0,20) 14 0 0 0 0 0 1 86000001 1 ts_track.data\n"
            "(50,0,0) 1 0 0 0 0 0 1 1 0 0 0 stars_soc.data\n"
            "(53,0,0) 1 d 0 ffffff 8 4170416 3020009 303000c 550054 0 0 0 0 0 0 0 0 0 ffts_profile.data\n")
      << "blocks are counted where they are logged";
  // The vendor has one file for both.
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kAiVector, "", 0}, ai_core}),
            "(54,0,0) 2 0 0 0 0 0 0 0 0 a a ffffffff 8 a0008 b0009 d000c 550054 0 ffts_profile.data\n");
}

// What a task log has besides tasks.
TEST(PlanStarts, TaskModes) {
  const auto starts = [](Chip chip, const char* mode) { return Starts(chip, {{Kind::kTask, mode, 0}}); };
  EXPECT_EQ(starts(Chip::k910B, "firmware"),
            "(44,0,20) 14 0 0 0 0 0 1 87000001 1 ts_track.data\n"
            "(50,0,0) 1 0 0 0 0 0 1 0 0 0 0 stars_soc.data\n");
  EXPECT_EQ(starts(Chip::k310B, "blocks+firmware"),
            "(44,0,20) 14 0 0 0 0 0 1 87000001 1 ts_track.data\n"
            "(50,0,0) 1 0 0 0 0 0 1 1 0 0 0 stars_soc.data\n");
  EXPECT_EQ(starts(Chip::k950, "few-blocks"),
            "(44,0,0) 0 0 0 0 0 0 1 86000001 1 ts_track.data\n"
            "(50,0,0) 1 0 0 0 0 0 1 1 0 0 1 stars_soc.data\n");
  EXPECT_EQ(starts(Chip::k310, "firmware"), "(44,0,20) 14 0 0 0 1 0 1 87000001 1 ts_track.data\n");
  EXPECT_EQ(starts(Chip::k910B, "few-blocks"),
            "task:few-blocks: task knows the modes tasks and blocks and firmware and blocks+firmware");
}

TEST(PlanStarts, CollectiveUnits) {
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kCcu, "", 0}, {Kind::kCcuTask, "", 0}}),
            "(147,0,0) ccu0.instr\n(149,0,0) ccu1.instr\n(148,0,0) ccu0.stat\n(151,0,0) ccu1.stat\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kCcu, "", 0}}),
            "nothing can be collected: a 910B has no ccu; profctl devices shows what there is");
}

// Counters by their numbers, in the slots that each chip has for them.
TEST(PlanStarts, CoreEventsByNumber) {
  const KindRequest two{Kind::kAiCore, "Custom:0x8,10", 0};
  EXPECT_EQ(Starts(Chip::k310, {two}), "(43,0,10) 1 6666 a 3 2 8 a 0 0 0 0 0 0 0 aicore.data\n");
  EXPECT_EQ(Starts(Chip::k910, {two}), "(43,0,10) 1 6666 a ffffffff 2 8 a 0 0 0 0 0 0 0 aicore.data\n");
  EXPECT_EQ(Starts(Chip::k310P, {two}), "(43,0,10) 1 6666 a ff 2 8 a 0 0 0 0 0 0 0 aicore.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {two}),
            "(54,0,0) 1 a a ffffff 2 a0008 0 0 0 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
  EXPECT_EQ(Starts(Chip::k310B, {two}),
            "(54,0,0) 1 a a 1 2 a0008 0 0 0 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
  EXPECT_EQ(Starts(Chip::k950, {two, {Kind::kAiVector, "Custom:1,2,3,4,5,6,7,8,9,0xa", 0}}),
            "(54,0,10) 3 a a ffffff 2 a0008 0 0 0 0 a a ffffffff a 20001 40003 60005 80007 a0009 0 0 0 "
            "ffts_profile.data\n");
}

TEST(PlanStarts, CoreEventsThatCannotBeCounted) {
  for (const char* bad : {"Custom:", "Custom:0", "Custom:x", "Custom:1,", "Custom:0x", "Custom:-1",
                          "Custom:0x10000", "Custom:1,2,3,4,5,6,7,8,9"}) {
    EXPECT_EQ(Starts(Chip::k910B, {{Kind::kAiCore, bad, 0}}),
              "'" + std::string(bad) + "': a 910B counts 1 to 8 events, each a number from 1 to 65535");
  }
  EXPECT_EQ(Starts(Chip::k910, {{Kind::kAiCore, "Custom:0x7fffffff", 0}}),
            "(43,0,10) 1 6666 a ffffffff 1 7fffffff 0 0 0 0 0 0 0 0 aicore.data\n");
}

// The vendor's groups, by chip and core.
TEST(PlanStarts, CoreGroups) {
  const auto events = [](Chip chip, const char* kind, const char* mode) {
    const std::string text = Starts(chip, {{*format::FindKind(kind), mode, 0}});
    const std::string head = "(43,0,10) 1 6666 a ffffffff ";
    return text.starts_with(head) ? text.substr(head.size()) : text;
  };
  EXPECT_EQ(events(Chip::k910, "aicore", "Memory"), "8 15 16 31 32 f 10 12 13 0 aicore.data\n");
  EXPECT_EQ(events(Chip::k910, "aicore", "ArithmeticUtilization"),
            "7 49 4a 4b 4c 4d 4e 4f 0 0 aicore.data\n");
  EXPECT_EQ(events(Chip::k910, "aicore", "MemoryL0"), "8 1b 1c 21 22 27 28 29 2a 0 aicore.data\n");
  EXPECT_EQ(events(Chip::k910, "aicore", "MemoryUB"), "8 10 13 37 38 3d 3e 43 44 0 aicore.data\n");
  EXPECT_EQ(events(Chip::k910, "aicore", "ResourceConflictRatio"), "3 64 65 66 0 0 0 0 0 0 aicore.data\n");
  EXPECT_EQ(events(Chip::k910, "aicore", "L2Cache"),
            "aicore:L2Cache: aicore knows the modes PipeUtilization and ArithmeticUtilization and Memory and "
            "MemoryL0 and MemoryUB and ResourceConflictRatio and Custom:");
  EXPECT_EQ(events(Chip::k910B, "aivector", "MemoryAccess"),
            "(54,0,0) 2 0 0 0 0 0 0 0 0 a a ffffffff 8 3d0032 206003e 50c020c 50e050d 0 ffts_profile.data\n");
  EXPECT_EQ(events(Chip::k910B, "aicore", "L2Cache"),
            "(54,0,0) 1 a a ffffff 6 5020500 5060504 50a0508 0 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
  EXPECT_EQ(events(Chip::k310B, "aicore", "MemoryUB"),
            "(54,0,0) 1 a a 1 7 380037 1a601a5 180017f 191 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
  EXPECT_EQ(events(Chip::k310B, "aicore", "PipelineExecuteUtilization"),
            "(54,0,0) 1 a a 1 8 49012c 9004a c0302 303000d 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
  EXPECT_EQ(events(Chip::k950, "aicore", "ResourceConflictRatio"),
            "(54,0,10) 1 a a ffffff 4 5560540 5280502 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
}

// The cache's events, with those of the translation where the chip counts both at once.
TEST(PlanStarts, HitsOfTheCache) {
  const KindRequest l2{Kind::kL2, "", 0};
  EXPECT_EQ(Starts(Chip::k910, {l2}), "(47,0,0) 8 5b 59 5c 7d 7e 71 79 7c l2_cache.data\n");
  EXPECT_EQ(Starts(Chip::k310P, {l2}), "(47,0,0) 8 78 79 77 71 6a 6c 74 62 l2_cache.data\n");
  EXPECT_EQ(Starts(Chip::k310B, {l2}), "(47,0,0) 8 f6 fb fc bf 90 91 9c 9d l2_cache.data\n");
  const std::string on_910b =
      "(134,0,0) 340000 140001 8 fb00f6 bf00fc 910090 9d009c 140002 5 8a0002 8c008b 8d 0 socpmu.data\n";
  const std::string on_950 =
      "(134,0,0) 340000 140001 6 810000 830082 750074 0 140002 5 8a0002 8c008b 8d 0 socpmu.data\n";
  EXPECT_EQ(Starts(Chip::k910B, {l2}), on_910b);
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kSocPmu, "", 0}}), on_910b);
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kSocPmu, "hit-rates", 0}, l2}), on_910b);
  EXPECT_EQ(Starts(Chip::k950, {l2}), on_950);
  EXPECT_EQ(Starts(Chip::k910_96, {l2}),
            "(134,0,0) 340000 140001 7 880000 8a0089 750074 97 140002 5 8a0002 8c008b 8d 0 socpmu.data\n");
  EXPECT_EQ(Starts(Chip::k310, {l2}),
            "nothing can be collected: a 310 has no l2; profctl devices shows what there is");

  // Newer drivers are asked for a register of the translation, too.
  const auto starts = [&](Chip chip, KindRequest kind) {
    SessionSpec spec;
    spec.kinds = {std::move(kind)};
    return Starts(MakeDevice(chip), std::move(spec), true, 0x07241a);
  };
  EXPECT_EQ(starts(Chip::k910B, l2),
            "(134,0,0) 440000 140001 8 fb00f6 bf00fc 910090 9d009c 140002 5 8a0002 8c008b 8d 0 c0004 1 e78 "
            "3fffffff socpmu.data\n");
  EXPECT_EQ(
      starts(Chip::k950, l2),
      "(134,0,0) 440000 140001 6 810000 830082 750074 0 140002 5 8a0002 8c008b 8d 0 c0004 1 e78 3fffffff "
      "socpmu.data\n");
  EXPECT_EQ(starts(Chip::k910_96, l2), Starts(Chip::k910_96, {l2})) << "which has none";
  EXPECT_EQ(starts(Chip::k910B, {Kind::kSocPmu, "HA:0x2", 0}),
            "(134,0,0) 1c0000 140001 1 2 0 0 0 socpmu.data\n");
}

TEST(PlanStarts, SocEventsByNumber) {
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kSocPmu, "HA:0x2,0x3", 0}}),
            "(134,0,0) 1c0000 140001 2 30002 0 0 0 socpmu.data\n");
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kSocPmu, "SMMU:0x808;MATA:0xff", 0}}),
            "(134,0,0) 340000 140002 1 808 0 0 0 140001 1 ff 0 0 0 socpmu.data\n");
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kSocPmu, "NOC:0x0,0x3f,0x1,0x2", 0}}),
            "(134,0,0) 140000 c0003 4 3f0000 20001 socpmu.data\n");
  for (const char* bad :
       {"HA:", "HA:2", "HA:0x", "HA:0x100", "HA:0x-1", "HA:0x1,", "HA:0x1,0x2,0x3,0x4,0x5,0x6,0x7,0x8,0x9",
        "SMMU:0x809", "HA:0x1;HA:0x2", "HA:0x1;MATA:0x2", "HA:0x1;", "HA:0x1;L2:0x1", "NOC:0x1"}) {
    EXPECT_EQ(
        Starts(Chip::k910B, {{Kind::kSocPmu, bad, 0}}),
        "'" + std::string(bad) +
            "': a 910B counts HA (or MATA): 1 to 8 events from 0x0 to 0xff, SMMU: 1 to 8 events from 0x0 to "
            "0x808; each unit once, e.g. HA:0x2,0x3;SMMU:0x10");
  }
  for (const char* bad : {"NOC:0x40", "NOC:0x1,0x2,0x3,0x4,0x5"}) {
    EXPECT_EQ(
        Starts(Chip::k950, {{Kind::kSocPmu, bad, 0}}),
        "'" + std::string(bad) +
            "': a 950 counts HA (or MATA): 1 to 8 events from 0x0 to 0xff, SMMU: 1 to 8 events from 0x0 to "
            "0x808, NOC: 1 to 4 events from 0x0 to 0x3f; each unit once, e.g. HA:0x2,0x3;SMMU:0x10");
  }
  EXPECT_EQ(Starts(Chip::k910B, {{Kind::kSocPmu, "0x2", 0}}),
            "soc-pmu:0x2: soc-pmu knows the modes hit-rates and HA: and MATA: and SMMU: and NOC:");
}

// A channel per core; of a 950 those of three cores of each die.
TEST(PlanStarts, InstructionProfiling) {
  const std::string all = Starts(Chip::k910B, {{Kind::kInstr, "", 0}});
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 75);
  EXPECT_TRUE(
      all.starts_with("(11,0,0) 3e8 0 instr.group_0_aic\n(12,0,0) 3e8 0 instr.group_0_aiv0\n"
                      "(13,0,0) 3e8 0 instr.group_0_aiv1\n(14,0,0) 3e8 0 instr.group_1_aic\n"));
  for (const char* line : {"(42,0,0) 3e8 0 instr.group_10_aiv0\n(55,0,0) 3e8 0 instr.group_10_aiv1\n",
                           "(84,0,0) 3e8 0 instr.group_20_aiv0\n(86,0,0) 3e8 0 instr.group_20_aiv1\n"}) {
    EXPECT_NE(all.find(line), std::string::npos) << line;
  }
  EXPECT_TRUE(all.ends_with("(98,0,0) 3e8 0 instr.group_24_aiv1\n"));
  EXPECT_TRUE(Starts(Chip::k910B, {{Kind::kInstr, "cycles:30000", 0}}).starts_with("(11,0,0) 7530 0 "));

  const auto on_950 = [](int64_t cores, uint32_t api_version) {
    driver::DeviceFacts device = MakeDevice(Chip::k950);
    device.ai_core_num = cores;
    SessionSpec spec;
    spec.kinds = {{Kind::kInstr, "", 0}};
    return Starts(device, spec, true, api_version);
  };
  EXPECT_EQ(on_950(18, 0x072419),
            "(11,0,0) 10 0 0 0 instr.biu_perf_group0_aic\n"
            "(12,0,0) 10 0 1 0 instr.biu_perf_group0_aiv0\n"
            "(13,0,0) 10 0 2 0 instr.biu_perf_group0_aiv1\n"
            "(14,0,0) 10 0 0 9 instr.biu_perf_group1_aic\n"
            "(15,0,0) 10 0 1 9 instr.biu_perf_group1_aiv0\n"
            "(16,0,0) 10 0 2 9 instr.biu_perf_group1_aiv1\n"
            "(17,0,0) 10 0 0 11 instr.biu_perf_group2_aic\n"
            "(18,0,0) 10 0 1 11 instr.biu_perf_group2_aiv0\n"
            "(19,0,0) 10 0 2 11 instr.biu_perf_group2_aiv1\n");
  // Two dies, and a driver whose stop says whether data were lost.
  const std::string two = on_950(32, 0x07241a);
  EXPECT_EQ(std::count(two.begin(), two.end(), '\n'), 18);
  EXPECT_TRUE(two.starts_with("(11,0,0) 10 0 0 0 1 instr.biu_perf_group0_aic\n"));
  for (const char* line : {"(14,0,0) 10 0 0 8 1 ", "(17,0,0) 10 0 0 f 1 ", "(20,0,0) 10 0 0 10 1 ",
                           "(23,0,0) 10 0 0 18 1 ", "(26,0,0) 10 0 0 1f 1 instr.biu_perf_group5_aic\n"}) {
    EXPECT_NE(two.find(line), std::string::npos) << line;
  }
}

TEST(PlanStarts, CoreClocksBetweenSamples) {
  NodeFacts facts;
  facts.library_loaded = true;
  facts.devices = {MakeDevice(Chip::k910B)};
  facts.devices[0].aic_mhz = 1800;
  SessionSpec spec;
  spec.kinds = {{Kind::kInstr, "cycles:2000", 0}};
  auto plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  EXPECT_DOUBLE_EQ(plan.value().kinds[0].effective_hz, 900'000);
  EXPECT_EQ(plan.value().bytes_per_second, 0);
  for (const char* bad : {"cycles:", "cycles:299", "cycles:30001", "cycles:x", "cycles:1000 "}) {
    EXPECT_EQ(
        Starts(Chip::k910B, {{Kind::kInstr, bad, 0}}),
        "'" + std::string(bad) + "': a sample is taken every 300 to 30000 core clocks, e.g. cycles:1000");
  }
  EXPECT_EQ(Starts(Chip::k950, {{Kind::kInstr, "cycles:1000", 0}}),
            "instr:cycles:1000: instr has no modes; ask for it without one");
  EXPECT_EQ(Starts(Chip::k910, {{Kind::kInstr, "", 0}}),
            "nothing can be collected: a 910 has no instr; profctl devices shows what there is");
}

// One channel has one start: who comes second is told.
TEST(PlanStarts, TwoKindsThatWantOneChannelOtherwise) {
  NodeFacts facts;
  facts.library_loaded = true;
  facts.devices = {MakeDevice(Chip::k910B)};
  SessionSpec spec;
  spec.kinds = {{Kind::kL2, "", 0}, {Kind::kSocPmu, "HA:0x2", 0}};
  const auto plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan.value().channels.size(), 1U);
  EXPECT_EQ(plan.value().kinds[0].verdict, Verdict::kStarted);
  EXPECT_EQ(plan.value().kinds[1].verdict, Verdict::kSkipped);
  EXPECT_EQ(plan.value().kinds[1].reason, "l2 has its channel, with other settings");
}

TEST(PlanStarts, DevicesDoNotLeakIntoEachOther) {
  NodeFacts facts;
  facts.library_loaded = true;
  facts.devices = {MakeDevice(Chip::k310B, 0), MakeDevice(Chip::k310B, 1)};
  facts.devices[1].aiv_num = 0;
  facts.devices[1].channels = {52, 54};
  SessionSpec spec;
  spec.kinds = {
      {Kind::kAiCore, "", 0}, {Kind::kAiVector, "", 0}, {Kind::kDdr, "", 0}, {Kind::kSocProfile, "", 0}};
  const auto plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  std::string text;
  for (const ChannelStart& start : plan.value().channels)
    text += std::to_string(start.device) + " " + Text(start);
  EXPECT_EQ(text,
            "0 (7,1,20) 14 ffffffff 2 0 1 ddr.data\n"
            "0 (52,1,0) 1 14 1 14 0 0 0 0 0 0 0 0 0 0 stars_soc_profile.data\n"
            "0 (54,0,0) 3 a a 1 8 49012c 9004a c0302 303000d a a 1 8 49012c 9004a c0302 303000d 0 "
            "ffts_profile.data\n"
            "1 (52,1,0) 1 14 1 14 1 14 1 14 0 0 0 0 0 0 stars_soc_profile.data\n"
            "1 (54,0,0) 1 a a 1 8 49012c 9004a c0302 303000d 0 0 0 0 0 0 0 0 0 ffts_profile.data\n");
}

TEST(PlanStarts, ModuleMemoryStampsFollowTheHostCounter) {
  SessionSpec spec;
  spec.kinds = {{Kind::kNpuModuleMem, "", 0}};
  EXPECT_EQ(Starts(MakeDevice(Chip::k910B), std::move(spec), /*host_counter_known=*/false),
            "(142,1,20) 14 0 0 0 npu_module_mem.data\n");
}

TEST(PlanStarts, AiCpuOfNewerDriversOnThe950) {
  const auto aicpu = [](Chip chip, uint32_t api_version) {
    SessionSpec spec;
    spec.kinds = {{Kind::kAiCpu, "", 0}};
    return Starts(MakeDevice(chip), std::move(spec), true, api_version);
  };
  EXPECT_EQ(aicpu(Chip::k950, 0x072419), "(143,1,5) aicpu.data late\n(144,1,5) aicpu.data late\n");
  EXPECT_EQ(aicpu(Chip::k950, 0x072418), "(143,1,10) aicpu.data late\n(144,1,10) aicpu.data late\n");
  EXPECT_EQ(aicpu(Chip::k910B, 0x072419), "(143,1,10) aicpu.data late\n(144,1,10) aicpu.data late\n");
}

// An unknown chip: what it lists, with the payloads of 8-event chips.
TEST(PlanStarts, UnknownChip) {
  driver::DeviceFacts device = MakeDevice(Chip::k910B);
  device.chip = Chip{42};
  device.channels = {1, 7, 52, 132};
  SessionSpec spec;
  spec.preset = "node";
  EXPECT_EQ(Starts(device, std::move(spec)),
            "(7,1,20) 14 ffffffff 2 0 1 ddr.data\n"
            "(1,1,20) 14 ffffffff 2 0 1 hbm.data\n"
            "(132,1,100) 64 1 lpmFreqConv.data\n"
            "(52,1,0) 1 14 1 14 0 0 0 0 0 0 0 0 0 0 stars_soc_profile.data\n");
}

}  // namespace
}  // namespace profd::session
