// The agent's side of the door (libagent/abi/door.h).
#pragma once

#include <cstdint>

#include "libagent/abi/door.h"

namespace profd::agent {

enum class Knock : uint8_t {
  kWelcome,
  kNobody,      // no socket, or nobody behind it
  kTurnedAway,  // another version, no lanes for us, or not a profd
  kBusy,        // profd has no connection or lane to spare now
};

// What a welcome brings: a connection that keeps the ticket valid, the region's memfd, the reader's eventfd.
struct Welcome {
  int door = -1;
  int memfd = -1;
  int wake = -1;
  char ticket[abi::kTicketChars + 1] = {};
};

// Blocks until profd answers. **Thread:** the attach thread.
Knock KnockAt(const char* door_path, Welcome* welcome);

// A connected stream socket, or -1. **Thread:** the attach thread.
int ConnectStream(const char* path);

}  // namespace profd::agent
