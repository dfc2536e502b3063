// A region written by hand, and a reader of it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "daemon/agent/lanes/ring_reader.h"
#include "libagent/abi/lane.h"
#include "tests/unit/support/process_lanes.h"

namespace profd::agent {

inline constexpr uint32_t kSlots = 256;

class RingReaderTest : public ::testing::Test {
 protected:
  void Begin(RingMode mode = RingMode::kDropNewest) {
    reader_ = std::make_unique<RingReader>(region_, mode);
    stats_ = std::make_shared<RecordingStats>(2);
    reader_->Begin(stats_);
  }

  abi::RegionHeader* header() { return region_->untrusted_header(); }
  abi::Lane* lane(uint32_t i = 0) { return region_->untrusted_lane(i); }
  abi::Record& slot(uint64_t number) {
    return reinterpret_cast<abi::Record*>(process_.bytes() + abi::RingOffset(2, kSlots, 0))[number % kSlots];
  }
  void Put(abi::RecordKind kind, uint64_t value, uint8_t more = 0) {
    for (uint8_t i = 0; i <= more; ++i) {
      abi::Record record{};
      record.stamp = 1000 + value;
      record.kind = static_cast<uint8_t>(i == 0 ? kind : abi::kValue);
      record.more = static_cast<uint8_t>(more - i);
      record.value = value;
      slot(lane()->head + i) = record;
    }
    lane()->head += 1U + more;
  }
  char* names() { return reinterpret_cast<char*>(process_.bytes()) + abi::NamesOffset(2, kSlots); }
  void PutName(const std::string& text, uint8_t type = abi::kNameText) {
    uint32_t at = header()->names_used;
    if (at == 0) at = abi::kFirstNameOffset;
    const abi::NameEntry entry{.bytes = static_cast<uint32_t>(text.size()),
                               .type = type,
                               .cut = 0,
                               .domain = 0,
                               .number = 0,
                               .hash = 0};
    std::memcpy(names() + at, &entry, sizeof(entry));
    std::memcpy(names() + at + sizeof(entry), text.data(), text.size());
    header()->names_used = at + static_cast<uint32_t>((sizeof(entry) + text.size() + 8) / 8 * 8);
  }

  // A round, everything in one list; `room` for each block.
  std::vector<format::Block> Read(size_t room = 1 << 16) {
    chunks_.clear();
    reader_->Mark();
    std::vector<format::Block> blocks;
    const auto take = [&](auto fill) {
      chunks_.emplace_back(room);
      const RingReader::Filled filled = fill(chunks_.back().data());
      format::BlockReader all({chunks_.back().data(), filled.bytes});
      format::Block block;
      while (all.Next(block)) blocks.push_back(block);
      EXPECT_EQ(all.skipped_bytes(), 0U);
    };
    while (reader_->NamesPending()) take([&](std::byte* to) { return reader_->ReadNames(to, room); });
    for (uint32_t i = 0; i < 2; ++i) {
      while (reader_->LanePending(i)) take([&](std::byte* to) { return reader_->ReadLane(i, to, room); });
    }
    return blocks;
  }
  static uint64_t Records(const std::vector<format::Block>& blocks) {
    uint64_t records = 0;
    for (const format::Block& block : blocks) records += block.header.records;
    return records;
  }
  static abi::Record At(const format::Block& block, size_t index) {
    abi::Record record;
    std::memcpy(&record, block.payload.data() + index * sizeof(record), sizeof(record));
    return record;
  }
  uint64_t damaged() { return stats_->lanes[0].damaged_slots; }

  const std::shared_ptr<Region> region_ =
      Region::Make({.lanes = 2, .lane_slots = kSlots, .names_bytes = 1 << 16}).value();
  const ProcessLanes process_{*region_};
  std::unique_ptr<RingReader> reader_;
  std::shared_ptr<RecordingStats> stats_;
  std::vector<std::vector<std::byte>> chunks_;
};

}  // namespace profd::agent
