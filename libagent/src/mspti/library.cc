#include "libagent/src/mspti/library.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "libagent/src/facts.h"
#include "libagent/src/process.h"
#include "libagent/src/tables/latch.h"
#include "libagent/src/tables/libc.h"

namespace profd::agent::mspti {

namespace {

constexpr char kRouter[] = "libprofapi.so";
constexpr char kLibrary[] = "libmspti.so";
constexpr char kCollector[] = "libprofimpl.so";
constexpr char kMissing[] = "libmspti.so is missing: install the CANN toolkit or set ASCEND_HOME_PATH";
constexpr char kCannotLoad[] = "this process cannot load libraries, so it has no CANN";
constexpr char kNotLoaded[] = "this process has not loaded CANN (libprofapi.so)";

constexpr size_t kPathBytes = 512;

// $ASCEND_HOME_PATH/lib64/NAME; false: no such variable.
bool HomePath(const char* name, char* path) {
  char home[kPathBytes - 64];
  if (!EnvironmentValue("ASCEND_HOME_PATH", home, sizeof(home))) return false;
  snprintf(path, kPathBytes, "%s/lib64/%s", home, name);
  return true;
}

// A library that the process has loaded already.
void* Loaded(const char* name) {
  if (void* library = dlopen(name, RTLD_NOLOAD | RTLD_LAZY)) return library;
  char path[kPathBytes];
  return HomePath(name, path) ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
}

bool IsInstalled() {
  char path[kPathBytes];
  return HomePath(kLibrary, path) && ::access(path, R_OK) == 0;
}

// What the loader's list says.
struct Listed {
  uint64_t changes = 0;  // of the list, ever
  bool router = false;
  bool library = false;
};

bool IsNamed(const char* path, const char* name) {
  const char* slash = strrchr(path, '/');
  return strncmp(slash == nullptr ? path : slash + 1, name, strlen(name)) == 0;
}

int CountChanges(dl_phdr_info* info, size_t, void* changes) {
  *static_cast<uint64_t*>(changes) = info->dlpi_adds + info->dlpi_subs;
  return 1;
}

int NoteLoaded(dl_phdr_info* info, size_t, void* user) {
  auto* listed = static_cast<Listed*>(user);
  listed->router = listed->router || IsNamed(info->dlpi_name, kRouter);
  listed->library = listed->library || IsNamed(info->dlpi_name, kLibrary);
  return 0;
}

Latch g_looking;                     // while the list is read
std::atomic<int32_t> g_fork_holds;   // the thread that holds it for its fork
std::atomic<int> g_forking;          // threads that are about to
std::atomic<bool> g_loaded_at_fork;  // CANN, when the last one was
std::atomic<bool> g_inherited;

// Needs g_looking, to be its only reader. Read again when it has changed.
const Listed& ReadList() {
  static Listed listed;
  uint64_t changes = 0;
  ::dl_iterate_phdr(CountChanges, &changes);
  if (changes != listed.changes) {
    listed = {.changes = changes};
    ::dl_iterate_phdr(NoteLoaded, &listed);
  }
  return listed;
}

Listed ReadWholeList() {
  Listed listed;
  ::dl_iterate_phdr(NoteLoaded, &listed);
  return listed;
}

Listed LookAtList() {
  const Latched latched(g_looking);
  return latched ? ReadList() : ReadWholeList();
}

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

const char* WhyNever() {
  if (dlopen == nullptr || dlsym == nullptr || pthread_create == nullptr) return kCannotLoad;
  return IsCannInherited() ? "CANN and MSPTI do not work in a forked child" : nullptr;
}

bool IsCannLoaded() { return LookAtList().router; }

bool IsCannInherited() { return g_inherited.load(std::memory_order_relaxed); }

void BeforeFork() {
  g_forking.fetch_add(1);
  if (g_looking.TryLock()) {
    g_fork_holds.store(ThreadId());
    g_loaded_at_fork.store(ReadList().router);
  } else {
    g_loaded_at_fork.store(ReadWholeList().router);
  }
}

void AfterForkInParent() {
  g_forking.fetch_sub(1);
  int32_t self = ThreadId();
  if (g_fork_holds.compare_exchange_strong(self, 0)) g_looking.Unlock();
}

void ResetListAfterFork() {
  g_looking.Reset();
  g_fork_holds.store(0);
  // A raw clone has run no handler; it is found out as late as it makes a call.
  const bool loaded = g_forking.exchange(0) > 0 ? g_loaded_at_fork.load() : IsCannLoaded();
  g_inherited.store(loaded, std::memory_order_relaxed);
}

const char* LoadRouter(Library* library) {
  if (const char* why = WhyNever()) return why;
  void* router = Loaded(kRouter);
  if (router == nullptr) return kNotLoaded;
  if (!Find(router, "MsprofRegisterProfileCallback", &library->take_report) ||
      !Find(router, "profSetProfCommand", &library->command) ||
      !Find(router, "MsprofSysCycleTime", &library->stamp)) {
    return "this process's libprofapi.so is too old to be listened to";
  }
  Find(router, "MsprofId2Str", &library->text_of);
  Find(router, "MsprofGetPath", &library->collects_to);
  return nullptr;
}

const char* WhyMsptiReceives() {
  if (!LookAtList().library) return nullptr;
  return IsPreloaded()
             ? "MSPTI is loaded in this process and receives what CANN reports: start it without "
               "LD_PRELOAD=libmspti.so"
             : "MSPTI was loaded in this process, by the program or for a recording before, and receives "
               "what CANN reports until the process ends";
}

bool IsCollecting(Library* library) {
  if (library->is_collecting == nullptr) {
    void* collector = Loaded(kCollector);
    if (collector != nullptr) Find(collector, "ProfIsInited", &library->is_collecting);
  }
  if (library->is_collecting != nullptr) return library->is_collecting();
  const char* path = library->collects_to == nullptr ? nullptr : library->collects_to();
  return path != nullptr && *path != '\0';
}

const char* Load(Library* library) {
  if (const char* why = WhyNever()) return why;
  void* router = Loaded(kRouter);
  if (router == nullptr) return kNotLoaded;
  // The library calls these from its constructor and ends the process when one is missing.
  if (!Find(router, "MsprofRegisterProfileCallback", &library->take_report) ||
      !Find(router, "profSetProfCommand", &library->command) ||
      dlsym(router, "ProfRegisterMstxFunc") == nullptr || dlsym(router, "ProfEnableMstxFunc") == nullptr) {
    return "this process's libprofapi.so is too old for MSPTI";
  }
  constexpr int kForGood = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  void* handle = Loaded(kLibrary);
  char path[kPathBytes];
  if (handle == nullptr && HomePath(kLibrary, path)) handle = dlopen(path, kForGood);
  if (handle == nullptr) handle = dlopen(kLibrary, kForGood);
  if (handle == nullptr) return kMissing;
  if (!Find(handle, "msptiSubscribe", &library->subscribe) ||
      !Find(handle, "msptiUnsubscribe", &library->unsubscribe) ||
      !Find(handle, "msptiActivityRegisterCallbacks", &library->register_callbacks) ||
      !Find(handle, "msptiActivityEnable", &library->enable) ||
      !Find(handle, "msptiActivityDisable", &library->disable) ||
      !Find(handle, "msptiActivityFlushAll", &library->flush_all)) {
    return "libmspti.so lacks functions: it is none, or too old";
  }
  return nullptr;
}

bool IsPreloaded() {
  char preload[4096];
  return EnvironmentValue("LD_PRELOAD", preload, sizeof(preload)) && strstr(preload, kLibrary) != nullptr;
}

Outlook OutlookFor(bool needs_preload) {
  if (const char* why = WhyNever()) return {false, false, why};
  const Listed listed = LookAtList();
  if (!listed.router) return {true, true, kNotYet};
  if (!listed.library && !IsInstalled()) return {false, false, kMissing};
  if (needs_preload && !IsPreloaded()) return {false, false, kNeedsPreload};
  return {true, false, ""};
}

Outlook OutlookForReports() {
  if (const char* why = WhyNever()) return {false, false, why};
  const Listed listed = LookAtList();
  if (listed.library) return {false, false, WhyMsptiReceives()};
  if (!listed.router) return {true, true, kNotYet};
  return {true, false, ""};
}

}  // namespace profd::agent::mspti
