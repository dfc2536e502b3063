#include "base/files/passed.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace profd::base {

bool IsDirectory(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_TMPFILE) == O_DIRECTORY;
}

std::optional<Passed> ReceivePassed(int socket, std::span<std::byte> bytes, size_t most, int flags) {
  iovec part{bytes.data(), bytes.size()};
  std::vector<char> control(most == 0 ? 0 : CMSG_SPACE(most * sizeof(int)));
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &header, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return std::nullopt;
  Passed passed;
  passed.bytes = static_cast<size_t>(got);
  passed.is_cut = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof fd);
      passed.descriptors.emplace_back(fd);
    }
  }
  return passed;
}

Comes LookAtPassed(int socket) {
  constexpr size_t kMostLookedAt = 2;
  std::array<std::byte, 1> bytes;
  const auto seen = ReceivePassed(socket, bytes, kMostLookedAt, MSG_PEEK);
  const bool is_one = seen && seen->descriptors.size() == 1;
  if (is_one && IsDirectory(seen->descriptors.front().get())) return Comes::kDirectory;
  ReceivePassed(socket, bytes, kMostLookedAt);
  return is_one ? Comes::kFile : Comes::kNotOne;
}

}  // namespace profd::base
