// The ring reader: the first byte chooses the mode, the rest is written over a region, then read in rounds
// while more of it is changed. What comes out are whole blocks of whole records, whatever went in.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/status.h"
#include "daemon/agent/lanes/ring_reader.h"
#include "daemon/agent/lanes/slot_walk.h"
#include "libagent/abi/lane.h"
#include "tests/unit/support/process_lanes.h"

namespace profd::agent {

namespace {

constexpr Geometry kGeometry{.lanes = 2, .lane_slots = 256, .names_bytes = 1 << 16};
constexpr int kRounds = 4;
constexpr size_t kRooms[kRounds] = {RingReader::kMinRoom, 4096, RingReader::kMinRoom + 41, 1 << 16};

// Shared by all runs: making one costs more than a run.
Region& TheRegion() {
  static const std::shared_ptr<Region> region = Region::Make(kGeometry).value();
  return *region;
}

std::byte* Process() {
  static const ProcessLanes process(TheRegion());
  return process.bytes();
}

void CheckLane(const format::Block& block) {
  std::vector<std::byte> slots(block.payload.begin(), block.payload.end());
  SlotWalk walk{
      .first = 0, .count = static_cast<uint32_t>(slots.size() / abi::kRecordBytes), .last = true, .tid = 0};
  format::BlockHeader header{};
  const WalkedSlots walked = WalkSlots(slots.data(), walk, header);
  PROFD_CHECK(walked.damaged == 0 && walked.kept == walk.count);
  PROFD_CHECK(header.records == block.header.records);
  PROFD_CHECK(header.first_stamp == block.header.first_stamp && header.last_stamp == block.header.last_stamp);
  PROFD_CHECK(std::memcmp(header.kind_slots, block.header.kind_slots, sizeof(header.kind_slots)) == 0);
  PROFD_CHECK(block.header.lane < kGeometry.lanes);
}

void CheckNames(const format::Block& block) {
  size_t at = 0;
  for (uint32_t i = 0; i < block.header.records; ++i) {
    abi::NameEntry entry;
    PROFD_CHECK(at + sizeof(entry) < block.payload.size());
    std::memcpy(&entry, block.payload.data() + at, sizeof(entry));
    PROFD_CHECK(entry.bytes <= abi::kMaxNameBytes);
    at += (sizeof(entry) + entry.bytes + abi::kNameUnit) / abi::kNameUnit * abi::kNameUnit;
  }
  PROFD_CHECK(at == block.payload.size());
}

// One block at most, in memory of just that size, so that a sanitizer sees a byte too many.
template <typename Fill>
void Take(size_t room, Fill fill) {
  const std::unique_ptr<std::byte[]> to(new std::byte[room]);
  const RingReader::Filled filled = fill(to.get());
  PROFD_CHECK(filled.bytes <= room);
  format::BlockReader reader({to.get(), filled.bytes});
  format::Block block;
  if (filled.bytes == 0) return;
  PROFD_CHECK(reader.Next(block) && reader.offset() == filled.bytes && reader.skipped_bytes() == 0);
  PROFD_CHECK(block.header.records == filled.records);
  block.header.type == static_cast<uint16_t>(format::BlockType::kLane) ? CheckLane(block) : CheckNames(block);
}

// The parts that the input covers: header, lanes, the first slots of a ring, its last slots, the names.
void Write(const uint8_t* data, size_t size) {
  std::byte* const region = Process();
  const uint64_t ring = abi::RingOffset(kGeometry.lanes, kGeometry.lane_slots, 0);
  const uint64_t names = abi::NamesOffset(kGeometry.lanes, kGeometry.lane_slots);
  struct Part {
    uint64_t offset;
    size_t bytes;
  };
  const Part parts[] = {
      {64, 128}, {abi::LaneOffset(0), 512}, {ring, 64 * 32}, {ring + 224 * 32, 64 * 32}, {names, 2048}};
  for (const Part& part : parts) {
    const size_t bytes = std::min(part.bytes, size);
    std::memcpy(region + part.offset, data, bytes);
    data += bytes;
    size -= bytes;
  }
}

void Clear() {
  std::byte* const region = Process();
  std::memset(region + 64, 0, abi::kRegionHeaderBytes - 64);
  std::memset(region + abi::LaneOffset(0), 0, abi::LaneOffset(kGeometry.lanes) - abi::LaneOffset(0));
  const uint64_t ring = abi::RingOffset(kGeometry.lanes, kGeometry.lane_slots, 0);
  std::memset(region + ring, 0, size_t{2} * kGeometry.lane_slots * abi::kRecordBytes);
  std::memset(region + abi::NamesOffset(kGeometry.lanes, kGeometry.lane_slots), 0, 4096);
}

void Run(const uint8_t* data, size_t size) {
  const RingMode mode = data[0] % 2 == 0 ? RingMode::kDropNewest : RingMode::kOverwriteOldest;
  const bool joins_late = data[0] % 4 >= 2;
  ++data;
  --size;
  Clear();
  if (joins_late) Write(data, size);
  // The reader does not own the region here.
  RingReader reader(std::shared_ptr<Region>(&TheRegion(), [](Region*) {}), mode);
  const auto stats = std::make_shared<RecordingStats>(kGeometry.lanes);
  reader.Begin(stats);
  for (int round = 0; round < kRounds; ++round) {
    const size_t skip = std::min<size_t>(size, static_cast<size_t>(round) * 40);
    Write(data + skip, size - skip);
    if (mode == RingMode::kOverwriteOldest && round == 2) reader.Rewind();
    reader.Mark();
    if (mode == RingMode::kOverwriteOldest && round % 2 == 1) reader.KeepNewest(size);
    while (reader.NamesPending()) {
      Take(kRooms[round], [&](std::byte* to) { return reader.ReadNames(to, kRooms[round]); });
    }
    for (uint32_t lane = 0; lane < kGeometry.lanes; ++lane) {
      while (reader.LanePending(lane)) {
        Take(kRooms[round], [&](std::byte* to) { return reader.ReadLane(lane, to, kRooms[round]); });
      }
    }
  }
}

}  // namespace

}  // namespace profd::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) profd::agent::Run(data, size);
  return 0;
}
