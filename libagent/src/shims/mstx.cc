// mstx: programs that are instrumented with Ascend's marker API find us as $MSTX_INJECTION_PATH or preloaded.
//
// Every DSO with the header has its own table and calls InitInjectionMstx once for it, at any time, on any
// thread. Where the vendor's own target (libprofapi's InitInjectionMstx) is in the process, we stand before
// it: record, then forward. A range id that the vendor gave is passed on as it is and recorded, so vendor
// records can be joined by it; ours have the top bit set and are never forwarded.
#include <atomic>
#include <cstdint>
#include <ctime>

#include "libagent/src/emitter.h"
#include "libagent/src/shims/message.h"
#include "libagent/src/tables/libc.h"
#include "libagent/src/tables/names.h"

namespace profd::agent {

namespace {

using Function = void (*)();
using GetTable = int (*)(int32_t module, Function*** table, unsigned* size);
using InitInjection = int (*)(GetTable);

enum Module : int32_t { kCore = 1, kCoreDomain = 2 };
enum CoreId : unsigned { kMarkA = 1, kRangeStartA = 2, kRangeEndId = 3, kGetToolId = 4 };
enum DomainId : unsigned {
  kDomainCreateA = 1,
  kDomainDestroy = 2,
  kDomainMarkA = 3,
  kDomainRangeStartA = 4,
  kDomainRangeEnd = 5
};

using MarkFn = void (*)(const char*, void*);
using RangeStartFn = uint64_t (*)(const char*, void*);
using RangeEndFn = void (*)(uint64_t);
using DomainCreateFn = void* (*)(const char*);
using DomainMarkFn = void (*)(void*, const char*, void*);
using DomainRangeStartFn = uint64_t (*)(void*, const char*, void*);
using DomainRangeEndFn = void (*)(void*, uint64_t);

constexpr uint64_t kOurId = uint64_t{1} << 63;
constexpr uint64_t kToolId = 0x7066;  // "pf"

// -- The vendor's target, when there is one.

// The slots that it fills; as many as the newest header has.
constexpr unsigned kVendorSlots = 8;
Function g_vendor_slots[3][kVendorSlots];
Function* g_vendor_tables[3][kVendorSlots + 1];
enum VendorState : int { kAbsent, kAsked, kReady };
std::atomic<int> g_vendor_state;
std::atomic<int64_t> g_next_look;  // CLOCK_MONOTONIC_COARSE seconds

int VendorTable(int32_t module, Function*** table, unsigned* size) {
  constexpr unsigned kSizes[] = {0, 5, 6};
  if ((module != kCore && module != kCoreDomain) || table == nullptr || size == nullptr) return 1;
  for (unsigned id = 1; id < kSizes[module]; ++id) g_vendor_tables[module][id] = &g_vendor_slots[module][id];
  *table = g_vendor_tables[module];
  *size = kSizes[module];
  return 0;
}

// libprofapi may come long after us, with the first CANN call; so we look again, at most once a second.
void LookForVendor() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  int64_t due = g_next_look.load(std::memory_order_relaxed);
  if (now.tv_sec < due || !g_next_look.compare_exchange_strong(due, now.tv_sec + 1) || dlopen == nullptr)
    return;
  void* library = ::dlopen("libprofapi.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  const auto init = reinterpret_cast<InitInjection>(::dlsym(library, "InitInjectionMstx"));
  int absent = kAbsent;
  if (init != nullptr && g_vendor_state.compare_exchange_strong(absent, kAsked) && init(VendorTable) == 0) {
    g_vendor_state.store(kReady, std::memory_order_release);
  }
}

// Their function, or nullptr.
template <typename F>
F Vendor(Module module, unsigned id) {
  if (g_vendor_state.load(std::memory_order_acquire) == kAbsent) LookForVendor();
  if (g_vendor_state.load(std::memory_order_acquire) != kReady) return nullptr;
  return reinterpret_cast<F>(g_vendor_slots[module][id]);
}

// -- Domains. A handle is the address of an entry; entry 0 stands for the default domain and for those
// without room.

struct Domain {
  std::atomic<uint32_t> name;  // for the vendor's library, should it come later
  std::atomic<void*> theirs;
};
// As many as there are numbers of domains: the entry's place is the number.
constexpr uint32_t kMaxDomains = 256;
Domain g_domains[kMaxDomains];

Domain* DomainOf(void* handle) {
  auto* domain = static_cast<Domain*>(handle);
  return domain >= g_domains && domain < g_domains + kMaxDomains ? domain : &g_domains[0];
}

profd_domain NumberOf(const Domain* domain) { return static_cast<profd_domain>(domain - g_domains); }

// Their handle for the domain, created on the way when their library came later than the domain.
void* TheirDomain(Domain* domain) {
  void* theirs = domain->theirs.load(std::memory_order_acquire);
  if (theirs != nullptr || domain == &g_domains[0]) return theirs;
  const auto create = Vendor<DomainCreateFn>(kCoreDomain, kDomainCreateA);
  if (create == nullptr) return nullptr;
  theirs = create(TextOf(domain->name.load(std::memory_order_acquire)));
  domain->theirs.store(theirs, std::memory_order_release);
  return theirs;
}

// -- What we install.

void Record(abi::RecordKind kind, profd_domain domain, const char* message, void* stream, uint64_t id) {
  const uint32_t generation = Generation();
  if (generation == kIdle || !IsRecorded(domain)) return;
  ForeignEvent foreign(domain, message);
  if (stream != nullptr) foreign.Add("stream", PROFD_U64).as.u64 = reinterpret_cast<uintptr_t>(stream);
  Owner* owner = Enter(Generation());
  if (owner == nullptr) return;
  if (WantsIn(owner, kind, domain)) EmitEvent(owner, kind, foreign.event, id, 0);
  Leave(owner);
}

// Never 0, which means "failed" to callers: they might not end the range.
uint64_t IdFrom(uint64_t theirs) {
  static std::atomic<uint64_t> next{0};
  return theirs != 0 ? theirs : kOurId | next.fetch_add(1, std::memory_order_relaxed);
}

void Mark(const char* message, void* stream) {
  Record(abi::kMark, 0, message, stream, 0);
  if (const auto theirs = Vendor<MarkFn>(kCore, kMarkA)) theirs(message, stream);
}

uint64_t RangeStart(const char* message, void* stream) {
  const auto theirs = Vendor<RangeStartFn>(kCore, kRangeStartA);
  const uint64_t id = IdFrom(theirs != nullptr ? theirs(message, stream) : 0);
  Record(abi::kRangeStart, 0, message, stream, id);
  return id;
}

void RangeEnd(uint64_t id) {
  Record(abi::kRangeEnd, 0, nullptr, nullptr, id);
  const auto theirs = Vendor<RangeEndFn>(kCore, kRangeEndId);
  if (theirs != nullptr && (id & kOurId) == 0) theirs(id);
}

void ToolId(uint64_t* id) {
  if (id != nullptr) *id = kToolId;
}

void* DomainCreate(const char* name) {
  Domain* domain = &g_domains[profd_domain_create(name)];
  if (domain != &g_domains[0]) {
    domain->name.store(profd_intern(name), std::memory_order_release);
    TheirDomain(domain);
  }
  return domain;
}

// The domain's name stays known: records refer to it, and the same name may come again.
void DomainDestroy(void*) {}

void DomainMark(void* handle, const char* message, void* stream) {
  Domain* domain = DomainOf(handle);
  Record(abi::kMark, NumberOf(domain), message, stream, 0);
  if (const auto theirs = Vendor<DomainMarkFn>(kCoreDomain, kDomainMarkA)) {
    theirs(TheirDomain(domain), message, stream);
  }
}

uint64_t DomainRangeStart(void* handle, const char* message, void* stream) {
  Domain* domain = DomainOf(handle);
  const auto theirs = Vendor<DomainRangeStartFn>(kCoreDomain, kDomainRangeStartA);
  const uint64_t id = IdFrom(theirs != nullptr ? theirs(TheirDomain(domain), message, stream) : 0);
  Record(abi::kRangeStart, NumberOf(domain), message, stream, id);
  return id;
}

void DomainRangeEnd(void* handle, uint64_t id) {
  Domain* domain = DomainOf(handle);
  Record(abi::kRangeEnd, NumberOf(domain), nullptr, nullptr, id);
  const auto theirs = Vendor<DomainRangeEndFn>(kCoreDomain, kDomainRangeEnd);
  if (theirs != nullptr && (id & kOurId) == 0) theirs(TheirDomain(domain), id);
}

struct Slot {
  unsigned id;
  Function function;
};

template <size_t count>
void Install(GetTable get_table, Module module, const Slot (&slots)[count]) {
  Function** table = nullptr;
  unsigned size = 0;
  if (get_table(module, &table, &size) != 0 || table == nullptr) return;
  for (const Slot& slot : slots) {
    // Older headers have fewer functions.
    if (slot.id < size && table[slot.id] != nullptr) *table[slot.id] = slot.function;
  }
}

template <typename F>
Function Any(F* function) {
  return reinterpret_cast<Function>(function);
}

}  // namespace

}  // namespace profd::agent

extern "C" PROFD_API int InitInjectionMstx(profd::agent::GetTable get_table) {
  using namespace profd::agent;
  if (get_table == nullptr) return 1;
  if (Generation() == kNotStarted) profd_intern("");  // starts the agent
  Install(get_table, kCore,
          {{kMarkA, Any(Mark)},
           {kRangeStartA, Any(RangeStart)},
           {kRangeEndId, Any(RangeEnd)},
           {kGetToolId, Any(ToolId)}});
  Install(get_table, kCoreDomain,
          {{kDomainCreateA, Any(DomainCreate)},
           {kDomainDestroy, Any(DomainDestroy)},
           {kDomainMarkA, Any(DomainMark)},
           {kDomainRangeStartA, Any(DomainRangeStart)},
           {kDomainRangeEnd, Any(DomainRangeEnd)}});
  return 0;
}
