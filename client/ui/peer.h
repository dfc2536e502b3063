// Whose process is at the other end of a connection on this machine.
#pragma once

#include <sys/types.h>

#include <optional>

namespace profd::ui {

// As the kernel's table of sockets says (NETLINK_SOCK_DIAG, Linux' include/uapi/linux/inet_diag.h). Nothing:
// it does not tell, or the other end has gone.
std::optional<uid_t> UserAtTheOtherEnd(int connection);

}  // namespace profd::ui
