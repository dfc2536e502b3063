#include "daemon/auth/door/socket_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/files/way.h"
#include "libagent/abi/door.h"

namespace profd::auth {

using base::Code;
using base::Status;
using base::UniqueFd;

namespace {

std::string LockHolder(int lock) {
  char pid[16] = {};
  if (::pread(lock, pid, sizeof(pid) - 1, 0) <= 0) return "";
  std::string text = pid;
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  return text.empty() ? "" : " (pid " + text + ")";
}

// For the message of whoever comes second. The lock is what counts: a full file system keeps no profd from
// starting.
void NameHolder(int lock) {
  char pid[16];
  const int length = std::snprintf(pid, sizeof(pid), "%d\n", ::getpid());
  // In the place of an older one, which the file system may have no other for.
  const bool named = ::pwrite(lock, pid, static_cast<size_t>(length), 0) == length;
  [[maybe_unused]] const int cut = ::ftruncate(lock, named ? length : 0);
}

// A socket nobody listens on is removed; anything else at `path` is refused.
Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? Status::Ok() : Status::FromErrno("look for an old socket at " + path);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return {Code::kAlreadyExists,
            "cannot listen on " + path +
                ": there is a file of another type; remove it or choose another --socket"};
  }
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const UniqueFd probe(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return Status::FromErrno("probe the socket " + path);
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
        errno == EAGAIN) {
      return {Code::kAlreadyExists,
              "another program is listening on " + path + ": stop it or choose another --socket"};
    }
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Status::FromErrno("remove the old socket " + path);
  }
  return Status::Ok();
}

base::Result<sockaddr_un> Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Status(Code::kInvalidArgument,
                  "socket path " + path + ": longer than the " +
                      std::to_string(sizeof(address.sun_path) - 1) +
                      " characters a unix socket may have; choose a shorter --socket");
  }
  path.copy(address.sun_path, path.size());
  return address;
}

}  // namespace

base::Result<SocketClaim> SocketClaim::Take(const std::string& socket) {
  if (socket.empty() || socket.front() != '/') {
    return Status(Code::kInvalidArgument, "socket path '" + socket + "': must be absolute");
  }
  const std::string door = socket + abi::kDoorSuffix;
  PROFD_ASSIGN_OR_RETURN(const sockaddr_un socket_address, Address(socket));
  PROFD_ASSIGN_OR_RETURN(const sockaddr_un door_address, Address(door));

  const std::string folder = std::filesystem::path(socket).parent_path();
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return Status::FromErrno("create the folder of the socket, " + folder + " (--socket names another)");
  }
  // Whoever can put another in its place gets what clients and agents send here, and names who they are.
  if (const Status place = base::OpenWay(folder, base::IfMissing::kFail, base::Trust::kFolders).status();
      !place.ok())
    return place.In("--socket");

  const std::string lock_path = socket + ".lock";
  // 0600: whoever may open the file could hold the lock.
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return Status::FromErrno("open the lock file " + lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Status::FromErrno("lock " + lock_path);
    return Status(Code::kAlreadyExists, "another profd" + LockHolder(lock.get()) + " is listening on " +
                                            socket + ": stop it or choose another --socket");
  }
  NameHolder(lock.get());

  PROFD_RETURN_IF_ERROR(RemoveStale(socket, socket_address));
  PROFD_RETURN_IF_ERROR(RemoveStale(door, door_address));
  return SocketClaim(std::move(lock));
}

SocketUmask::SocketUmask() : before_(::umask(0111)) {}
SocketUmask::~SocketUmask() { ::umask(before_); }

}  // namespace profd::auth
