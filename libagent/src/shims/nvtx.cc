// NVTX v3: instrumented programs find us as $NVTX_INJECTION64_PATH. Every DSO with the headers calls
// InitializeInjectionNvtx2 once, with its own tables. Here success is non-zero.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <cwchar>

#include "libagent/src/emitter.h"
#include "libagent/src/shims/message.h"
#include "libagent/src/tables/names.h"

namespace profd::agent {

namespace {

using Function = void (*)();

enum ExportTable : uint32_t { kCallbacks = 1, kVersionInfo = 3 };
enum Module : int32_t { kCore = 1, kCore2 = 5 };

struct CallbacksTable {
  size_t struct_size;
  int (*get_module_table)(int32_t module, Function*** table, unsigned* size);
};
struct VersionTable {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved;
  void (*set_injection_version)(uint32_t version);
};
constexpr uint32_t kNvtxVersion = 3;

// Event attributes, version 2; `size` says how much of it the program has.
struct Attributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  uint64_t payload;
  int32_t message_type;
  uint32_t padding;
  const void* message;
};
static_assert(sizeof(Attributes) == 48 && offsetof(Attributes, payload) == 24 &&
              offsetof(Attributes, message) == 40);

enum MessageType : int32_t { kAscii = 1, kWide = 2, kRegistered = 3 };
enum PayloadType : int32_t {
  kPayloadU64 = 1,
  kPayloadI64 = 2,
  kPayloadF64 = 3,
  kPayloadU32 = 4,
  kPayloadI32 = 5,
  kPayloadF32 = 6
};
constexpr int32_t kColorArgb = 1;

constexpr int kNotTracked = -2;

// A wide text as UTF-8, cut like any name.
struct Narrow {
  char text[abi::kMaxNameBytes + 2];

  explicit Narrow(const wchar_t* wide) {
    size_t used = 0;
    for (; wide != nullptr && *wide != 0 && used + 4 < sizeof(text); ++wide) {
      const auto code = static_cast<char32_t>(*wide);
      if (code < 0x80) {
        text[used++] = static_cast<char>(code);
      } else if (code < 0x800) {
        text[used++] = static_cast<char>(0xC0 | code >> 6);
        text[used++] = static_cast<char>(0x80 | (code & 0x3F));
      } else if (code < 0x10000) {
        text[used++] = static_cast<char>(0xE0 | code >> 12);
        text[used++] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text[used++] = static_cast<char>(0x80 | (code & 0x3F));
      } else if (code < 0x110000) {
        text[used++] = static_cast<char>(0xF0 | code >> 18);
        text[used++] = static_cast<char>(0x80 | (code >> 12 & 0x3F));
        text[used++] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text[used++] = static_cast<char>(0x80 | (code & 0x3F));
      } else {
        text[used++] = '?';
      }
    }
    text[used] = '\0';
  }
};

// Handles of domains and registered strings carry their number: nothing to look up, nothing to free.
void* Handle(uint32_t number) {
  return reinterpret_cast<void*>(uintptr_t{number});  // NOLINT(performance-no-int-to-ptr)
}
uint32_t Number(const void* handle) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)); }

void AddPayload(const Attributes& attributes, ForeignEvent* foreign) {
  uint32_t low;
  memcpy(&low, &attributes.payload, sizeof(low));
  switch (attributes.payload_type) {
    case kPayloadU64:
      foreign->Add("payload", PROFD_U64).as.u64 = attributes.payload;
      break;
    case kPayloadI64:
      foreign->Add("payload", PROFD_I64).as.u64 = attributes.payload;
      break;
    case kPayloadF64:
      foreign->Add("payload", PROFD_F64).as.u64 = attributes.payload;
      break;
    case kPayloadU32:
      foreign->Add("payload", PROFD_U64).as.u64 = low;
      break;
    case kPayloadI32:
      foreign->Add("payload", PROFD_I64).as.i64 = static_cast<int32_t>(low);
      break;
    case kPayloadF32: {
      float value;
      memcpy(&value, &attributes.payload, sizeof(value));
      foreign->Add("payload", PROFD_F64).as.f64 = static_cast<double>(value);
      break;
    }
    default:  // none, or an extended payload, whose schemas we don't keep
      break;
  }
}

