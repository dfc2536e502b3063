#include "libagent/src/door.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace profd::agent {

namespace {

int Connect(const char* path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t bytes = strlen(path);
  if (bytes >= sizeof(address.sun_path)) return -1;
  memcpy(address.sun_path, path, bytes);
  const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  ::close(fd);
  return -1;
}

// The answer and the descriptors that came with it; those beyond kAgentDescriptors are closed.
bool Hear(int door, abi::DoorWelcome* answer, int descriptors[abi::kAgentDescriptors]) {
  iovec part{answer, sizeof(*answer)};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  do {
    got = ::recvmsg(door, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  int count = 0;
  for (cmsghdr* item = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); item != nullptr;
       item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const size_t passed = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < passed; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(fd));
      if (count < abi::kAgentDescriptors) {
        descriptors[count++] = fd;
      } else {
        ::close(fd);
      }
    }
  }
  return got == static_cast<ssize_t>(sizeof(*answer));
}

}  // namespace

Knock KnockAt(const char* door_path, Welcome* welcome) {
  const int door = Connect(door_path, SOCK_SEQPACKET);
  if (door < 0) return Knock::kNobody;
  abi::DoorHello hello{};
  hello.magic = abi::kDoorMagic;
  hello.version = abi::kDoorVersion;
  hello.role = static_cast<uint8_t>(abi::DoorRole::kAgent);
  abi::DoorWelcome answer{};
  int descriptors[abi::kAgentDescriptors] = {-1, -1};
  const bool heard =
      ::send(door, &hello, sizeof(hello), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(hello)) &&
      Hear(door, &answer, descriptors);
  Knock result = Knock::kTurnedAway;
  if (!heard) {
    result = Knock::kNobody;
  } else if (answer.magic == abi::kDoorMagic && answer.version == abi::kDoorVersion) {
    const auto status = static_cast<abi::DoorStatus>(answer.status);
    if (status == abi::DoorStatus::kBusy) result = Knock::kBusy;
    if (status == abi::DoorStatus::kWelcome && descriptors[abi::kAgentDescriptors - 1] >= 0)
      result = Knock::kWelcome;
  }
  if (result != Knock::kWelcome) {
    for (const int fd : descriptors) {
      if (fd >= 0) ::close(fd);
    }
    ::close(door);
    return result;
  }
  welcome->door = door;
  welcome->memfd = descriptors[0];
  welcome->wake = descriptors[1];
  memcpy(welcome->ticket, answer.ticket, abi::kTicketChars);
  return result;
}

int ConnectStream(const char* path) { return Connect(path, SOCK_STREAM); }

}  // namespace profd::agent
