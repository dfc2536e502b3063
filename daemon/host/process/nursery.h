// profd's hold on the process that stand-ins are forked from. profd itself has threads, and what is forked
// from it could hold their locks for ever. So the first one is forked before there are threads. When it has
// been killed, profd executes itself anew: a spare process could be killed with it, and all that a stand-in
// needs of profd's first rights are files, which are left to the new one (heirlooms.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/host/process/nursery_process.h"

namespace profd::host {

// **Thread:** any, unless it is said. **Owns:** the channel to the process.
class Nursery {
 public:
  // How profd is executed as one: profd kFlag HEIRLOOMS.
  static constexpr char kFlag[] = "--nursery";

  // Never destroyed: threads may still want stand-ins while profd ends.
  static Nursery& The();

  // main, once profd has only the rights that it keeps, and before there are threads: forks it.
  base::Status Prepare();
  // main, in a process that is executed as one, once it has read its heirlooms.
  [[noreturn]] void BeOne();

  // Where it has died, to a new one.
  base::Status Send(const NurseryOrder& order, int passed);
  // The end of one: nobody has to be started for that.
  void SendEnd(uint64_t number);

  // Starts a new one where it has died, at most one in a second. An error also while the old one goes.
  base::Status Revive();
  bool Lives();
  // Readable once the present one has died. **Thread:** whoever it is given to.
  base::UniqueFd Watched();
  // Who died since the last call, and what came of it, for the log.
  std::vector<std::string> TakeNews();

  // Memory that all of them share with profd.
  std::span<std::atomic<uint64_t>> board() const { return board_; }

 private:
  base::Status Fork();
  base::Status Execute();
  base::Status ReviveLocked();
  base::Status ShareBoard();
  bool LivesLocked() const;
  void Bury();

  std::once_flag once_;
  base::Status prepared_;
  std::span<std::atomic<uint64_t>> board_;
  std::mutex mutex_;  // of all below
  base::UniqueFd channel_;
  pid_t pid_ = 0;
  uint64_t executed_ns_ = 0;     // 0: the present one was forked
  std::vector<pid_t> unburied_;  // killed, and not gone yet
  std::vector<std::string> news_;
};

}  // namespace profd::host
