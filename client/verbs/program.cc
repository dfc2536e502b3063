#include "client/verbs/program.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "client/words/text.h"

namespace profd::client {

using base::Result;
using base::Status;

namespace {

// A program that the agent cannot get into never registers; one that it is in does, if profd has room for it,
// as soon as the machine lets it.
constexpr uint64_t kAgentPatienceNs = 3'000'000'000, kPresentPatienceNs = 20'000'000'000;
constexpr uint64_t kLookAgainNs = 10'000'000;
constexpr int kSignalled = 128;  // as a shell says it

bool HasAgentInside(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(kAgentLibrary)) return true;
  }
  return false;
}

}  // namespace

Result<Program> Program::Start(const std::vector<std::string>& command, const sigset_t& blocked) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  Program program;
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &blocked);
  sigset_t usual;  // what we ignore it does not
  ::sigemptyset(&usual);
  ::sigaddset(&usual, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  const int error = ::posix_spawnp(&program.pid_, words[0], nullptr, &attributes, words.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error == ENOENT)
    return Status(base::Code::kNotFound, "run " + OneLine(command[0]) +
                                             ": there is no such program: check its name, or give its path");
  if (error != 0) return Status::FromErrno("run " + OneLine(command[0]), error);
  return program;
}

bool Program::IsGone() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

int Program::Wait() const {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

void Program::Signal(int number) const { ::kill(pid_, number); }

void AwaitAgent(ControlClient& control, const Program& program) {
  const uint64_t begin_ns = base::MonotonicNs();
  const auto is_expected = [&] {
    const uint64_t waited_ns = base::MonotonicNs() - begin_ns;
    return waited_ns < kAgentPatienceNs || (waited_ns < kPresentPatienceNs && HasAgentInside(program.pid()));
  };
  while (!program.IsGone() && is_expected()) {
    const Result<v1::TargetsReply> targets = control.Targets().Now();
    if (!targets.ok()) return;
    for (const v1::Target& target : targets->targets()) {
      if (target.pid() == program.pid() && !target.agent_version().empty()) return;
    }
    control.Pause(kLookAgainNs);
  }
}

}  // namespace profd::client
