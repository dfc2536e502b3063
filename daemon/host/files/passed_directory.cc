#include "daemon/host/files/passed_directory.h"

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/files/passed.h"
#include "daemon/host/process/stand_in.h"

namespace profd::host {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr uint64_t kSecondNs = 1'000'000'000;

// In the stand-in. It ends with what it has looked at, and may hang in that.
void Look(TextChannel& channel, StandInDuty) {
  std::array<std::byte, 1> bytes;
  std::optional<base::Passed> socket;
  while (!(socket = base::ReceivePassed(channel.fd(), bytes, 1))) channel.Wait(kSecondNs);
  if (socket->descriptors.size() != 1) return;
  channel.Put(std::string(1, static_cast<char>(base::LookAtPassed(socket->descriptors.front().get()))));
}

bool Pass(int channel, int socket) {
  char byte = 0;
  iovec part{&byte, sizeof byte};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &socket, sizeof socket);
  return ::sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof byte;
}

}  // namespace

Result<base::Comes> LookAtPassed(uid_t user, int socket) {
  PROFD_ASSIGN_OR_RETURN(StandIn stand_in, StandIn::Start(user, &Look));
  if (!Pass(stand_in.channel().fd(), socket)) return Status::FromErrno("have the output directory looked at");
  const Result<std::string> said = stand_in.Await();
  if (!said.ok() && said.status().code() == Code::kDeadlineExceeded)
    return Status(Code::kDeadlineExceeded, "what came as output directory does not answer: see to its mount");
  PROFD_RETURN_IF_ERROR(said.status());
  if (said->size() != 1) return Status(Code::kInternal, "cannot tell whether the output is a directory");
  return static_cast<base::Comes>(said->front());
}

}  // namespace profd::host
