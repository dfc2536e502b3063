#include "daemon/session/node/process_stacks.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/host/process/process.h"

namespace profd::session {

using base::Code;
using base::Result;
using base::Status;

namespace {
constexpr uint64_t kSecondNs = 1'000'000'000;
}

Result<ProcessStacks> StacksOf(const auth::Caller& caller, pid_t pid) {
  const std::string name = "pid " + std::to_string(pid);
  const host::ProcessFacts facts = host::ReadProcessFacts(pid);
  if (!facts.exists)
    return Status(Code::kNotFound, name + ": no such process on this node; is it a pid inside a container?");
  if (facts.is_thread) return Status(Code::kInvalidArgument, name + " is a thread: name its process");
  PROFD_RETURN_IF_ERROR(May(caller, auth::Action::kCollectProcess, {.owner = facts.uid}));
  if (!facts.answers)
    return Status(Code::kDeadlineExceeded,
                  name + " does not answer: is it executing a program from a file system that does not?");
  const uint64_t lived_ns = base::ReadClockNs(CLOCK_BOOTTIME) -
                            facts.start_ticks * (kSecondNs / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK)));
  ProcessStacks stacks;
  stacks.pid = pid;
  stacks.name = facts.comm;
  stacks.wall_ns = base::WallNs();
  stacks.started_wall_ns = stacks.wall_ns - lived_ns;
  PROFD_ASSIGN_OR_RETURN(stacks.threads, host::ReadThreadStacks(pid, facts.comm));
  if (stacks.threads.threads.empty()) return Status(Code::kNotFound, name + " has ended meanwhile");
  return stacks;
}

}  // namespace profd::session
