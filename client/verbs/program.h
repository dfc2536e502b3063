// A program that a verb starts and waits for.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/node/control_client.h"

namespace profd::client {

// What a program has inside that the agent is in.
inline constexpr char kAgentLibrary[] = "libprofd_agent.so";

// A program that was started. **Owns:** nothing: it goes on without us.
class Program {
 public:
  // `blocked`: the signals that are to be blocked in it.
  static base::Result<Program> Start(const std::vector<std::string>& command, const sigset_t& blocked);

  pid_t pid() const { return pid_; }
  bool IsGone() const;
  // Its exit status, when it is over.
  int Wait() const;
  void Signal(int number) const;

 private:
  pid_t pid_ = 0;
};

// Until it has registered, or will not.
void AwaitAgent(ControlClient& control, const Program& program);

}  // namespace profd::client
