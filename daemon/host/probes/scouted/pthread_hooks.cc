#include "daemon/host/probes/scouted/pthread_hooks.h"

#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "base/threads/thread.h"
#include "base/unique_fd.h"
#include "daemon/host/files/local_files.h"
#include "daemon/host/process/code_map.h"
#include "daemon/host/process/process.h"
#include "daemon/host/stacks/elf_image.h"
#include "daemon/host/stacks/process_memory.h"

namespace profd::host {

using base::Code;
using base::Status;

namespace {

// While a call is watched, its return address on the stack is the kernel's, and who unwinds the stack stops
// there. So none of those that a thread can be cancelled in (pthread_cond_wait, pthread_join: its cleanup
// handlers would not run), that call functions of the process (pthread_once) or do not return (pthread_exit).
struct Function {
  std::string_view name;
  PthreadGroup group;
};
constexpr Function kFunctions[] = {{"pthread_create", PthreadGroup::kThreads},
                                   {"pthread_detach", PthreadGroup::kThreads},
                                   {"pthread_kill", PthreadGroup::kThreads},
                                   {"pthread_barrier_wait", PthreadGroup::kThreads},
                                   {"pthread_cond_signal", PthreadGroup::kSignals},
                                   {"pthread_cond_broadcast", PthreadGroup::kSignals},
                                   {"pthread_mutex_lock", PthreadGroup::kLocks},
                                   {"pthread_mutex_trylock", PthreadGroup::kLocks},
                                   {"pthread_mutex_timedlock", PthreadGroup::kLocks},
                                   {"pthread_mutex_clocklock", PthreadGroup::kLocks},
                                   {"pthread_mutex_unlock", PthreadGroup::kLocks},
                                   {"pthread_rwlock_rdlock", PthreadGroup::kLocks},
                                   {"pthread_rwlock_wrlock", PthreadGroup::kLocks},
                                   {"pthread_rwlock_tryrdlock", PthreadGroup::kLocks},
                                   {"pthread_rwlock_trywrlock", PthreadGroup::kLocks},
                                   {"pthread_rwlock_timedrdlock", PthreadGroup::kLocks},
                                   {"pthread_rwlock_timedwrlock", PthreadGroup::kLocks},
                                   {"pthread_rwlock_unlock", PthreadGroup::kLocks}};
constexpr size_t kMaxPlaces = 4096;              // of all processes together: each takes two descriptors
constexpr size_t kMaxLibraries = 8;              // of a process
constexpr uint64_t kPatienceNs = 5'000'000'000;  // with a thread that takes breakpoints away

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// As it may stand in a line: a file can have any name.
std::string Harmless(std::string_view name) {
  std::string harmless(name.substr(0, 64));
  for (char& c : harmless)
    if (c <= ' ' || c >= 0x7f || c == '(' || c == '>') c = '_';
  return harmless;
}

bool MayHaveThem(std::string_view path) {
  const std::string_view name = FileName(path);
  for (const std::string_view begin :
       {"libc.so", "libc-", "libpthread.so", "libpthread-", "ld-musl", "libc.musl"}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

// The functions of a group in one library of one process.
struct Place {
  pid_t pid = 0;
  std::shared_ptr<const base::UniqueFd> file;  // O_PATH
  PthreadGroup group{};
  std::vector<uint64_t> offsets = {};
  std::optional<Uprobes::Breakpoints> breakpoints = {};
};

}  // namespace

struct PthreadHooks::Shared {
  explicit Shared(Uprobes of_session) : uprobes(std::move(of_session)) {}

  // **Thread:** any.
  void Do(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    to_do.push_back(std::move(work));
    changed.notify_all();
  }

  // The rest: the thread.
  void Run() {
    while (true) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ending || !to_do.empty(); });
        if (ending) break;
        work = std::move(to_do.front());
        to_do.pop_front();
      }
      work();
    }
    while (!places.empty()) {
      const Step step(sets_since_ns);
      places.pop_front();
    }
    const std::lock_guard lock(mutex);
    over = true;
    changed.notify_all();
  }

  // Reading memory may wait for whoever answers for the process's files; setting breakpoints and taking them
  // away waits for the kernel alone, which takes a second where many CPUs are busy.
  class Step {
   public:
    explicit Step(std::atomic<uint64_t>& since_ns) : since_ns_(since_ns) { since_ns_ = base::MonotonicNs(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { since_ns_ = 0; }

   private:
    std::atomic<uint64_t>& since_ns_;
  };

  void TakeIn(pid_t pid) {
    if (!hooked.contains(pid)) {
      const Status status = Hook(pid);
      if (status.ok()) hooked.insert(pid);
      Tell(status);
      // Afterwards, as it takes a while.
      std::erase_if(places, [](const Place& place) { return !ProcessExists(place.pid); });
      std::erase_if(hooked, [](pid_t known) { return !ProcessExists(known); });
    }
  }

  bool IsEnding() {
    const std::lock_guard lock(mutex);
    return ending;
  }

  void Tell(const Status& status) {
    const std::lock_guard lock(mutex);
    if (!first) first = status;
    changed.notify_all();
  }

  Status Hook(pid_t pid) {
    elsewhere.clear();
    std::list<Place> found = Find(pid);
    if (found.empty() && !elsewhere.empty())
      return {Code::kFailedPrecondition, elsewhere + " of process " + std::to_string(pid) +
                                             " is on a file system that somebody else answers for: "
                                             "breakpoints are set in files of this node's only"};
    if (found.empty())
      return {Code::kFailedPrecondition, "process " + std::to_string(pid) +
                                             " has no library with pthread functions: a program that is "
                                             "linked statically, or not of this C library"};
    if (places.size() + found.size() > kMaxPlaces)
      return {Code::kResourceExhausted, "too many processes to watch"};
    Status status = Status::Ok();
    for (Place& place : found) {
      if (resting.contains(place.group) || IsEnding()) continue;
      if (const Status failed = SetBreakpoints(place); !failed.ok()) status = failed;
    }
    std::erase_if(found, [](const Place& place) { return place.offsets.empty(); });
    if (found.empty()) return status;
    places.splice(places.end(), found);
    return Status::Ok();
  }

  Status SetBreakpoints(Place& place) const {
    Status status = Open(place);
    if (!status.ok()) {
      // One may begin with an instruction that the kernel does not stop at.
      std::erase_if(place.offsets, [&](const uint64_t& offset) {
        const Step step(sets_since_ns);
        return !uprobes.Open(place.pid, PathOf(place), std::span(&offset, 1)).ok();
      });
      if (!place.offsets.empty()) status = Open(place);
    }
    return status;
  }
  // By a link of our own, which the kernel follows without a look at any mount: while it looks nobody on the
  // node can set breakpoints.
  static std::string PathOf(const Place& place) {
    return "/proc/self/fd/" + std::to_string(place.file->get());
  }
  Status Open(Place& place) const {
    const Step step(sets_since_ns);
    PROFD_ASSIGN_OR_RETURN(Uprobes::Breakpoints breakpoints,
                           uprobes.Open(place.pid, PathOf(place), place.offsets));
    place.breakpoints.emplace(std::move(breakpoints));
    return Status::Ok();
  }

  // nullptr: the kernel would read it with all processes of the node at a stop, from whoever has it.
  std::shared_ptr<const base::UniqueFd> OpenLibrary(pid_t pid, const std::string& path) {
    const std::string seen = "/proc/" + std::to_string(pid) + "/root" + path;
    auto file = std::make_shared<base::UniqueFd>(::open(seen.c_str(), O_PATH | O_CLOEXEC));
    if (*file && IsOnLocal(file->get())) return file;
    elsewhere = base::OneLine(path);
    return nullptr;
  }

  std::list<Place> Find(pid_t pid) {
    const Step step(reads_since_ns);
    std::list<Place> all;
    std::set<std::string> seen;
    ProcessMemory memory(pid);
    ReadCode(pid, [&](const CodeMapping& code, const Module& module) {
      if (!MayHaveThem(module.path) || seen.size() == kMaxLibraries || !seen.insert(module.path).second)
        return;
      const auto begin = FindImage(pid, code);
      const auto image = begin ? ElfImage::Read(memory, *begin) : std::nullopt;
      const auto address = image ? image->AddressOf(code.file_offset) : std::nullopt;
      if (!address) return;
      const uint64_t bias = code.begin - *address;
      std::map<PthreadGroup, std::vector<uint64_t>> offsets;
      for (const auto& [name, group] : kFunctions) {
        for (const ElfImage::Symbol& symbol : image->FindAll(memory, bias, name)) {
          const auto offset = image->OffsetOf(symbol.address);
          if (!offset) continue;
          offsets[group].push_back(*offset);
          Tell(PthreadFunction{.name = Harmless(FileName(module.path)) + "->" + std::string(name),
                               .address = bias + symbol.address,
                               .group = group});
        }
      }
      if (offsets.empty()) return;
      const auto file = OpenLibrary(pid, module.path);
      if (!file) return;
      for (auto& [group, of_group] : offsets) {
        all.push_back({.pid = pid, .file = file, .group = group, .offsets = std::move(of_group)});
      }
    });
    return all;
  }

  void Tell(PthreadFunction found) {
    const std::lock_guard lock(mutex);
    news.push_back(std::move(found));
  }

  void Rest(PthreadGroup group) {
    resting.insert(group);
    for (Place& place : places) {
      const Step step(sets_since_ns);
      if (place.group == group) place.breakpoints.reset();
    }
  }

  void Resume(PthreadGroup group) {
    resting.erase(group);
    std::erase_if(places, [&](Place& place) {  // who is no more cannot have them
      return place.group == group && !SetBreakpoints(place).ok();
    });
  }

  Uprobes uprobes;  // outlives the breakpoints
  std::list<Place> places;
  std::set<pid_t> hooked;
  std::set<PthreadGroup> resting;
  std::string elsewhere;  // a library that is on no file system of this node's

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> to_do;
  std::vector<PthreadFunction> news;
  std::optional<Status> first;
  bool ending = false, over = false;
  mutable std::atomic<uint64_t> reads_since_ns{0}, sets_since_ns{0};  // 0: it does not
};

PthreadHooks::PthreadHooks(Uprobes uprobes) : shared_(std::make_shared<Shared>(std::move(uprobes))) {
  base::StartThread("pthread-hooks", [shared = shared_] { shared->Run(); }).detach();
}

PthreadHooks::~PthreadHooks() {
  while (!Close(kPatienceNs)) continue;
}

bool PthreadHooks::Close(uint64_t limit_ns) {
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  return shared_->changed.wait_for(lock, std::chrono::nanoseconds(limit_ns),
                                   [this] { return shared_->over; });
}

bool PthreadHooks::Hangs(uint64_t limit_ns) const {
  const auto longer = [now_ns = base::MonotonicNs()](uint64_t since_ns, uint64_t most_ns) {
    return since_ns != 0 && now_ns > since_ns && now_ns - since_ns > most_ns;
  };
  return longer(shared_->reads_since_ns, limit_ns) || longer(shared_->sets_since_ns, kPatienceNs);
}

void PthreadHooks::TakeIn(pid_t pid) {
  {
    // It hangs. Who asks will ask again.
    const std::lock_guard lock(shared_->mutex);
    if (shared_->to_do.size() >= kMaxPlaces) return;
  }
  shared_->Do([shared = shared_.get(), pid] { shared->TakeIn(pid); });
}

Status PthreadHooks::First(uint64_t limit_ns) {
  std::unique_lock lock(shared_->mutex);
  if (!shared_->changed.wait_for(lock, std::chrono::nanoseconds(limit_ns),
                                 [this] { return shared_->first.has_value(); }))
    return {Code::kDeadlineExceeded, "the breakpoints are not set yet"};
  return *shared_->first;
}

std::vector<PthreadFunction> PthreadHooks::Found() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->news, {});
}

void PthreadHooks::Rest(PthreadGroup group) {
  shared_->Do([shared = shared_.get(), group] { shared->Rest(group); });
}
void PthreadHooks::Resume(PthreadGroup group) {
  shared_->Do([shared = shared_.get(), group] { shared->Resume(group); });
}

Uprobes& PthreadHooks::uprobes() { return shared_->uprobes; }

}  // namespace profd::host
