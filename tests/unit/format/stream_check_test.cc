#include "format/check/stream_check.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

#include "format/directory/own_folder.h"
#include "format/directory/side_facts.h"
#include "format/events/agent_blocks.h"
#include "format/events/os_call_line.h"
#include "format/records/device.h"

namespace profd::format {
namespace {

using Bytes = std::vector<std::byte>;
constexpr Chip k910B = Chip::k910B;
constexpr uint64_t kPage = 4096;

void Add(Bytes& to, std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  to.insert(to.end(), begin, begin + text.size());
}

Bytes Text(std::string_view text) {
  Bytes bytes;
  Add(bytes, text);
  return bytes;
}

Bytes Hbm(size_t records) {
  Bytes bytes;
  for (size_t i = 0; i < records; ++i) {
    const HbmRecord record{1000 + i * 20'000, 1234, static_cast<uint32_t>(i & 1), 3};
    Add(bytes, {reinterpret_cast<const char*>(&record), sizeof record});
  }
  return bytes;
}

Bytes Block(BlockType type, uint32_t bytes, uint64_t seq, uint32_t records = 1) {
  BlockHeader header{};
  header.magic = kBlockMagic;
  header.type = static_cast<uint16_t>(type);
  header.header_bytes = sizeof header;
  header.bytes = bytes;
  header.seq = seq;
  header.records = records;
  header.lane = 2;
  Bytes block(sizeof header + bytes, std::byte{0x5a});
  std::memcpy(block.data(), &header, sizeof header);
  SealBlock(block.data());
  return block;
}

Bytes Join(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// In pieces of `piece` bytes, as a reader of a file would.
StreamCheck Check(const FileShape& shape, const Bytes& bytes, size_t piece = 1 << 20) {
  StreamCheck check(shape, true);
  Bytes held;
  for (size_t at = 0; at < bytes.size();) {
    const size_t count = std::min(piece, bytes.size() - at);
    held.insert(held.end(), bytes.begin() + static_cast<ptrdiff_t>(at),
                bytes.begin() + static_cast<ptrdiff_t>(at + count));
    at += count;
    const size_t taken = check.Take(held, at == bytes.size());
    held.erase(held.begin(), held.begin() + static_cast<ptrdiff_t>(taken));
  }
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(check.offset(), bytes.size());
  return check;
}

std::vector<uint64_t> Offsets(const StreamCheck& check) {
  std::vector<uint64_t> offsets;
  for (const Finding& finding : check.findings()) offsets.push_back(finding.offset);
  return offsets;
}

const FileShape kHbm = ShapeOf("device_0", "hbm.data", k910B);
const FileShape kLanes = ShapeOf(format::kOwnFolder, "agent_1_0.lanes", Chip::k310);

// The file as a kill in an append leaves it that began at `edge` and had written its last page and `head`
// bytes (whole pages).
Bytes Torn(Bytes file, size_t edge, size_t head) {
  const size_t last = (file.size() - 1) / kPage * kPage;
  for (size_t i = edge + head; i < last; ++i) file[i] = std::byte{0};
  return file;
}

TEST(StreamCheck, WholeRecordsAreFine) {
  for (const size_t piece : {1, 7, 24, 1000, 1 << 20}) {
    const StreamCheck check = Check(kHbm, Hbm(100), piece);
    EXPECT_TRUE(check.findings().empty());
    EXPECT_EQ(check.records(), 100U);
  }
}

TEST(StreamCheck, SaysNothingOfWhatTheChipDecides) {
  using What = FileShape::What;
  for (const char* file : {"dvpp.data", "dvpp.vpc", "llc.data", "tscpu.data"}) {
    EXPECT_EQ(ShapeOf("device_0", file, Chip::kUnknown).what, What::kUnknown) << file;
    EXPECT_NE(ShapeOf("device_0", file, k910B).what, What::kUnknown) << file;
  }
  EXPECT_EQ(ShapeOf("device_0", "hbm.data", Chip::kUnknown).what, What::kFixed);
  EXPECT_EQ(ShapeOf("device_0", "nic.data", Chip::kUnknown).what, What::kText);
  // By task they are laid out alike.
  EXPECT_EQ(ShapeOf("device_0", "ffts_profile.data", Chip::kUnknown).what, What::kUnknown);
  EXPECT_EQ(ShapeOf("device_0", "ffts_profile.data", Chip::kUnknown, true).what, What::kFixed);
}

TEST(StreamCheck, NamesTheDamage) {
  Bytes bytes = Hbm(100);
  std::fill_n(bytes.begin() + 24 * 10, 24 * 3, std::byte{0});
  bytes[24 * 50 + 16] = std::byte{9};  // event
  bytes.resize(bytes.size() + 5);
  for (const size_t piece : {24, 100, 1 << 20}) {
    const StreamCheck check = Check(kHbm, bytes, piece);
    EXPECT_THAT(Offsets(check), testing::ElementsAre(240, 1200, 2400)) << piece;
  }
  const StreamCheck check = Check(kHbm, bytes);
  EXPECT_EQ(check.findings()[0].what, "3 records of zeros: never written");
  EXPECT_EQ(check.findings()[1].what, "1 implausible record for this kind");
  EXPECT_EQ(check.findings()[2].what, "5 bytes at the end: no whole record of 24");
}

TEST(StreamCheck, FindingsAreBounded) {
  Bytes bytes = Hbm(1000);
  for (size_t i = 0; i < 1000; i += 2) bytes[24 * i + 16] = std::byte{9};
  const StreamCheck check = Check(kHbm, bytes);
  EXPECT_EQ(check.findings().size(), StreamCheck::kMaxFindings);
  EXPECT_EQ(check.more_findings(), 500 - StreamCheck::kMaxFindings);
}

TEST(StreamCheck, Text) {
  const FileShape hccs = ShapeOf("device_0", "hccs.data", k910B);
  const StreamCheck lines =
      Check(hccs, Text("time txAmount rxAmount\n12:000000001 1 2\n12:000000002 3 4\n"), 5);
  EXPECT_TRUE(lines.findings().empty());
  EXPECT_EQ(lines.records(), 2U);
  EXPECT_EQ(lines.header_bytes(), 23U);
  EXPECT_THAT(Offsets(Check(hccs, Text("12:000000001 1 2\n12:1 1\n12:00"))), testing::ElementsAre(17, 24));

  const std::string begin = OsCallBeginLine(kSyscallFile, 5'000'000'000);
  const StreamCheck calls = Check(ShapeOf("host", std::string(kSyscallFile), Chip::k310),
                                  Text(begin + "5001.000000 ( 0.001000 ms): a/1 read(process: 1) = 0\n"));
  EXPECT_EQ(begin, "5000.000000 ( 0.000000 ms): begin\n");
  EXPECT_EQ(calls.records(), 1U);
  EXPECT_EQ(calls.header_bytes(), begin.size());

  const FileShape cpu = ShapeOf("host", "host_cpu.data", Chip::k310);
  EXPECT_EQ(Check(cpu, Text("time 1\na\nb\ntime 2\nc\n")).records(), 2U);
  EXPECT_THAT(Offsets(Check(cpu, Text(std::string("time 1\na\n\0\0x\n", 13)))), testing::ElementsAre(9));
  EXPECT_EQ(Check(ShapeOf("host", "host_disk.data", Chip::k310), Text("x\n")).records(), std::nullopt);
}

TEST(StreamCheck, Blocks) {
  const Bytes whole = Join({Block(BlockType::kLane, 64, 0), Block(BlockType::kLane, 4096, 1, 7)});
  for (const size_t piece : {1, 100, 1 << 20}) {
    const StreamCheck check = Check(kLanes, whole, piece);
    EXPECT_TRUE(check.findings().empty());
    EXPECT_EQ(check.records(), 8U);
    EXPECT_EQ(check.lane_records().at(2), 8U);
  }
  Bytes damaged = Join({whole, Block(BlockType::kLane, 64, 2), Block(BlockType::kLane, 64, 3)});
  damaged[whole.size() + 150] = std::byte{0};
  const StreamCheck check = Check(kLanes, damaged);
  // The block, and that the next one is not its successor.
  EXPECT_THAT(Offsets(check), testing::ElementsAre(whole.size(), whole.size() + 192));
  EXPECT_EQ(Check(kLanes, Block(BlockType::kLane, 64, 5)).findings().size(), 1U);
  EXPECT_EQ(Check(kLanes, Block(BlockType::kNames, 64, 0)).findings().size(), 1U);
}

TEST(WholeEnd, WhatIsWholeStays) {
  EXPECT_EQ(WholeEnd(kHbm, Hbm(1000), 0, kPage), 24'000U);
  EXPECT_EQ(WholeEnd(kHbm, Hbm(1000), 240, kPage), 24'240U);
  EXPECT_EQ(WholeEnd(kHbm, {}, 0, kPage), 0U);
  const Bytes lanes = Join({Block(BlockType::kLane, 8192, 0), Block(BlockType::kLane, 64, 1)});
  EXPECT_EQ(WholeEnd(kLanes, lanes, 0, kPage), lanes.size());
  EXPECT_EQ(WholeEnd(ShapeOf("host", "host_mem.data", Chip::k310), Text("1 2\n3 4\n"), 0, kPage), 8U);
}

// Every edge an append may begin at, and every page it may have reached: no whole record more is given up
// than the one that the kill came into.
TEST(WholeEnd, AKilledAppendIsFound) {
  const Bytes file = Hbm(1000);
  for (size_t edge = 0; edge < file.size(); edge += 24) {
    const size_t last = (file.size() - 1) / kPage * kPage;
    if (edge >= last) break;
    for (size_t reached = edge; reached < last; reached = (reached / kPage + 1) * kPage) {
      const Bytes torn = Torn(file, edge, reached - edge);
      const uint64_t end = WholeEnd(kHbm, torn, 0, kPage);
      ASSERT_LE(end, reached) << edge;
      ASSERT_GE(end + 24, reached / 24 * 24) << edge;
      ASSERT_EQ(end % 24, 0U);
      ASSERT_TRUE(
          Check(kHbm, Bytes(torn.begin(), torn.begin() + static_cast<ptrdiff_t>(end))).findings().empty());
    }
  }
}

TEST(WholeEnd, HalfARecordAndZerosAtTheEndGo) {
  Bytes bytes = Hbm(10);
  bytes.resize(bytes.size() + 24 * 3 + 5);
  EXPECT_EQ(WholeEnd(kHbm, bytes, 0, kPage), 240U);
}

TEST(WholeEnd, Text) {
  const FileShape mem = ShapeOf("host", "host_mem.data", Chip::k310);
  EXPECT_EQ(WholeEnd(mem, Text("1 2\n3"), 0, kPage), 4U);
  EXPECT_EQ(WholeEnd(mem, Text("1 2"), 0, kPage), 0U);
  EXPECT_EQ(WholeEnd(mem, Text(std::string("1 2\n\0\0\0", 7)), 0, kPage), 4U);
  // A record of several lines whose last are missing.
  EXPECT_EQ(WholeEnd(ShapeOf("host", "host_cpu.data", Chip::k310), Text("time 1\na\ntime 2\nb\nc"), 0, kPage),
            9U);
  // Which cannot be told from one that is whole, but by where the file ends.
  Bytes rows = Text("time 1\na\ntime 2\n");
  while (rows.size() < kPage) Add(rows, "b\n");
  ASSERT_EQ(rows.size(), kPage);
  EXPECT_EQ(WholeEnd(ShapeOf("host", "host_cpu.data", Chip::k310), rows, 0, kPage), 9U);
  Add(rows, "b\n");
  EXPECT_EQ(WholeEnd(ShapeOf("host", "host_cpu.data", Chip::k310), rows, 0, kPage), kPage + 2);
  Bytes file;
  while (file.size() < 3 * kPage) Add(file, "123 45678901\n");
  EXPECT_EQ(WholeEnd(mem, Torn(file, 13 * 100, 0), 0, kPage), 1300U);
}

TEST(WholeEnd, Blocks) {
  const Bytes first = Block(BlockType::kLane, 64, 0);
  const Bytes second = Block(BlockType::kLane, 3 * kPage, 1);
  const Bytes third = Block(BlockType::kLane, 64, 2);
  const Bytes file = Join({first, second, third});
  EXPECT_EQ(WholeEnd(kLanes, Torn(file, first.size(), 0), 0, kPage), first.size());
  Bytes cut = file;
  cut.resize(file.size() - 10);
  EXPECT_EQ(WholeEnd(kLanes, cut, 0, kPage), file.size() - third.size());
  // The window begins inside a block.
  const Bytes window(file.begin() + 64, file.end());
  EXPECT_EQ(WholeEnd(kLanes, window, 64, kPage), file.size());
  EXPECT_EQ(WholeEnd(kLanes, Bytes(1000), 0, kPage), 0U);
}

TEST(ControlFileParts, ReadBack) {
  EXPECT_EQ(DoneBytes("filesize:12\nstarttime:0\n"), 12U);
  EXPECT_EQ(DoneBytes("filesize: 7\n"), 7U);
  EXPECT_EQ(DoneBytes("filesize:\n"), std::nullopt);
  EXPECT_EQ(ChipOf(R"({"platform_version": "5"})"), Chip::k910B);
  EXPECT_EQ(ChipOf(R"({"platform_version": 5})"), std::nullopt);
  EXPECT_EQ(ChipOf("]"), std::nullopt);
  EXPECT_EQ(DeviceOfFolder("device_12"), 12);
  EXPECT_EQ(DeviceOfFolder("device_012"), std::nullopt);
  EXPECT_EQ(DeviceOfFolder("device_"), std::nullopt);
  EXPECT_EQ(DeviceOfFolder("host"), std::nullopt);
}

}  // namespace
}  // namespace profd::format
