// libprofapi.so: the router between CANN's components, the vendor's collector and MSPTI. The collector behind
// it (libprofimpl.so) is loaded and does not collect: it numbers texts.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "sim/hal/exports/export.h"
#include "sim/mspti/abi.h"
#include "sim/mspti/config.h"
#include "sim/mspti/modules.h"
#include "sim/scenario/clock.h"

namespace profd::sim::mspti {
namespace {

constexpr int kFailed = -1;
constexpr uint32_t kSwitchType = 1, kMsptiModule = 61;
constexpr unsigned kCoreIds = 4, kTableIds = 9, kDomainIds = 6;
using ModuleFn = int (*)(uint32_t type, void* data, uint32_t bytes);

// Everything lives as long as the process.
struct Router {
  std::mutex mutex;
  std::map<uint32_t, DeviceState> devices;
  std::array<void*, kProfileCallbacks> callbacks{};
  std::map<uint32_t, ModuleFn> modules;
  std::unique_ptr<Modules> job;
  std::map<uint64_t, std::string> texts;
  uint64_t collects_from_ns = UINT64_MAX;  // raw
  std::atomic<int> owner{kMsprofOwner};
  // By owner, module and id.
  std::array<std::array<std::array<std::atomic<Function>, kTableIds>, 3>, 3> mstx{};
  std::array<std::array<std::array<Function, kTableIds>, 3>, 3> filled{};
};
Router& TheRouter() {
  static Router& router = *new Router;
  return router;
}

// Domains are made on both sides.
struct BothDomains {
  void* handle[3];
};

template <typename F>
F Routed(int module, unsigned id) {
  Router& router = TheRouter();
  return reinterpret_cast<F>(
      router.mstx[static_cast<size_t>(router.owner.load())][static_cast<size_t>(module)][id].load());
}
void* Theirs(void* domain) {
  return domain == nullptr ? nullptr : static_cast<BothDomains*>(domain)->handle[TheRouter().owner.load()];
}

void MarkA(const char* text, void* stream) {
  if (const auto mark = Routed<void (*)(const char*, void*)>(kCore, 1)) mark(text, stream);
}
uint64_t RangeStartA(const char* text, void* stream) {
  const auto start = Routed<uint64_t (*)(const char*, void*)>(kCore, 2);
  return start == nullptr ? 0 : start(text, stream);
}
void RangeEnd(uint64_t id) {
  if (const auto end = Routed<void (*)(uint64_t)>(kCore, 3)) end(id);
}
void* DomainCreateA(const char* name) {
  auto* both = new BothDomains{};
  Router& router = TheRouter();
  for (const int owner : {kMsprofOwner, kMsptiOwner}) {
    const auto create = reinterpret_cast<void* (*)(const char*)>(
        router.mstx[static_cast<size_t>(owner)][kCoreDomain][1].load());
    if (create != nullptr) both->handle[owner] = create(name);
  }
  return both;
}
void DomainDestroy(void*) {}
void DomainMarkA(void* domain, const char* text, void* stream) {
  const auto mark = Routed<void (*)(void*, const char*, void*)>(kCoreDomain, 3);
  if (mark != nullptr) mark(Theirs(domain), text, stream);
}
uint64_t DomainRangeStartA(void* domain, const char* text, void* stream) {
  const auto start = Routed<uint64_t (*)(void*, const char*, void*)>(kCoreDomain, 4);
  return start == nullptr ? 0 : start(Theirs(domain), text, stream);
}
void DomainRangeEnd(void* domain, uint64_t id) {
  if (const auto end = Routed<void (*)(void*, uint64_t)>(kCoreDomain, 5)) end(Theirs(domain), id);
}

// What an owner fills. The domain module has the length of the core one, as in the real library.
template <int owner>
int OwnerTable(int module, Function*** table, unsigned* size) {
  static Function* slots[3][kTableIds + 1];
  if (module < kCore || module > kCoreDomain || table == nullptr || size == nullptr) return 1;
  const unsigned ids = module == kCore ? kCoreIds : kDomainIds;
  for (unsigned id = 1; id < ids; ++id) {
    slots[module][id] = &TheRouter().filled[static_cast<size_t>(owner)][static_cast<size_t>(module)][id];
  }
  *table = slots[module];
  *size = kTableIds;
  return 0;
}

}  // namespace
}  // namespace profd::sim::mspti

using namespace profd::sim::mspti;

