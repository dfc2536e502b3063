// The work of the thread "drain".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/agent/recording.h"
#include "daemon/base/mailbox.h"

namespace profd::agent {

class DrainLoop;

// What ctl asks of the thread, in order. **Thread:** any.
class DrainMailbox {
 public:
  using Command = std::function<void(DrainLoop&)>;

  DrainMailbox();
  void Send(Command command);
  std::optional<Command> Take() { return commands_.Take(); }
  void Hush();                            // before they are taken
  int fd() const { return bell_.get(); }  // readable since the last Send(), until hushed

 private:
  base::UniqueFd bell_;
  base::Mailbox<Command> commands_;
};

// Visits every recording on a common beat, and sooner when its process rings or its lanes fill up fast. In a
// round each user has the same share of bytes: who publishes more than that waits for the next, and loses
// records of its own when its lanes are full. Those who want the least come first, and chunks that are short
// are left to them: who floods has lost records anyway.
// Commands aside, it neither locks nor allocates.
// **Thread:** drain. **Owns:** the recordings while they run.
class DrainLoop {
 public:
  DrainLoop(DrainMailbox& mailbox, uint64_t sweep_ns);
  void Run();

  // For commands.
  struct Events {
    std::function<void()> cut_off;  // once at most: its process lies
    std::function<void(std::shared_ptr<Recording>)> dropped;
  };
  void Add(uint64_t id, std::shared_ptr<Recording> recording, Events events);
  Recording* Find(uint64_t id);  // also has it visited; nullptr: stopped
  void EndTrace(uint32_t trace, chunk::Pipe& pipe);
  void Quit() { quit_ = true; }

 private:
  struct Entry {
    std::shared_ptr<Recording> recording;
    uint64_t visited_ns = 0;  // CLOCK_MONOTONIC
    uint64_t due_ns = 0;
    uint64_t waiting = 0;  // bytes, when it was last looked at
    Events events;
  };
  // Whose recordings they are.
  struct User {
    std::set<uint64_t> entries;
    uint64_t served = 0;  // the last one: the next round begins behind it
    uint64_t visited_ns = 0;
    uint64_t waiting = 0;  // bytes, when last looked at
    double made = 0;       // of late: bytes that were published, or lost
    double wants() const { return made + static_cast<double>(waiting); }
  };
  struct End {
    uint32_t trace;
    chunk::Pipe* pipe;
  };

  void Sleep();
  void Obey();
  void VisitDue();
  void Rank();
  void VisitDueOf(User& user, size_t rank);
  bool MayTake(const User& user, size_t rank, const Recording& recording) const;
  void Drop(uint64_t id);
  uint64_t NextDue(const Entry& entry, const Recording::Visited& visited) const;
  void PushEnds();

  DrainMailbox& mailbox_;
  const uint64_t sweep_ns_;
  base::UniqueFd epoll_;
  std::map<uint64_t, Entry> entries_;
  std::map<uid_t, User> users_;
  std::vector<User*> ranked_;  // who wants the least first
  std::vector<uint64_t> stopped_;
  std::vector<End> ends_;
  uint64_t round_ns_ = 0, ranked_ns_ = 0;
  uint64_t ends_due_ns_ = UINT64_MAX;
  bool called_ = false;      // there are commands
  bool rung_ = false;        // a process woke us
  bool unfinished_ = false;  // there is more than the shares of this round
  bool quit_ = false;
};

}  // namespace profd::agent
