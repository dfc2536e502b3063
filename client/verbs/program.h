// A program that a verb starts and waits for.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::client {

// What a program has inside that the agent is in.
inline constexpr char kAgentLibrary[] = "libprofd_agent.so";

// A process that was made for a program, and waits to execute it. So a recording of it can begin before the
// program does. It goes on without us once it is released; before, it ends with us.
class Program {
 public:
  // `blocked`: the signals that are to be blocked in it. It gets our environment as it is now.
  static base::Result<Program> Start(const std::vector<std::string>& command, const sigset_t& blocked);

  // Executes the program. A program that cannot be executed says so itself and ends as in a shell, with 126.
  void Release();
  // Ends it without the program, if it still waits.
  void GiveUp();
  bool waits() const { return static_cast<bool>(hold_); }

  pid_t pid() const { return pid_; }
  bool IsGone() const;
  // Its exit status, when it is over.
  int Wait() const;
  void Signal(int number) const;

 private:
  pid_t pid_ = 0;
  base::UniqueFd hold_;  // closed: it goes
};

}  // namespace profd::client
