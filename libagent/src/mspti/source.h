// What the device runtime reports of this process: kernels, communication, API calls and memory, through
// MSPTI, or, of chips that MSPTI does not know, as CANN's modules report it (reports.h).
//
// A worker thread subscribes while a recording is armed, turns the vendor's buffers into records of its own
// lane, and takes everything back afterwards. Nobody else calls the vendor, which may take its time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace profd::agent::mspti {

// Of Armed::kinds.
extern const uint32_t kRecordKinds;  // NOLINT(bugprone-dynamic-static-initializers): constant

// Kinds that can't be had.
struct Missing {
  uint32_t kinds;   // of Armed::kinds
  const char* why;  // stays as long as the program
  bool later;       // they may still come
};
// None where all is well; else one for all of MSPTI's kinds, or one for each.
struct MissingKinds {
  Missing list[4];
  size_t count;
};

// From here on nothing of the vendor's is begun while the program ends. In the program's first thread it sees
// every end by exit() of that thread before anything else does. **Thread:** any.
void WatchExit();

enum class Begun : uint8_t {
  kRecords,
  kRefused,   // none of the kinds can be had
  kLater,     // not yet: CANN is not loaded, or the worker of the recording before has not ended
  kStarting,  // the worker is on its way: Look() tells
};
struct From {
  uint32_t call_levels = 0;  // proto: CallLevels; 0 = all
  bool reports = false;      // of CANN's modules, without MSPTI
  bool only_tasks = false;   // … without operators
  bool attributes = false;   // … and their attributes
};
// Starts the worker for those of the kinds that are MSPTI's, and waits so long until it has subscribed.
// **Thread:** the attach thread, as of the rest.
Begun Start(uint32_t kinds, From from, int wait_ms, MissingKinds* missing);
Begun Look(MissingKinds* missing);
// What Start() answered kLater for is there.
bool IsReady();
// Everything reported until now is recorded; waits for that for up to 2 s. False: the vendor takes longer,
// and what it still reports is not recorded.
bool Stop();
// Why kinds of the recording that was stopped last had ended before; nullptr: they had not.
const char* WhyEnded();
// The same, before it is stopped.
const char* WhyHasEnded();
// Whether they have ended since the last call. The attach thread is woken when they do.
bool HasJustEnded();

void ResetAfterFork();

}  // namespace profd::agent::mspti
