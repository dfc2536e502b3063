// The thread "profile": empties the rings of a profile, and has a stand-in make lines of what they hold,
// which looks into files and memory of the processes for that. The thread itself waits for neither. One for
// each profile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "daemon/host/perf_ring.h"
#include "daemon/host/stacks/profile_reader.h"
#include "daemon/host/thread_events.h"

namespace profd::host {

// **Thread:** sample. **Owns:** the thread, and the stand-in.
class ProfileThread {
 public:
  // What runs: by an event on each CPU. Refused while stand-ins of their user hang.
  static base::Result<ProfileThread> OnCpu(const perf_event_attr& attr, std::vector<NamedPid> members);
  // What waits: by the members' own events.
  static base::Result<ProfileThread> OffCpu(ThreadEvents events, std::vector<NamedPid> members);
  ProfileThread(ProfileThread&&) noexcept;
  ProfileThread& operator=(ProfileThread&&) = delete;
  ~ProfileThread();

  // Those that it may not know yet.
  void TakeIn(std::vector<NamedPid> members);
  // What has come since; false: nothing.
  bool Next(ProfileLines& lines);
  // Stops the events and takes what is left, within two seconds.
  void Stop();
  // That is done, or the stand-in has hung before.
  bool ended() const;
  // Then: why there may be something missing; OK: there is not.
  base::Status outcome() const;

 private:
  struct Shared;
  ProfileThread(std::unique_ptr<Shared> shared, std::vector<NamedPid> members);

  std::unique_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace profd::host
