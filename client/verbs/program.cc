#include "client/verbs/program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/words/text.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr int kSignalled = 128;  // as a shell says it
constexpr int kCannotRun = 126;
constexpr char kGo = 'g';

// As execvp() finds it.
Status Find(const std::string& name) {
  const auto error_of = [](const std::string& path) {
    struct stat what {};
    if (::stat(path.c_str(), &what) != 0) return errno;
    if (S_ISDIR(what.st_mode)) return EISDIR;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
  };
  int error = ENOENT;
  if (name.find('/') != std::string::npos) {
    error = error_of(name);
  } else if (!name.empty()) {
    const char* const path = std::getenv("PATH");
    std::string folders = path != nullptr ? path : "/bin:/usr/bin";
    for (size_t from = 0; error != 0 && from <= folders.size();) {
      const size_t end = std::min(folders.find(':', from), folders.size());
      const std::string folder = folders.substr(from, end - from);
      const int found = error_of((folder.empty() ? "." : folder) + "/" + name);
      if (found == 0 || found == EACCES) error = found;
      from = end + 1;
    }
  }
  if (error == ENOENT || error == ENOTDIR)
    return Status(Code::kNotFound,
                  "run " + OneLine(name) + ": there is no such program: check its name, or give its path");
  return error == 0 ? Status::Ok() : Status::FromErrno("run " + OneLine(name), error);
}

// The new process: waits, and becomes the program. Only what may be called after fork().
[[noreturn]] void Become(int hold, char* const* words, const sigset_t& blocked, const char* name) {
  ::prctl(PR_SET_NAME, name);
  ::signal(SIGPIPE, SIG_DFL);  // what we ignore it does not
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  char word = 0;
  ssize_t got = 0;
  while ((got = ::read(hold, &word, 1)) < 0 && errno == EINTR) {
  }
  if (got != 1) ::_exit(kCannotRun);  // given up
  ::execvp(words[0], words);
  const char* const why = std::strerror(errno);
  for (const char* const part : {"profctl: run ", static_cast<const char*>(words[0]), ": ", why, "\n"}) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part, std::strlen(part));
  }
  ::_exit(kCannotRun);
}

}  // namespace

Result<Program> Program::Start(const std::vector<std::string>& command, const sigset_t& blocked) {
  PROFD_RETURN_IF_ERROR(Find(command[0]));
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const std::string name = command[0].substr(command[0].rfind('/') + 1);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Status::FromErrno("run " + OneLine(command[0]));
  const base::UniqueFd held(ends[0]);
  Program program;
  program.hold_.Reset(ends[1]);
  program.pid_ = ::fork();
  if (program.pid_ < 0) return Status::FromErrno("run " + OneLine(command[0]));
  if (program.pid_ == 0) {
    ::close(ends[1]);  // else it would wait for itself
    Become(ends[0], words.data(), blocked, name.c_str());
  }
  return program;
}

void Program::Release() {
  if (!hold_) return;
  [[maybe_unused]] const ssize_t written = ::write(hold_.get(), &kGo, 1);
  hold_.Reset();
}

void Program::GiveUp() {
  if (!hold_) return;
  hold_.Reset();
  Wait();
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

}  // namespace profd::client