// What a program gave us, as an event, and a function that takes the event.
template <typename Use>
auto WithText(void* domain, const char* text, Use use) {
  ForeignEvent foreign(Number(domain), text);
  return use(foreign.event);
}
template <typename Use>
auto WithWide(void* domain, const wchar_t* text, Use use) {
  return WithText(domain, Narrow(text).text, use);
}
template <typename Use>
auto WithAttributes(void* domain, const void* untrusted, Use use) {
  Attributes attributes{};
  if (untrusted != nullptr) {
    uint16_t size;
    memcpy(&size, static_cast<const char*>(untrusted) + offsetof(Attributes, size), sizeof(size));
    // A field counts only when it is there as a whole.
    constexpr size_t kEnds[] = {8, 16, 32, 36, 48};
    size_t readable = 4;
    for (const size_t end : kEnds) {
      if (end <= size) readable = end;
    }
    memcpy(&attributes, untrusted, readable);
  }
  const auto fill = [&](ForeignEvent& foreign) {
    foreign.event.category = attributes.category;
    if (attributes.color_type == kColorArgb) foreign.Add("color", PROFD_U64).as.u64 = attributes.color;
    AddPayload(attributes, &foreign);
    return use(foreign.event);
  };
  if (attributes.message_type == kWide) {
    const Narrow narrow(static_cast<const wchar_t*>(attributes.message));
    ForeignEvent foreign(Number(domain), narrow.text);
    return fill(foreign);
  }
  ForeignEvent foreign(Number(domain), attributes.message_type == kAscii
                                           ? static_cast<const char*>(attributes.message)
                                           : nullptr);
  if (attributes.message_type == kRegistered) foreign.event.name = Number(attributes.message);
  return fill(foreign);
}

// Of a range that is not recorded; programs take 0 for "failed".
constexpr uint64_t kUnrecorded = uint64_t{1} << 63;

constexpr auto kMarkIt = [](const profd_event& event) { profd_mark_event(&event); };
constexpr auto kPushIt = [](const profd_event& event) { return profd_range_push_event(&event); };
constexpr auto kStartIt = [](const profd_event& event) { return profd_range_start_event(&event); };

uint64_t Started(uint64_t id) {
  static std::atomic<uint64_t> next{0};
  return id != 0 ? id : kUnrecorded | next.fetch_add(1, std::memory_order_relaxed);
}
void End(uint64_t id) {
  if ((id & kUnrecorded) == 0) profd_range_end(id);
}

// -- Module CORE.
void MarkEx(const void* event) {
  if (IsOn()) WithAttributes(nullptr, event, kMarkIt);
}
void MarkA(const char* text) {
  if (IsOn()) WithText(nullptr, text, kMarkIt);
}
void MarkW(const wchar_t* text) {
  if (IsOn()) WithWide(nullptr, text, kMarkIt);
}
uint64_t RangeStartEx(const void* event) {
  return Started(IsOn() ? WithAttributes(nullptr, event, kStartIt) : 0);
}
uint64_t RangeStartA(const char* text) { return Started(IsOn() ? WithText(nullptr, text, kStartIt) : 0); }
uint64_t RangeStartW(const wchar_t* text) { return Started(IsOn() ? WithWide(nullptr, text, kStartIt) : 0); }
void RangeEnd(uint64_t id) { End(id); }
int RangePushEx(const void* event) { return IsOn() ? WithAttributes(nullptr, event, kPushIt) : kNotTracked; }
int RangePushA(const char* text) { return IsOn() ? WithText(nullptr, text, kPushIt) : kNotTracked; }
int RangePushW(const wchar_t* text) { return IsOn() ? WithWide(nullptr, text, kPushIt) : kNotTracked; }
int RangePop() { return profd_range_pop(); }
void NameCategoryA(uint32_t category, const char* text) { profd_name_category(0, category, text); }
void NameCategoryW(uint32_t category, const wchar_t* text) {
  profd_name_category(0, category, Narrow(text).text);
}
void NameOsThreadA(uint32_t tid, const char* text) { Define(abi::kNameOfThread, 0, tid, NameText(text)); }
void NameOsThreadW(uint32_t tid, const wchar_t* text) { NameOsThreadA(tid, Narrow(text).text); }

