// What the device runtime reports of this process: kernels, communication, API calls and memory, through
// MSPTI.
//
// A worker thread subscribes while a recording is armed, turns the vendor's buffers into records of its own
// lane, and takes everything back afterwards. Nobody else calls the vendor, which may take its time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace profd::agent::mspti {

// Of Armed::kinds.
extern const uint32_t kRecordKinds;

// Starts the worker for those of the kinds that are MSPTI's, and waits up to 1.5 s until it has subscribed.
// False: none of them can be had. `note` says what can't, and why; empty when all is well. **Thread:** the
// attach thread.
bool Start(uint32_t kinds, char* note, size_t note_bytes);
// Everything reported until now is recorded; waits for that for up to 2 s. False: the vendor takes longer,
// and what it still reports is not recorded. **Thread:** the attach thread.
bool Stop();

void ResetAfterFork();

}  // namespace profd::agent::mspti
