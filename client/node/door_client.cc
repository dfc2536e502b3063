#include "client/node/door_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/host_port.h"
#include "client/words/text.h"
#include "libagent/abi/door.h"

namespace profd::client {

using base::Code;
using base::Status;
using base::UniqueFd;

namespace {

constexpr uint64_t kPatienceNs = 10'000'000'000;

Status NotRunning(const std::string& socket, const char* why) {
  // "localhost:9478" is another node's address, made a path of the working directory.
  const std::string name = socket.substr(socket.rfind('/') + 1);
  const bool is_address = name.find(':') != std::string::npos && base::ParseHostPort(name).ok();
  if (is_address) {
    return {Code::kUnavailable, "there is no socket " + socket +
                                    ": PROFD_ADDRESS and --socket name a unix socket of this "
                                    "node; another node's profd is --host " +
                                    name};
  }
  return {Code::kUnavailable,
          "profd is not running at " + socket + why +
              ": start it (systemctl start profd, or profd --socket PATH), or name its socket with "
              "--socket or PROFD_ADDRESS"};
}

base::Result<UniqueFd> Connect(const std::string& socket) {
  const std::string path = socket + abi::kDoorSuffix;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Status(Code::kInvalidArgument, "socket " + socket + ": the path is too long for a unix socket");
  }
  path.copy(address.sun_path, path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return Status::FromErrno("make a socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
      return NotRunning(socket, ::access(socket.c_str(), F_OK) == 0 ? " (its door socket is missing)" : "");
    case ECONNREFUSED:
      return NotRunning(socket, " (nobody listens on the socket it left)");
    case EACCES:
    case EPERM:
      return Status(Code::kPermissionDenied,
                    "you may not open " + path + ": ask root for access to its folder");
    case EPROTOTYPE:
      return Status(Code::kUnavailable, path + " is not profd's door: another program listens there");
    default:
      return Status::FromErrno("connect to " + path);
  }
}

Status SendHello(int fd, int output_dir) {
  abi::DoorHello hello{};
  hello.magic = abi::kDoorMagic;
  hello.version = abi::kDoorVersion;
  hello.role = static_cast<uint8_t>(abi::DoorRole::kClient);
  hello.flags = output_dir >= 0 ? abi::kDoorOutputDir : 0;
  iovec part{&hello, sizeof(hello)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (output_dir >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &output_dir, sizeof(int));
  }
  // A door that is full answers and closes before it is asked; the answer says more than the failed send.
  if (::sendmsg(fd, &message, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET) {
    return Status::FromErrno("knock at profd's door");
  }
  return Status::Ok();
}

Status CheckAnswer(const abi::DoorWelcome& untrusted, ssize_t size) {
  if (size != static_cast<ssize_t>(sizeof(untrusted)) || untrusted.magic != abi::kDoorMagic) {
    return {Code::kUnavailable,
            "profd's door gave no answer that this profctl understands: install the same release"};
  }
  const std::string reason =
      OneLine({untrusted.reason, ::strnlen(untrusted.reason, sizeof(untrusted.reason))});
  switch (static_cast<abi::DoorStatus>(untrusted.status)) {
    case abi::DoorStatus::kWelcome:
      return Status::Ok();
    case abi::DoorStatus::kBusy:
      return {Code::kResourceExhausted, reason};
    case abi::DoorStatus::kOutputDir:
      return {Code::kInvalidArgument, reason};
    case abi::DoorStatus::kMalformed:
    case abi::DoorStatus::kVersion:
    case abi::DoorStatus::kFailed:
      break;
  }
  return {Code::kUnavailable, "profd's door refused: " + reason};
}

}  // namespace

base::Result<DoorClient> DoorClient::Knock(const std::string& socket, int output_dir, uint64_t deadline_ns) {
  DoorClient door;
  PROFD_ASSIGN_OR_RETURN(door.connection_, Connect(socket));
  const int fd = door.connection_.get();
  const uint64_t now_ns = base::MonotonicNs();
  uint64_t left_ns = kPatienceNs;
  // Nothing at all would mean for ever.
  if (deadline_ns != 0) left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 1000;
  const timeval timeout{static_cast<time_t>(left_ns / 1'000'000'000),
                        static_cast<suseconds_t>(left_ns % 1'000'000'000 / 1000)};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  PROFD_RETURN_IF_ERROR(SendHello(fd, output_dir));
  abi::DoorWelcome welcome{};
  ssize_t got;
  do {
    got = ::recv(fd, &welcome, sizeof(welcome), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return Status(Code::kUnavailable, "profd at " + socket + " does not answer at its door within " +
                                          std::to_string(left_ns / 1'000'000) +
                                          " ms: is it stopped or overloaded?");
  }
  if (got <= 0) {
    return Status(Code::kUnavailable,
                  "profd at " + socket +
                      " closed its door without an answer: it has just ended, or too many "
                      "calls of yours wait there; ask again");
  }
  PROFD_RETURN_IF_ERROR(CheckAnswer(welcome, got));
  door.ticket_.assign(welcome.ticket, sizeof(welcome.ticket));
  if (!IsPlainText(door.ticket_)) return CheckAnswer(welcome, 0);
  door.profd_version_ =
      OneLine({welcome.profd_version, ::strnlen(welcome.profd_version, sizeof(welcome.profd_version))});
  return door;
}

}  // namespace profd::client
