// Breakpoints that the kernel sets into functions of one process (uprobes), and the small programs of ours
// that it runs there: they say which thread is where, and when. Other processes with the same library do not
// have them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/host/events/bpf.h"
#include "daemon/host/events/tracefs.h"

namespace profd::host {

// As the kernel's program writes it; nothing of it is the process's own choice but the registers.
struct UprobeHit {
  uint32_t tid, pid;
  uint64_t mono_ns;   // CLOCK_MONOTONIC
  uint64_t function;  // its address in the process; 0: it returns
  uint64_t stack;     // where the frame begins: the same when it is entered and when it returns
  int64_t result;     // of one that returns
};

// One pair of programs and the ring that they write into.
// **Thread:** Open() any, the rest one. **Owns:** its place among the few that there are.
class Uprobes {
 public:
  // Loads the programs, which takes rights that profd gives up then, unless it has. Before other threads.
  static void Prepare();
  // Whether there are programs, and a kernel that runs them.
  static base::Status Check();
  // One for each process. kResourceExhausted: others have all of them.
  static base::Result<Uprobes> Claim();

  Uprobes(Uprobes&& other) noexcept
      : slot_(std::exchange(other.slot_, nullptr)), ring_(std::move(other.ring_)), lost_(other.lost_) {}
  Uprobes& operator=(Uprobes&&) = delete;
  Uprobes(const Uprobes&) = delete;
  Uprobes& operator=(const Uprobes&) = delete;
  // All breakpoints are to be gone.
  ~Uprobes();

  // There as long as this is. Its end waits for every CPU, some 100 ms.
  struct Breakpoint {
    UserTracepoint point;
    base::UniqueFd event;
  };
  struct Breakpoints {
    Breakpoint enter, exit;
  };
  // Where the functions at these places of the file begin and where they return, of the threads of `pid`
  // only. May have to wait for the file.
  base::Result<Breakpoints> Open(pid_t pid, const std::string& path, std::span<const uint64_t> offsets) const;

  // What has come since.
  void Drain(const std::function<void(const UprobeHit&)>& take);
  // What found no room in the ring, since ever. Older kernels (6.1) run the program of a return for each
  // process that has the breakpoint, in whichever of them it was: Drain() gives, and this counts, all of
  // those.
  struct Lost {
    uint64_t begins = 0, returns = 0;
  };
  Lost lost() const;

 private:
  struct Slot;
  static Slot* Slots();
  Uprobes(Slot* slot, BpfRing ring, std::byte* lost) : slot_(slot), ring_(std::move(ring)), lost_(lost) {}

  Slot* slot_;
  BpfRing ring_;
  std::byte* lost_;  // what the programs count
};

}  // namespace profd::host
