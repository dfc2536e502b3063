#include "sim/mspti/mstx.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sim/mspti/library.h"

namespace profd::sim::mspti {
namespace {

constexpr size_t kMaxText = 255;
std::mutex g_mutex;
std::map<std::string, std::string>& g_domains = *new std::map<std::string, std::string>;

constexpr uint32_t kStream = 2;
constexpr uint64_t kDeviceLaterNs = 30'000;

std::set<uint64_t>& g_on_stream = *new std::set<uint64_t>;  // ranges that have begun

// `on_stream`: the device makes its half when it comes to it.
void Record(uint32_t flag, uint64_t id, const char* name, const std::string& domain, bool on_stream) {
  Library& library = Library::Get();
  if (!library.Takes(kMarker, false) || !library.MarkerDomainIsOn(domain)) return;
  if (on_stream) flag <<= kDeviceShift;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const MarkerRecord record{
      .kind = kMarker,
      .flag = flag,
      .source_kind = 0,
      .timestamp = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec),
      .id = id,
      .first_id = static_cast<uint32_t>(::getpid()),
      .second_id = static_cast<uint32_t>(::syscall(SYS_gettid)),
      .name = library.texts().Keep(name),
      .domain = library.texts().Keep(*name == '\0' ? "" : domain),
      .padding = 0xEEEEEEEE};
  library.buffers().Append({reinterpret_cast<const char*>(&record), sizeof record});
  const std::vector<uint32_t> devices = library.OpenDevices();
  if (!on_stream || devices.empty() || !library.Takes(kMarker, true)) return;
  MarkerRecord half = record;
  half.source_kind = 1;
  half.timestamp += kDeviceLaterNs;
  half.first_id = devices.front();
  half.second_id = kStream;
  half.name = half.domain = library.texts().Keep("");
  library.buffers().Append({reinterpret_cast<const char*>(&half), sizeof half});
}

// Longer texts are dropped.
uint64_t Begin(uint32_t flag, const char* text, const std::string& domain, const void* stream) {
  if (text == nullptr || ::strnlen(text, kMaxText) == kMaxText) return 0;
  const uint64_t id = Library::Get().NextMarkerId();
  Record(flag, id, text, domain, stream != nullptr);
  if (flag == kStart && stream != nullptr) {
    const std::lock_guard lock(g_mutex);
    g_on_stream.insert(id);
  }
  return id;
}

void End(uint64_t id, const std::string& domain) {
  bool on_stream = false;
  {
    const std::lock_guard lock(g_mutex);
    on_stream = g_on_stream.erase(id) > 0;
  }
  Record(kEnd, id, "", domain, on_stream);
}

const std::string& NameOf(void* domain) {
  static const std::string& fallback = *new std::string("default");
  return domain == nullptr ? fallback : *static_cast<const std::string*>(domain);
}

void Mark(const char* text, void* stream) { Begin(kInstant, text, NameOf(nullptr), stream); }
uint64_t RangeStart(const char* text, void* stream) { return Begin(kStart, text, NameOf(nullptr), stream); }
void RangeEnd(uint64_t id) { End(id, NameOf(nullptr)); }

// A name that begins with an existing one gets that one's handle, as in the real library.
void* DomainCreate(const char* name) {
  if (name == nullptr || std::strcmp(name, "default") == 0) return nullptr;
  const std::lock_guard lock(g_mutex);
  for (auto& [known, text] : g_domains) {
    if (std::string(name).starts_with(known)) return &text;
  }
  return &(g_domains[name] = name);
}
void DomainDestroy(void*) {}
void DomainMark(void* domain, const char* text, void* stream) {
  Begin(kInstant, text, NameOf(domain), stream);
}
uint64_t DomainRangeStart(void* domain, const char* text, void* stream) {
  return Begin(kStart, text, NameOf(domain), stream);
}
void DomainRangeEnd(void* domain, uint64_t id) { End(id, NameOf(domain)); }

template <typename F>
Function Any(F* function) {
  return reinterpret_cast<Function>(function);
}

}  // namespace

int InitMstx(GetMstxTable get_table) {
  const Function core[] = {nullptr, Any(Mark), Any(RangeStart), Any(RangeEnd)};
  const Function domains[] = {nullptr,         Any(DomainCreate),     Any(DomainDestroy),
                              Any(DomainMark), Any(DomainRangeStart), Any(DomainRangeEnd)};
  Function** table = nullptr;
  unsigned size = 0;
  if (get_table(kCore, &table, &size) != 0) return 1;
  for (unsigned id = 1; id < std::size(core); ++id) *table[id] = core[id];
  if (get_table(kCoreDomain, &table, &size) != 0) return 1;
  for (unsigned id = 1; id < std::size(domains); ++id) *table[id] = domains[id];
  return 0;
}

}  // namespace profd::sim::mspti
