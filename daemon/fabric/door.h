// Serves the fabric: hears its sockets, answers from those that were spoken to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/base/executor.h"
#include "daemon/fabric/clients.h"
#include "daemon/fabric/sockets.h"

namespace profd::fabric {

// **Thread:** ctl; may be made before ctl runs and destroyed after it has stopped. **Owns:** the sockets, a
// thread "fabric" that takes datagrams out of the kernel's queue and drops what is none; ctl answers by turns
// of users.
class Door {
 public:
  static std::unique_ptr<Door> Open(Sockets sockets, base::Executor& ctl, Clients& clients);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // "@dynolog": what it has.
  std::string names() const;
  // Datagrams that nothing was made of, by why.
  std::array<uint64_t, kDrops> dropped() const;

 private:
  class Impl;
  explicit Door(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

// What doors.dynolog says is to be done, and what has become of it. **Thread:** ctl; made in main, and ended
// when ctl has stopped.
class Service {
 public:
  // `mode`: auto, off or force. Before profd gives up its rights.
  Service(const std::string& mode, base::Executor& ctl);
  // Takes the sockets: as `force`, or fails; as `auto` tries again while somebody has them.
  base::Status Start();

  // No clients while it is not open.
  Clients& clients() { return clients_; }
  bool is_open() const { return door_ != nullptr; }
  // A line for `profctl doctor`.
  std::string Describe();
  const std::string& trouble() const { return trouble_; }

 private:
  base::Status Bind();
  void TryAgain();

  const std::string mode_;
  base::Executor& ctl_;
  Clients clients_;
  base::Result<base::UniqueFd> made_;
  std::unique_ptr<Door> door_;
  std::string trouble_;  // why it is not open
};

}  // namespace profd::fabric
