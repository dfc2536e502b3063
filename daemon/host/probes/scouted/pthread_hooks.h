// The thread "pthread-hooks": looks for the pthread functions of some processes and sets breakpoints into
// them, for which it may have to wait for their files and for every CPU. One for each session that records
// them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/host/events/uprobes.h"

namespace profd::host {

// They are watched together and rest together.
enum class PthreadGroup : uint8_t { kThreads, kSignals, kLocks };
inline constexpr size_t kPthreadGroups = 3;

// Of which there may be several versions, in several processes.
struct PthreadFunction {
  std::string name;  // "libc.so.6->pthread_create"
  uint64_t address = 0;
  PthreadGroup group{};
};

// **Thread:** that of a scout. **Owns:** the thread; this goes when it has taken the breakpoints away.
class PthreadHooks {
 public:
  explicit PthreadHooks(Uprobes uprobes);
  PthreadHooks(const PthreadHooks&) = delete;
  PthreadHooks& operator=(const PthreadHooks&) = delete;
  ~PthreadHooks();

  // Sets breakpoints into its functions; again, when it had none.
  void TakeIn(pid_t pid);
  // What became of the first TakeIn(), for which it waits so long; kDeadlineExceeded: not known yet.
  base::Status First(uint64_t limit_ns);
  // Those that have been found since.
  std::vector<PthreadFunction> Found();
  // Without breakpoints, and with them again.
  void Rest(PthreadGroup group);
  void Resume(PthreadGroup group);
  // Takes the breakpoints away; false: not in so long.
  bool Close(uint64_t limit_ns);
  // The process, or whoever answers for its files, has not answered it for so long; or the kernel for
  // seconds.
  bool Hangs(uint64_t limit_ns) const;
  // Its programs' ring.
  Uprobes& uprobes();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace profd::host
