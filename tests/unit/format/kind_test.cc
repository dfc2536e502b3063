// The table of kinds, and what other tables of format/ say of the same files.
#include "format/kind.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "format/decode/catalogue.h"
#include "format/decode/framing.h"
#include "format/decode/host/cpu_profile.h"
#include "format/events/agent_blocks.h"
#include "format/preset.h"

namespace profd::format {
namespace {

constexpr int kHostSide = -1, kDeviceSide = 0;

int SideOf(const KindTraits& kind) { return kind.scope == Scope::kDevice ? kDeviceSide : kHostSide; }

std::set<std::string_view> FilesOf(const KindTraits& kind) {
  std::set<std::string_view> files(kind.files.begin(), kind.files.end());
  files.erase("");
  return files;
}

// Kinds whose data the vendor has in one file, so that only one of them can be had at a time.
bool MayShare(Kind a, Kind b) {
  const std::set<Kind> cores = {Kind::kAiCore, Kind::kAiVector, Kind::kAiCoreTask, Kind::kAiVectorTask};
  const std::set<Kind> events = {Kind::kSocPmu, Kind::kL2};
  return (cores.contains(a) && cores.contains(b)) || (events.contains(a) && events.contains(b));
}

// Files that nobody in profd reads as a table of rows, each with the reason.
bool IsReadOtherwise(std::string_view file) {
  const std::set<std::string_view> others = {
      file::kStarsLog,    file::kTaskLog, file::kVectorTaskLog,  // spans of tasks (decode/task_log.h)
      file::kApi,                                                // calls (decode/launches.h)
      file::kProcessDisk,                                        // kept for people
      file::kCpuProfile,  file::kOffCpu,                         // stacks (format/decode/host/cpu_profile.h)
  };
  return others.contains(file);
}

// Files that drivers of long ago brought to the vendor's collector, and none to profd.
bool IsOfTheVendorAlone(std::string_view file) {
  return file == "DATA_PREPROCESS.AICPU" || file == "DATA_PREPROCESS.DP";
}

TEST(Kind, RowsStandInTheOrderOfTheEnum) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kKindCount; ++i) {
    const KindTraits& kind = kKinds[i];
    EXPECT_EQ(static_cast<size_t>(kind.kind), i) << kind.name;
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_EQ(FindKind(kind.name), kind.kind);
    EXPECT_FALSE(kind.about.empty()) << kind.name;
    EXPECT_FALSE(kind.about.ends_with('.')) << kind.name;
    EXPECT_LE(kind.habits.usual_hz, kind.habits.max_hz) << kind.name;
  }
  EXPECT_FALSE(FindKind(""));
  EXPECT_FALSE(FindKind("hmb"));
}

TEST(Kind, AgentsKindsAreThoseOfTheirBlocks) {
  ASSERT_EQ(kAgentKindList.size(), kAgentKinds);
  for (size_t i = 0; i < kAgentKinds; ++i)
    EXPECT_EQ(NameOf(kAgentKindList.begin()[i]), AgentKindName(static_cast<AgentKind>(i)));
}

TEST(Kind, AFileIsOfOneKind) {
  std::map<std::pair<int, std::string_view>, const KindTraits*> owners;
  for (const KindTraits& kind : kKinds) {
    for (const std::string_view file : FilesOf(kind)) {
      const auto [owner, is_new] = owners.emplace(std::pair(SideOf(kind), file), &kind);
      EXPECT_TRUE(is_new || MayShare(owner->second->kind, kind.kind))
          << file << " is claimed by " << owner->second->name << " and " << kind.name;
    }
    EXPECT_EQ(FilesOf(kind).empty(), kind.scope == Scope::kAgent || kind.kind == Kind::kStepTrace)
        << kind.name;
  }
}

TEST(Kind, WhatADecoderReadsIsOfItsKind) {
  std::set<std::pair<int, std::string_view>> read;
  for (const DecoderEntry& entry : DecoderEntries()) {
    const KindTraits& kind = TraitsOf(entry.kind);
    read.emplace(entry.of_host ? kHostSide : kDeviceSide, entry.file);
    if (entry.kind == Kind::kStepTrace) {
      EXPECT_TRUE(FilesOf(TraitsOf(Kind::kTask)).contains(entry.file)) << entry.file;
      continue;
    }
    EXPECT_EQ(entry.of_host, IsOfHost(kind.scope)) << entry.file;
    EXPECT_NE(FilesOf(kind).contains(entry.file), IsOfTheVendorAlone(entry.file))
        << entry.file << " of " << kind.name;
  }
  for (const KindTraits& kind : kKinds) {
    for (const std::string_view file : FilesOf(kind)) {
      EXPECT_NE(read.contains({SideOf(kind), file}), IsReadOtherwise(file)) << file << " of " << kind.name;
    }
  }
}

// On every chip, or its records would be started in vain.
TEST(Kind, EveryFileOfADeviceFallsIntoRecords) {
  for (const KindTraits& kind : kKinds) {
    if (kind.scope != Scope::kDevice) continue;
    for (const std::string_view file : FilesOf(kind)) {
      for (const ChipTraits& chip : kChips) {
        const std::string name = file.starts_with('-') ? "4711" + std::string(file) : std::string(file);
        EXPECT_NE(FindStreamFormat(name, chip.chip), nullptr) << name << " on " << ChipName(chip.chip);
      }
    }
  }
}

TEST(Preset, NamesAreUniqueAndNoneIsEmpty) {
  std::set<std::string_view> names;
  for (const Preset& preset : Presets()) {
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
    EXPECT_EQ(FindPreset(preset.name), &preset);
    EXPECT_FALSE(preset.about.empty());
    EXPECT_FALSE(preset.of_node.empty() || preset.of_targets.empty()) << preset.name;
    for (const Kind kind : preset.of_node) {
      EXPECT_NE(TraitsOf(kind).scope, Scope::kProcess) << preset.name << ": " << NameOf(kind);
      EXPECT_NE(TraitsOf(kind).scope, Scope::kAgent) << preset.name << ": " << NameOf(kind);
    }
  }
  EXPECT_EQ(FindPreset("everything"), nullptr);
}

TEST(Preset, AllIsAllButWhatIsHadByName) {
  const KindList& all = FindPreset("all")->of_targets;
  for (const KindTraits& kind : kKinds) {
    EXPECT_EQ(all.Has(kind.kind), kind.scope != Scope::kFound && !kind.habits.by_name) << kind.name;
  }
}

}  // namespace
}  // namespace profd::format
