// A region as profd would make one, and a strict reader of what the agent put into it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "libagent/abi/lane.h"

namespace profd::agent::testing {

struct Geometry {
  uint32_t lanes = 8;
  uint32_t slots = 4096;
  uint32_t names_bytes = 1U << 20;
};

struct ReadValue {
  std::string key;
  uint32_t type;
  uint64_t bits;
  std::string text;
  uint64_t end_ns = 0;  // kTimes, whose begin is `bits`
};

struct ReadRecord {
  abi::Record head;
  std::string name;
  std::vector<ReadValue> values;
  uint64_t tid;  // as the last kThread record said
};

class Region {
 public:
  explicit Region(Geometry geometry = {}) : geometry_(geometry) {
    fd_ = ::memfd_create("test-lanes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bytes_ = abi::RegionBytes(geometry.lanes, geometry.slots, geometry.names_bytes);
    EXPECT_EQ(::ftruncate(fd_, static_cast<off_t>(bytes_)), 0);
    base_ = static_cast<char*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    header()->magic = abi::kRegionMagic;
    header()->version = abi::kRegionVersion;
    header()->record_bytes = abi::kRecordBytes;
    header()->lane_count = geometry.lanes;
    header()->lane_slots = geometry.slots;
    header()->names_bytes = geometry.names_bytes;
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }
  ~Region() {
    ::munmap(base_, bytes_);
    ::close(fd_);
    ::close(wake_);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  void Seal() { EXPECT_EQ(::fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0); }

  int fd() const { return fd_; }
  int wake() const { return wake_; }
  uint64_t bytes() const { return bytes_; }
  abi::RegionHeader* header() { return reinterpret_cast<abi::RegionHeader*>(base_); }
  abi::Lane* lane(uint32_t i) { return reinterpret_cast<abi::Lane*>(base_ + abi::LaneOffset(i)); }
  uint32_t lanes() const { return geometry_.lanes; }

  uint64_t Head(uint32_t i) { return std::atomic_ref(lane(i)->head).load(std::memory_order_acquire); }
  uint64_t Lost() {
    uint64_t lost = std::atomic_ref(header()->lost_without_lane).load();
    for (uint32_t i = 0; i < lanes(); ++i) lost += std::atomic_ref(lane(i)->lost).load();
    return lost;
  }

  std::string Name(uint32_t reference) {
    if (reference == 0) return "";
    const uint32_t used = std::atomic_ref(header()->names_used).load(std::memory_order_acquire);
    const uint64_t at = uint64_t{reference} * abi::kNameUnit;
    if (at + sizeof(abi::NameEntry) > used) {
      ADD_FAILURE() << "name " << reference << " is not in the table";
      return "?";
    }
    const auto* entry = NameAt(at);
    EXPECT_LE(at + sizeof(*entry) + entry->bytes, used);
    return {reinterpret_cast<const char*>(entry + 1), entry->bytes};
  }
  const abi::NameEntry* NameAt(uint64_t offset) {
    return reinterpret_cast<const abi::NameEntry*>(
        base_ + abi::NamesOffset(geometry_.lanes, geometry_.slots) + offset);
  }
  // Texts of one type: {domain, number} → text.
  std::map<std::pair<uint32_t, uint32_t>, std::string> Names(abi::NameType type) {
    std::map<std::pair<uint32_t, uint32_t>, std::string> found;
    const uint32_t used = std::atomic_ref(header()->names_used).load(std::memory_order_acquire);
    for (uint64_t at = abi::kFirstNameOffset; at < used;) {
      const auto* entry = NameAt(at);
      if (entry->type == type)
        found[{entry->domain, entry->number}] = Name(static_cast<uint32_t>(at / abi::kNameUnit));
      at += (sizeof(*entry) + entry->bytes + abi::kNameUnit) / abi::kNameUnit * abi::kNameUnit;
    }
    return found;
  }

  // Everything in the lane between its tail (or `from`) and its head; hands the slots back.
  std::vector<ReadRecord> Drain(uint32_t i) {
    std::vector<ReadRecord> records = Read(i, lane(i)->tail);
    std::atomic_ref(lane(i)->tail).store(read_to_, std::memory_order_release);
    return records;
  }
  std::vector<ReadRecord> DrainAll() {
    std::vector<ReadRecord> all;
    for (uint32_t i = 0; i < lanes(); ++i) {
      for (ReadRecord& record : Drain(i)) all.push_back(std::move(record));
    }
    return all;
  }

  // Parses [from, head), which must be whole records.
  std::vector<ReadRecord> Read(uint32_t i, uint64_t from) {
    std::vector<ReadRecord> records;
    read_to_ = Head(i);
    EXPECT_LE(read_to_ - from, geometry_.slots);
    for (uint64_t slot = from; slot < read_to_;) {
      ReadRecord record{};
      const abi::Record& head = At(i, slot++);
      record.head = head;
      EXPECT_NE(head.stamp, 0U);
      EXPECT_TRUE((head.kind >= abi::kMark && head.kind <= abi::kStepEnd) ||
                  (head.kind >= abi::kKernel && head.kind <= abi::kTensors) || head.kind == abi::kThread ||
                  head.kind == abi::kLost)
          << "kind " << int{head.kind} << " at slot " << slot - 1 << " of lane " << i;
      if (::testing::Test::HasFailure()) return records;
      if (head.kind == abi::kThread) tids_[i] = head.value;
      record.tid = tids_[i];
      if (head.kind != abi::kLost) record.name = Name(head.name);
      EXPECT_LE(slot + head.more, read_to_);
      bool goes_on = false;
      for (int left = head.more - 1; left >= 0; --left) {
        const auto& value = reinterpret_cast<const abi::ValueSlot&>(At(i, slot++));
        EXPECT_EQ(value.kind, abi::kValue);
        EXPECT_EQ(value.more, left);
        EXPECT_EQ(value.stamp, head.stamp);
        if (!goes_on) record.values.push_back({Name(value.key), value.type, value.bits, ""});
        if (value.type == abi::kTimes) record.values.back().end_ns = value.end_ns;
        if (value.type == abi::kText) {
          record.values.back().text.append(value.text, value.bytes & ~abi::kTextGoesOn);
          goes_on = (value.bytes & abi::kTextGoesOn) != 0;
        }
      }
      EXPECT_FALSE(goes_on);
      records.push_back(std::move(record));
    }
    return records;
  }

  const abi::Record& At(uint32_t i, uint64_t slot) {
    return reinterpret_cast<const abi::Record*>(
        base_ + abi::RingOffset(geometry_.lanes, geometry_.slots, i))[slot & (geometry_.slots - 1)];
  }

 private:
  Geometry geometry_;
  int fd_;
  int wake_;
  uint64_t bytes_;
  char* base_;
  uint64_t read_to_ = 0;
  std::map<uint32_t, uint64_t> tids_;
};

inline bool IsOwn(const ReadRecord& record) { return record.head.kind >= abi::kThread; }

// Without what the agent says of itself.
inline std::vector<ReadRecord> EventsOf(std::vector<ReadRecord> records) {
  std::erase_if(records, IsOwn);
  return records;
}

}  // namespace profd::agent::testing
