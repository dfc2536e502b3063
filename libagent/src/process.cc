#include "libagent/src/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "libagent/src/attach.h"
#include "libagent/src/emitter.h"
#include "libagent/src/mspti/library.h"
#include "libagent/src/mspti/source.h"
#include "libagent/src/steps.h"
#include "libagent/src/tables/latch.h"
#include "libagent/src/tables/libc.h"
#include "libagent/src/tables/names.h"
#include "libagent/src/tables/sequenced.h"
#include "libagent/src/tables/spans.h"

extern "C" {
uint32_t profd_agent_active = profd::agent::kNotStarted;
// glibc ≥ 2.18 and musl: a destructor for this thread that no key has to be spent on.
int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);
extern void* __dso_handle __attribute__((visibility("hidden")));
}

namespace profd::agent {

constinit thread_local Owner* t_owner = nullptr;

namespace {

constexpr uint32_t kMaxOwners = 4096;

// Of the training loop, since the process began; the region has a copy. Several loops at once are miscounted,
// and harm nothing.
struct Steps {
  std::atomic<uint64_t> begun, ended, step, begin_ns, ended_ns, last_ns;
};

// Wiped by fork (MADV_WIPEONFORK), a raw clone included: all zero means "not this process's".
struct Process {
  std::atomic<uint32_t> alive;
  std::atomic<uint64_t> lost_without_lane;
  Latch latch;                // guards everything below and the Owners' claims
  abi::RegionHeader* header;  // the attached region
  uint64_t bytes;
  uint32_t region;  // counts the regions attached
  uint32_t lane_count;
  uint32_t lane_slots;
  uint32_t last_generation;
  Armed armed;
  Steps steps;
  abi::CounterKind counter;
  bool fenced;
  bool no_lane_free;  // since a claim failed and until a lane is released
  uint32_t next_lane;
  uint32_t owners_used;  // all behind are untouched
  bool lane_taken[abi::kMaxLanes];
  Owner owners[kMaxOwners];
};

std::atomic<Process*> g_process;
// As profd_agent_active, for late records: pauses do not end it.
std::atomic<uint32_t> g_late;
std::atomic<bool> g_handler_installed;
std::atomic<bool> g_forked;
OwnFd g_fds[kOwnFds];
// What a forked child has to unmap, since it can't read the wiped Process.
std::atomic<void*> g_mapping;
std::atomic<uint64_t> g_mapping_bytes;

// For a thread whose destructors have run: never records again.
constinit Owner g_gone{};

abi::Lane* LaneOf(const Process& process, uint32_t index) {
  return reinterpret_cast<abi::Lane*>(reinterpret_cast<char*>(process.header) + abi::LaneOffset(index));
}

void DropInherited() {
  if (void* mapping = g_mapping.exchange(nullptr)) ::munmap(mapping, g_mapping_bytes.load());
  for (OwnFd& fd : g_fds) fd.Close();
  ResetNamesAfterFork();
  ResetDomainsAfterFork();
  ResetStepsAfterFork();
  ResetAttachAfterFork();
  mspti::ResetAfterFork();
  g_late.store(0, std::memory_order_relaxed);
  t_owner = nullptr;
  g_forked.store(true, std::memory_order_relaxed);
  __atomic_store_n(&profd_agent_active, kNotStarted, __ATOMIC_RELAXED);
}

void AfterForkInChild() {
  const int before = errno;
  if (Process* process = g_process.load(std::memory_order_relaxed)) {
    if (process->alive.load(std::memory_order_relaxed) != 0) {
      // This kernel doesn't wipe. A fresh mapping is cheaper than zeroing the pages.
      g_process.store(nullptr, std::memory_order_relaxed);
      ::munmap(process, sizeof(Process));
    }
    DropInherited();
  }
  errno = before;
}

// When its thread ends.
void ReleaseOwner(void* argument) {
  auto* owner = static_cast<Owner*>(argument);
  if (t_owner != owner) return;  // a forked child's copy of the thread
  t_owner = &g_gone;
  Process* process = g_process.load(std::memory_order_acquire);
  const Latched latched(process->latch);
  if (!latched) return;  // the lane stays taken; there are others
  if (process->header != nullptr && owner->region == process->region) {
    std::atomic_ref(owner->lane->owner_tid).store(0, std::memory_order_relaxed);
    process->lane_taken[owner->lane_index] = false;
  }
  owner->state.store(0, std::memory_order_relaxed);
  owner->region = 0;
  owner->tid = 0;
  process->no_lane_free = false;
}

// Needs the latch. The calling thread's Owner; nullptr when there are too many threads.
Owner* TakeOwner(Process* process) {
  if (t_owner != nullptr) return t_owner;
  for (Owner& owner : process->owners) {
    if (owner.tid != 0) continue;
    if (__cxa_thread_atexit_impl(ReleaseOwner, &owner, &__dso_handle) != 0) return nullptr;
    owner.tid = ThreadId();
    t_owner = &owner;
    process->owners_used =
        std::max(process->owners_used, static_cast<uint32_t>(&owner - process->owners) + 1);
    return &owner;
  }
  return nullptr;
}

// Needs the latch. Lanes are taken in turn, so that a past owner's records stay readable longest.
bool TakeLane(Process* process, Owner* owner) {
  if (owner->region == process->region) return true;
  for (uint32_t i = 0; i < process->lane_count; ++i) {
    const uint32_t index = (process->next_lane + i) % process->lane_count;
    if (process->lane_taken[index]) continue;
    process->lane_taken[index] = true;
    process->next_lane = index + 1;
    owner->region = process->region;
    owner->lane_index = index;
    owner->lane = LaneOf(*process, index);
    owner->head = std::atomic_ref(owner->lane->head).load(std::memory_order_relaxed);
    std::atomic_ref(owner->lane->owner_since).store(owner->head, std::memory_order_relaxed);
    std::atomic_ref(owner->lane->owners).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref(owner->lane->owner_tid)
        .store(static_cast<uint32_t>(owner->tid), std::memory_order_release);
    return true;
  }
  return false;
}

// Needs the latch. Readies an owner that has its lane for the current recording.
void Equip(Process* process, Owner* owner, uint32_t generation) {
  char* base = reinterpret_cast<char*>(process->header);
  owner->ring = reinterpret_cast<uint64_t*>(
      base + abi::RingOffset(process->lane_count, process->lane_slots, owner->lane_index));
  owner->mask = process->lane_slots - 1;
  owner->kinds_in_domains = process->armed.kinds;
  // Ends stay: what was not begun has no id to end it by.
  constexpr uint32_t kBegins =
      1U << abi::kMark | 1U << abi::kRangePush | 1U << abi::kRangePop | 1U << abi::kRangeStart;
  owner->kinds = process->armed.kinds & ~(IsRecorded(0) ? 0 : kBegins);
  owner->counter = process->counter;
  owner->overwrite = process->armed.overwrite;
  owner->lost_pending = 0;
  SetRoom(owner, owner->head);  // the first record asks for room, which introduces the thread
  owner->thread_said_at = owner->head - process->lane_slots;
  std::memset(owner->depths, 0, sizeof(owner->depths));
  owner->depths[0].used = 1;
  owner->state.store(generation | (process->fenced ? kFenced : 0), std::memory_order_relaxed);
}

// Needs the latch.
void ShowLost(Process* process) {
  if (process->header == nullptr) return;
  std::atomic_ref(process->header->lost_without_lane)
      .store(process->lost_without_lane.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// Not while somebody else has the latch: then the next step shows this one, too, but does not log it.
void ShowSteps(Process* process, const abi::LoggedStep* ended = nullptr) {
  const Latched latched(process->latch, Latched::Patience::kNone);
  if (!latched || process->header == nullptr) return;
  const Steps& steps = process->steps;
  abi::StepLog& log = process->header->step_log;
  WriteSequenced(log.sequence, [&steps, &log, ended] {
    log.begin_ns = steps.begin_ns.load(std::memory_order_relaxed);
    log.step = steps.step.load(std::memory_order_relaxed);
    if (ended != nullptr) log.ended[(ended->ended - 1) % abi::kLoggedSteps] = *ended;
  });
  abi::StepTotals& totals = process->header->steps;
  WriteSequenced(totals.sequence, [&steps, &totals] {
    totals.begun = steps.begun.load(std::memory_order_relaxed);
    totals.ended = steps.ended.load(std::memory_order_relaxed);
    totals.step = steps.step.load(std::memory_order_relaxed);
    totals.ended_ns = steps.ended_ns.load(std::memory_order_relaxed);
    totals.last_ns = steps.last_ns.load(std::memory_order_relaxed);
  });
}

void LoseWithoutLane(Process* process, uint64_t records = 1) {
  process->lost_without_lane.fetch_add(records, std::memory_order_relaxed);
  if (const Latched latched(process->latch); latched) ShowLost(process);
}

// Enter for an Owner that has its lane. `current` is the word that `generation` was read from.
Owner* EnterFenced(Owner* owner, uint32_t generation, uint32_t (*current)()) {
  owner->state.store(owner->state.load(std::memory_order_relaxed) | kBusy, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with Quiesce, as in EnterReady
  if (current() == generation) return owner;
  Leave(owner);
  return nullptr;
}

enum class Claim : uint8_t { kTaken, kNoLane, kOver };

// `current` is the word that `generation` was read from.
Claim ClaimLane(Process* process, uint32_t generation, uint32_t (*current)()) {
  const Latched latched(process->latch);
  if (!latched) return Claim::kNoLane;
  if (process->header == nullptr || current() != generation) return Claim::kOver;
  const bool has_lane = t_owner != nullptr && t_owner->region == process->region;
  if (!has_lane && process->no_lane_free) return Claim::kNoLane;
  Owner* owner = TakeOwner(process);
  if (owner == nullptr || !TakeLane(process, owner)) {
    process->no_lane_free = true;
    return Claim::kNoLane;
  }
  Equip(process, owner, generation);
  return Claim::kTaken;
}

bool IsSealed(int memfd) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const int seals = ::fcntl(memfd, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

// Every thread that was in the middle of a record when recording stopped has finished it.
bool Quiesce(Process* process) {
  if (!process->fenced) ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  constexpr int kRounds = 500;
  for (uint32_t i = 0; i < process->owners_used; ++i) {
    for (int round = 0; (process->owners[i].state.load(std::memory_order_acquire) & kBusy) != 0; ++round) {
      // A signal handler may disarm on top of a record of its own thread; a thread may be stopped by a
      // debugger.
      if (round == kRounds) return false;
      const timespec pause{0, 200'000};
      ::nanosleep(&pause, nullptr);
    }
  }
  return true;
}

// Needs the latch.
bool StopRecording(Process* process) {
  Pause();
  g_late.store(0, std::memory_order_seq_cst);
  if (process->header == nullptr) return true;
  UpdateClock(process->header->clock, process->counter);
  const bool quiet = Quiesce(process);
  ShowLost(process);
  return quiet;
}

}  // namespace

bool PrepareProcess() {
  Process* process = g_process.load(std::memory_order_acquire);
  if (process != nullptr && process->alive.load(std::memory_order_acquire) != 0) return true;
  if (process == nullptr) {
    void* memory = ::mmap(nullptr, sizeof(Process), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    ::madvise(memory, sizeof(Process), MADV_WIPEONFORK);
    Process* expected = nullptr;
    if (!g_process.compare_exchange_strong(expected, static_cast<Process*>(memory))) {
      ::munmap(memory, sizeof(Process));
    }
    process = g_process.load(std::memory_order_acquire);
  } else if (g_mapping.load() != nullptr) {
    DropInherited();  // a raw clone, which runs no fork handlers
  }
  if (!g_handler_installed.exchange(true)) {
    ::pthread_atfork(mspti::BeforeFork, mspti::AfterForkInParent, AfterForkInChild);
  }
  const Latched latched(process->latch);
  if (!latched) return false;
  if (process->alive.load(std::memory_order_relaxed) != 0) return true;
  process->last_generation = kFirstGeneration - 1;
  process->counter = PickCounter();
  process->fenced = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
  process->alive.store(1, std::memory_order_release);
  return true;
}

void StartAgent() {
  const int before = errno;
  uint32_t expected = kNotStarted;
  if (PrepareProcess() && __atomic_compare_exchange_n(&profd_agent_active, &expected, kIdle, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    StartAttachThread(0);
  }
  errno = before;
}

bool IsForkedChild() { return g_forked.load(std::memory_order_relaxed); }

AttachError AttachRegion(int memfd, int wake) {
  if (!PrepareProcess()) return AttachError::kNoMemory;
  Process* process = g_process.load(std::memory_order_acquire);
  if (!IsSealed(memfd)) return AttachError::kNotSealed;
  abi::RegionHeader untrusted{};
  if (::pread(memfd, &untrusted, sizeof(untrusted), 0) != static_cast<ssize_t>(sizeof(untrusted))) {
    return AttachError::kGeometry;
  }
  if (untrusted.magic != abi::kRegionMagic || untrusted.version != abi::kRegionVersion ||
      untrusted.record_bytes != abi::kRecordBytes ||
      !abi::GeometryIsValid(untrusted.lane_count, untrusted.lane_slots, untrusted.names_bytes)) {
    return AttachError::kGeometry;
  }
  const uint64_t bytes = abi::RegionBytes(untrusted.lane_count, untrusted.lane_slots, untrusted.names_bytes);
  if (static_cast<uint64_t>(::lseek(memfd, 0, SEEK_END)) != bytes) return AttachError::kGeometry;

  const Latched latched(process->latch);
  if (!latched || process->header != nullptr) return AttachError::kBusy;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
  if (memory == MAP_FAILED) return AttachError::kNoMemory;
  g_mapping_bytes.store(bytes);
  g_mapping.store(memory);
  auto* header = static_cast<abi::RegionHeader*>(memory);
  // The lanes' pages are this process's memory, not profd's, which would be the first to look at them.
  for (uint32_t lane = 0; lane < untrusted.lane_count; ++lane) {
    reinterpret_cast<abi::Lane*>(static_cast<char*>(memory) + abi::LaneOffset(lane))->owners = 0;
  }
  header->pid = static_cast<uint32_t>(::getpid());
  header->parent_pid = static_cast<uint32_t>(::getppid());
  UpdateClock(header->clock, process->counter);
  ShareNames(header,
             static_cast<char*>(memory) + abi::NamesOffset(untrusted.lane_count, untrusted.lane_slots),
             untrusted.names_bytes);
  process->bytes = bytes;
  process->lane_count = untrusted.lane_count;
  process->lane_slots = untrusted.lane_slots;
  process->next_lane = 0;
  std::memset(process->lane_taken, 0, sizeof(process->lane_taken));
  process->lost_without_lane.store(0, std::memory_order_relaxed);
  process->no_lane_free = false;
  process->header = header;
  header->step_log.ended_before = process->steps.ended.load(std::memory_order_relaxed);
  ++process->region;
  Own(kLaneWakeFd).Take(wake);
  uint32_t not_started = kNotStarted;
  __atomic_compare_exchange_n(&profd_agent_active, &not_started, kIdle, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_RELAXED);
  return AttachError::kOk;
}

// Not for a forked child, whose Process is wiped.
void MarkExits() {
  static std::atomic<bool> registered;
  if (registered.exchange(true)) return;
  ::on_exit(
      [](int status, void*) {
        Process* process = g_process.load(std::memory_order_acquire);
        if (process == nullptr || process->alive.load(std::memory_order_acquire) == 0) return;
        const Latched latched(process->latch);
        if (!latched || process->header == nullptr) return;
        const uint32_t mark = 1 + static_cast<uint32_t>(status & 0xFF);
        std::atomic_ref(process->header->exit_mark).store(mark, std::memory_order_relaxed);
      },
      nullptr);
}

uint64_t NowTicks() {
  const Process* process = g_process.load(std::memory_order_acquire);
  return process == nullptr ? 0 : ReadCounter(process->counter);
}

void Pause() {
  if (Generation() != kNotStarted) __atomic_store_n(&profd_agent_active, kIdle, __ATOMIC_SEQ_CST);
  SpanEnds();
}

uint64_t Arm(const Armed& armed) {
  Process* process = g_process.load(std::memory_order_acquire);
  if (process == nullptr) return 0;
  const Latched latched(process->latch);
  if (!latched || process->header == nullptr) return 0;
  process->armed = armed;
  if (++process->last_generation > kLastGeneration) process->last_generation = kFirstGeneration;
  UpdateClock(process->header->clock, process->counter);
  SpanBegins();
  g_late.store(process->last_generation, std::memory_order_release);
  const uint64_t now = ReadCounter(process->counter);
  __atomic_store_n(&profd_agent_active, process->last_generation, __ATOMIC_RELEASE);
  return now;
}

bool Disarm() {
  Process* process = g_process.load(std::memory_order_acquire);
  if (process == nullptr) return true;
  const Latched latched(process->latch);
  return latched && StopRecording(process);
}

bool DetachRegion() {
  Process* process = g_process.load(std::memory_order_acquire);
  if (process == nullptr) return true;
  const Latched latched(process->latch);
  if (!latched || process->header == nullptr) return false;
  const bool quiet = StopRecording(process);
  ShareNames(nullptr, nullptr, 0);
  g_mapping.store(nullptr);
  if (quiet) ::munmap(process->header, process->bytes);
  process->header = nullptr;
  Own(kLaneWakeFd).Close();
  return quiet;
}

Totals CountTotals() {
  Totals totals;
  Process* process = g_process.load(std::memory_order_acquire);
  if (process == nullptr) return totals;
  const Latched latched(process->latch);
  if (!latched || process->header == nullptr) return totals;
  for (uint32_t i = 0; i < process->lane_count; ++i) {
    abi::Lane* lane = LaneOf(*process, i);
    totals.slots += std::atomic_ref(lane->head).load(std::memory_order_acquire);
    totals.lost += std::atomic_ref(lane->lost).load(std::memory_order_relaxed);
  }
  totals.lost_without_lane = process->lost_without_lane.load(std::memory_order_relaxed);
  return totals;
}

void CountStepBegin(uint64_t step) {
  Process* process = g_process.load(std::memory_order_acquire);
  if (process == nullptr || process->alive.load(std::memory_order_acquire) == 0) return;
  process->steps.step.store(step, std::memory_order_relaxed);
  process->steps.begin_ns.store(base::RawNs(), std::memory_order_relaxed);
  process->steps.begun.fetch_add(1, std::memory_order_relaxed);
  ShowSteps(process);
}

void CountStepEnd() {
  Process* process = g_process.load(std::memory_order_acquire);
  if (process == nullptr || process->alive.load(std::memory_order_acquire) == 0) return;
  Steps& steps = process->steps;
  const uint64_t begin_ns = steps.begin_ns.exchange(0, std::memory_order_relaxed);
  if (begin_ns == 0) return;  // none runs
  const uint64_t took_ns = base::RawNs() - begin_ns;
  steps.last_ns.store(took_ns, std::memory_order_relaxed);
  steps.ended_ns.fetch_add(took_ns, std::memory_order_relaxed);
  const uint64_t ended = steps.ended.fetch_add(1, std::memory_order_relaxed) + 1;
  const abi::LoggedStep logged{ended, steps.step.load(std::memory_order_relaxed), begin_ns, took_ns};
  ShowSteps(process, &logged);
}

void PairRegionClock() {
  Process* process = g_process.load(std::memory_order_acquire);
  if (process == nullptr) return;
  const Latched latched(process->latch);
  if (latched && process->header != nullptr) UpdateClock(process->header->clock, process->counter);
}

Owner* EnterSlow(uint32_t generation, uint64_t records) {
  if (generation == kNotStarted) {
    StartAgent();
    return nullptr;
  }
  Process* process = g_process.load(std::memory_order_acquire);
  if (process->alive.load(std::memory_order_acquire) == 0) {
    // A raw clone of an armed process: its recording is the parent's.
    DropInherited();
    return nullptr;
  }
  Owner* owner = t_owner;
  if (owner == &g_gone) {
    LoseWithoutLane(process, records);
    return nullptr;
  }
  const uint32_t state = owner == nullptr ? 0 : owner->state.load(std::memory_order_relaxed);
  if ((state & kBusy) != 0) {
    // A signal handler in the middle of its thread's record, which keeps the lane where it is.
    std::atomic_ref(owner->lane->lost).fetch_add(records, std::memory_order_relaxed);
    return nullptr;
  }
  if (state == (generation | kFenced)) {
    return EnterFenced(owner, generation, Generation);
  }
  const int before = errno;
  const Claim claim = ClaimLane(process, generation, Generation);
  if (claim == Claim::kNoLane) LoseWithoutLane(process, records);
  errno = before;
  return claim == Claim::kTaken ? Enter(generation, records) : nullptr;
}

Owner* EnterLate(uint64_t records) {
  const auto late = [] { return g_late.load(std::memory_order_acquire); };
  const uint32_t generation = late();
  Process* process = g_process.load(std::memory_order_acquire);
  if (generation == 0 || process == nullptr) return nullptr;
  if (t_owner == nullptr || (t_owner->state.load(std::memory_order_relaxed) & ~kFenced) != generation) {
    const Claim claim = ClaimLane(process, generation, late);
    if (claim == Claim::kNoLane) LoseWithoutLane(process, records);
    if (claim != Claim::kTaken) return nullptr;
  }
  return EnterFenced(t_owner, generation, late);
}

uint64_t NextRangeId(Owner* owner) {
  const Process* process = g_process.load(std::memory_order_relaxed);
  const auto index = static_cast<uint64_t>(owner - process->owners);
  return (index + 1) << 40 | (++owner->ranges_started & ((uint64_t{1} << 40) - 1));
}

void OwnFd::Take(int fd) {
  fd_ = fd;
  if (fd < 0) return;
  constexpr int kOutOfTheWay = 500;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, kOutOfTheWay);
  if (moved >= 0) {
    ::close(fd);
    fd_ = moved;
  }
  identity_ = IdentityOf(fd_);
}

// statx, because fstat's symbol is younger than the oldest glibc we serve.
OwnFd::Identity OwnFd::IdentityOf(int fd) {
  struct statx facts {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &facts) != 0) return {};
  return {uint64_t{facts.stx_dev_major} << 32 | facts.stx_dev_minor, facts.stx_ino, facts.stx_mode};
}

bool OwnFd::IsStillOurs() const { return identity_ == IdentityOf(fd_); }

void OwnFd::Close() {
  if (fd_ >= 0 && IsStillOurs()) ::close(fd_);
  fd_ = -1;
}

OwnFd& Own(OwnFdName name) { return g_fds[name]; }

// Not write(): the program may have put its own in its place.
void WakeAttachThread() {
  const int before = errno;
  const uint64_t one = 1;
  ::syscall(SYS_write, Own(kAttachWakeFd).get(), &one, sizeof(one));
  errno = before;
}

}  // namespace profd::agent
