#include "client/ui/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace profd::ui {

std::optional<Peer> PeerOf(int connection) {
  sockaddr_in here{}, there{};
  socklen_t size = sizeof here;
  if (::getsockname(connection, reinterpret_cast<sockaddr*>(&here), &size) != 0 || here.sin_family != AF_INET)
    return {};
  size = sizeof there;
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&there), &size) != 0) return {};

  struct {
    nlmsghdr head{};
    inet_diag_req_v2 asked{};
  } question;
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.asked.sdiag_family = AF_INET;
  question.asked.sdiag_protocol = IPPROTO_TCP;
  question.asked.idiag_states = ~0U;
  question.asked.id.idiag_sport = there.sin_port;  // its own side of the connection
  question.asked.id.idiag_dport = here.sin_port;
  question.asked.id.idiag_src[0] = there.sin_addr.s_addr;
  question.asked.id.idiag_dst[0] = here.sin_addr.s_addr;
  question.asked.id.idiag_cookie[0] = question.asked.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;

  const base::UniqueFd kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!kernel || ::send(kernel.get(), &question, sizeof question, 0) != sizeof question) return {};
  alignas(nlmsghdr) char answer[4096];
  const ssize_t got =
      ::recv(kernel.get(), answer, sizeof answer, MSG_DONTWAIT);  // it is there when send returns
  nlmsghdr head{};
  inet_diag_msg found{};
  nlmsgerr failed{};
  if (got < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof failed)) return {};
  std::memcpy(&head, answer, sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR) {
    std::memcpy(&failed, answer + NLMSG_HDRLEN, sizeof failed);
    if (failed.error == -ENOENT) return Peer{.is_gone = true};
  }
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || got < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof found))
    return {};
  std::memcpy(&found, answer + NLMSG_HDRLEN, sizeof found);
  return Peer{.is_gone = found.idiag_inode == 0, .uid = found.idiag_uid};
}

}  // namespace profd::ui
