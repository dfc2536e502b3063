#include "libagent/src/mspti/tensors.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "libagent/abi/record.h"
#include "libagent/src/emitter.h"
#include "libagent/src/mspti/switches.h"

namespace profd::agent::mspti {

namespace {

constexpr uint16_t kNodeLevel = 10000;
constexpr uint32_t kTensorInfo = 1;

struct Report {
  uint16_t magic, level;
  uint32_t type, thread, bytes;
  uint64_t stamp;
  uint64_t op_name;
  uint32_t count;
};
constexpr size_t kHeadBytes = 36;  // up to the tensors; they are packed
constexpr uint32_t kTensorBytes = 44, kMostTensors = 5;

constexpr uint32_t kMostSlots = 2 + (kMostTensors * kTensorBytes + abi::kTextBytes - 1) / abi::kTextBytes;

Words ValueWords(abi::ValueType type, uint32_t bytes, uint64_t first, uint64_t second) {
  return {{0, uint64_t{abi::kValue} | uint64_t{type} << 16 | uint64_t{bytes} << 24, first, second}};
}

// Kernels can be added to a recording that threads have begun without them, so their Owners do not say it.
std::atomic<bool> g_wanted;

// In a thread of the program. Always succeeds: nobody could do anything about it.
int OnReport(uint32_t, const void* data, uint32_t bytes) {
  Report report;
  const uint32_t generation = Generation();
  if (generation < kFirstGeneration || !g_wanted.load(std::memory_order_relaxed)) return 0;
  if (data == nullptr || bytes < kHeadBytes) return 0;
  memcpy(&report, data, kHeadBytes);
  if (report.magic != kReportMagic || report.level != kNodeLevel || report.type != kTensorInfo) return 0;
  const uint32_t there = (bytes - static_cast<uint32_t>(kHeadBytes)) / kTensorBytes;
  const uint32_t count = std::min({report.count, there, kMostTensors});
  if (count == 0) return 0;

  Words slots[kMostSlots];
  slots[1] = ValueWords(abi::kU64, 0, report.stamp, 0);
  const char* from = static_cast<const char*>(data) + kHeadBytes;
  uint32_t used = 2;
  for (uint32_t left = count * kTensorBytes; left > 0;) {
    const uint32_t part = std::min<uint32_t>(left, abi::kTextBytes);
    uint64_t words[2] = {0, 0};
    memcpy(words, from, part);
    slots[used++] = ValueWords(abi::kBytes, part, words[0], words[1]);
    from += part;
    left -= part;
  }
  slots[0] = RecordWords(0, abi::kTensors, 0, 0, 0, report.op_name, report.thread, count);
  for (uint32_t i = 0; i < used; ++i) slots[i].word[1] |= uint64_t{used - 1 - i} << 8;

  // Where there is no lane, or no room in it, no record is lost: an operator stays without its tensors.
  Owner* owner = Enter(generation, 0);
  if (owner == nullptr) return 0;
  if (HasRoom(owner, used)) EmitSlots(owner, slots, used);
  Leave(owner);
  return 0;
}

}  // namespace

void Tensors::Begin(const Library& library, uint64_t switches) {
  switches_ = switches | kTaskTimeL1;
  used_ = 0;
  const bool taken =
      library.take_report(kAdditionalReports, reinterpret_cast<void*>(OnReport), sizeof(void*)) == 0;
  library_ = taken ? &library : nullptr;
  g_wanted.store(taken, std::memory_order_relaxed);
}

void Tensors::Use(uint64_t devices) {
  const uint64_t added = devices & ~used_;
  if (library_ == nullptr || added == 0) return;
  used_ |= added;
  for (uint32_t device = 0; device < 64; ++device) {
    if ((added >> device & 1U) != 0) SwitchOn(*library_, device, switches_);
  }
}

void Tensors::End() {
  g_wanted.store(false, std::memory_order_relaxed);
  if (library_ == nullptr) return;
  // The receiver stays until MSPTI takes all of them back: without one, reports would go to the vendor's
  // collector.
  for (uint32_t device = 0; device < 64; ++device) {
    if ((used_ >> device & 1U) != 0) SwitchOff(*library_, device, kTaskTimeL1);
  }
  library_ = nullptr;
}

}  // namespace profd::agent::mspti
