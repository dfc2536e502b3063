#include "libagent/src/mspti/emit.h"

#include <string.h>
#include <time.h>

#include <string_view>

#include "base/clock.h"
#include "libagent/src/emitter.h"
#include "libagent/src/tables/names.h"

namespace profd::agent::mspti {

namespace {

// Names by the vendor's numbers.
constexpr const char* kDataTypes[] = {"int8",   "int16", "int32",    "fp16",     "fp32",     "int64",
                                      "uint64", "uint8", "uint16",   "uint32",   "fp64",     "bf16",
                                      "int128", nullptr, "hifloat8", "fp8_e4m3", "fp8_e5m2", "fp8_e8m0"};
constexpr const char* kCopies[] = {"unknown",        "host to host",     "host to device",
                                   "device to host", "device to device", "default"};

template <size_t count>
const char* NameOf(const char* const (&names)[count], uint32_t number) {
  return number < count ? names[number] : nullptr;
}

// A record in the making: its head and value slots.
class Slots {
 public:
  Slots(abi::RecordKind kind, uint32_t name, uint64_t value, uint32_t category, uint32_t detail) {
    words_[0] = RecordWords(0, kind, 0, 0, name, value, category, detail);
  }
  void Times(uint64_t begin_ns, uint64_t end_ns) { Add(abi::kTimes, 0, 0, begin_ns, end_ns); }
  void Number(uint32_t key, uint64_t value) { Add(abi::kU64, 0, key, value, 0); }
  void Name(uint32_t key, const char* text) {
    if (const uint32_t name = Intern(text)) Add(abi::kName, 0, key, name, 0);
  }
  // Cut where the room for it ends.
  void Text(uint32_t key, const char* text) {
    if (text == nullptr) return;
    size_t left = ::strnlen(text, kMostText);
    while (left > 0) {
      uint64_t part[2] = {0, 0};
      const size_t bytes = left < abi::kTextBytes ? left : size_t{abi::kTextBytes};
      memcpy(part, text, bytes);
      left -= bytes;
      text += bytes;
      Add(abi::kText, static_cast<uint32_t>(bytes) | (left > 0 ? uint32_t{abi::kTextGoesOn} : 0U), key,
          part[0], part[1]);
    }
  }
  // Says in every slot how many follow.
  uint32_t Finish() {
    for (uint32_t i = 0; i < used_; ++i) words_[i].word[1] |= uint64_t{used_ - 1 - i} << 8;
    return used_;
  }
  Words* words() { return words_; }

  static constexpr uint32_t kMost = 12;

 private:
  static constexpr size_t kMostText = size_t{4} * abi::kTextBytes;

  void Add(abi::ValueType type, uint32_t bytes, uint32_t key, uint64_t first, uint64_t second) {
    if (used_ == kMost) return;
    words_[used_++] = {
        {0, uint64_t{abi::kValue} | uint64_t{type} << 16 | uint64_t{bytes} << 24 | uint64_t{key} << 32, first,
         second}};
  }

