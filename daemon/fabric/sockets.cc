#include "daemon/fabric/sockets.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/threads/thread.h"

namespace profd::fabric {

using base::Code;
using base::Status;
using base::UniqueFd;

namespace {

constexpr std::string_view kAbstract("\0dynolog\0", 9);  // its second zero is part of the name
constexpr char kFile[] = "dynolog";
constexpr int kQueueBytes = 4 << 20;

base::Result<UniqueFd> MakeSocket() {
  UniqueFd made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!made || ::setsockopt(made.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    return Status::FromErrno("make a socket of the dynolog fabric");
  ::setsockopt(made.get(), SOL_SOCKET, SO_RCVBUF, &kQueueBytes, sizeof kQueueBytes);
#if defined(SO_PASSRIGHTS)
  const int off = 0;
  ::setsockopt(made.get(), SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
#endif
  return made;
}

sockaddr_un Address(std::string_view path, socklen_t* size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path);
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  return address;
}

// Of the host's network namespace, as far out as one can see.
std::string NetOfHost(const char* what) { return std::string("/proc/1/") + what; }

}  // namespace

base::Result<UniqueFd> MakeHostSocket() {
  const UniqueFd host(::open(NetOfHost("ns/net").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat theirs {};
  struct stat own {};
  const bool elsewhere = host && ::fstat(host.get(), &theirs) == 0 &&
                         ::stat("/proc/self/ns/net", &own) == 0 && theirs.st_ino != own.st_ino;
  if (!elsewhere) return MakeSocket();
  base::Result<UniqueFd> made = Status(Code::kInternal, "not made");
  base::StartThread("host-net", [&] {
    if (::setns(host.get(), CLONE_NEWNET) != 0) {
      made = Status::FromErrno("enter the network namespace of the host");
    } else {
      made = MakeSocket();
    }
  }).join();
  return made;
}

Status Sockets::BindAbstract(UniqueFd* made) {
  socklen_t size = 0;
  const sockaddr_un address = Address(kAbstract, &size);
  if (::bind(made->get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno != EADDRINUSE) return Status::FromErrno("take the socket @dynolog");
    return {Code::kAlreadyExists, "the socket @dynolog is held by another program"};
  }
  bound_.push_back({std::move(*made), UniqueFd(), ""});
  return Status::Ok();
}

Status Sockets::BindFile(const std::string& folder) {
  const std::string path = folder + "/" + kFile;
  if (folder.empty() || folder.front() != '/' || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return {Code::kInvalidArgument,
            "KINETO_IPC_SOCKET_DIR=" + folder + ": an absolute path, and short enough for a socket in it"};
  }
  Bound bound{UniqueFd(), UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path};
  if (!bound.folder) return Status::FromErrno("KINETO_IPC_SOCKET_DIR=" + folder);
  PROFD_ASSIGN_OR_RETURN(bound.fd, MakeSocket());
  socklen_t size = 0;
  const sockaddr_un address = Address(path, &size);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0)
    return {Code::kAlreadyExists, "the socket " + path + " is held by another program"};
  struct stat found {};
  const bool stale = errno == ECONNREFUSED && ::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
  if (stale) ::unlink(path.c_str());
  if (::bind(bound.fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
    return Status::FromErrno("take the socket " + path);
  // As kineto's own daemon makes it: the folder says who may.
  if (::fchmodat(bound.folder.get(), kFile, 0666, 0) != 0)
    return Status::FromErrno("open the socket " + path);
  bound_.push_back(std::move(bound));
  return Status::Ok();
}

Sockets::~Sockets() {
  for (const Bound& bound : bound_) {
    if (bound.folder) ::unlinkat(bound.folder.get(), kFile, 0);
  }
}

std::string Sockets::name(size_t socket) const {
  return bound_[socket].path.empty() ? "@dynolog" : bound_[socket].path;
}

bool Sockets::IsAnswered(const Sender& sender) const {
  const Bound& bound = bound_[sender.socket];
  if (!bound.folder) return sender.address.size() > 1 && sender.address.front() == '\0';
  const std::string_view folder = std::string_view(bound.path).substr(0, bound.path.rfind('/') + 1);
  const std::string_view address(sender.address);
  if (!address.starts_with(folder)) return false;
  const std::string_view name = address.substr(folder.size());
  return !name.empty() && name.find('/') == std::string_view::npos && name != "." && name != ".." &&
         name != kFile;
}

Status Sockets::Send(const Sender& to, std::span<const char> datagram) const {
  const Bound& bound = bound_[to.socket];
  if (bound.folder) return SendToFile(bound, to, datagram);
  socklen_t size = 0;
  const sockaddr_un address = Address(to.address, &size);
  if (::sendto(bound.fd.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), size) < 0)
    return Status::FromErrno("answer");
  return Status::Ok();
}

// The name may lead elsewhere by now: to a link, to another's socket. What is answered is what was looked at.
Status Sockets::SendToFile(const Bound& bound, const Sender& to, std::span<const char> datagram) const {
  const std::string name = to.address.substr(to.address.rfind('/') + 1);
  const UniqueFd file(::openat(bound.folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct statx found {};
  if (!file ||
      ::statx(file.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_UID, &found) != 0)
    return Status::FromErrno("answer");
  if (!S_ISSOCK(found.stx_mode) || found.stx_uid != to.uid)
    return {Code::kPermissionDenied, "answer: its address is somebody else's"};
  socklen_t size = 0;
  const sockaddr_un address = Address("/proc/self/fd/" + std::to_string(file.get()), &size);
  if (::sendto(bound.fd.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), size + 1) < 0)
    return Status::FromErrno("answer");
  return Status::Ok();
}

}  // namespace profd::fabric