PROFD_SIM_EXPORT int MsprofInit(uint32_t, void*, uint32_t) { return 0; }
PROFD_SIM_EXPORT int MsprofFinalize() { return 0; }
PROFD_SIM_EXPORT int MsprofRegisterCallback(uint32_t module, ModuleFn function) {
  Router& router = TheRouter();
  const std::lock_guard lock(router.mutex);
  router.modules[module] = function;
  return 0;
}

// While somebody has registered for a kind of report, reports go to him alone.
static int Report(ProfileCallback type, uint32_t aging, const void* record) {
  void* function = nullptr;
  {
    const std::lock_guard lock(TheRouter().mutex);
    function = TheRouter().callbacks[type];
  }
  return function == nullptr ? 0 : reinterpret_cast<int (*)(uint32_t, const void*)>(function)(aging, record);
}
static int Report(ProfileCallback type, uint32_t aging, const void* record, uint32_t bytes) {
  void* function = nullptr;
  {
    const std::lock_guard lock(TheRouter().mutex);
    function = TheRouter().callbacks[type];
  }
  if (function == nullptr) return 0;
  return reinterpret_cast<int (*)(uint32_t, const void*, uint32_t)>(function)(aging, record, bytes);
}
PROFD_SIM_EXPORT int MsprofReportApi(uint32_t aging, const void* api) {
  return Report(kApiReport, aging, api);
}
PROFD_SIM_EXPORT int MsprofReportEvent(uint32_t aging, const void* event) {
  return Report(kEventReport, aging, event);
}
PROFD_SIM_EXPORT int MsprofReportCompactInfo(uint32_t aging, void* data, uint32_t bytes) {
  return Report(kCompact, aging, data, bytes);
}
PROFD_SIM_EXPORT int MsprofReportAdditionalInfo(uint32_t aging, void* data, uint32_t bytes) {
  return Report(kAdditional, aging, data, bytes);
}
// Who has registered for names hears of them, too.
PROFD_SIM_EXPORT int MsprofRegTypeInfo(uint16_t level, uint32_t type, const char* name) {
  if (name == nullptr) return kFailed;
  void* function = nullptr;
  {
    const std::lock_guard lock(TheRouter().mutex);
    function = TheRouter().callbacks[kTypeName];
  }
  if (function != nullptr)
    reinterpret_cast<int (*)(uint16_t, uint32_t, const char*, size_t)>(function)(level, type, name,
                                                                                 std::strlen(name));
  return 0;
}
// The collector's number of a text holds (HashData::DoubleHash of hicann/runtime, hash_data.cpp).
PROFD_SIM_EXPORT uint64_t MsprofGetHashId(const char* text, size_t bytes) {
  if (text == nullptr || bytes == 0) return UINT64_MAX;
  uint32_t high = 0, low = 0;
  for (size_t i = 0; i < bytes; ++i) {
    high = high * 29 + static_cast<unsigned char>(text[i]);
    low = low * 131 + static_cast<unsigned char>(text[i]);
  }
  const uint64_t hash = uint64_t{high} << 32 | low;
  void* function = nullptr;
  {
    const std::lock_guard lock(TheRouter().mutex);
    TheRouter().texts[hash].assign(text, bytes);
    function = TheRouter().callbacks[kHashId];
  }
  if (function != nullptr) reinterpret_cast<uint64_t (*)(const char*, size_t)>(function)(text, bytes);
  return hash;
}
PROFD_SIM_EXPORT uint64_t MsprofStr2Id(const char* text, size_t bytes) {
  return MsprofGetHashId(text, bytes);
}
PROFD_SIM_EXPORT char* MsprofId2Str(uint64_t id) {
  static char shared[4096];  // one for all callers, as in the real library
  const std::lock_guard lock(TheRouter().mutex);
  const auto found = TheRouter().texts.find(id);
  std::strncpy(shared, found == TheRouter().texts.end() ? "" : found->second.c_str(), sizeof shared - 1);
  return shared;
}
// Where the collector collects to.
PROFD_SIM_EXPORT char* MsprofGetPath() {
  static char nowhere[] = "", folder[] = "/tmp/PROF_of_the_vendor";
  return profd::sim::RawNs() >= TheRouter().collects_from_ns ? folder : nowhere;
}
PROFD_SIM_EXPORT uint64_t MsprofSysCycleTime() { return profd::sim::HostCounter::Read(); }

PROFD_SIM_EXPORT int MsprofNotifySetDevice(uint32_t chip, uint32_t device, bool open) {
  Router& router = TheRouter();
  const DeviceState state{.chip = chip, .device = device, .open = open};
  DeviceStateFn function = nullptr;
  {
    const std::lock_guard lock(router.mutex);
    router.devices[device] = state;
    if (router.job != nullptr) router.job->SetDevice(device, open);
    function = reinterpret_cast<DeviceStateFn>(router.callbacks[kDeviceState]);
  }
  if (function != nullptr) function(&state, sizeof state);
  return 0;
}