  Words words_[kMost];
  uint32_t used_ = 1;
};

// Names of collectives are numbered ("hcom_allReduce__721_4_1"): what is before the numbers is the name.
uint32_t CollectiveName(const char* text, bool* whole) {
  const std::string_view name = NameText(text);
  const size_t end = name.find("__");
  *whole = end == std::string_view::npos || end == 0;
  return *whole ? Intern(text) : Define(abi::kNameText, 0, 0, std::string_view(name.data(), end));
}

const char* MemoryName(const Activity& activity) {
  if (activity.kind == kMemcpyKind) return "memcpy";
  if (activity.kind == kMemsetKind) return "memset";
  return activity.detail == 0 ? "malloc" : "free";
}

const char* LevelOf(uint32_t kind) {
  return kind == kAclApiKind ? "acl" : kind == kRuntimeApiKind ? "runtime" : "node";
}

}  // namespace

Emitter::Emitter()
    : type_(Intern("type")),
      level_(Intern("level")),
      count_(Intern("count")),
      data_type_(Intern("data_type")),
      algorithm_(Intern("algorithm")),
      group_(Intern("group")),
      name_(Intern("name")),
      bytes_(Intern("bytes")),
      address_(Intern("address")),
      copy_(Intern("copy")),
      value_(Intern("value")),
      async_(Intern("async")),
      flag_(Intern("flag")) {}

void Emitter::SetPatience(int ms) { wait_until_ns_ = base::RawNs() + static_cast<uint64_t>(ms) * 1'000'000; }

void Emitter::Record(const Buffer& buffer) {
  Walker walker(buffer.bytes, buffer.valid);
  Activity activity;
  while (walker.Next(&activity)) {
    if (activity.kind == kKernelKind && activity.device < 64) devices_ |= uint64_t{1} << activity.device;
    if (WasRecording(activity.begin_ns, activity.end_ns, buffer.filled) && AwaitRoom()) Put(activity);
  }
  Lose(UnreadOf(walker, buffer.filled));
}

void Emitter::Lose(uint64_t records) {
  if (records == 0) return;
  Owner* owner = EnterLate(records);
  if (owner == nullptr) return;
  LoseRecords(owner, records);
  Leave(owner);
}

bool Emitter::AwaitRoom() {
  while (Owner* owner = EnterLate(1)) {
    const bool room = HasRoom(owner, Slots::kMost);
    const bool late = !room && base::RawNs() > wait_until_ns_;
    if (late) LoseRecords(owner, 1);
    Leave(owner);
    if (room || late) return room;
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

void Emitter::Put(const Activity& activity) {
  const auto place = [&](abi::RecordKind kind, uint32_t name) {
    return Slots(kind, name, activity.correlation, activity.device, activity.stream);
  };
  const auto put = [](Slots& slots) {
    const uint32_t used = slots.Finish();
    if (Owner* owner = EnterLate(1)) {
      EmitSlots(owner, slots.words(), used);
      Leave(owner);
    }
  };

  switch (activity.kind) {
    case kKernelKind: {
      const uint32_t name = Intern(activity.name);
      Slots slots = place(abi::kKernel, name);
      slots.Times(activity.begin_ns, activity.end_ns);
      if (name == 0) slots.Text(name_, activity.name);  // the table is full
      slots.Name(type_, activity.type);
      return put(slots);
    }
    case kCommunicationKind:
    case kHcclKind: {
      bool whole = true;
      const uint32_t name = CollectiveName(activity.name, &whole);
      Slots slots = place(abi::kComm, name);
      slots.Times(activity.begin_ns, activity.end_ns);
      if (activity.kind == kCommunicationKind) {
        slots.Number(count_, activity.count);
        slots.Name(data_type_, NameOf(kDataTypes, activity.data_type));
      }
      slots.Name(algorithm_, activity.algorithm);
      slots.Name(group_, activity.group);
      if (!whole || name == 0) slots.Text(name_, activity.name);
      return put(slots);
    }
    case kApiKind:
    case kAclApiKind:
    case kNodeApiKind:
    case kRuntimeApiKind: {
      const uint32_t name = Intern(activity.name);
      Slots slots(abi::kApi, name, activity.correlation, 0, activity.thread);
      slots.Times(activity.begin_ns, activity.end_ns);
      if (name == 0) slots.Text(name_, activity.name);
      slots.Name(level_, LevelOf(activity.kind));
      return put(slots);
    }
    case kMemoryKind:
    case kMemsetKind:
    case kMemcpyKind: {
      Slots slots = place(abi::kMemory, Intern(MemoryName(activity)));
      slots.Times(activity.begin_ns, activity.end_ns);
      slots.Number(bytes_, activity.bytes);
      if (activity.kind == kMemoryKind) {
        slots.Number(address_, activity.address);
      } else {
        if (activity.kind == kMemcpyKind) slots.Name(copy_, NameOf(kCopies, activity.detail));
        if (activity.kind == kMemsetKind) slots.Number(value_, activity.detail);
        slots.Number(async_, activity.is_async ? 1 : 0);
      }
      return put(slots);
    }
    case kMarkerKind: {
      // What is on no stream is recorded where it is made; so are ranges, whose numbers are known there.
      if (!activity.on_stream || (!activity.of_device && activity.detail != kInstant)) return;
      constexpr uint32_t kNoDevice = 0xFFFFFFFF;
      Slots slots(abi::kDeviceMark, activity.of_device ? 0 : Intern(activity.name), activity.correlation,
                  activity.of_device ? activity.device : kNoDevice,
                  activity.of_device ? activity.stream : activity.thread);
      slots.Times(activity.begin_ns, activity.end_ns);
      slots.Number(flag_, activity.detail);
      return put(slots);
    }
    default:
      return;
  }
}

}  // namespace profd::agent::mspti
