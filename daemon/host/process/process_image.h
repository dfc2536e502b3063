// What a process is and sees, for people who look for one: slower than process.h. What may wait for its
// memory or its mounts is done in a stand-in, and not known where that does not answer.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace profd::host {

// Every process that runs, ascending. Any thread, as all below.
std::vector<pid_t> ListProcesses();

// Printable and cut to size.
struct ProcessImage {
  pid_t inner_pid = 0;  // in its own pid namespace
  std::string executable;
  std::vector<std::string> command_line;
};
// The number that it, or a thread, has in its own namespace.
pid_t InnerPid(pid_t pid);
ProcessImage ReadProcessImage(pid_t pid);

// The path of its program; "": none. May wait for the process: for stand-ins.
std::string ExecutableOf(pid_t pid);
// Path of the mapped file called `name`; "" when there is none, an error when its maps may not be read.
base::Result<std::string> FindLoaded(pid_t pid, std::string_view name);
// The variables that it was started with, each with a zero behind it; "": not to be had. `root`: where /proc
// is, for tests.
std::string EnvironmentOf(pid_t pid, size_t most, const std::string& root = "");
// As the process was started with; nullopt when it has none or may not be looked at. Waits up to 3 s for one
// that is becoming another program.
std::optional<std::string> StartedWith(pid_t pid, std::string_view variable);
// Whether `path`, as that process sees it, is the file `ours` is for us.
base::Result<bool> SeesSameFile(pid_t pid, const std::string& path, const std::string& ours);
// Whether it lives in another pid namespace than we do.
base::Result<bool> InOtherPidNamespace(pid_t pid);

}  // namespace profd::host