PROFD_SIM_EXPORT int profSetProfCommand(void* command, uint32_t bytes) {
  if (command == nullptr || bytes != kCommandBytes) return kFailed;
  std::map<uint32_t, ModuleFn> modules;
  {
    const std::lock_guard lock(TheRouter().mutex);
    modules = TheRouter().modules;
  }
  for (const auto& [module, function] : modules) function(kSwitchType, command, bytes);
  if (TheRouter().job != nullptr)
    TheRouter().job->Obey(*static_cast<const Command*>(command), modules.contains(kMsptiModule));
  return 0;
}

// One function per type, the last writer wins; a new one for device states hears of those that are open.
PROFD_SIM_EXPORT int MsprofRegisterProfileCallback(int type, void* function, uint32_t) {
  if (type < 0 || type >= kProfileCallbacks) return kFailed;
  Router& router = TheRouter();
  std::map<uint32_t, DeviceState> open;
  {
    const std::lock_guard lock(router.mutex);
    router.callbacks[static_cast<size_t>(type)] = function;
    if (type == kDeviceState && function != nullptr) open = router.devices;
  }
  for (const auto& [device, state] : open) reinterpret_cast<DeviceStateFn>(function)(&state, sizeof state);
  return 0;
}

PROFD_SIM_EXPORT int ProfRegisterMstxFunc(InitMstxFn init, int owner) {
  if (init == nullptr || owner < kMsprofOwner || owner > kMsptiOwner) return kFailed;
  if (init(owner == kMsprofOwner ? OwnerTable<kMsprofOwner> : OwnerTable<kMsptiOwner>) != 0) return kFailed;
  Router& router = TheRouter();
  const auto to = static_cast<size_t>(owner);
  for (size_t module = 1; module < 3; ++module) {
    for (size_t id = 1; id < kTableIds; ++id) router.mstx[to][module][id] = router.filled[to][module][id];
  }
  return 0;
}
PROFD_SIM_EXPORT int ProfEnableMstxFunc(int owner) {
  if (owner < kMsprofOwner || owner > kMsptiOwner) return kFailed;
  TheRouter().owner = owner;
  return 0;
}
PROFD_SIM_EXPORT int MsprofSubscribeRawData(void*) { return 0; }
PROFD_SIM_EXPORT int MsprofUnSubscribeRawData(void*) { return 0; }

PROFD_SIM_EXPORT int InitInjectionMstx(GetMstxTable get_table) {
  const auto any = [](auto* function) { return reinterpret_cast<Function>(function); };
  const Function core[] = {nullptr, any(MarkA), any(RangeStartA), any(RangeEnd)};
  const Function domains[] = {nullptr,          any(DomainCreateA),     any(DomainDestroy),
                              any(DomainMarkA), any(DomainRangeStartA), any(DomainRangeEnd)};
  Function** table = nullptr;
  unsigned size = 0;
  if (get_table == nullptr || get_table(kCore, &table, &size) != 0) return 1;
  for (unsigned id = 1; id < std::size(core) && id < size; ++id) *table[id] = core[id];
  if (get_table(kCoreDomain, &table, &size) == 0) {
    for (unsigned id = 1; id < std::size(domains) && id < size; ++id) *table[id] = domains[id];
  }
  return 0;
}

namespace {
// As the program loads CANN.
struct Loaded {
  Loaded() {
    const Configs configs = LoadConfigs(std::getenv("PROFD_SIM_CONFIG"));
    Router& router = TheRouter();
    if (const double from_s = configs.mspti.collects_from_s; from_s >= 0)
      router.collects_from_ns = profd::sim::RawNs() + static_cast<uint64_t>(from_s * 1e9);
    router.job = std::make_unique<Modules>(
        configs.node, Reports{MsprofReportApi, MsprofReportCompactInfo, MsprofReportAdditionalInfo,
                              MsprofRegTypeInfo, MsprofGetHashId});
    if (!configs.mspti.auto_devices) return;
    for (uint32_t id = 0; id < configs.node.devices.size(); ++id) {
      router.devices[id] = {
          .chip = profd::format::NumberOf(configs.node.devices[id].chip->id), .device = id, .open = 1};
      router.job->SetDevice(id, true);
    }
  }
  ~Loaded() {
    if (::getpid() == pid_) TheRouter().job->Exit();
  }

 private:
  const pid_t pid_ = ::getpid();
} g_loaded;
}  // namespace
