// Which containers own which devices, as the driver's kernel part sees it: a container is a mount namespace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace profd::sim {

// **Thread:** any; what counts is the calling thread's namespace and capabilities.
class Containers {
 public:
  // `bindings`: the file that all processes share the ownership through; empty: nothing is modelled. `host`
  // is the inode of the host's mount namespace.
  Containers(std::string bindings, uint64_t host);

  // What opening the device gives: ok, or that another container has it. Of an administrator nothing is
  // noted; anybody else's namespace owns the device from now on, until the process that opened it is gone.
  int Open(uint32_t device) const;

 private:
  bool IsAdministrator(ino_t mounts) const;

  const std::string bindings_;
  const ino_t host_;
};

}  // namespace profd::sim
