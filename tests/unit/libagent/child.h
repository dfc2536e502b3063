// A process of a test's own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace profd::agent::testing {

// A child process with a line-based conversation.
class Child {
 public:
  Child(std::vector<std::string> command, std::vector<std::string> environment) {
    int in[2];
    int out[2];
    EXPECT_EQ(::pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
    std::vector<char*> argv;
    std::vector<char*> envp;
    argv.reserve(command.size() + 1);
    envp.reserve(environment.size() + 1);
    for (std::string& argument : command) argv.push_back(argument.data());
    for (std::string& variable : environment) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    EXPECT_EQ(::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data()), 0) << command[0];
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      Wait();
    }
    std::fclose(from_);
    if (to_ != nullptr) std::fclose(to_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Tell(const std::string& line) {
    std::fprintf(to_, "%s\n", line.c_str());
    std::fflush(to_);
  }
  std::string Hear() {
    char line[512];
    if (std::fgets(line, sizeof(line), from_) == nullptr) return "(end)";
    std::string text = line;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  std::string Ask(const std::string& line) {
    Tell(line);
    return Hear();
  }
  // Exit status as waitpid has it.
  int Wait() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  int Finish() {
    if (to_ != nullptr) std::fclose(to_);
    to_ = nullptr;
    return Wait();
  }
  void CloseInput() {
    std::fclose(to_);
    to_ = nullptr;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace profd::agent::testing
