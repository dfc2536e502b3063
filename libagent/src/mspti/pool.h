// The buffers that libmspti.so fills. It asks for them on the threads of the job and gives them back on its
// own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libagent/src/mspti/activity.h"
#include "libagent/src/tables/spans.h"

namespace profd::agent::mspti {

struct Buffer {
  const uint8_t* bytes;
  size_t valid;
  Filled filled;
  uint32_t index;
};

// What `walker` has left of a buffer because it is stuck, if a recording ran while the buffer was filled.
// **Thread:** any.
uint64_t UnreadOf(const Walker& walker, const Filled& filled);

// The callbacks. Request never refuses: that would cost the vendor a thread per record. Where more than
// kMostWaiting buffers wait for the worker, one that comes back is counted and used again.
void Request(uint8_t** buffer, size_t* size, size_t* max_records);
void Complete(uint8_t* buffer, size_t size, size_t valid);

// Maps the buffers, once in the life of the process; buffers are taken in from now on. `wake` is rung for
// each. False: no memory. **Thread:** of these and the rest: the worker, or one that knows there is none.
bool OpenPool(int wake);
// Buffers that come back are counted and used again.
void ClosePool();
// The next buffer that came back; give it to Return when it is read.
bool TakeFull(Buffer* buffer);
void Return(const Buffer& buffer);
// The memory of unused buffers goes back to the system.
void TrimPool();
// Records that a recording wanted in buffers which nobody read, since the last call.
uint64_t TakeSwallowed();

void ResetPoolAfterFork();

}  // namespace profd::agent::mspti
