// What looks at the processes of one user for one kind of a session, and makes lines of what it sees. To look
// at a process (its memory, its maps, events and breakpoints of its own) is to wait for what that user has in
// hand, so a scout runs in a stand-in; scout_post.h is its other end, in profd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "daemon/host/process/text_channel.h"

namespace profd::host {

using NamedPid = std::pair<pid_t, std::string>;

// Whole lines of a kind's file and, where it has one, of the names in it. What the samples say stands in the
// names before it.
struct ScoutLines {
  std::string names, samples;
  uint64_t lost = 0, lost_from_ns = 0, lost_to_ns = 0;  // samples, CLOCK_MONOTONIC_RAW

  void Lose(uint64_t count, uint64_t from_ns, uint64_t to_ns) {
    if (count == 0) return;
    if (lost == 0) lost_from_ns = from_ns;
    lost += count;
    lost_to_ns = to_ns;
  }
  bool empty() const { return names.empty() && samples.empty() && lost == 0; }
};

// What the session wants; each kind reads what concerns it.
struct ScoutOrder {
  uint32_t hz = 0;
  bool hardware = false;      // host-cpu-profile: by the processor's counter
  pid_t usual_pid = 0;        // whose calls they are that say nothing else
  uint32_t first_number = 0;  // of names: scouts of one session number theirs apart
  uid_t user = 0;             // whose processes they are
};

// **Thread:** the first of its process.
class Scout {
 public:
  virtual ~Scout() = default;
  // An error: nothing can be had of these processes.
  virtual base::Status Begin(const ScoutOrder& order, const std::vector<NamedPid>& members) = 0;
  // Then: what can be expected, "" for nothing.
  virtual std::string note() const { return ""; }
  // Those that it may not know yet.
  virtual void TakeIn(const std::vector<NamedPid>& members) = 0;
  virtual void Look() = 0;
  // From one look to the next.
  virtual uint64_t PeriodNs() const = 0;
  // The last look.
  virtual void End() = 0;
  // It waits for a process itself, in another thread.
  virtual bool hangs() const { return false; }

  ScoutLines lines;  // that nobody has taken
};

// The work of a stand-in, until its channel is gone.
void ServeScout(TextChannel& channel, Scout& scout);

}  // namespace profd::host
