// What the profilers of programs that profd's agent is not in are asked for, through a door that they poll.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>

#include "base/status.h"
#include "daemon/fabric/clients.h"
#include "daemon/session/plan/types.h"

namespace profd::session {

struct WindowStart {
  pid_t pid = 0;          // the target
  fabric::Client client;  // who polls for it
  fabric::Window window;  // where to is the session's to say
};

// A request says when it is over, and names no kinds that it is about: as it came, before CheckSpec().
bool WantsWindows(const SessionSpec& spec);
// Who polls for a process: itself, or the child that msMonitor has forked for it.
std::optional<fabric::Client> PollsFor(std::span<const fabric::Client> clients, pid_t pid, uid_t owner,
                                       const std::function<pid_t(pid_t)>& parent_of);
// Fails, naming it, at an option that the door cannot do.
base::Result<WindowStart> PlanWindow(const SessionSpec& spec, pid_t pid, const fabric::Client& client);
// As people see one, without state.
Window ShownWindow(const WindowStart& start);

}  // namespace profd::session
