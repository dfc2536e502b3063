#include "libagent/src/mspti/source.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "libagent/abi/record.h"
#include "libagent/src/mspti/emit.h"
#include "libagent/src/mspti/library.h"
#include "libagent/src/mspti/pool.h"
#include "libagent/src/mspti/reports.h"
#include "libagent/src/mspti/tensors.h"
#include "libagent/src/process.h"
#include "libagent/src/tables/thread.h"

// What is called as a thread ends; in the thread that calls exit(), before what atexit() and destructors are
// for (glibc, stdlib/exit.c). Not of musl.
extern "C" {
[[gnu::weak]] int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);
extern void* __dso_handle [[gnu::visibility("hidden")]];
}

namespace profd::agent::mspti {

const uint32_t kRecordKinds = 1U << abi::kKernel | 1U << abi::kComm | 1U << abi::kApi | 1U << abi::kMemory;

namespace {

constexpr int kFlushMs = 1000;
// At first sooner, and each time later: the first kernels tell what devices there are.
constexpr int kFirstFlushMs = 50;
// Shorter than profd waits for the answer to Stop.
constexpr int kStopWaitMs = 1800;
constexpr int kExitWaitMs = 500;
// In the middle of a begin the vendor's destructors would find half of what there is.
constexpr int kBeginWaitMs = 2000;
// How long the worker waits in one round for room in its lane.
constexpr int kPatienceMs = 500;
constexpr int kLastPatienceMs = 300;

enum State : uint32_t { kIdle, kStarting, kRunning, kStopping };

std::atomic<uint32_t> g_state;
std::atomic<bool> g_stop;  // the worker shall end; while it is kStarting, too
std::atomic<bool> g_exiting;
std::atomic<bool> g_exit_watched, g_exit_handler;
std::atomic<pid_t> g_pid;  // whose worker

// Written by the attach thread before the worker starts, by the worker until it is kRunning or gone.
uint32_t g_kinds;
From g_from;
std::atomic<const char*> g_handed_over;  // to whom; nullptr: to nobody
std::atomic<bool> g_untold;              // nobody has asked since
bool g_any;
MissingKinds g_missing;

// Kinds of the vendor for one of ours: all of `kinds`, or the fallback where the last of them is refused.
struct Wanted {
  abi::RecordKind ours;
  uint32_t kinds[3];
  uint32_t fallback;
};
constexpr Wanted kWanted[] = {
    {abi::kKernel, {kKernelKind}, 0},
    // Of an old library; its times are the host's view of the device.
    {abi::kComm, {kCommunicationKind}, kHcclKind},
    // Before 2026 there was one kind for what is the node level now.
    {abi::kApi, {kAclApiKind, kRuntimeApiKind, kNodeApiKind}, kApiKind},
    {abi::kMemory, {kMemoryKind, kMemsetKind, kMemcpyKind}, 0},
};
constexpr uint32_t kVendorKinds = 13;

void SleepMs(int ms) {
  const timespec pause{ms / 1000, (ms % 1000) * 1'000'000L};
  ::nanosleep(&pause, nullptr);
}

void Ring() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(Own(kMsptiWakeFd).get(), &one, sizeof(one));
}

void Add(MissingKinds* missing, uint32_t kinds, const char* why, bool later = false) {
  missing->list[missing->count++] = {kinds, why, later};
}

// What MSPTI has CANN's modules report for a kind (Ascend/mspti, csrc/common/inject/profapi_inject.h).
constexpr uint64_t SwitchesOf(uint32_t kind) {
  constexpr uint64_t kCalls = 0x1, kCollectives = 0x20, kRuntimeCalls = 0x100, kTaskTime = 0x800,
                     kTracks = 0x4000000;
  switch (kind) {
    case kKernelKind:
      return kTaskTime | kTracks;
    case kApiKind:
    case kAclApiKind:
    case kNodeApiKind:
      return kCalls | kTaskTime;
    case kCommunicationKind:
      return kCalls | kTaskTime | kTracks | kCollectives;
    case kRuntimeApiKind:
      return kRuntimeCalls;
    default:
      return 0;
  }
}

// What the worker holds of the vendor's.
struct Session {
  Library library;
  void* subscriber;
  bool enabled[kVendorKinds];
  Tensors tensors;
};

int Enable(Session* session, uint32_t kind) {
  const int code = session->library.enable(kind);
  session->enabled[kind] = code == kSuccess;
  return code;
}

// Whether calls of that kind's level were asked for.
bool IsAsked(uint32_t kind) {
  constexpr uint32_t kAcl = 1, kNode = 2, kRuntime = 4;  // CallLevels of proto/profd/v1/agent.proto
  const uint32_t level = kind == kAclApiKind                        ? kAcl
                         : kind == kNodeApiKind || kind == kApiKind ? kNode
                         : kind == kRuntimeApiKind                  ? kRuntime
                                                                    : 0;
  return level == 0 || g_from.call_levels == 0 || (g_from.call_levels & level) != 0;
}

// Returns the code of the first refusal that no fallback makes up for.
int EnableAll(Session* session, const Wanted& wanted) {
  int refused = kSuccess;
  int code = kSuccess;
  for (const uint32_t kind : wanted.kinds) {
    if (kind == 0 || !IsAsked(kind)) continue;
    code = Enable(session, kind);
    if (code != kSuccess && refused == kSuccess) refused = code;
  }
  if (code != kSuccess && wanted.fallback != 0 && IsAsked(wanted.fallback))
    return Enable(session, wanted.fallback);
  return wanted.fallback != 0 ? code : refused;
}

// From then on nothing of the vendor's is called that has not begun: its destructors come.
bool IsExiting() { return g_exiting.load(std::memory_order_acquire); }

const char* Subscribe(Session* session) {
  if (const char* why = Load(&session->library)) return why;
  if (IsExiting()) return "the program ends";
  const int code = session->library.subscribe(&session->subscriber, nullptr, nullptr);
  if (code == kMultipleSubscribers) return "MSPTI is held by another subscriber in this process";
  if (code != kSuccess) return "MSPTI refuses to be subscribed";
  if (session->library.register_callbacks(Request, Complete) == kSuccess) return nullptr;
  session->library.unsubscribe(session->subscriber);
  return "MSPTI refuses the buffer callbacks";
}

// Since CANN 9 the library reports kernels to whoever subscribes, and refuses this one kind to who has not
// started with it. Before, it takes any kind, and has nothing to report: it learns of devices by standing in
// front of CANN's functions. Source: Ascend/mspti, csrc/activity, change 9120e7e; Ascend/msmonitor,
// docs/zh/best_practices/msmonitor_basic_cases.md.
bool IsDeaf(Session* session) {
  if (IsPreloaded() || Enable(session, kHcclKind) != kSuccess) return false;
  session->library.disable(kHcclKind);
  session->enabled[kHcclKind] = false;
  return true;
}

// Enabled after subscribing: kinds that are on before get nothing of devices already in use.
bool Begin(Session* session) {
  if (const char* why = Subscribe(session)) {
    Add(&g_missing, kRecordKinds, why);
    return false;
  }
  if (IsExiting()) return false;
  if (IsDeaf(session)) {
    session->library.unsubscribe(session->subscriber);
    Add(&g_missing, kRecordKinds,
        "this libmspti.so, of before CANN 9, needs a start with LD_PRELOAD=libmspti.so");
    return false;
  }
  for (const Wanted& wanted : kWanted) {
    if ((g_kinds >> wanted.ours & 1U) == 0) continue;
    if (IsExiting()) return false;
    const int code = EnableAll(session, wanted);
    g_any = g_any || code == kSuccess;
    if (code == kWithoutPreload) {
      Add(&g_missing, 1U << wanted.ours, kNeedsPreload);
    } else if (code != kSuccess) {
      Add(&g_missing, 1U << wanted.ours, "this libmspti.so refuses it");
    }
  }
  if (IsExiting()) return false;
  if (!g_any) session->library.unsubscribe(session->subscriber);
  if (session->enabled[kKernelKind]) {
    uint64_t switches = 0;
    for (uint32_t kind = 0; kind < kVendorKinds; ++kind)
      switches |= session->enabled[kind] ? SwitchesOf(kind) : 0;
    session->tensors.Begin(session->library, switches);
  }
  // Nobody asks for it by name: where it is refused, marks have no times of a device.
  if (g_any && (g_kinds >> abi::kDeviceMark & 1U) != 0) Enable(session, kMarkerKind);
  return g_any;
}

// Records what has come back from the vendor.
void Drain(Session* session, Emitter* emitter) {
  Buffer buffer;
  while (TakeFull(&buffer)) {
    emitter->Record(buffer);
    Return(buffer);
  }
  emitter->Lose(TakeSwallowed());
  session->tensors.Use(emitter->devices());
}

void Flush(Session* session, Emitter* emitter, int patience_ms) {
  emitter->SetPatience(patience_ms);
  Drain(session, emitter);
  session->library.flush_all(1);
  Drain(session, emitter);
}

void Serve(Session* session, Emitter* emitter) {
  uint64_t flushed_ns = base::RawNs();
  int flush_ms = kFirstFlushMs;
  while (!g_stop.load(std::memory_order_acquire) && !IsExiting()) {
    const auto since_ms = static_cast<int>((base::RawNs() - flushed_ns) / 1'000'000);
    pollfd polled = {Own(kMsptiWakeFd).get(), POLLIN, 0};
    if (since_ms<flush_ms&& ::poll(&polled, 1, flush_ms - since_ms)> 0) {
      uint64_t count;
      if ((polled.revents & POLLNVAL) != 0 || ::read(polled.fd, &count, sizeof(count)) < 0)
        SleepMs(kFlushMs / 10);
      emitter->SetPatience(kPatienceMs);
      Drain(session, emitter);
      continue;
    }
    Flush(session, emitter, kPatienceMs);
    flushed_ns = base::RawNs();
    flush_ms = flush_ms * 2 < kFlushMs ? flush_ms * 2 : kFlushMs;
  }
}

void End(Session* session, Emitter* emitter) {
  session->tensors.End();
  for (uint32_t kind = 0; kind < kVendorKinds; ++kind) {
    if (session->enabled[kind]) session->library.disable(kind);
  }
  Flush(session, emitter, kLastPatienceMs);
  // The vendor's texts end here, so what still comes is counted but not read.
  ClosePool();
  session->library.unsubscribe(session->subscriber);
  session->library.flush_all(1);
  emitter->Lose(TakeSwallowed());
}

bool Await(State state, int most_ms) {
  const uint64_t end_ns = base::RawNs() + static_cast<uint64_t>(most_ms) * 1'000'000;
  for (;;) {
    const uint32_t now = g_state.load(std::memory_order_acquire);
    if (now == state || now == kIdle) return true;
    if (base::RawNs() > end_ns) return false;
    SleepMs(1);
  }
}

// The program exits. The vendor's destructors come after this, so nobody may be in its functions then.
void BeforeExit(int, void*) {
  g_exiting.store(true, std::memory_order_release);
  if (g_pid.load() != ::getpid() || g_state.load() == kIdle) return;
  Ring();
  Await(kIdle, g_state.load() == kStarting ? kBeginWaitMs : kExitWaitMs);
}

// Between the worker's looks at what reports need: a device's first operators are launched long after it is
// opened, which wakes it.
constexpr int kLookMs = 250;

void Rest(int ms) {
  pollfd polled = {Own(kMsptiWakeFd).get(), POLLIN, 0};
  if (::poll(&polled, 1, ms) <= 0) return;
  uint64_t count;
  if ((polled.revents & POLLNVAL) != 0 || ::read(polled.fd, &count, sizeof(count)) < 0) SleepMs(ms);
}

void RunReports() {
  Reports reports;
  const char* why = (g_kinds & kReportedKinds) == 0 ? "CANN does not report it"
                                                    : reports.Begin(g_kinds, g_from, Own(kMsptiWakeFd).get());
  if (why != nullptr) {
    Add(&g_missing, kRecordKinds, why);
    return;
  }
  const uint32_t others = g_kinds & kRecordKinds & ~kReportedKinds;
  if (others != 0) Add(&g_missing, others, "CANN does not report it");
  g_any = true;
  if (!g_exit_handler.exchange(true)) WatchExit();
  g_state.store(kRunning, std::memory_order_release);
  const auto look = [&reports] {
    const char* const to = reports.Look();
    if (to == nullptr) return;
    g_handed_over.store(to, std::memory_order_relaxed);
    // The program may end before anybody stops the recording.
    g_untold.store(true, std::memory_order_release);
    WakeAttachThread();
  };
  while (!g_stop.load(std::memory_order_acquire) && !IsExiting()) {
    look();
    Rest(kLookMs);
  }
  // What somebody else has taken meanwhile is not ours to switch off.
  look();
  g_state.store(kStopping, std::memory_order_release);
  reports.End();
}

void* Run(void*) {
  ::prctl(PR_SET_NAME, "profd-mspti");
  if (g_from.reports) {
    RunReports();
    g_state.store(kIdle, std::memory_order_release);
    return nullptr;
  }
  Session session{};
  Emitter emitter;
  if (OpenPool(Own(kMsptiWakeFd).get()) && Begin(&session)) {
    // Behind the vendor's own handlers, which the calls so far have registered: it runs before them. (Not
    // atexit, which is not a function of libc.so.)
    if (!g_exit_handler.exchange(true)) WatchExit();
    g_state.store(kRunning, std::memory_order_release);
    Serve(&session, &emitter);
    if (IsExiting()) {
      Flush(&session, &emitter, kLastPatienceMs);
    } else {
      g_state.store(kStopping, std::memory_order_release);
      End(&session, &emitter);
    }
  }
  ClosePool();
  emitter.Lose(TakeSwallowed());
  TrimPool();
  g_state.store(kIdle, std::memory_order_release);
  return nullptr;
}

}  // namespace

