// Whose process is at the other end of a connection on this machine.
#pragma once

#include <sys/types.h>

#include <optional>

namespace profd::ui {

struct Peer {
  bool is_gone = false;  // nobody has its socket any more: whose it was the kernel does not know
  uid_t uid = 0;
};

// As the kernel's table of sockets says (NETLINK_SOCK_DIAG, Linux' include/uapi/linux/inet_diag.h). Nothing:
// it does not tell.
std::optional<Peer> PeerOf(int connection);

}  // namespace profd::ui
