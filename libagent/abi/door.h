// The door: <socket>.door, where a local process is recognised by the kernel before it speaks gRPC.
//
// A unix-domain SOCK_SEQPACKET socket; one message each way, in host byte order, never crossing a machine:
//   peer → profd   DoorHello, with kDoorOutputDir exactly one descriptor of a directory (SCM_RIGHTS)
//   profd → peer   DoorWelcome: kWelcome and a ticket, else the reason; profd then closes. An agent's welcome
//   brings
//                  kAgentDescriptors descriptors (SCM_RIGHTS): the sealed memfd of its lanes (lane.h), then
//                  an eventfd that wakes their reader
// The ticket goes into the gRPC metadata `profd-ticket` and lives until either side closes the connection;
// the peer sends nothing more. profd closes on a peer that says nothing for 5 s and on anything that is not a
// DoorHello. Who the peer is comes from SO_PEERCRED alone. A magic or version that differs is answered, so
// both sides can say so.
#pragma once

#include <cstdint>

namespace profd::abi {

inline constexpr char kDoorSuffix[] = ".door";
inline constexpr uint32_t kDoorMagic = 0x52444650;  // "PFDR"
inline constexpr uint16_t kDoorVersion = 1;
inline constexpr uint32_t kTicketChars = 64;  // 32 random bytes in hex

inline constexpr int kAgentDescriptors = 2;

enum class DoorRole : uint8_t { kClient = 1, kAgent = 2 };

// Bits of DoorHello::flags; unknown ones are refused.
inline constexpr uint8_t kDoorOutputDir = 1;  // a directory to write to comes with the message; clients only

struct DoorHello {
  uint32_t magic;
  uint16_t version;
  uint8_t role;
  uint8_t flags;
};
static_assert(sizeof(DoorHello) == 8);

enum class DoorStatus : uint16_t {
  kWelcome = 0,
  kMalformed = 1,  // not a DoorHello, unknown role or flag, wrong descriptors
  kVersion = 2,    // profd speaks DoorWelcome::version
  kBusy = 3,       // too many connections, of this user or in total
  kOutputDir = 4,  // the descriptor is not a directory this user may write to
  kFailed = 5,     // profd's own trouble
};

struct DoorWelcome {
  uint32_t magic;
  uint16_t version;
  uint16_t status;
  char ticket[kTicketChars];  // no terminating zero; all zero unless kWelcome
  char profd_version[32];     // zero-terminated text
  char reason[152];           // zero-terminated text, one line: why not and what to do; empty when kWelcome
};
static_assert(sizeof(DoorWelcome) == 256);

}  // namespace profd::abi
