// The process's recording state: which region, who owns its lanes, on or off.
#pragma once

#include <cstdint>

#include "libagent/abi/lane.h"

namespace profd::agent {

struct Armed {
  uint32_t kinds = 0xFFFFFFFF;  // bit 1 << abi::RecordKind
  bool overwrite = false;       // flight recorder
};

struct Totals {
  uint64_t slots = 0;              // written to all lanes of the region, ever
  uint64_t lost = 0;               // records dropped by all lanes
  uint64_t lost_without_lane = 0;  // records of threads that found no lane
};

enum class AttachError : uint8_t { kOk, kNotSealed, kGeometry, kNoMemory, kBusy };

// Checks and maps the region behind `memfd`, and makes it the process's. Needs no region attached. Takes over
// `wake` (an eventfd, or -1); `memfd` stays the caller's. **Thread:** the attach thread (or a test).
AttachError AttachRegion(int memfd, int wake);
// Stops and gives up the region. False: a thread is stuck in the middle of a record, so the mapping had to
// stay.
bool DetachRegion();

// Recording begins; needs a region. Returns the stamp of the moment, 0 when there is no region.
uint64_t Arm(const Armed& armed);
// Should the process call exit(), the region says so from now on. **Thread:** the attach thread.
void MarkExits();
// The counter of now.
uint64_t NowTicks();
// No new records from now on, but some may be in the middle. **Thread:** any.
void Pause();
// Recording ends; when it returns true no thread writes any more. **Thread:** any but a signal handler.
bool Disarm();
Totals CountTotals();
// A step of the training loop begins or ends: the region's totals say so, recorded or not. Never waits; what
// cannot be said now is said with the next one. **Thread:** the training loop.
void CountStepBegin(uint64_t step);
void CountStepEnd();
// The clock pair of now goes to the region.
void PairRegionClock();

// Sets the process up without starting anything. False: no memory. **Thread:** any.
bool PrepareProcess();
// The first call of the API: prepares and starts the attach thread. **Thread:** any.
void StartAgent();
// True in a forked child until it starts its own agent.
bool IsForkedChild();

// A descriptor of ours that a forked child shall close.
class OwnFd {
 public:
  // Moves `fd` out of the way of programs that expect low numbers, and remembers what it is.
  void Take(int fd);
  // Not if it has become somebody else's.
  void Close();
  int get() const { return fd_; }

 private:
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;
    uint32_t mode = 0;
    bool operator==(const Identity&) const = default;
  };
  static Identity IdentityOf(int fd);
  bool IsStillOurs() const;

  int fd_ = -1;
  Identity identity_;
};

// Those the attach thread opens.
enum OwnFdName { kDoorFd, kStreamFd, kInotifyFd, kAttachWakeFd, kLaneWakeFd, kMsptiWakeFd, kOwnFds };
OwnFd& Own(OwnFdName name);
// There is something for it to look at. Leaves errno as it is. **Thread:** any.
void WakeAttachThread();

}  // namespace profd::agent