// -- Module CORE2.
void DomainMarkEx(void* domain, const void* event) {
  if (IsOn()) WithAttributes(domain, event, kMarkIt);
}
uint64_t DomainRangeStartEx(void* domain, const void* event) {
  return Started(IsOn() ? WithAttributes(domain, event, kStartIt) : 0);
}
void DomainRangeEnd(void*, uint64_t id) { End(id); }
int DomainRangePushEx(void* domain, const void* event) {
  return IsOn() ? WithAttributes(domain, event, kPushIt) : kNotTracked;
}
int DomainRangePop(void* domain) { return profd_range_pop_in(Number(domain)); }
// Named resources (mutexes, pipes) are not recorded; programs only carry the handle.
void* ResourceCreate(void*, const void*) { return Handle(1); }
void ResourceDestroy(void*) {}
void DomainNameCategoryA(void* domain, uint32_t category, const char* text) {
  profd_name_category(Number(domain), category, text);
}
void DomainNameCategoryW(void* domain, uint32_t category, const wchar_t* text) {
  profd_name_category(Number(domain), category, Narrow(text).text);
}
void* RegisterStringA(void*, const char* text) { return Handle(profd_intern(text)); }
void* RegisterStringW(void*, const wchar_t* text) { return Handle(profd_intern(Narrow(text).text)); }
void* DomainCreateA(const char* name) { return Handle(profd_domain_create(name)); }
void* DomainCreateW(const wchar_t* name) { return Handle(profd_domain_create(Narrow(name).text)); }
// The domain's name stays known: records refer to it.
void DomainDestroy(void*) {}
void Initialize(const void*) {}

template <typename F>
Function Any(F* function) {
  return reinterpret_cast<Function>(function);
}

template <size_t count>
void Install(const CallbacksTable& callbacks, Module module, const Function (&functions)[count]) {
  Function** table = nullptr;
  unsigned size = 0;
  if (callbacks.get_module_table(module, &table, &size) == 0 || table == nullptr) return;
  // Slot ids count from 1; `size` is one more than the highest.
  for (unsigned id = 1; id <= count && id < size; ++id) {
    if (table[id] != nullptr) *table[id] = functions[id - 1];
  }
}

}  // namespace

}  // namespace profd::agent

extern "C" PROFD_API int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t)) {
  using namespace profd::agent;
  if (get_export_table == nullptr) return 0;
  const auto* callbacks = static_cast<const CallbacksTable*>(get_export_table(kCallbacks));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(*callbacks) ||
      callbacks->get_module_table == nullptr) {
    return 0;
  }
  const auto* version = static_cast<const VersionTable*>(get_export_table(kVersionInfo));
  if (version != nullptr && version->struct_size >= sizeof(*version) &&
      version->set_injection_version != nullptr) {
    version->set_injection_version(kNvtxVersion);
  }
  if (Generation() == kNotStarted) profd_intern("");  // starts the agent
  Install(*callbacks, kCore,
          {Any(MarkEx), Any(MarkA), Any(MarkW), Any(RangeStartEx), Any(RangeStartA), Any(RangeStartW),
           Any(RangeEnd), Any(RangePushEx), Any(RangePushA), Any(RangePushW), Any(RangePop),
           Any(NameCategoryA), Any(NameCategoryW), Any(NameOsThreadA), Any(NameOsThreadW)});
  Install(*callbacks, kCore2,
          {Any(DomainMarkEx), Any(DomainRangeStartEx), Any(DomainRangeEnd), Any(DomainRangePushEx),
           Any(DomainRangePop), Any(ResourceCreate), Any(ResourceDestroy), Any(DomainNameCategoryA),
           Any(DomainNameCategoryW), Any(RegisterStringA), Any(RegisterStringW), Any(DomainCreateA),
           Any(DomainCreateW), Any(DomainDestroy), Any(Initialize)});
  return 1;
}
