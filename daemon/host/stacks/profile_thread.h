// The thread "profile": empties the rings of a profile and makes lines of what they hold, for which it looks
// into files and memory of the processes and may have to wait. One for each profile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/spsc_queue.h"
#include "base/status.h"
#include "base/wake_up.h"
#include "daemon/host/perf_ring.h"
#include "daemon/host/stacks/profile_book.h"
#include "daemon/host/thread_events.h"

namespace profd::host {

using NamedPid = std::pair<pid_t, std::string>;

// **Thread:** sample. **Owns:** the thread. One that hangs is left behind, without its rings; while a user's
// processes have brought about two of that, they are not profiled any more.
class ProfileThread {
 public:
  static base::Status MayProfile(const std::vector<NamedPid>& members);
  // What runs: by an event on each CPU.
  static base::Result<ProfileThread> OnCpu(const perf_event_attr& attr, std::vector<NamedPid> members);
  // What waits: by the members' own events.
  static ProfileThread OffCpu(ThreadEvents events, std::vector<NamedPid> members);
  ProfileThread(ProfileThread&&) noexcept = default;
  ProfileThread& operator=(ProfileThread&&) = delete;
  ~ProfileThread();

  // Those that it may not know yet.
  void TakeIn(std::vector<NamedPid> members);
  // What has come since; false: nothing.
  bool Next(ProfileLines& lines);
  // Stops the events and takes what is left, for which there is so much time. False: it hangs.
  bool Finish(uint64_t limit_ns);

 private:
  struct Shared;
  ProfileThread(std::shared_ptr<Shared> shared, std::vector<NamedPid> members);
  void Abandon();

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  uid_t user_ = 0;  // whose processes they are
  bool done_ = false;
};

}  // namespace profd::host
