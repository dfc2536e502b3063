// A small program of ours that the kernel runs at each sample of a CPU, where it is: it notes which frames
// the interpreter of the thread is in, before that goes on. Who reads them later may find others in their
// place.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/host/events/bpf.h"

namespace profd::host {

// Where a thread has its frames, in bytes from the beginning of each.
struct PythonThread {
  uint32_t tid = 0;
  uint32_t current = 0;            // of the state: its innermost frame, or a record …
  uint32_t record = 0, frame = 0;  // … if `record`: where in it the frame is
  uint32_t code = 0, previous = 0, instruction = 0, mark = 0;  // of a frame
  uint32_t id_at = 0, unused = 0;
  uint64_t state = 0;  // it is the thread's as long as the word at `id_at` is
  uint64_t id = 0;
};

// As the kernel's program writes it. Addresses are the process's own, and as little to be believed.
struct PythonFrames {
  static constexpr size_t kMost = 64;
  struct Frame {
    uint64_t at = 0, code = 0, instruction = 0, mark = 0;
  };
  uint32_t tid = 0, count = 0;
  uint64_t mono_ns = 0;             // CLOCK_MONOTONIC
  uint64_t rest = 0;                // the frame behind the last one; 0: there is none
  uint64_t current = 0;             // what the state says: the first of them, or a record
  std::array<Frame, kMost> frames;  // innermost first
};

// **Thread:** one. **Owns:** its place among the few that there are.
class PythonProbe {
 public:
  // Loads the programs, which takes rights that profd gives up then, unless it has. Before other threads.
  static void Prepare();
  // kResourceExhausted: others have all of them.
  static base::Result<PythonProbe> Claim();

  PythonProbe(PythonProbe&& other) noexcept
      : slot_(std::exchange(other.slot_, nullptr)), ring_(std::move(other.ring_)), threads_(other.threads_) {}
  PythonProbe& operator=(PythonProbe&&) = delete;
  PythonProbe(const PythonProbe&) = delete;
  PythonProbe& operator=(const PythonProbe&) = delete;
  ~PythonProbe();

  // At each sample of this event from now on.
  base::Status RunAt(int event) const;
  // Of its samples, too.
  void Add(const PythonThread& thread);
  // What has come since.
  void Drain(const std::function<void(const PythonFrames&)>& take);

 private:
  struct Slot;
  static Slot* Slots();
  PythonProbe(Slot* slot, BpfRing ring, PythonThread* threads)
      : slot_(slot), ring_(std::move(ring)), threads_(threads) {}

  Slot* slot_;
  BpfRing ring_;
  PythonThread* threads_;  // the kernel's program looks for them there
};

}  // namespace profd::host