void WatchExit() {
  if (::syscall(SYS_gettid) == ::getpid() && __cxa_thread_atexit_impl != nullptr) {
    __cxa_thread_atexit_impl([](void*) { BeforeExit(0, nullptr); }, nullptr, &__dso_handle);
  } else {
    ::on_exit(BeforeExit, nullptr);
  }
}

Begun Start(uint32_t kinds, From from, int wait_ms, MissingKinds* missing) {
  missing->count = 0;
  if ((kinds & kRecordKinds) == 0 || IsExiting()) return Begun::kRefused;
  if (const char* why = WhyNever()) {
    Add(missing, kRecordKinds, why);
    return Begun::kRefused;
  }
  // The program may end while the worker begins: this is called before what was registered earlier.
  if (!g_exit_watched.exchange(true)) WatchExit();
  if (!IsReady()) {
    Add(missing, kRecordKinds, IsCannLoaded() ? "MSPTI is still busy with the recording before" : kNotYet,
        true);
    return Begun::kLater;
  }
  g_kinds = kinds & (kRecordKinds | 1U << abi::kDeviceMark);
  g_from = from;
  g_any = false;
  g_handed_over.store(nullptr, std::memory_order_relaxed);
  g_missing.count = 0;
  g_stop.store(false);
  g_pid.store(::getpid());
  if (Own(kMsptiWakeFd).get() < 0) Own(kMsptiWakeFd).Take(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  g_state.store(kStarting, std::memory_order_release);
  if (!StartQuietThread(Run, 0)) {
    g_state.store(kIdle);
    Add(missing, kRecordKinds, "no thread for them");
    return Begun::kRefused;
  }
  Await(kRunning, wait_ms);
  return Look(missing);
}

Begun Look(MissingKinds* missing) {
  missing->count = 0;
  if (g_state.load(std::memory_order_acquire) == kStarting) {
    Add(missing, kRecordKinds, "the program is busy loading its libraries", true);
    return Begun::kStarting;
  }
  *missing = g_missing;
  return g_any ? Begun::kRecords : Begun::kRefused;
}

bool IsReady() { return IsCannLoaded() && g_state.load(std::memory_order_acquire) == kIdle; }

bool Stop() {
  const uint32_t state = g_state.load(std::memory_order_acquire);
  if (state == kIdle) return true;
  if (g_stop.exchange(true)) return false;  // waited for that before
  if (state == kStarting) return true;      // nothing is reported yet
  Ring();
  return Await(kIdle, kStopWaitMs);
}

const char* WhyEnded() { return g_handed_over.exchange(nullptr, std::memory_order_relaxed); }

const char* WhyHasEnded() { return g_handed_over.load(std::memory_order_relaxed); }

bool HasJustEnded() { return g_untold.exchange(false, std::memory_order_acquire); }

void ResetAfterFork() {
  ResetListAfterFork();
  g_exit_watched.store(false, std::memory_order_relaxed);
  g_exit_handler.store(false, std::memory_order_relaxed);
  g_state.store(kIdle, std::memory_order_relaxed);
  ResetPoolAfterFork();
}

}  // namespace profd::agent::mspti
