#include "libagent/src/mspti/reports.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "libagent/abi/record.h"
#include "libagent/src/emitter.h"
#include "libagent/src/mspti/switches.h"
#include "libagent/src/tables/clock.h"
#include "libagent/src/tables/names.h"

namespace profd::agent::mspti {

const uint32_t kReportedKinds = 1U << abi::kKernel | 1U << abi::kComm | 1U << abi::kApi | 1U << abi::kMemory;

namespace {

// Layouts: hicann/runtime, pkg_inc/profiling/aprof_pub.h.
struct Call {
  uint16_t magic, level;
  uint32_t type;
  uint64_t thread_and_request;
  uint64_t begin, end;  // an event's end: all ones
  uint64_t item;
};
struct Head {
  uint16_t magic, level;
  uint32_t type, thread, bytes;
  uint64_t stamp;
};
constexpr size_t kCompactBytes = 40, kAdditionalBytes = 232;
constexpr uint16_t kLevelOfRuntime = 5000, kLevelOfLibrary = 5500, kLevelOfNodes = 10000;
constexpr uint32_t kMostReportSlots = 1 + (kAdditionalBytes + abi::kTextBytes - 1) / abi::kTextBytes;

// What the callbacks look at. Constant while reports are taken.
std::atomic<bool> g_takes;
std::atomic<uint32_t> g_clock;  // kReportedByRaw or 0
std::atomic<int> g_wake;
// Devices that the program has open, by bit.
std::atomic<uint64_t> g_open;

// Numbers of texts that reports refer to. A text that was numbered before the recording is asked for by its
// number, once. Where there is no room, it may stay a number.
class Numbers {
 public:
  // **Thread:** the worker. False: no memory.
  bool Map() {
    if (places_ != nullptr) return true;
    void* memory = ::mmap(nullptr, kPlaces * (sizeof(uint64_t) + 1), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    known_ = reinterpret_cast<std::atomic<uint8_t>*>(static_cast<char*>(memory) + kPlaces * sizeof(uint64_t));
    places_ = static_cast<std::atomic<uint64_t>*>(memory);
    return true;
  }
  // **Thread:** any. True: its text is not known yet, and nobody has said so before.
  bool Note(uint64_t number, bool known) {
    if (number == 0 || number == UINT64_MAX) return false;
    size_t place = (number ^ number >> 29) * 0x9E3779B97F4A7C15 >> (64 - kBits);
    for (size_t tries = 0; tries < kTries; ++tries, place = (place + 1) % kPlaces) {
      uint64_t there = places_[place].load(std::memory_order_relaxed);
      const bool is_new = there == 0 && places_[place].compare_exchange_strong(there, number);
      if (!is_new && there != number) continue;
      if (known) known_[place].store(1, std::memory_order_relaxed);
      return is_new && !known;
    }
    return false;
  }
  // **Thread:** the worker. Calls `name` with each number whose text is not known; true: now it is.
  template <typename Name>
  void EachUnknown(Name name) {
    for (size_t place = 0; place < kPlaces; ++place) {
      const uint64_t number = places_[place].load(std::memory_order_relaxed);
      if (number == 0 || known_[place].load(std::memory_order_relaxed) != 0) continue;
      if (name(number)) known_[place].store(1, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr size_t kBits = 15, kPlaces = size_t{1} << kBits, kTries = 16;
  std::atomic<uint64_t>* places_ = nullptr;
  std::atomic<uint8_t>* known_ = nullptr;
};
constinit Numbers g_numbers;
std::atomic<bool> g_unknown;  // a number has come that nobody has asked about

void Wake() {
  const int before = errno;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(g_wake.load(std::memory_order_relaxed), &one, sizeof(one));
  errno = before;
}

void NoteNumber(uint64_t number) {
  if (g_numbers.Note(number, false)) g_unknown.store(true, std::memory_order_relaxed);
}

// 0: not recorded.
uint32_t WantedIn() {
  const uint32_t generation = Generation();
  return generation >= kFirstGeneration && g_takes.load(std::memory_order_relaxed) ? generation : 0;
}

Words Data(uint32_t bytes, uint32_t flags, const void* from) {
  Words words{
      {0, uint64_t{abi::kValue} | uint64_t{abi::kBytes} << 16 | uint64_t{bytes} << 24 | uint64_t{flags} << 32,
       0, 0}};
  memcpy(&words.word[2], from, bytes);
  return words;
}

void Put(uint32_t generation, Words* slots, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) slots[i].word[1] |= uint64_t{count - 1 - i} << 8;
  Owner* owner = Enter(generation);
  if (owner == nullptr) return;
  EmitSlots(owner, slots, count);
  Leave(owner);
}

uint32_t Flags(uint32_t of, uint32_t ages) {
  return of | (ages != 0 ? uint32_t{abi::kReportAges} : 0) | g_clock.load(std::memory_order_relaxed);
}

// The callbacks, in threads of the program. Always successful: nobody could do anything about it.

int OnCall(uint32_t ages, const void* data) {
  const uint32_t generation = WantedIn();
  if (generation == 0 || data == nullptr) return 0;
  Call call;
  memcpy(&call, data, sizeof(call));
  if (call.magic != kReportMagic) return 0;
  if (call.level == kLevelOfNodes || call.level == kLevelOfLibrary) NoteNumber(call.item);
  Words slots[2];
  slots[0] = RecordWords(0, abi::kReport, 0, call.level, call.type, call.thread_and_request, 0, 0);
  slots[0].word[3] = call.item;
  slots[1] = Data(abi::kTextBytes, Flags(abi::kReportedCall, ages), &call.begin);
  Put(generation, slots, 2);
  return 0;
}

// Texts that the data refer to.
void NoteNumbers(const Head& head, bool compact, const char* data) {
  const auto at = [data](size_t offset) {
    uint64_t number;
    memcpy(&number, data + offset, sizeof(number));
    NoteNumber(number);
  };
  if (head.level == kLevelOfRuntime && compact) return at(16);  // name of a track's kernel
  if (head.level == kLevelOfLibrary && !compact) {              // name and group of a collective's part
    at(0);
    return at(16);
  }
  if (head.level != kLevelOfNodes) return;
  constexpr uint32_t kBasicInfo = 0, kMemory = 6, kAttributes = 9, kCommOp = 10, kStaticMemory = 11;
  if (!compact && head.type == kMemory) return at(16);                         // operator
  if (!compact && head.type == kStaticMemory) return at(8);                    // operator
  if (!compact || head.type == kBasicInfo || head.type == kAttributes) at(0);  // operator
  if (!compact) return;
  if (head.type == kBasicInfo || head.type == kAttributes) at(12);  // its type, its attributes
  if (head.type == kCommOp) {
    at(2);   // algorithm
    at(18);  // group
  }
}

template <bool compact>
int OnData(uint32_t ages, const void* report, uint32_t bytes) {
  constexpr size_t kBytes = compact ? kCompactBytes : kAdditionalBytes;
  const uint32_t generation = WantedIn();
  if (generation == 0 || report == nullptr) return 0;
  if (bytes < sizeof(Head) || bytes > sizeof(Head) + kBytes) return 0;
  Head head;
  memcpy(&head, report, sizeof(head));
  if (head.magic != kReportMagic) return 0;
  char data[(kMostReportSlots - 1) * abi::kTextBytes] = {};
  memcpy(data, static_cast<const char*>(report) + sizeof(head), bytes - sizeof(head));
  NoteNumbers(head, compact, data);
  size_t used = bytes - sizeof(head);
  while (used > 0 && data[used - 1] == 0) --used;

  Words slots[kMostReportSlots];
  slots[0] = RecordWords(0, abi::kReport, 0, head.level, head.type, head.stamp, head.thread, head.bytes);
  const uint32_t flags = Flags(compact ? abi::kReportedCompact : abi::kReportedAdditional, ages);
  uint32_t count = 1;
  for (size_t at = 0; at < used || count == 1; at += abi::kTextBytes)
    slots[count++] =
        Data(static_cast<uint32_t>(std::min<size_t>(used - at, abi::kTextBytes)), flags, data + at);
  Put(generation, slots, count);
  return 0;
}

int OnTypeName(uint16_t level, uint32_t type, const char* name, size_t bytes) {
  if (name != nullptr) Define(abi::kNameOfReportType, level, type, {name, bytes});
  return 0;
}

// The collector's number of a text (hash_data.cpp of hicann/runtime, DoubleHash), which this is the only one
// to give where the collector is not loaded.
uint64_t OnText(const char* text, size_t bytes) {
  if (text == nullptr || bytes == 0) return UINT64_MAX;
  uint32_t high = 0, low = 0;
  for (size_t i = 0; i < bytes; ++i) {
    high = high * 29 + static_cast<uint32_t>(text[i]);
    low = low * 131 + static_cast<uint32_t>(text[i]);
  }
  const uint64_t number = uint64_t{high} << 32 | low;
  if (Define(abi::kNameReported, 0, 0, {text, bytes}) != 0) g_numbers.Note(number, true);
  return number;
}

int OnDevice(const void* state, uint32_t bytes) {
  struct {
    uint32_t chip, device;
    bool open;
  } device;
  if (state == nullptr || bytes != sizeof(device)) return 0;
  memcpy(&device, state, sizeof(device));
  if (device.device >= 64) return 0;
  const uint64_t bit = uint64_t{1} << device.device;
  if (device.open) {
    g_open.fetch_or(bit, std::memory_order_relaxed);
    Wake();
  } else {
    g_open.fetch_and(~bit, std::memory_order_relaxed);
  }
  return 0;
}

// As the levels of the vendor's collector have them (hicann/runtime, prof_acl_mgr.cpp,
// UpdateDataTypeConfigByProfLevel).
uint64_t OperatorsOf(const From& from) {
  return (from.only_tasks ? 0 : uint64_t{kTaskTimeL1}) | (from.attributes ? uint64_t{kTaskTimeL2} : 0);
}

struct Taken {
  Receiver what;
  void* receiver;
};
template <typename F>
Taken Take(Receiver what, F receiver) {
  return {what, reinterpret_cast<void*>(receiver)};
}

}  // namespace

const char* Reports::Begin(uint32_t kinds, const From& from, int wake) {
  if (const char* why = LoadRouter(&library_)) return why;
  if (const char* why = WhyMsptiReceives()) return why;
  if (IsCollecting(&library_)) return "the vendor's collector records this process";
  if (!g_numbers.Map()) return "no memory for what CANN reports";
  constexpr uint32_t kAcl = 1, kRuntime = 4;  // CallLevels of proto/profd/v1/agent.proto
  const auto wants = [kinds](abi::RecordKind kind) { return (kinds >> kind & 1U) != 0; };
  const uint32_t levels = !wants(abi::kApi) ? 0 : from.call_levels == 0 ? ~0U : from.call_levels;
  switches_ = kTaskTime;  // calls of the node level come with it
  if ((levels & kAcl) != 0) switches_ |= kCallsOfAcl;
  if ((levels & kRuntime) != 0) switches_ |= kCallsOfRuntime;
  if (wants(abi::kKernel)) switches_ |= kTracks | OperatorsOf(from);
  if (wants(abi::kComm)) switches_ |= kTaskTimeL1 | kTracks | kCollectives;
  if (wants(abi::kMemory)) switches_ |= kTaskMemory;
  on_ = 0;

  // What stamps are of is decided once in the life of a program (MsprofSysCycleTime of hicann/runtime,
  // prof_impl_inner_api.cpp).
  const uint64_t before_ns = base::RawNs();
  const uint64_t stamp = library_.stamp();
  const bool by_raw = stamp >= before_ns && stamp <= base::RawNs() && PickCounter() != abi::kCounterRawClock;
  g_clock.store(by_raw ? uint32_t{abi::kReportedByRaw} : 0, std::memory_order_relaxed);
  g_wake.store(wake, std::memory_order_relaxed);
  g_open.store(0, std::memory_order_relaxed);
  g_takes.store(true, std::memory_order_relaxed);
  taken_ = true;
  for (const Taken& one : {Take(kTexts, OnText), Take(kTypeNames, OnTypeName), Take(kCalls, OnCall),
                           Take(kEvents, OnCall), Take(kCompactReports, OnData<true>),
                           Take(kAdditionalReports, OnData<false>), Take(kDeviceStates, OnDevice)}) {
    if (library_.take_report(one.what, one.receiver, sizeof(void*)) == 0) continue;
    End();
    return "this process's libprofapi.so is too old to be listened to";
  }
  LookAtDevices();
  return nullptr;
}

void Reports::LookAtDevices() {
  const uint64_t added = g_open.load(std::memory_order_relaxed) & ~on_;
  for (uint32_t device = 0; device < 64; ++device) {
    if ((added >> device & 1U) != 0) SwitchOn(library_, device, switches_);
  }
  on_ |= added;
}

void Reports::LookAtTexts() {
  if (library_.text_of == nullptr || !g_unknown.exchange(false, std::memory_order_relaxed)) return;
  g_numbers.EachUnknown([this](uint64_t number) {
    const char* text = library_.text_of(number);
    return text != nullptr && *text != '\0' && Define(abi::kNameReported, 0, 0, NameText(text)) != 0;
  });
}

const char* Reports::Look() {
  if (!taken_) return nullptr;
  if (WhyMsptiReceives() != nullptr) {
    // It has put its own receivers in the place of some of ours, and may of all: none is touched any more.
    // Ours stay behind and take nothing.
    taken_ = false;
    g_takes.store(false, std::memory_order_relaxed);
    return "MSPTI was loaded: what CANN reported from then on is MSPTI's";
  }
  LookAtDevices();
  LookAtTexts();
  if (!IsCollecting(&library_)) return nullptr;
  on_ = 0;  // the modules obey who gave the latest command, which was not us
  End();
  return "the vendor's collector began to record it: what CANN reported from then on is the collector's";
}

void Reports::End() {
  if (!taken_) return;
  taken_ = false;
  for (uint32_t device = 0; device < 64; ++device) {
    if ((on_ >> device & 1U) != 0) SwitchOff(library_, device, switches_);
  }
  g_takes.store(false, std::memory_order_relaxed);
  LookAtTexts();
  // The library looks at a receiver and then calls it: whoever is in between has passed by then.
  const timespec pause{0, 10'000'000};
  ::nanosleep(&pause, nullptr);
  for (const Receiver what :
       {kCalls, kEvents, kCompactReports, kAdditionalReports, kDeviceStates, kTypeNames, kTexts})
    library_.take_report(what, nullptr, sizeof(void*));
}

}  // namespace profd::agent::mspti
