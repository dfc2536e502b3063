// A process that waits in profd's place. Whoever reads the memory of a process, or asks the kernel what is in
// it (maps, environ, cmdline), waits for the lock of that memory and for the servers of its pages, and both
// can be in a user's hands: a thread that does so may hang for ever, and the process that it is of with it.
// So a process of its own does it, which is killed and left behind when it does not answer in time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/host/process/nursery_process.h"
#include "daemon/host/process/text_channel.h"

namespace profd::host {

// **Thread:** one at a time. **Owns:** the process, which ends with it.
class StandIn {
 public:
  // In the new process: runs once and says who answers. Not a lambda with captures: the process comes from
  // one that knows nothing of them.
  using Answer = StandInAnswer;
  using Duty = StandInDuty;
  // The same for what goes on by itself: until the channel is gone.
  using Work = StandInWork;

  // main, once profd has only the rights that it keeps, and before there are threads that may hold a lock:
  // forks the process that all others are forked from.
  static base::Status Prepare();
  // `user`: whose memory it is to look at. Refused while two of that user's hang.
  static base::Result<StandIn> Start(uid_t user, Work work);
  // One that answers whatever it is asked, in that order.
  static base::Result<StandIn> Start(uid_t user, Duty duty);
  // One question to a process of its own. **Thread:** any.
  static base::Result<std::string> AskOnce(uid_t user, Duty duty, std::string_view request);

  StandIn(StandIn&&) noexcept = default;
  StandIn& operator=(StandIn&&) = delete;
  ~StandIn();

  // Neither waits.
  void Say(std::string_view text);
  // What it has said; nullopt: nothing more yet. An error: it has died.
  base::Result<std::optional<std::string>> Hear();
  const TextChannel& channel() const { return channel_; }
  // The next that it says, as long as one may think about one question; it is given up then.
  base::Result<std::string> Await();
  // It has hung: it is killed and left behind, and of no use any more.
  base::Status GiveUp();

  // Memory that all of them share with profd, where they say what they are about to do: who hangs in it
  // cannot say so any more. Whoever has gone mad may have written there.
  static std::span<std::atomic<uint64_t>> Board();

  // Of the processor, by all of them. **Thread:** any.
  static uint64_t CpuNs();

 private:
  StandIn(uid_t user, uint64_t number, base::UniqueFd channel)
      : user_(user), number_(number), channel_(std::move(channel)) {}
  static base::Result<StandIn> Start(uid_t user, Work work, Duty duty);
  void Leave(bool hung);

  uid_t user_;
  uint64_t number_;
  TextChannel channel_;
  uint64_t cpu_ns_ = 0;
};

}  // namespace profd::host
