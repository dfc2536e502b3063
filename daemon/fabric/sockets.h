// The sockets of the fabric: the abstract name of the host's network namespace, and a file where
// KINETO_IPC_SOCKET_DIR names a folder.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/fabric/clients.h"

namespace profd::fabric {

// A socket made in the host's network namespace, where the jobs are, and not bound yet. main, before profd
// gives its rights up: later it has those for its own namespace alone.
base::Result<base::UniqueFd> MakeHostSocket();

// **Thread:** Bind*() one; the rest any.
class Sockets {
 public:
  // Takes the abstract name; kAlreadyExists: somebody has it.
  base::Status BindAbstract(base::UniqueFd* made);
  // Takes DIR/dynolog; one that nobody listens on is replaced.
  base::Status BindFile(const std::string& folder);

  size_t size() const { return bound_.size(); }
  int fd(size_t socket) const { return bound_[socket].fd.get(); }
  // For people: "@dynolog".
  std::string name(size_t socket) const;
  // Whether who sent from there can be answered from this socket: clients abort, or never read again, where
  // an answer comes from the wrong one.
  bool IsAnswered(const Sender& sender) const;
  // Never waits. What is answered is the socket of this user.
  base::Status Send(const Sender& to, std::span<const char> datagram) const;
  ~Sockets();
  Sockets() = default;
  Sockets(Sockets&&) = default;
  Sockets& operator=(Sockets&&) = delete;

 private:
  struct Bound {
    base::UniqueFd fd;
    base::UniqueFd folder;  // open; none: abstract
    std::string path;       // of the file
  };
  base::Status SendToFile(const Bound& bound, const Sender& to, std::span<const char> datagram) const;

  std::vector<Bound> bound_;
};

}  // namespace profd::fabric
