// Descriptors that somebody passes over a unix socket.
//
// Whoever has received a file waits for its file system when it closes it, and so when it ends: a process
// with a file of a mount that does not answer cannot even be killed. A directory has nothing to be written
// back when it is closed. So what is passed is looked at before it is received, by a process that may be left
// behind.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.h"

namespace profd::base {

// Was opened as a directory: not a file without a name, whose flags contain a directory's. Asks the kernel's
// table of open files, never a file system.
bool IsDirectory(int fd);

struct Passed {
  size_t bytes = 0;
  bool is_cut = false;  // message or descriptors: there were more
  std::vector<UniqueFd> descriptors;
};
// The next message, without waiting; nullopt: errno says why. At most `most` of its descriptors are received,
// no other gets into this process. `flags`: MSG_PEEK.
std::optional<Passed> ReceivePassed(int socket, std::span<std::byte> bytes, size_t most, int flags = 0);

// What comes with the next message, by peeking. What is no directory is taken, to go with the process that
// looks.
enum class Comes : char { kDirectory = 'd', kFile = 'f', kNotOne = 'n' };
Comes LookAtPassed(int socket);

}  // namespace profd::base
