#include "sim/mspti/library.h"

#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "sim/mspti/job.h"
#include "sim/mspti/mstx.h"
#include "sim/mspti/profapi_client.h"
#include "sim/mspti/variant.h"
#include "sim/scenario/clock.h"

namespace profd::sim::mspti {
namespace {

constexpr size_t kMaxDomainName = 255;
char g_subscriber;  // its address is the handle

bool IsDeviceKind(uint32_t kind) { return kind == kKernel || kind == kHccl || kind == kCommunication; }

bool NeedsPreload(uint32_t kind) { return kind >= kHccl && kind <= kMemcpy; }

uint64_t Switches(uint32_t kind) {
  switch (kind) {
    case kKernel:
      return 0x800 | 0x4000000;
    case kCommunication:
      return 0x1 | 0x4000000 | 0x800 | 0x20;
    case kRuntimeApi:
      return 0x100;
    default:
      return 0x1 | 0x800;
  }
}

int OnDeviceState(const DeviceState* state, uint32_t) {
  Library::Get().OnDevice(*state);
  return 0;
}
int Ignore() { return 0; }
int IgnoreReport(uint32_t, const void*) { return 0; }
int IgnoreInfo(uint32_t, const void*, uint32_t) { return 0; }
int IgnoreType(uint16_t, uint32_t, const char*, size_t) { return 0; }
uint64_t IgnoreText(const char*, size_t) { return 0; }

void SleepMs(uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

}  // namespace

Library& Library::Get() {
  static Library& library = *new Library;
  static const struct AtExit {
    ~AtExit() { library.Exit(); }
  } at_exit;
  return library;
}

Library::Library()
    : pid_(::getpid()), configs_(LoadConfigs(std::getenv("PROFD_SIM_CONFIG"))), buffers_(config()) {
  if (!config().truth.empty()) truth_.Open(config().truth);
}

// As the static destructors run.
void Library::Exit() {
  if (::getpid() != pid_) return;  // forked: the threads are the parent's
  std::unique_ptr<Job> job;
  {
    const std::lock_guard lock(mutex_);
    job = std::move(job_);
  }
  job.reset();  // its threads may wait for the mutex
  buffers_.Shutdown();
  WriteTruth();
}

bool Library::Preloaded() const {
  static const bool preloaded = [] {
    const char* variable = std::getenv("LD_PRELOAD");
    return variable != nullptr && std::strstr(variable, "libmspti.so") != nullptr;
  }();
  return preloaded;
}

int Library::CheckSubscriber(Subscriber subscriber) const {
  if (!Preloaded() && !kOldLibrary) return kWithoutPreload;
  return subscriber == &g_subscriber ? kSuccess : kInvalid;
}

int Library::Subscribe(Subscriber* out, CallbackFn function, void* user) {
  if (out == nullptr) return kInvalid;
  {
    const std::lock_guard lock(mutex_);
    if (subscribed_ || config().busy) return kMultipleSubscribers;
    subscribed_ = true;
    function_ = function;
    user_ = user;
    *out = &g_subscriber;
    job_ = std::make_unique<Job>(*this);
    // What was switched on before has no reader on the devices that are open already.
    for (auto& reader : device_reader_) reader = false;
  }
  const Profapi& profapi = TheProfapi();
  profapi.RouteMstxTo(kMsptiOwner);
  for (const ProfileCallback type : {kCompact, kAdditional})
    profapi.SetCallback(type, reinterpret_cast<void*>(IgnoreInfo));
  for (const ProfileCallback type : {kApiReport, kEventReport})
    profapi.SetCallback(type, reinterpret_cast<void*>(IgnoreReport));
  profapi.SetCallback(kHostFrequency, reinterpret_cast<void*>(Ignore));
  if (!kOldLibrary || Preloaded()) profapi.SetCallback(kDeviceState, reinterpret_cast<void*>(OnDeviceState));
  job_->Start();
  return kSuccess;
}

int Library::Unsubscribe(Subscriber subscriber) {
  std::unique_ptr<Job> job;
  {
    const std::lock_guard lock(mutex_);
    if (!subscribed_) return kSuccess;
    job = std::move(job_);  // a wrong handle, too, stops the devices
    for (auto& reader : device_reader_) reader = false;
  }
  job.reset();
  SleepMs(config().unsubscribe_ms);
  if (subscriber != &g_subscriber) return kInvalid;
  const Profapi& profapi = TheProfapi();
  profapi.Switch(false, 0, OpenDevices());
  for (const ProfileCallback type :
       {kCompact, kAdditional, kApiReport, kEventReport, kHostFrequency, kDeviceState}) {
    profapi.SetCallback(type, nullptr);
  }
  profapi.RouteMstxTo(kMsprofOwner);
  {
    const std::lock_guard lock(callback_mutex_);
    for (auto& bits : callbacks_) bits.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    subscribed_ = false;
    devices_.clear();
    function_ = nullptr;
  }
  if (config().free_texts) texts_.Clear();
  WriteTruth();
  return kSuccess;
}

void Library::OnDevice(const DeviceState& state) {
  const std::lock_guard lock(mutex_);
  devices_[state.device] = state.open != 0;
  if (job_ == nullptr || !job_->started() || state.open == 0 || !Reads(state.device)) return;
  for (uint32_t kind = 1; kind < kKinds; ++kind) {
    if (enabled_[kind]) device_reader_[kind] = true;
  }
}

std::vector<uint32_t> Library::OpenDevices() {
  const std::lock_guard lock(mutex_);
  std::vector<uint32_t> open;
  for (const auto& [device, is_open] : devices_) {
    if (is_open && device < node().devices.size()) open.push_back(device);
  }
  return open;
}

bool Library::Reads(uint32_t device) const {
  return device < node().devices.size() && kKnownToMspti.Has(node().devices[device].chip->id);
}

std::vector<uint32_t> Library::ReadDevices() {
  std::vector<uint32_t> read = OpenDevices();
  std::erase_if(read, [this](uint32_t device) { return !Reads(device); });
  return read;
}

int Library::EnableCallback(bool on, Subscriber subscriber, uint32_t domain, uint32_t callback) {
  if (!Preloaded() && !kOldLibrary) return kWithoutPreload;
  {
    const std::lock_guard lock(mutex_);
    if (!subscribed_) return kSuccess;
  }
  if (const int error = CheckSubscriber(subscriber); error != kSuccess) return error;
  if (domain < kRuntimeDomain || domain > kHcclDomain || callback >= kCallbacks) return kInvalid;
  const std::lock_guard lock(callback_mutex_);
  callbacks_[domain][callback] = on;
  return kSuccess;
}

int Library::EnableDomain(bool on, Subscriber subscriber, uint32_t domain) {
  for (uint32_t callback = 1; callback < kCallbacks; ++callback) {
    if (const int error = EnableCallback(on, subscriber, domain, callback); error != kSuccess) return error;
  }
  return kSuccess;
}

// The implementation fills site and function name; the rest is whatever the stack held.
void Library::Call(uint32_t domain, uint32_t callback, const char* function) {
  CallbackFn client = nullptr;
  void* user = nullptr;
  {
    const std::lock_guard lock(callback_mutex_);
    if (!callbacks_[domain][callback]) return;
  }
  {
    const std::lock_guard lock(mutex_);
    client = function_;
    user = user_;
  }
  if (client == nullptr) return;
  CallbackData data;
  for (const int32_t site : {0, 1}) {
    std::memset(&data, 0xA5, sizeof data);
    data.site = site;
    data.function = function;
    client(user, domain, callback, &data);
  }
}

int Library::RegisterCallbacks(RequestFn request, CompleteFn complete) {
  if (request == nullptr || complete == nullptr) return kInvalid;
  buffers_.Register(request, complete);
  return kSuccess;
}

int Library::Enable(uint32_t kind) {
  if (kind < 1 || kind >= (kOldLibrary ? kOldKinds : kKinds)) return kInvalid;
  if (!kOldLibrary && NeedsPreload(kind) && !Preloaded()) return kWithoutPreload;
  bool subscribed = false;
  {
    const std::lock_guard lock(mutex_);
    subscribed = subscribed_;
  }
  const std::vector<uint32_t> devices = OpenDevices();
  if (subscribed) TheProfapi().Switch(true, Switches(kind), devices);
  disabled_at_ns_[kind] = 0;
  // In this order: a device that is set meanwhile finds the kind enabled.
  enabled_[kind] = true;
  if (subscribed && !ReadDevices().empty()) device_reader_[kind] = true;
  return kSuccess;
}

int Library::Disable(uint32_t kind) {
  if (kind < 1 || kind >= (kOldLibrary ? kOldKinds : kKinds)) return kInvalid;
  if (enabled_[kind] && (IsDeviceKind(kind) || kind == kMarker))
    SleepMs(config().disable_ms * ReadDevices().size());
  if (enabled_[kind].exchange(false)) disabled_at_ns_[kind] = RawNs();
  return kSuccess;
}

bool Library::Takes(uint32_t kind, bool of_device) const {
  if (of_device && !device_reader_[kind]) return false;
  if (enabled_[kind]) return true;
  // Disable does not stop the device's channel, so something may still be on its way.
  const uint64_t disabled_at = disabled_at_ns_[kind];
  return of_device && disabled_at != 0 && RawNs() < disabled_at + uint64_t{config().late_ms} * 1'000'000;
}

int Library::FlushAll() {
  buffers_.FlushAll();
  WriteTruth();
  return kSuccess;
}

int Library::FlushPeriod(uint32_t ms) {
  buffers_.SetPeriod(ms);
  return kSuccess;
}

uint64_t Library::NewCorrelation() {
  const uint64_t id = ++correlation_;
  const std::lock_guard lock(external_mutex_);
  for (const auto& [kind, stack] : external_) {
    if (stack.empty() || !Takes(kExternalCorrelation, false)) continue;
    const ExternalCorrelationRecord record{
        .kind = kExternalCorrelation, .external_kind = kind, .external_id = stack.back(), .correlation = id};
    buffers_.Append({reinterpret_cast<const char*>(&record), sizeof record});
  }
  return id;
}

int Library::PushExternal(uint32_t kind, uint64_t id) {
  const std::lock_guard lock(external_mutex_);
  external_[kind].push_back(id);
  return kSuccess;
}

int Library::PopExternal(uint32_t kind, uint64_t* last) {
  if (last == nullptr) return kInvalid;
  const std::lock_guard lock(external_mutex_);
  std::vector<uint64_t>& stack = external_[kind];
  if (stack.empty()) return kQueueEmpty;
  *last = stack.back();
  stack.pop_back();
  return kSuccess;
}

int Library::SetMarkerDomain(const char* name, bool on) {
  if (name == nullptr || ::strnlen(name, kMaxDomainName) == kMaxDomainName) return kInvalid;
  const std::lock_guard lock(domain_mutex_);
  if (on) {
    domains_off_.erase(name);
  } else {
    domains_off_.insert(name);
  }
  return kSuccess;
}

bool Library::MarkerDomainIsOn(const std::string& name) {
  const std::lock_guard lock(domain_mutex_);
  return !domains_off_.contains(name);
}

// Running totals; the latest line holds.
void Library::WriteTruth() {
  if (!truth_.on()) return;
  std::string line = R"({"event":"mspti","pid":)" + std::to_string(pid_) + R"(,"kinds":{)";
  bool first = true;
  const auto kinds = buffers_.Truth();
  for (uint32_t kind = 1; kind < kinds.size(); ++kind) {
    const KindTruth& truth = kinds[kind];
    if (truth.delivered == 0 && truth.dropped == 0) continue;
    char text[200];
    std::snprintf(text, sizeof text,
                  R"(%s"%s":{"delivered":%)" PRIu64 R"(,"dropped":%)" PRIu64 R"(,"checksum":%)" PRIu64 "}",
                  first ? "" : ",", KindName(kind), truth.delivered, truth.dropped, truth.checksum);
    line += text;
    first = false;
  }
  truth_.WriteLine(line + "}}");
}

namespace {
// What happens when the real library is loaded: its hooks in libprofapi.so stay for the life of the process.
[[maybe_unused]] const bool g_hooked = [] {
  const Profapi& profapi = TheProfapi();
  profapi.SetCallback(kHashId, reinterpret_cast<void*>(IgnoreText));
  profapi.SetCallback(kTypeName, reinterpret_cast<void*>(IgnoreType));
  profapi.RegisterMstx(InitMstx);
  return true;
}();
}  // namespace

}  // namespace profd::sim::mspti
